import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { keyOf, type Sql } from '../../storage/sql.js'
import type { ResultRow, Store } from '../../storage/store.js'
import { readAggregateState, readCountedDays } from './aggregate-split.js'
import type { BlockedUrls } from './blocked-urls.js'
import type { Window } from './calendar.js'
import { checkPatterns } from './check-patterns.js'
import { regexPatterns } from './conditions.js'
import { type Cursor, createCursor } from './cursor.js'
import { findDimension } from './dimensions.js'
import { ENVELOPE_SHAPE, Envelope, PAGING_SHAPE, Paging, parseParameters, splitQuery } from './envelope.js'
import { type Filter, listConditions } from './filters.js'
import type { Funnel } from './funnels.js'
import type { Goal } from './goals.js'
import { addImports, type ImportedTime, noteImportedVisitors } from './imported.js'
import { createReadHistory, type SiteHistory, startOfAll } from './other-tools.js'
import { createPlan, type Plan } from './plan.js'
import type { PolicyQuery, PolicyVersionsQuery } from './policy-query.js'
import { describeAudience, noteFixed, type ReadAudience, resolveAudience } from './read-audience.js'
import {
  type AgentRanges,
  type Assistant,
  type CatalogAgent,
  createReadContext,
  type ReadContext,
  type ReadContextOptions,
  type Site,
  type Warning,
} from './read-context.js'
import { firstRowTime, type Gap, type Recording } from './recording.js'
import { findUnknownValues } from './unknown-values.js'

/** The result of a read: `data`, and the number of rows in it. */
interface ReadResult {
  readonly data: unknown
  readonly rows: number
  /** Values that replace those of `meta.query`: for example a granularity that the read chose itself. */
  readonly query?: Readonly<Record<string, unknown>>
}

/** One read endpoint: everything that the runner, the routes, the API document and the tests know about it. */
export interface Read {
  /** The URL's path, `/api/stats/funnel/{id}`; the file has the same path below `src/analytics/reads`. */
  readonly path: string
  readonly summary: string
  /** All query parameters: the envelope's, paging for lists, and the read's own. */
  readonly query: z.ZodRawShape
  /** The shape of `data`. */
  readonly data: z.ZodType
  readonly list: boolean
  readonly audience: ReadAudience
  /** Overrides the requested comparison. */
  readonly compare?: 'previous' | 'none'
  /** Overrides the requested window. */
  window?(now: Date): Window
  /** Returns true for values of an envelope parameter that this read takes for a parameter of its own. */
  ownsParameter?(name: string, value: string): boolean
  /** A result that depends on no site and no window. */
  readonly staticResult?: ReadResult
  /** Parses the read's own parameters and path words; `run` then computes the result. */
  prepare(
    query: URLSearchParams,
    words: Readonly<Record<string, string>>,
  ): { params: Readonly<Record<string, unknown>>; run(context: ReadContext): Promise<ReadResult> }
}

interface ReadDefinition<P extends z.ZodRawShape>
  extends Pick<Read, 'path' | 'summary' | 'data' | 'window' | 'compare' | 'ownsParameter'> {
  params: P
  list?: boolean
  audience?: ReadAudience
  /** `words` are the words of the path by name, unparsed. */
  run(
    context: ReadContext,
    params: z.output<z.ZodObject<P>>,
    words: Readonly<Record<string, string>>,
  ): Promise<ReadResult>
  /** Computes what agents have of a read that is about people; absent: they have nothing of it. */
  runForAgents?(
    context: ReadContext,
    params: z.output<z.ZodObject<P>>,
    words: Readonly<Record<string, string>>,
  ): Promise<ReadResult>
}

/** Creates a read with the envelope's parameters, paging if it is a list, and its own. The default audience is people. */
export function defineRead<P extends z.ZodRawShape>(definition: ReadDefinition<P>): Read {
  const { params: shape, list = false, audience = { default: 'human' }, run, ...all } = definition
  const { runForAgents = async () => nothingOf(all.data), ...rest } = all
  const schema = z.object(shape)
  const isForPeople = 'peopleOnly' in audience && audience.peopleOnly !== undefined
  return {
    ...rest,
    list,
    audience,
    query: { ...ENVELOPE_SHAPE, audience: describeAudience(audience), ...(list ? PAGING_SHAPE : {}), ...shape },
    prepare(query, words) {
      const params = parseParameters(schema, query)
      return {
        params,
        run: (context) =>
          (isForPeople && context.plan.audience === 'agent' ? runForAgents : run)(context, params, words),
      }
    },
  }
}

