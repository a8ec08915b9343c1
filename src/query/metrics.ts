import { ApiError } from '../errors.js'
import { type Dialect, raw, type Sql, sql } from '../sql.js'
import { type Audience, type Dimension, quoted } from './dimensions.js'
import { type Filter, partOf } from './filters.js'
import type { Plan } from './plan.js'
import { column, exitPage, filtered, rows, startedInWindow, where } from './where.js'

/** The metrics of each audience (contract 4). What mixes the two readerships is the sum of pageviews and nothing else. */
export const METRICS = {
  human: ['visitors', 'sessions', 'pageviews', 'bounce', 'duration', 'views_per_session', 'events'],
  agent: ['fetches', 'pageviews', 'agents', 'verified', 'spoofed', 'indeterminate', 'unverifiable', 'bytes'],
  all: ['pageviews'],
} as const satisfies Record<Audience, readonly string[]>
export type Metric = (typeof METRICS)[Audience][number]

/** What a read of one metric is about when none is asked for. */
const FIRST = { human: 'visitors', agent: 'fetches', all: 'pageviews' } as const

/** The metric of a name; throws `validation_error`, field `metric`, where the audience has none of that name. */
export function metricOf(audience: Audience, asked: string = FIRST[audience]): Metric {
  const metric = METRICS[audience].find((name) => name === asked)
  if (metric) return metric
  throw new ApiError('validation_error', `Audience ${audience} has no metric ${quoted(asked)}.`, 'metric')
}

/** What each metric is, for whoever reads the answer. */
export const MEANING: Record<Metric, { type: 'count' | 'share' | 'seconds' | 'mean' | 'bytes'; meaning: string }> = {
  visitors: { type: 'count', meaning: 'Distinct people with a hit in the window.' },
  sessions: { type: 'count', meaning: 'Sessions that started in the window and have a hit that passes the filters.' },
  pageviews: { type: 'count', meaning: 'Pages viewed by people; of agents, fetches that read a page.' },
  bounce: {
    type: 'share',
    meaning:
      'Share of sessions with one pageview, no interactive event and less than 10 s engaged; with a pathname filter, of those that entered there.',
  },
  duration: { type: 'seconds', meaning: "Mean time from a session's first to its last evidence, engagement included." },
  views_per_session: { type: 'mean', meaning: 'Mean pageviews of a session, over the whole session.' },
  events: { type: 'count', meaning: 'Custom events, outbound links, downloads and forms.' },
  fetches: { type: 'count', meaning: 'Requests by agents, of any kind and status.' },
  agents: { type: 'count', meaning: 'Distinct agents.' },
  verified: { type: 'share', meaning: 'Verified over verified and spoofed fetches; absent when there are neither.' },
  spoofed: { type: 'count', meaning: 'Fetches whose claim failed a check that its operator publishes.' },
  indeterminate: {
    type: 'count',
    meaning: 'Fetches whose claim could not be checked then: a list was missing or stale, DNS did not answer.',
  },
  unverifiable: { type: 'count', meaning: 'Fetches whose claim cannot be checked: its operator publishes no way to.' },
  bytes: { type: 'bytes', meaning: 'Body bytes sent to agents.' },
}

/** A count of nothing is 0; any other metric of nothing is absent (spec 2.1 rule 2). */
const COUNTS: ReadonlySet<string> = new Set([
  ...Object.entries(MEANING).flatMap(([name, { type }]) => (type === 'count' || type === 'bytes' ? [name] : [])),
  'entries',
  'exits',
  'people',
  'arrivals',
  'count',
])
export const isCount = (metric: string): boolean => COUNTS.has(metric)

/** What makes a session no bounce, and what `events` counts. */
export const INTERACTIVE = raw("kind in ('custom', 'outbound', 'file_download', 'form')")
const BOUNCE_MS = raw('10000')

/** Where a row falls: its key in the answer, made of a column of its own time or of a dimension. */
export interface By {
  /** `moment` is the column that holds when it counts: `timestamp`, or `session_start` for sessions. */
  value(moment: Sql): Sql
  dimension?: Dimension
}
/** All in one. */
export const TOTAL: By = { value: () => raw('0') }
export const byDimension = (dimension: Dimension, dialect: Dialect): By => ({
  value: () => column(dimension, dialect),
  dimension,
})

/** What people did in the window: `value, visitors, pageviews, events`. */
export const hits = (plan: Plan, dialect: Dialect, by: By): Sql => sql`
  select ${by.value(raw('timestamp'))} as value, count(distinct visitor_id) as visitors,
    count(*) filter (where kind = 'pageview') as pageviews, count(*) filter (where ${INTERACTIVE}) as events
  from ${rows('events', plan, dialect, plan.filters, by.dimension)} as e
  where ${where(plan, dialect)} group by value`

