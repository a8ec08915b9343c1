import { ApiError } from '../../base/errors.js'
import { keyOf, type Sql } from '../../storage/sql.js'
import type { ResultRow, Store } from '../../storage/store.js'
import { readAggregateState, readCountedDays } from './aggregate-split.js'
import type { BlockedUrls } from './blocked-urls.js'
import type { Window } from './calendar.js'
import { checkPatterns } from './check-patterns.js'
import { regexPatterns } from './conditions.js'
import type { CountedPages } from './counted-pages.js'
import { type Cursor, createCursor } from './cursor.js'
import { type Audience, findDimension } from './dimensions.js'
import { Envelope, Paging, parseParameters, splitQuery } from './envelope.js'
import { type Filter, listConditions } from './filters.js'
import { findSections, listSections } from './found-sections.js'
import type { Funnel } from './funnels.js'
import type { Goal } from './goals.js'
import { createReadHistory, type SiteHistory, startOfAll } from './histories.js'
import { addImports, type ImportedTime, noteImportedVisitors } from './imported.js'
import { createPlan, type Plan } from './plan.js'
import type { PolicyQuery, PolicyVersionsQuery } from './policy-query.js'
import type { Read } from './read.js'
import { noteFixed, resolveAudience } from './read-audience.js'
import {
  type AgentRanges,
  type Assistant,
  type CatalogAgent,
  createReadContext,
  type ReadContext,
  type ReadContextOptions,
  type ReadSite,
  type RedirectByPath,
} from './read-context.js'
import type { Warning } from './read-warnings.js'
import { firstRowTime, type Gap, type Recording } from './recording.js'
import { SECTION } from './sections.js'
import { findUnknownValues } from './unknown-values.js'

