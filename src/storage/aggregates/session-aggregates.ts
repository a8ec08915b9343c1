import { COLUMN_TYPES, type PlainType } from '../columns.js'
import { ARRIVAL_COLUMNS } from '../rows.js'
import { type Dialect, raw, type Sql, sql } from '../sql.js'

/*
 * The session aggregates: a row of `sessions` for each session that nothing more is expected of, and a row of
 * `session_pages` for each page of each session. The `aggregate-step.ts` of each engine fills the tables with what this file
 * selects, and src/analytics/query/aggregate-split.ts reads from them what it would count from every hit, with the same result.
 *
 * A session is aggregated if it started before the moment in `aggregated_until` and is not in `stale_sessions`, which holds sessions that got a
 * hit since. `prior` is when the visitor's aggregated session before began (in `session_pages`: the one before with this
 * page). Visitors since a moment are the sessions whose `prior` is before it, so a read needs no set of ids. The other
 * columns of `PRIOR_DIMENSIONS` say the same among the visitor's sessions with the same values.
 */

/** The same on all hits of a session, except in a few sessions (`traits_vary`). */
export const SESSION_TRAITS: readonly string[] = [
  'country',
  'region',
  'city',
  'asn',
  'browser',
  'browser_version',
  'os',
  'os_version',
  'device_type',
  'screen_class',
  'language',
]

/**
 * Columns of `sessions` that say when the visitor's previous aggregated session with the same values of these dimensions
 * began. They cover what visitors are counted by most. A further one needs a migration that adds its column.
 */
export const PRIOR_DIMENSIONS: Readonly<Record<string, readonly string[]>> = {
  prior: [],
  prior_channel: ['channel'],
  prior_source: ['source', 'channel'],
  prior_campaign: ['utm_campaign', 'utm_source', 'utm_medium'],
  prior_entry_page: ['entry_page'],
  prior_exit_page: ['exit_page'],
  prior_country: ['country'],
  prior_region: ['country', 'region'],
  prior_city: ['country', 'region', 'city'],
  prior_browser: ['browser'],
  prior_os: ['os'],
  prior_device_type: ['device_type'],
  prior_screen_class: ['screen_class'],
}
export const PRIOR_COLUMNS: readonly string[] = Object.keys(PRIOR_DIMENSIONS)

/**
 * Columns of `sessions` for cohorts, over all sessions of the visitor: when the first began, and the one before this.
 * Unlike `prior`, they include sessions of several visitor ids, which count for the id of their first hit.
 */
export const COHORT_COLUMNS = ['first_seen', 'previous'] as const

/** A type of a column; a count is a whole number that is never negative. */
export type AggregateType = PlainType | 'count' | 'double'
type AggregateColumns = Readonly<Record<string, AggregateType>>

const STEPS = Array.from({ length: 8 }, (_, i) => `step_${i + 1}`)
/** Fixed by a session's first hit, or nearly so. */
const COPIED: readonly string[] = [...ARRIVAL_COLUMNS, ...SESSION_TRAITS]
const COPIED_TYPES = Object.fromEntries(
  Object.entries<PlainType | 'vitals' | 'json'>(COLUMN_TYPES.events).flatMap(([name, type]) =>
    COPIED.includes(name) && type !== 'vitals' && type !== 'json' ? [[name, type]] : [],
  ),
)
const all = (names: readonly string[], type: AggregateType): AggregateColumns =>
  Object.fromEntries(names.map((name) => [name, type]))

const SESSION = {
  site_id: 'integer',
  session_id: 'ubigint',
  visitor_id: 'ubigint',
  started: 'timestamp',
  ended: 'timestamp',
} as const
/** The columns of `sessions` and `session_pages`. */
export const SESSION_TABLES = {
  sessions: {
    ...SESSION,
    ms: 'bigint',
    views: 'count',
    interactions: 'count',
    bounced: 'double',
    visitor_ids: 'count',
    traits_vary: 'boolean',
    suspected: 'boolean',
    ...COPIED_TYPES,
    ...all(['exit_page', ...STEPS], 'varchar'),
    ...all([...PRIOR_COLUMNS, ...COHORT_COLUMNS], 'timestamp'),
  },
  session_pages: {
    ...SESSION,
    pathname: 'varchar',
    page_views: 'count',
    page_interactions: 'count',
    engaged_ms: 'bigint',
    scroll: 'integer',
    entered: 'count',
    exited: 'count',
    ms: 'bigint',
    views: 'count',
    bounced: 'double',
    visitor_ids: 'count',
    suspected: 'boolean',
    prior: 'timestamp',
  },
} as const satisfies Record<string, AggregateColumns>

/**
 * The visitor of a session is that of its first hit: after a change of salts the session's further hits have another id,
 * which is the visitor's in later sessions. Sessions without their first row (it was removed) have the least id.
 */
const SESSION_VISITOR = raw('coalesce(min(visitor_id) filter (where timestamp = session_start), min(visitor_id))')

/** Selects the hits that the metric `events` counts. */
export const IS_INTERACTIVE = raw("kind in ('custom', 'outbound', 'file_download', 'form')")
/** Selects the hits that prevent a bounce. That a flag was shown does not: the visitor did nothing. */
const PREVENTS_BOUNCE = sql`${IS_INTERACTIVE} and event_name is distinct from 'flag_exposure'`
/** A session with at least this much engaged time is not a bounce. */
const MIN_ENGAGED_MS = raw('10000')