/** The result of a read that has nothing for agents: an empty list, or an object without what people have. */
const nothingOf = (data: z.ZodType): ReadResult => ({ data: data instanceof z.ZodArray ? [] : {}, rows: 0 })

/** Creates a read whose result is constant: it takes no parameters. */
export const defineStaticRead = (read: Pick<Read, 'path' | 'summary' | 'data'>, staticResult: ReadResult): Read => ({
  ...read,
  staticResult,
  list: false,
  audience: { default: 'human' },
  query: {},
  prepare: () => ({ params: {}, run: async () => staticResult }),
})

/** Everything that a read needs from its caller. */
export interface ReadDependencies {
  readonly store: Pick<Store, 'query' | 'dialect'>
  /** Aborted when the client has gone: running queries stop. */
  readonly signal?: AbortSignal
  /** As `QueryScope`. */
  readonly asker?: string
  now(): Date
  site(id: number): Promise<Site | undefined>
  /** The filters of a saved segment; undefined unless it belongs to the site. */
  segment(id: string, site: number): Promise<readonly Filter[] | undefined>
  /**
   * Filters of a share, which apply whatever is requested. A filter on a dimension that the audience does not have is
   * `validation_error`.
   */
  readonly mandatory?: readonly Filter[]
  /** Throws if the caller may not use this dimension. */
  checkDimension?(dimension: string, field: string): void
  /** The site's goals; absent: it has none. */
  goals?(site: number): Promise<readonly Goal[]>
  /** A funnel of the site; absent: it has none. */
  funnel?(id: string, site: number): Promise<Funnel | undefined>
  readonly catalog: readonly CatalogAgent[]
  readonly assistants: readonly Assistant[]
  /**
   * The URLs that the site's current policy disallows for every agent of purpose `search` or `assistant`, of one operator
   * or of all. Absent or undefined: no policy is known.
   */
  blockedUrls?(site: number, operator: string | undefined): Promise<BlockedUrls | undefined>
  /** The policy of one of the site's hostnames; absent: no policy is recorded. */
  policy?(site: number, question: PolicyQuery): Promise<unknown>
  /** The versions of one hostname's policy; absent: no policy is recorded. */
  policyVersions?(site: number, question: PolicyVersionsQuery): Promise<unknown>
  /** The downloaded address ranges of agents; absent: none were downloaded. */
  agentRanges?(): Promise<readonly AgentRanges[]>
  /** The times that were recorded of a site; absent: all since its first row. */
  recording?(site: number): Promise<Recording>
  /** The days of a site that other tools counted; absent or undefined: it has no such day. */
  history?(site: number): Promise<SiteHistory | undefined>
  /** The imports of access logs into a site; absent: it has only rows that were recorded. */
  imports?(site: number): Promise<readonly ImportedTime[]>
  /** Called with each statement that the read runs, before it runs. */
  onStatement?(statement: Sql): void
}

type MetaGap = Pick<Gap, 'reason' | 'joined'> & Record<'start' | 'end', string>

/** The `meta` of a response. */
export interface Meta {
  query: Record<string, unknown>
  rows: number
  sampled: false
  took_ms: number
  total?: number
  page?: number
  limit?: number
  comparison?: { start: string; end: string }
  recorded?: {
    since?: string
    gaps: readonly MetaGap[]
    comparison?: readonly MetaGap[]
  }
  warnings?: readonly Warning[]
}

/** Runs a read: query string to plan, SQL, rows and `{ data, meta }`. Throws `ApiError` for an invalid query. */
export async function runRead(
  read: Read,
  query: URLSearchParams,
  dependencies: ReadDependencies,
  words: Readonly<Record<string, string>> = {},
): Promise<{ data: unknown; meta: Meta }> {
  if (read.staticResult) {
    const { data, rows } = read.staticResult
    return { data, meta: { query: {}, rows, sampled: false, took_ms: 0 } }
  }
  const { data, meta } = await (await prepareRead(read, query, dependencies, words)).run()
  return { data, meta }
}