/** Everything that a read needs from its caller. */
export interface ReadDependencies {
  readonly store: Pick<Store, 'query' | 'dialect'>
  /** Aborted when the client has gone: running queries stop. */
  readonly signal?: AbortSignal
  /** As `QueryScope`. */
  readonly asker?: string
  now(): Date
  site(id: number): Promise<ReadSite | undefined>
  /** The filters of a saved segment; undefined unless it belongs to the site. */
  segment(id: string, site: number): Promise<readonly Filter[] | undefined>
  /**
   * Filters of a share, which apply whatever is requested. A filter on a dimension that the audience does not have is
   * `validation_error`.
   */
  readonly mandatory?: readonly Filter[]
  /** Throws if the caller may not use this dimension. */
  checkDimension?(dimension: string, field: string): void
  /** True for a share link without goals: reads about agents leave out what people did in their visits. */
  readonly hidesVisits?: boolean
  /** The site's goals; absent: it has none. */
  goals?(site: number): Promise<readonly Goal[]>
  /** The sections in a site's paths, the same for some minutes; absent: they are looked for at each read about sections. */
  foundSections?(site: number, now: Date): Promise<readonly string[]>
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
  /** Returns the lookup of a site's redirects by the path of the missing page; absent: it has none. */
  redirects?(site: number): Promise<RedirectByPath>
  /** The downloaded address ranges of agents; absent: none were downloaded. */
  agentRanges?(): Promise<readonly AgentRanges[]>
  /** The times that were recorded of a site; absent: all since its first row. */
  recording?(site: number): Promise<Recording>
  /** The days that other tools counted for a site. Undefined: the site has none; without this method, no site has. */
  history?(site: number): Promise<SiteHistory | undefined>
  /** The pages that search engines counted for a site; absent: none were imported. */
  countedPages?(site: number): Promise<CountedPages | undefined>
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
  readonly site: ReadSite
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

/** Validates a query. Throws `ApiError` if it is invalid. Not for reads with a static result. */
export async function prepareRead(
  read: Read,
  query: URLSearchParams,
  dependencies: ReadDependencies,
  words: Readonly<Record<string, string>> = {},
): Promise<PreparedRead> {
  const now = dependencies.now()
  const request = parseRequest(read, query, words, now)
  const { envelope, params, paging } = request
  const { site, segment } = await findSiteAndSegment(envelope, dependencies)
  checkDimensions([envelope.filters ?? [], segment], params.dimension, dependencies)
  const audience = resolveAudience(read.audience, envelope.audience)
  const store = createSiteStore(site, dependencies)
  const times = await findTimes(envelope, site, store, dependencies)
  const plan = await planRead(request, { now, site, segment, audience: audience.audience, store, times }, dependencies)
  const createContext = (of: Pick<ReadContextOptions, 'store' | 'paging' | 'cursor'>) =>
    createReadContext({
      ...lookups(dependencies, site),
      ...of,
      plan,
      site,
      now,
      catalog: dependencies.catalog,
      assistants: dependencies.assistants,
      hidesVisits: dependencies.hidesVisits ?? false,
      audience: audience.shown,
      name: read.path,
      onStatement: dependencies.onStatement,
      recording: times.recording,
      history: createReadHistory(times.history, { plan, since: times.recording.since }),
    })
  const respond = createResponder(request, { plan, audience, now, store, imports: times.imports }, dependencies)
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

type Request = ReturnType<typeof parseRequest>

/** Parses the parameters of a request, as far as they can be checked without the site. */
function parseRequest(read: Read, query: URLSearchParams, words: Readonly<Record<string, string>>, now: Date) {
  const { own, shared } = read.ownsParameter ? splitQuery(query, read.ownsParameter) : { own: query, shared: query }
  const requested = parseParameters(Envelope, shared)
  const window = read.window?.(now)
  const envelope = {
    ...requested,
    ...(window && { ...window, compare: 'none' as const }),
    ...(read.compare && { compare: resolveComparison(read.compare, requested.compare) }),
  }
  return {
    envelope,
    /** Warnings of parameters that the read overrides. */
    fixed: noteFixed(read, shared, requested),
    paging: read.list ? parseParameters(Paging, shared) : undefined,
    ...read.prepare(own, words),
    usesSections: read.usesSections === true,
    mixesAudiences: 'only' in read.audience && read.audience.mixesAudiences === true,
  }
}

type ReadStore = Pick<Store, 'query' | 'dialect'>

const resolveComparison = (
  fixed: NonNullable<Read['compare']>,
  requested: Envelope['compare'],
): Envelope['compare'] => {
  if (fixed !== 'required') return fixed
  return requested === 'none' ? 'previous' : requested
}

/** The store for the questions of one caller about one site. */
function createSiteStore(site: ReadSite, { store, signal, asker = '' }: ReadDependencies): ReadStore {
  const scope = { site: site.id, asker: `${site.org ?? ''}/${asker}` }
  return { dialect: store.dialect, query: (statement) => store.query(statement, signal, scope) }
}

/** Finds the times of which a site has something: recorded, imported, or counted by other tools. */
async function findTimes(envelope: Envelope, site: ReadSite, store: ReadStore, dependencies: ReadDependencies) {
  const findFirstRow = () => firstRowTime(site.id, store.query)
  // An import may have added older rows since the time was cached, and `range=all` must not miss them.
  const startsAtFirstRow = envelope.range === 'all' && !envelope.start
  const firstRow = startsAtFirstRow ? await findFirstRow() : undefined
  const history = await dependencies.history?.(site.id)
  const imports = (await dependencies.imports?.(site.id)) ?? []
  const recorded = (await dependencies.recording?.(site.id)) ?? { since: firstRow ?? (await findFirstRow()), gaps: [] }
  const recording = addImports(recorded, imports)
  return { firstRow, history, imports, recording: firstRow ? { ...recording, since: firstRow } : recording }
}

/** The patterns of a site's sections, in the order in which they are tried. */
async function findSiteSections({ id, sections = [] }: ReadSite, now: Date, dependencies: ReadDependencies) {
  const { store, foundSections = (site: number) => findSections(store, site, now) } = dependencies
  return listSections(sections, await foundSections(id, now))
}

interface PlanParts {
  readonly now: Date
  readonly site: ReadSite
  readonly segment: readonly Filter[]
  readonly audience: Audience
  readonly store: ReadStore
  readonly times: Awaited<ReturnType<typeof findTimes>>
}

async function planRead(
  { envelope, mixesAudiences, params, usesSections }: Request,
  { now, site, segment, audience, store, times: { firstRow, history } }: PlanParts,
  dependencies: ReadDependencies,
): Promise<Plan> {
  const { dialect } = store
  const conditions = listConditions([...(envelope.filters ?? []), ...segment, ...(dependencies.mandatory ?? [])])
  const isAboutSections =
    usesSections || params.dimension === SECTION || conditions.some(({ dimension }) => dimension === SECTION)
  const plan = createPlan(envelope, {
    dialect,
    site,
    audience,
    mixesAudiences,
    segment,
    mandatory: dependencies.mandatory ?? [],
    goals: (await dependencies.goals?.(site.id)) ?? [],
    sections: isAboutSections ? await findSiteSections(site, now, dependencies) : undefined,
    now,
    firstRow: audience === 'agent' ? firstRow : startOfAll(firstRow, history, envelope.tz ?? site.timezone),
    aggregates: audience === 'agent' && !mixesAudiences ? undefined : await readAggregateState(store),
    countedDays: audience === 'human' ? undefined : await readCountedDays(store, site.id),
  })
  // Without the scope: the result must be the engine's own, and of now.
  const query = (statement: Sql) => dependencies.store.query(statement, dependencies.signal)
  await checkPatterns(regexPatterns(plan.filters), { dialect, query })
  return plan
}

interface ResponderParts {
  readonly plan: Plan
  readonly audience: ReturnType<typeof resolveAudience>
  readonly now: Date
  readonly store: ReadStore
  readonly imports: readonly ImportedTime[]
}

/** Returns a function that runs the read in a context, and describes the result; `isWhole`: it is not a part of a stream. */
function createResponder(
  { envelope, params, run, paging, fixed }: Request,
  { plan, audience: { audience, shown, note }, now, store, imports }: ResponderParts,
  dependencies: ReadDependencies,
) {
  return async (context: ReadContext, isWhole: boolean): Promise<ReadResponse> => {
    const imported = audience === 'agent' ? undefined : noteImportedVisitors(imports, plan)
    for (const one of [note, imported, ...fixed]) if (one) context.warn(one)
    const { data, rows, query: replaced } = await run(context)
    if (isWhole && !dependencies.mandatory)
      context.warnings.push(...(await findUnknownValues(data, envelope.filters ?? [], plan, store)))
    const { since, gaps, comparison } = context.recordedTimes()
    const meta: Meta = {
      // `params` first, so that a path at which journeys start does not replace the window's start.
      query: { ...params, ...queryOf(envelope, plan), audience: shown, ...context.paging, ...replaced },
      rows,
      sampled: false,
      took_ms: Math.max(0, dependencies.now().getTime() - now.getTime()),
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
}

/** The lookups of a read, for one site. */
const lookups = (dependencies: ReadDependencies, site: ReadSite) => ({
  blockedUrls: async (operator: string | undefined) => dependencies.blockedUrls?.(site.id, operator),
  policy: async (question: PolicyQuery) =>
    dependencies.policy?.(site.id, question) ?? { hostnames: [], agents: [], versions: [], path: '/' },
  policyVersions: async (question: PolicyVersionsQuery) =>
    dependencies.policyVersions?.(site.id, question) ?? { versions: [] },
  redirects: async () => (await dependencies.redirects?.(site.id)) ?? (() => undefined),
  agentRanges: async () => (await dependencies.agentRanges?.()) ?? [],
  countedPages: async () => dependencies.countedPages?.(site.id),
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
  ...(envelope.suspected === 'exclude' ? { suspected: envelope.suspected } : {}),
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
