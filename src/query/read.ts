import { z } from 'zod'
import { ApiError } from '../errors.js'
import { join, raw, type Sql, sql } from '../sql.js'
import type { ResultRow, Store } from '../store.js'
import { readAggregateState } from './aggregate-split.js'
import type { BlockedUrls } from './blocked-urls.js'
import type { Window } from './calendar.js'
import { regexPatterns } from './conditions.js'
import { type Cursor, createCursor } from './cursor.js'
import { type Audience, findDimension } from './dimensions.js'
import { ENVELOPE_SHAPE, Envelope, PAGING_SHAPE, Paging, parseParameters, splitQuery } from './envelope.js'
import { type Filter, listConditions } from './filters.js'
import type { Funnel } from './funnels.js'
import type { Goal } from './goals.js'
import { createPlan, type Plan } from './plan.js'
import {
  type AgentRanges,
  type Assistant,
  type CatalogAgent,
  createReadContext,
  type PolicyQuery,
  type ReadContext,
  type Site,
  type Warning,
} from './read-context.js'

/** What an answer is made of: `data`, and how many rows are in it. */
export interface ReadResult {
  readonly data: unknown
  readonly rows: number
  /** How it understood what was asked, where `meta.query` would say otherwise: a granularity that it chose itself. */
  readonly query?: Readonly<Record<string, unknown>>
}

/** One read endpoint as a value: all that the runner, the routes, the documents and the tests know of it. */
export interface Read {
  /** The URL's path, `/api/stats/funnel/{id}`; the file's is the same. */
  readonly path: string
  readonly summary: string
  /** Every parameter it takes: the envelope's, paging on lists, its own. */
  readonly query: z.ZodRawShape
  /** The shape of `data`. */
  readonly data: z.ZodType
  readonly list: boolean
  /**
   * The audience it is about whatever is asked, or the one it is about when nothing is. `either`: it sets one readership
   * beside the other, and a filter on what only one of them has is asked of that one alone. `among`: the only audiences
   * that have what it tells; any other is refused.
   */
  readonly audience:
    | { readonly only: Audience; readonly either?: true }
    | { readonly unless_asked: Audience; readonly among?: readonly Audience[] }
  /** A comparison that is its own, whatever is asked for. */
  readonly compare?: 'previous' | 'none'
  /** A window that is its own, whatever window is asked for. */
  window?(now: Date): Window
  /** Values of the envelope's parameters that are not the envelope's here: they alone reach its own parameters. */
  owns?(name: string, value: string): boolean
  /** An answer that no site and no window changes. */
  readonly staticResult?: ReadResult
  /** Its own parameters and the words of its path, parsed, and the answer they lead to. */
  prepare(
    query: URLSearchParams,
    words: Readonly<Record<string, string>>,
  ): { params: Readonly<Record<string, unknown>>; answer(ask: ReadContext): Promise<ReadResult> }
}

interface ReadDefinition<P extends z.ZodRawShape>
  extends Pick<Read, 'path' | 'summary' | 'data' | 'window' | 'compare' | 'owns'> {
  params: P
  list?: boolean
  audience?: Read['audience']
  /** `words` are those of the path, by name, as they came. */
  run(ask: ReadContext, params: z.output<z.ZodObject<P>>, words: Readonly<Record<string, string>>): Promise<ReadResult>
}

export function defineRead<P extends z.ZodRawShape>(read: ReadDefinition<P>): Read {
  const parameters = z.object(read.params)
  return {
    path: read.path,
    summary: read.summary,
    data: read.data,
    list: read.list ?? false,
    audience: read.audience ?? { unless_asked: 'human' },
    query: { ...ENVELOPE_SHAPE, ...(read.list ? PAGING_SHAPE : {}), ...read.params },
    prepare(query, words) {
      const params = parseParameters(parameters, query)
      return { params, answer: (ask) => read.run(ask, params, words) }
    },
    ...(read.window ? { window: read.window } : {}),
    ...(read.compare ? { compare: read.compare } : {}),
    ...(read.owns ? { owns: read.owns } : {}),
  }
}

/** A read whose answer is known: it takes no parameters. */
export const defineStaticRead = (read: Pick<Read, 'path' | 'summary' | 'data'>, fixed: ReadResult): Read => ({
  ...read,
  staticResult: fixed,
  list: false,
  audience: { unless_asked: 'human' },
  query: {},
  prepare: () => ({ params: {}, answer: async () => fixed }),
})

