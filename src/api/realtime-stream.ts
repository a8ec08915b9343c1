import { setMaxListeners } from 'node:events'
import { z } from 'zod'
import { sourceRows, whereClause } from '../analytics/query/conditions.js'
import { ENVELOPE_SHAPE, parseParameters, wholeNumber } from '../analytics/query/envelope.js'
import { type Plan, withSuspected } from '../analytics/query/plan.js'
import { prepareRead } from '../analytics/query/prepare-read.js'
import { defineRead } from '../analytics/query/read.js'
import { describeAudience } from '../analytics/query/read-audience.js'
import type { CatalogAgent } from '../analytics/query/read-context.js'
import { requireRowFilters, rowMatches } from '../analytics/query/row-match.js'
import { ApiError } from '../base/errors.js'
import { createFairShare } from '../base/fair-share.js'
import type { ShareScope } from '../manage/shares.js'
import { isIn, raw, type Sql, sql } from '../storage/sql.js'
import type { Store } from '../storage/store.js'
import { createReadDependencies, type RouteReadDependencies } from './reads.js'
import { type Route, routeMaker } from './route.js'
import { createRowStream, type TailSource } from './row-stream.js'

/**
 * Streams that are open at once. One organisation alone has half: 100, of which 50 by share links, so that those leave room
 * for people who are signed in.
 */
const MAX_STREAMS = 200
const MAX_SHARED_STREAMS = 100
/** Rows a second for one reader: no person reads more, and each costs the site's process as much as a small request. */
const MAX_ROWS_PER_SECOND = 100
const RECENT_MINUTES = 30
/** Kinds of rows that a person causes. The tracker's reports about a page that it showed are left out. */
const KINDS: readonly string[] = ['pageview', 'custom', 'outbound', 'file_download', 'form']

type Fields = Readonly<Record<string, unknown>>

const { site, filters, segment } = ENVELOPE_SHAPE
const suspected = ENVELOPE_SHAPE.suspected.describe(
  '`exclude`: without suspected visits. Rows that were sent before their visit was suspected are not taken back.',
)
const shape = {
  n: wholeNumber(200, 0)
    .default(50)
    .describe('Number of rows of the last 30 minutes before the live ones; default 50.'),
  follow: z.enum(['0', '1']).default('1').describe('`0`: no live rows; the stream ends after the recent ones.'),
}

/** The envelope of the stream; its rows are not computed by a read. */
const envelope = defineRead({
  path: '/api/stats/realtime/stream',
  summary:
    'Rows as they are stored, as server-sent events: `row`, and `missed` with the number of rows that were left out',
  params: shape,
  audience: { default: 'all' },
  window: (now) => ({ start: new Date(now.getTime() - RECENT_MINUTES * 60_000), end: now }),
  data: z.unknown(),
  run: async () => ({ data: undefined, rows: 0 }),
})

interface StreamDeps extends RouteReadDependencies {
  readonly workerClient: TailSource
  /** Aborts when the service stops. */
  readonly ended: AbortSignal
  readonly heartbeat_ms: number
  /** Monotonic milliseconds. */
  clock(): number
}

/** GET /api/stats/realtime/stream: each row of a site as it is committed, for one reader. */
export function realtimeStreamRoute(deps: StreamDeps): Route {
  const { workerClient, ended, heartbeat_ms, clock, store, catalog, sites } = deps
  // Each stream listens; over ten, Node warns of a leak on the operator's terminal.
  setMaxListeners(MAX_STREAMS, ended)
  const streams = createFairShare(MAX_STREAMS)
  const sharedStreams = createFairShare(MAX_SHARED_STREAMS)
  /** Counts a stream of the site's organisation; the returned function ends it. Throws `rate_limited`. */
  const enter = async (site: number, isShared: boolean): Promise<() => void> => {
    const org = (await sites.get(site))?.org ?? 0
    const leaveShared = isShared ? sharedStreams.enter(org) : () => {}
    const leave = leaveShared && streams.enter(org)
    if (leave)
      return () => {
        leave()
        leaveShared()
      }
    leaveShared?.()
    throw new ApiError('rate_limited', 'Too many streams are open; close one, or try again later.')
  }
  return routeMaker('stats')('get', envelope.path, 'stats:read', {
    summary: envelope.summary,
    query: z.object({ site, audience: describeAudience(envelope.audience), filters, segment, suspected, ...shape }),
    contentType: 'text/event-stream',
    async run(call) {
      const { principal } = call
      const { plan } = await prepareRead(envelope, call.query, createReadDependencies(deps, call))
      requireRowFilters(plan.filters)
      const { n, follow } = parseParameters(z.object(shape), call.query)
      const leave = await enter(plan.site, principal.kind === 'share')
      try {
        const shows = (scope: ShareScope) => principal.kind !== 'share' || principal.share.includes(scope)
        const stream = createRowStream(
          {
            workerClient,
            readRecent: async () => (n === 0 ? [] : readRecentRows(store, plan, n)),
            matches: (row) => isInPlan(plan, row) && rowMatches(plan.filters, row),
            format: (row) => formatEvent('row', describeRow(row, catalog, shows)),
            formatMissed: (rows) => formatEvent('missed', { rows }),
            follow: follow === '1',
            pace: { perSecond: MAX_ROWS_PER_SECOND, clock },
            head: 'retry: 3000\n\n',
            heartbeat: {
              text: ': alive\n\n',
              ms: heartbeat_ms,
              goesOn: async () => (await sites.get(plan.site)) !== undefined,
            },
            onEnd: leave,
          },
          ended,
        )
        return new Response(stream, { headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } })
      } catch (error) {
        leave()
        throw error
      }
    },
  })
}