/** A validated query, ready to run at once or in parts. */
interface PreparedRead {
  readonly plan: Plan
  readonly site: Site
  readonly segment: string | undefined
  run(): Promise<ReadResponse>
  /**
   * A whole list, in responses of at most `size` rows from one statement, so that no more rows are in memory. A read
   * without pages gives one response. `signal` stops the statement when the client has gone; `return` ends it.
   */
  stream(rows: Pick<Store, 'stream'>, size: number, signal?: AbortSignal): AsyncGenerator<ReadResponse>
}

export interface ReadResponse {
  readonly data: unknown
  readonly meta: Meta
  /** The metrics that the read computed: the metric columns of its tables. */
  readonly metrics: ReadonlySet<string>
}

/**
 * Validates a query. Throws `ApiError` if it is invalid. Not for reads with a static result. Long because every step uses
 * the results of the steps before it.
 */
export async function prepareRead(
  read: Read,
  query: URLSearchParams,
  dependencies: ReadDependencies,
  words: Readonly<Record<string, string>> = {},
): Promise<PreparedRead> {
  const { signal, mandatory = [], catalog, assistants, onStatement } = dependencies
  const now = dependencies.now()
  const window = read.window?.(now)
  const { own, shared } = read.ownsParameter ? splitQuery(query, read.ownsParameter) : { own: query, shared: query }
  const requested = parseParameters(Envelope, shared)
  const fixed = noteFixed(read, shared, requested)
  const envelope = {
    ...requested,
    ...(window && { ...window, compare: 'none' as const }),
    ...(read.compare && { compare: read.compare }),
  }
  const paging = read.list ? parseParameters(Paging, shared) : undefined
  const { params, run } = read.prepare(own, words)
  const { site, segment } = await findSiteAndSegment(envelope, dependencies)
  const { dialect } = dependencies.store
  const scope = { site: site.id, asker: `${site.org ?? ''}/${dependencies.asker ?? ''}` }
  const store = { dialect, query: (asked: Sql) => dependencies.store.query(asked, signal, scope) }
  checkDimensions([envelope.filters ?? [], segment], params.dimension, dependencies)
  const { audience, shown: shownAudience, note } = resolveAudience(read.audience, envelope.audience)
  const mixesAudiences = 'only' in read.audience && read.audience.mixesAudiences === true
  const firstRow = () => firstRowTime(site.id, store.query)
  // An import may have added older rows since the time was cached, and `range=all` must not miss them.
  const startsAtFirstRow = envelope.range === 'all' && !envelope.start
  const known = startsAtFirstRow ? await firstRow() : undefined
  const history = await dependencies.history?.(site.id)
  const imports = (await dependencies.imports?.(site.id)) ?? []
  const recorded = (await dependencies.recording?.(site.id)) ?? { since: known ?? (await firstRow()), gaps: [] }
  const recording = addImports(recorded, imports)
  const plan = createPlan(envelope, {
    dialect,
    site,
    audience,
    mixesAudiences,
    segment,
    mandatory,
    goals: (await dependencies.goals?.(site.id)) ?? [],
    now,
    firstRow: audience === 'agent' ? known : startOfAll(known, history, envelope.tz ?? site.timezone),
    aggregates: audience === 'agent' && !mixesAudiences ? undefined : await readAggregateState(store),
    countedDays: audience === 'human' ? undefined : await readCountedDays(store, site.id),
  })
  // Without the scope: the result must be the engine's own, and of now.
  await checkPatterns(regexPatterns(plan.filters), {
    dialect,
    query: (asked) => dependencies.store.query(asked, signal),
  })

  const options = {
    plan,
    site,
    now,
    catalog,
    assistants,
    audience: shownAudience,
    name: read.path,
    onStatement,
    ...lookups(dependencies, site),
    recording: known ? { ...recording, since: known } : recording,
  }
  const { since } = options.recording
  const createContext = (of: Pick<ReadContextOptions, 'store' | 'paging' | 'cursor'>) =>
    createReadContext({ ...options, ...of, history: createReadHistory(history, { plan, since }) })
  const respond = async (context: ReadContext, isWhole: boolean): Promise<ReadResponse> => {
    const imported = audience === 'agent' ? undefined : noteImportedVisitors(imports, plan)
    for (const one of [note, imported, ...fixed]) if (one) context.warn(one)
    const { data, rows, query: replaced } = await run(context)
    if (isWhole && !dependencies.mandatory)
      context.warnings.push(...(await findUnknownValues(data, envelope.filters ?? [], plan, store)))
    const { since, gaps, comparison } = context.recordedTimes()
    // `params` first, so that a path at which journeys start does not replace the window's start.
    const shown = { ...params, ...queryOf(envelope, plan), audience: shownAudience, ...context.paging, ...replaced }
    const took_ms = Math.max(0, dependencies.now().getTime() - now.getTime())
    const meta: Meta = {
      query: shown,
      rows,
      sampled: false,
      took_ms,
      ...(paging && context.total !== undefined ? { total: context.total, ...context.paging } : {}),
      ...(plan.comparison ? { comparison: isoWindow(plan.comparison) } : {}),
      recorded: {
        ...(since ? { since: since.toISOString() } : {}),
        gaps: gaps.map(isoGap),
        ...(comparison ? { comparison: comparison.map(isoGap) } : {}),
      },
      ...(context.warnings.length > 0 ? { warnings: context.warnings } : {}),
    }
    return { data, meta, metrics: context.metrics }
  }
  return {
    plan,
    site,
    segment: envelope.segment,
    run: () => respond(createContext({ store, paging }), true),
    async *stream(rows, size, signal) {
      const cursor = createCursor(rows, size, signal)
      const cachingStore = cacheFirstQueries(store, cursor)
      try {
        do {
          yield await respond(createContext({ store: cachingStore, paging: undefined, cursor }), false)
        } while (cursor.state() === 'open')
      } finally {
        await cursor.close()
      }
    },
  }
}