export interface ReadDependencies {
  readonly store: Pick<Store, 'query' | 'dialect'>
  /** Aborted when nobody waits for the answer any more: what is asked of the store for it stops. */
  readonly signal?: AbortSignal
  now(): Date
  site(id: number): Promise<Site | undefined>
  /** A saved segment's filters, of that site only. */
  segment(id: string, site: number): Promise<readonly Filter[] | undefined>
  /** Filters that hold whatever is asked: of a share. One on what the asked audience lacks is `validation_error`. */
  readonly mandatory?: readonly Filter[]
  /** Throws where whoever asks may not ask by this dimension. */
  checkDimension?(dimension: string, field: string): void
  /** The site's goals. Absent: it has none. */
  goals?(site: number): Promise<readonly Goal[]>
  /** A funnel of that site only. Absent: there is none. */
  funnel?(id: string, site: number): Promise<Funnel | undefined>
  readonly catalog: readonly CatalogAgent[]
  readonly assistants: readonly Assistant[]
  /**
   * What the site's policy, as it is now, keeps every agent of purpose `search` or `assistant` from: of this operator's
   * or of all. Absent, or undefined: nothing is known to be.
   */
  blocked?(site: number, operator: string | undefined): Promise<BlockedUrls | undefined>
  /** The policy of one of a site's hostnames (contract 5, policy), as whoever keeps it has it. Absent: nobody does. */
  policy?(site: number, question: PolicyQuery): Promise<unknown>
  /** Absent: nothing is held. */
  holdings?(): Promise<readonly AgentRanges[]>
}

/** The `meta` of an answer (spec 2.3, contract 4). */
export interface Meta {
  query: Record<string, unknown>
  rows: number
  sampled: false
  took_ms: number
  total?: number
  page?: number
  limit?: number
  comparison?: { start: string; end: string }
  warnings?: readonly Warning[]
}

/** Query string to envelope, plan, SQL, rows and `{ data, meta }`. Throws `ApiError` and nothing else that is expected. */
export async function runRead(
  read: Read,
  query: URLSearchParams,
  deps: ReadDependencies,
  words: Readonly<Record<string, string>> = {},
): Promise<{ data: unknown; meta: Meta }> {
  if (read.staticResult)
    return {
      data: read.staticResult.data,
      meta: { query: {}, rows: read.staticResult.rows, sampled: false, took_ms: 0 },
    }
  const { data, meta } = await (await prepareRead(read, query, deps, words)).run()
  return { data, meta }
}

/** A query that was understood: what it is about, and its answer, all at once or some rows at a time. */
export interface PreparedRead {
  readonly plan: Plan
  readonly site: Site
  readonly segment: string | undefined
  run(): Promise<ReadResponse>
  /**
   * A whole list: the read's own answer, given again and again over the next rows of one statement, so that no more
   * than `size` of them are ever held. Of a read that asks for no page one answer. What a client left is stopped by
   * `signal`; `return` ends the statement.
   */
  stream(rows: Pick<Store, 'stream'>, size: number, signal?: AbortSignal): AsyncGenerator<ReadResponse>
}

export interface ReadResponse {
  readonly data: unknown
  readonly meta: Meta
  /** The metrics it was asked for: columns that a table of it has. */
  readonly metrics: ReadonlySet<string>
}