/**
 * The last pageview's path; of a session without pageviews the last event's, as its entry is the first event's. Log files
 * have whole seconds only: of two in the same millisecond the greater path wins.
 */
const exitPage = (dialect: Dialect): Sql => {
  const last = dialect.lastBy(raw('pathname'), raw('(timestamp, pathname)'))
  return sql`coalesce(${last} filter (where kind = 'pageview'), ${last} filter (where ${IS_INTERACTIVE}))`
}

/** The figures of a session, computed from all of its hits. */
export const sessionFigures = (dialect: Dialect): Sql => sql`
  ${SESSION_VISITOR} as visitor_id, min(session_start) as started, max(timestamp) as ended,
    ${dialect.epochMs(raw('max(timestamp)'))} - ${dialect.epochMs(raw('min(timestamp)'))} as ms,
    count(*) filter (where kind = 'pageview') as views, count(*) filter (where ${IS_INTERACTIVE}) as interactions,
    case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where ${PREVENTS_BOUNCE}) = 0
      and coalesce(sum(engaged_ms), 0) < ${MIN_ENGAGED_MS} then 1.0 else 0.0 end as bounced,
    ${exitPage(dialect)} as exit_page`

const varies = (c: string) => `min(${c}) is distinct from max(${c}) or (count(${c}) > 0 and count(${c}) < count(*))`

/** Selects the sessions of `source`, which has every hit of each, without their steps and previous sessions. */
export function selectSessions(source: Sql, dialect: Dialect): Sql {
  const copied = COPIED.map((c) => `min(${c}) as ${c}`).join(', ')
  return sql`
    select site_id, session_id, ${sessionFigures(dialect)},
      case when min(visitor_id) = max(visitor_id) then 1 else 2 end as visitor_ids,
      ${raw(['visitor_id', ...SESSION_TRAITS].map(varies).join(' or '))} as traits_vary,
      count(*) filter (where suspected) > 0 as suspected, ${raw(copied)}
    from (${source}) h group by site_id, session_id`
}

const ORDER = raw('partition by site_id, session_id order by timestamp, pathname')

/** Selects `site_id, session_id` and the first pages of each session in columns; repeated views of a page count once. */
export const selectSteps = (source: Sql): Sql => sql`
  select site_id, session_id,
    ${raw(STEPS.map((name, i) => `max(pathname) filter (where step = ${i + 1}) as ${name}`).join(', '))}
  from (
    select site_id, session_id, pathname, row_number() over (${ORDER}) as step
    from (select *, lag(pathname) over (${ORDER}) as previous from (${source}) h where kind = 'pageview') v
    where previous is null or previous <> pathname) n
  where step <= ${raw(String(STEPS.length))} group by site_id, session_id`

/** Selects the pages of these sessions, without their previous sessions. */
export const selectPages = (sessions: Sql, source: Sql): Sql => sql`
  select f.site_id as site_id, f.session_id as session_id, f.visitor_id as visitor_id, f.started as started,
    f.ended as ended, p.pathname as pathname, p.page_views as page_views, p.page_interactions as page_interactions,
    p.engaged_ms as engaged_ms, p.scroll as scroll, case when f.entry_page = p.pathname then 1 else 0 end as entered,
    case when f.exit_page = p.pathname then 1 else 0 end as exited, f.ms as ms, f.views as views, f.bounced as bounced,
    f.visitor_ids as visitor_ids, f.suspected as suspected
  from ${sessions} f join (
    select site_id, session_id, pathname, count(*) filter (where kind = 'pageview') as page_views,
      count(*) filter (where ${IS_INTERACTIVE}) as page_interactions, sum(engaged_ms) as engaged_ms, max(scroll) as scroll
    from (${source}) h group by site_id, session_id, pathname) p
    on p.site_id = f.site_id and p.session_id = f.session_id`

/** The columns that the previous sessions follow from: those of a session, new or aggregated already. */
export const PRIOR_KEYS: readonly string[] = [
  ...new Set([
    'site_id',
    'session_id',
    'visitor_id',
    'started',
    'visitor_ids',
    'traits_vary',
    ...Object.values(PRIOR_DIMENSIONS).flat(),
  ]),
]

/** The last value of this window before the row that is not null; the values ascend. */
export type Previous = (value: string, window: string) => string

/**
 * When the visitor's previous session with the same `columns` began. A session of several visitors does not count, nor one
 * in which such a trait varies: reads take both from their hits.
 */
export function priorStart(columns: readonly string[], previous: Previous): string {
  const counts = columns.some((c) => SESSION_TRAITS.includes(c))
    ? 'visitor_ids = 1 and not traits_vary'
    : 'visitor_ids = 1'
  const key = ['site_id', 'visitor_id', ...columns].join(', ')
  return previous(`case when ${counts} then started end`, `partition by ${key} order by started, session_id`)
}

/** The columns of `sessions` that follow from the visitor's other sessions, each computed over `PRIOR_KEYS`. */
export const priorColumns = (previous: Previous): string =>
  [
    ...Object.entries(PRIOR_DIMENSIONS).map(([name, columns]) => `${priorStart(columns, previous)} as ${name}`),
    'min(started) over (partition by site_id, visitor_id) as first_seen',
    `${previous('started', 'partition by site_id, visitor_id order by started, session_id')} as previous`,
  ].join(', ')