/** The lookups of a read, for one site. */
const lookups = (dependencies: ReadDependencies, site: Site) => ({
  blockedUrls: async (operator: string | undefined) => dependencies.blockedUrls?.(site.id, operator),
  policy: async (question: PolicyQuery) =>
    dependencies.policy?.(site.id, question) ?? { hostnames: [], agents: [], versions: [], path: '/' },
  policyVersions: async (question: PolicyVersionsQuery) =>
    dependencies.policyVersions?.(site.id, question) ?? { versions: [] },
  agentRanges: async () => (await dependencies.agentRanges?.()) ?? [],
  funnel: async (id: string) => dependencies.funnel?.(id, site.id),
})

/** Throws `not_found` for an unknown site or segment. */
async function findSiteAndSegment(envelope: Envelope, dependencies: ReadDependencies) {
  const site = await dependencies.site(envelope.site)
  if (!site) throw new ApiError('not_found', 'There is no such site.', 'site')
  const segment = envelope.segment === undefined ? [] : await dependencies.segment(envelope.segment, site.id)
  if (!segment) throw new ApiError('not_found', 'Segment not found.', 'segment')
  return { site, segment }
}

/** Throws if the caller may not use a dimension of the filters, the segment or the read's own parameter. */
function checkDimensions(
  [filters, segment]: readonly [readonly Filter[], readonly Filter[]],
  dimension: unknown,
  { checkDimension }: ReadDependencies,
): void {
  if (!checkDimension) return
  for (const condition of listConditions(filters)) checkDimension(condition.dimension, 'filters')
  for (const condition of listConditions(segment)) checkDimension(condition.dimension, 'segment')
  if (typeof dimension === 'string') checkDimension(findDimension(dimension, 'dimension').name, 'dimension')
}

const isoGap = ({ start, end, ...rest }: Gap): MetaGap => ({ ...isoWindow({ start, end }), ...rest })
const isoWindow = ({ start, end }: Window) => ({ start: start.toISOString(), end: end.toISOString() })

/** The envelope in canonical names, as `meta.query` returns it. `range` is left out if `start` replaced it. */
const queryOf = (envelope: Envelope, plan: Plan) => ({
  site: plan.site,
  ...(envelope.start ? {} : { range: envelope.range }),
  ...isoWindow(plan.window),
  compare: envelope.compare,
  tz: plan.tz,
  granularity: plan.granularity,
  filters: envelope.filters ?? [],
  ...(envelope.segment === undefined ? {} : { segment: envelope.segment }),
})

/** Caches the queries that a read runs before its list, because the read runs again for each part of the list. */
function cacheFirstQueries(store: ReadDependencies['store'], cursor: Cursor): Pick<Store, 'query'> {
  const cache = new Map<string, Promise<ResultRow[]>>()
  return {
    query(statement) {
      const key = keyOf(statement)
      const cached = cache.get(key)
      if (cached) return cached
      const rows = store.query(statement)
      if (cursor.state() === 'idle') cache.set(key, rows)
      return rows
    },
  }
}