/** Throws `ApiError` for what is wrong with the query. Only for reads that are not fixed. */
export async function prepareRead(
  read: Read,
  query: URLSearchParams,
  deps: ReadDependencies,
  words: Readonly<Record<string, string>> = {},
): Promise<PreparedRead> {
  const store = { dialect: deps.store.dialect, query: (asked: Sql) => deps.store.query(asked, deps.signal) }
  const now = deps.now()
  const own = read.window?.(now)
  const { own: asks, shared } = read.owns ? splitQuery(query, read.owns) : { own: query, shared: query }
  const envelope = {
    ...parseParameters(Envelope, shared),
    ...(own && { ...own, compare: 'none' as const }),
    ...(read.compare && { compare: read.compare }),
  }
  const paging = read.list ? parseParameters(Paging, shared) : undefined
  const { params, answer } = read.prepare(asks, words)
  const site = await deps.site(envelope.site)
  if (!site) throw new ApiError('not_found', 'There is no such site.', 'site')
  const segment = envelope.segment === undefined ? [] : await deps.segment(envelope.segment, site.id)
  if (!segment) throw new ApiError('not_found', 'There is no such segment.', 'segment')
  if (deps.checkDimension) {
    for (const { dimension } of listConditions(envelope.filters ?? [])) deps.checkDimension(dimension, 'filters')
    for (const { dimension } of listConditions(segment)) deps.checkDimension(dimension, 'segment')
    if (typeof params.dimension === 'string')
      deps.checkDimension(findDimension(params.dimension, 'dimension').name, 'dimension')
  }
  const audience = resolveAudience(read, envelope.audience)
  const first = envelope.range === 'all' && !envelope.start ? await firstRowTime(site.id, store) : undefined
  const either = 'only' in read.audience && read.audience.either === true
  const goals = (await deps.goals?.(site.id)) ?? []
  const sealed = audience === 'agent' && !either ? undefined : await readAggregateState(store)
  const { mandatory: always = [] } = deps
  const plan = createPlan(envelope, {
    site,
    audience,
    either,
    segment,
    mandatory: always,
    goals,
    now,
    firstRow: first,
    aggregates: sealed,
  })
  await checkPatterns(regexPatterns(plan.filters), store)

  const { catalog, assistants } = deps
  const blocked = async (operator: string | undefined) => deps.blocked?.(site.id, operator)
  const policy = async (question: PolicyQuery) =>
    deps.policy ? deps.policy(site.id, question) : { hostnames: [], agents: [], versions: [], path: '/' }
  const holdings = async () => (await deps.holdings?.()) ?? []
  const funnel = async (id: string) => deps.funnel?.(id, site.id)
  const known = { catalog, assistants, blocked, policy, holdings, funnel }
  const context = { plan, site, now, ...known, name: read.path }
  const { start, end } = plan.window
  const answered = async (asked: ReadContext): Promise<ReadResponse> => {
    const { data, rows, query: understood } = await answer(asked)
    const meta: Meta = {
      query: {
        // Before the envelope's: a path that journeys start at is not the window's start.
        ...params,
        site: site.id,
        // Beside a `start` it says nothing: an end that is not given is now.
        ...(envelope.start ? {} : { range: envelope.range }),
        start: start.toISOString(),
        end: end.toISOString(),
        compare: envelope.compare,
        tz: plan.tz,
        granularity: plan.granularity,
        filters: envelope.filters ?? [],
        ...(envelope.segment === undefined ? {} : { segment: envelope.segment }),
        audience,
        ...asked.paging,
        ...understood,
      },
      rows,
      sampled: false,
      took_ms: Math.max(0, deps.now().getTime() - now.getTime()),
      ...(paging && asked.total !== undefined ? { total: asked.total, ...asked.paging } : {}),
      ...(plan.comparison
        ? { comparison: { start: plan.comparison.start.toISOString(), end: plan.comparison.end.toISOString() } }
        : {}),
      ...(asked.warnings.length > 0 ? { warnings: asked.warnings } : {}),
    }
    return { data, meta, metrics: asked.metrics }
  }
  return {
    plan,
    site,
    segment: envelope.segment,
    run: () => answered(createReadContext({ ...context, store, paging })),
    async *stream(rows, size, signal) {
      const cursor = createCursor(rows, size, signal)
      const asks = cacheFirstQueries(store, cursor)
      try {
        do {
          yield await answered(createReadContext({ ...context, store: asks, paging: undefined, cursor }))
        } while (cursor.state() === 'open')
      } finally {
        await cursor.close()
      }
    },
  }
}

/** What a read asks before its list it would ask again for each part of it: the first answer stands. */
function cacheFirstQueries(store: ReadDependencies['store'], cursor: Cursor): Pick<Store, 'query' | 'dialect'> {
  const known = new Map<string, Promise<ResultRow[]>>()
  return {
    dialect: store.dialect,
    query(asked) {
      const name = JSON.stringify([asked.text, asked.values], (_, value) =>
        typeof value === 'bigint' ? `${value}n` : value,
      )
      const before = known.get(name)
      if (before) return before
      const rows = store.query(asked)
      if (cursor.state() === 'unasked') known.set(name, rows)
      return rows
    },
  }
}

function resolveAudience({ audience }: Read, asked: Audience | undefined): Audience {
  if ('only' in audience) return audience.only
  const { unless_asked, among } = audience
  if (asked === undefined || !among || among.includes(asked)) return asked ?? unless_asked
  throw new ApiError('validation_error', `This is known of ${among.join(' and ')} alone, not of ${asked}.`, 'audience')
}

/** The site's first row, of either readership, so that both are asked about the same window. */
async function firstRowTime(site: number, store: ReadDependencies['store']): Promise<Date | undefined> {
  const [row] = await store.query(sql`
    select min(first) as first from (select min(timestamp) as first from events where site_id = ${site}
      union all select min(timestamp) as first from agent_events where site_id = ${site}) b`)
  return row?.first instanceof Date ? row.first : undefined
}

/** Only the engine knows what it can read as RE2: asked before the rows are, so that its refusal is told from a fault. */
export async function checkPatterns(
  patterns: readonly string[],
  store: ReadDependencies['store'],
  field = 'filters',
): Promise<void> {
  if (patterns.length === 0) return
  const tests = patterns.map((pattern) => store.dialect.matches(sql`${''}`, pattern))
  try {
    await store.query(sql`select ${join(tests, ', ')}`)
  } catch (cause) {
    // Without a cause of the engine's it was busy, or the asker left.
    if (cause instanceof ApiError && cause.cause === undefined) throw cause
    await store.query(raw('select 1'))
    throw new ApiError('validation_error', 'A pattern is no RE2 regular expression.', field, { cause })
  }
}
