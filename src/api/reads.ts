import { z } from 'zod'
import { quote } from '../analytics/query/dimensions.js'
import { checkParameterNames } from '../analytics/query/envelope.js'
import { type ReadDependencies, runRead } from '../analytics/query/prepare-read.js'
import { GAP_REASONS, MAX_LISTED_GAPS } from '../analytics/query/recording.js'
import { formatStatement } from '../analytics/query/statement.js'
import { reads } from '../analytics/reads/index.js'
import { ASSISTANT_NAMES } from '../base/assistants.js'
import { ApiError } from '../base/errors.js'
import { createSiteLookup } from '../capture/site.js'
import type { Collection, SiteRecord } from '../manage/collection.js'
import type { Sites } from '../manage/sites.js'
import type { Sql } from '../storage/sql.js'
import type { WorkerClient } from '../worker-client/worker-client.js'
import { canReachSite, type Principal } from './auth.js'
import { type Call, jsonResponse, parseQuery, type Route, routeMaker } from './route.js'
import type { SiteRecords } from './site-records.js'

const Gaps = z.array(
  z.object({
    start: z.iso.datetime(),
    end: z.iso.datetime(),
    reason: z
      .enum(GAP_REASONS)
      .describe('readership was not running; rows were lost; the machine slept or its clock was set.'),
    joined: z
      .int()
      .optional()
      .describe('Number of gaps in this time, with recorded times between them; absent: it is one gap.'),
  }),
)

/** The `meta` of a read. */
export const Meta = z
  .object({
    query: z.record(z.string(), z.unknown()).describe('The query as it was understood, in canonical names.'),
    rows: z.int().describe('Rows in this response.'),
    sampled: z.boolean().describe('Always false: every row is counted.'),
    took_ms: z.int().describe('Milliseconds that the read took.'),
    total: z.int().optional().describe('Rows on all pages.'),
    limit: z.int().optional().describe('Rows per page.'),
    page: z.int().optional().describe('The page, from 1.'),
    comparison: z
      .object({ start: z.iso.datetime(), end: z.iso.datetime() })
      .optional()
      .describe('The window that the numbers are compared with.'),
    recorded: z
      .object({
        since: z.iso
          .datetime()
          .optional()
          .describe("The time of the site's first row, of people or agents; absent: nothing is recorded yet."),
        gaps: Gaps.describe(
          `The times of the window in which not everything was recorded. Of more than ${MAX_LISTED_GAPS}, neighbours are joined.`,
        ),
        comparison: Gaps.optional().describe('The same for the window that the numbers are compared with.'),
      })
      .optional()
      .describe('The times that were recorded; absent where the read is about no site.'),
    warnings: z
      .array(
        z.object({
          metric: z.string().optional(),
          code: z.string(),
          message: z.string(),
          dimension: z.string().optional(),
          value: z.string().optional(),
          nearest: z.string().optional(),
        }),
      )
      .optional()
      .describe(
        'Why a metric is absent, or what a number is based on. Of `no_such_value`: the dimension of a filter, its value that no row in the window has, and the nearest value that exists.',
      ),
  })
  .meta({ id: 'Meta', description: 'The query as it was understood, and what the data is based on.' })

export type RouteReadDependencies = Pick<
  ReadDependencies,
  | 'store'
  | 'now'
  | 'catalog'
  | 'blockedUrls'
  | 'policy'
  | 'policyVersions'
  | 'redirects'
  | 'agentRanges'
  | 'recording'
  | 'foundSections'
  | 'history'
  | 'countedPages'
  | 'imports'
> & {
  sites: Pick<Sites, 'get' | 'list'>
} & Partial<Pick<SiteRecords, 'goals' | 'funnels' | 'segments'>>