const formatEvent = (name: 'row' | 'missed', data: unknown): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

const isInPlan = (plan: Plan, row: Fields): boolean =>
  row.site_id === plan.site &&
  (plan.audience === 'all' || plan.audience === row.audience) &&
  (row.audience === 'agent' || KINDS.includes(String(row.kind)))

/** Reads the last rows of the plan's window, oldest first. */
async function readRecentRows(store: Pick<Store, 'query'>, plan: Plan, n: number): Promise<Fields[]> {
  const last = (from: Sql, audience: 'human' | 'agent', condition: Sql) => sql`
    select ${audience} as audience, * from ${from} where ${condition} order by timestamp desc limit ${n}`
  const people = last(
    sql`${sourceRows('events', plan)} as e`,
    'human',
    sql`${whereClause(plan)} and ${isIn(raw('kind'), KINDS)}`,
  )
  const agents = last(raw('agent_events'), 'agent', whereClause(withSuspected(plan)))
  const queries = { human: [people], agent: [agents], all: [people, agents] }[plan.audience]
  const rows = (await Promise.all(queries.map((query) => store.query(query)))).flat()
  return rows.toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp)).slice(-n)
}

/**
 * The fields of a row that a reader of the stream sees, without unknown ones. Through a share link, a single row tells no
 * more than the reads of the link's scopes.
 */
function describeRow(row: Fields, catalog: readonly CatalogAgent[], shows: (scope: ShareScope) => boolean): Fields {
  const pick = (scope: ShareScope | undefined, ...names: readonly string[]): Fields =>
    scope === undefined || shows(scope) ? Object.fromEntries(names.map((name) => [name, row[name] ?? undefined])) : {}
  const common = {
    audience: row.audience,
    t: row.timestamp,
    ...pick(undefined, 'hostname', 'pathname', 'status', 'duration_ms'),
  }
  if (row.audience === 'human')
    return {
      ...common,
      ...pick(undefined, 'kind', 'suspected'),
      ...pick('events', 'event_name'),
      ...pick('locations', 'country'),
      ...pick('devices', 'browser', 'os', 'device_type'),
      ...pick('sources', 'source', 'channel'),
    }
  if (!shows('agents')) return common
  return {
    ...common,
    ...pick(undefined, 'method', 'content_type', 'country', 'agent_id', 'operator', 'purpose'),
    ...pick(undefined, 'verification', 'verified', 'robots_allowed', 'action'),
    ...(typeof row.rule === 'number' ? { rule_id: row.rule } : {}),
    ...(row.robots_allowed === false
      ? { rule: row.robots_rule ?? undefined, line: row.robots_line ?? undefined, severity: severityOf(row, catalog) }
      : {}),
  }
}

/** How serious a disallowed fetch is, as GET /api/policy/violations grades it. */
function severityOf(row: Fields, catalog: readonly CatalogAgent[]): string {
  if (row.robots_grace === true) return 'grace'
  if (row.verified !== true) return 'unverified'
  const agent = catalog.find(({ agent_id }) => agent_id === row.agent_id)
  return { yes: 'breach', no: 'unbound', unknown: 'unclear' }[agent?.respects_robots ?? 'unknown']
}