/**
 * The sessions that started in the window, each over its whole length, whatever the window and the filters cut
 * (contract 4): `session_id, visitor_id, started, ended, ms, views, acts, bounced, entry_page, exit_page`. What is not
 * asked of it costs nothing.
 */
export const sessions = (plan: Plan, dialect: Dialect): Sql => sql`
  select session_id, min(visitor_id) as visitor_id, min(session_start) as started, max(timestamp) as ended,
    ${dialect.epochMs(raw('max(timestamp)'))} - ${dialect.epochMs(raw('min(timestamp)'))} as ms,
    count(*) filter (where kind = 'pageview') as views, count(*) filter (where ${INTERACTIVE}) as acts,
    case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where ${INTERACTIVE}) = 0
      and coalesce(sum(engaged_ms), 0) < ${BOUNCE_MS} then 1.0 else 0.0 end as bounced,
    min(entry_page) as entry_page, ${exitPage(dialect)} as exit_page
  from events where ${startedInWindow(plan)} group by session_id`

/** Which of those sessions have a row that passes the filters, under which value: `session_id, value, entered`. */
export const matched = (plan: Plan, dialect: Dialect, by: By, more: Sql = raw('')): Sql => sql`
  select session_id, ${by.value(raw('session_start'))} as value, ${entered(plan, dialect, by)} as entered ${more}
  from ${rows('events', plan, dialect, plan.filters, by.dimension)} as e
  where ${startedInWindow(plan)} and ${filtered(plan, dialect)} group by session_id, value`

/** People's sessions of the window: `value, sessions, bounce, duration, views_per_session`. */
export const visits = (plan: Plan, dialect: Dialect, by: By): Sql => {
  const means = raw('avg(ms) / 1000 as duration, avg(views) as views_per_session')
  if (plan.filters.length === 0 && !by.dimension) {
    return sql`
      select ${by.value(raw('started'))} as value, count(*) as sessions, avg(bounced) as bounce, ${means}
      from (${sessions(plan, dialect)}) s group by value`
  }
  return sql`
    select value, count(*) as sessions, avg(case when entered = 1 then bounced end) as bounce, ${means}
    from (${matched(plan, dialect, by)}) m join (${sessions(plan, dialect)}) s on s.session_id = m.session_id
    group by value`
}

/** How many fetches ended so, under the metric's name. */
const counted = (verification: 'spoofed' | 'indeterminate' | 'unverifiable'): Sql =>
  raw(`count(*) filter (where verification = '${verification}') as ${verification}`)

/** A fetch that may be the agent's whose name it bears: a spoofed claim says nothing of that agent. */
export const CLAIMED = raw("verification <> 'spoofed'")

/** What agents fetched in the window: `value` and the metrics of agents. */
export const fetches = (plan: Plan, dialect: Dialect, by: By): Sql => sql`
  select ${by.value(raw('timestamp'))} as value, count(*) as fetches, count(*) filter (where is_pageview) as pageviews,
    count(distinct agent_id) as agents, avg(case when verified then 1.0 when not verified then 0.0 end) as verified,
    ${counted('spoofed')}, ${counted('indeterminate')}, ${counted('unverifiable')}, sum(bytes) as bytes
  from agent_events where ${where(plan, dialect)} group by value`

/** Every metric of the audience by value: `value` and the audience's metrics, null where there is nothing to say. */
export function metricsBy(plan: Plan, dialect: Dialect, by: By): Sql {
  if (plan.audience === 'agent') return fetches(plan, dialect, by)
  if (plan.audience === 'all') {
    return sql`
      select value, sum(pageviews) as pageviews
      from (select value, pageviews from (${hits(plan, dialect, by)}) h
        union all select value, pageviews from (${fetches(plan, dialect, by)}) f) b
      group by value`
  }
  return sql`
    select coalesce(h.value, v.value) as value, visitors, sessions, pageviews, bounce, duration, views_per_session, events
    from (${hits(plan, dialect, by)}) h full outer join (${visits(plan, dialect, by)}) v
      on h.value is not distinct from v.value`
}

/** 1 for a session whose entry the filters' paths allow, and which entered at `value` where that is a path. */
function entered(plan: Plan, dialect: Dialect, by: By): Sql {
  const entries = plan.filters.flatMap((f) => entryPart(f) ?? [])
  const there = by.dimension?.name === 'pathname' ? sql`entry_page is not null and entry_page = pathname` : raw('true')
  return sql`max(case when ${there} and ${filtered(plan, dialect, entries)} then 1 else 0 end)`
}

/** What a filter says of a session's entry: its conditions on the path, asked of the entry page. */
export const entryPart = (f: Filter): Filter | undefined =>
  partOf(f, (c) => (c.dimension === 'pathname' ? { ...c, dimension: 'entry_page' } : undefined))