/** Limits a read to the sites that the caller can reach, and to the filters of a share link; a disconnect stops it. */
export function createReadDependencies(
  { sites, goals, funnels, segments, ...rest }: RouteReadDependencies,
  call: Pick<Call, 'principal' | 'access' | 'request'>,
): ReadDependencies {
  const { principal } = call
  const share = principal.kind === 'share' ? principal.share : undefined
  return {
    ...rest,
    signal: call.request.signal,
    asker: askerOf(principal),
    assistants: ASSISTANT_NAMES,
    site: async (id) => {
      const site = await sites.get(id)
      if (!site || !canReachSite(call, site)) return undefined
      const siteOf = createSiteLookup(await sites.list())
      return { ...site, owns: (hostname) => siteOf(hostname)?.id === id }
    },
    goals: async (site) => (await goals?.list(site)) ?? [],
    segment: async (id, site) => {
      const segment = await findInSite(segments, site, id)
      return share && !segment?.shared ? undefined : segment?.filters
    },
    ...(share && {
      ...{ mandatory: share.filters, checkDimension: share.assertDimension },
      hidesVisits: !share.includes('goals'),
    }),
    funnel: async (id, site) => findInSite(funnels, site, id),
  }
}

/** The callers among which the store is shared: a key, a person and a share link are one each. */
function askerOf(principal: Principal): string {
  switch (principal.kind) {
    case 'key':
      return `key ${principal.key.id}`
    case 'person':
      return `person ${principal.user.id}`
    case 'share':
      return `share ${principal.share.id}`
    default:
      return principal.kind
  }
}

/** One route for each read, and one for the operator that returns the SQL of any read. */
export const readRoutes = (deps: RouteReadDependencies): Route[] => [
  ...reads.map((read) =>
    routeMaker(read.path.split('/')[2] ?? 'stats')('get', read.path, 'stats:read', {
      summary: read.summary,
      pathParameter: z.string().describe('The id, as lists show it.'),
      query: z.object(read.query),
      data: read.data,
      meta: Meta,
      run: async (call) => {
        const { data, meta } = await runRead(read, call.query, createReadDependencies(deps, call), call.params)
        return jsonResponse(data, meta)
      },
    }),
  ),
  routeMaker('control')('get', '/control/sql', 'operator', {
    summary: 'Run a read and return its SQL statements',
    query: SqlQuery,
    data: z.array(z.string()),
    run: async (call) => {
      const { read: path, id } = parseQuery(call, SqlQuery)
      const read = reads.find((each) => each.path === path)
      if (!read) throw new ApiError('validation_error', `No read has the path ${quote(path)}.`, 'read')
      checkParameterNames(call.query, Object.keys(read.query), ['read', 'id'])
      const statements: string[] = []
      const onStatement = (statement: Sql) => statements.push(formatStatement(statement))
      await runRead(
        read,
        call.query,
        { ...createReadDependencies(deps, call), onStatement },
        id === undefined ? {} : { id },
      )
      return statements
    },
  }),
]

const SqlQuery = z.object({
  read: z.string().describe('The path of the read, such as /api/stats/pages.'),
  id: z.string().optional().describe('The id in that path, if it has one.'),
})

/** Finds a site's record by the id in a request; text that is not the number of such a record finds nothing. */
const findInSite = async <O extends SiteRecord>(all: Collection<O> | undefined, site: number, id: string) =>
  (await all?.list(site))?.find((each) => String(each.id) === id)

const BlockedPatterns = z.array(z.object({ hostname: z.string(), patterns: z.array(z.string()) }))

/** Asks the worker which URLs robots.txt blocks: parsing a large robots.txt would hold this thread up. */
export const createBlockedPaths =
  (workerClient: Pick<WorkerClient, 'call'>): NonNullable<ReadDependencies['blockedUrls']> =>
  async (site, operator) => {
    const candidates = BlockedPatterns.parse(await workerClient.call('blocked_within', { site, operator }))
    if (candidates.length === 0) return undefined
    return {
      candidates,
      areBlocked: async (rows) => {
        const urls = rows.map(({ hostname, pathname }) => ({ hostname, pathname }))
        return z.array(z.boolean()).parse(await workerClient.call('blocked', { site, operator, urls }))
      },
    }
  }
