import { ApiError } from '../../base/errors.js'
import { suggestName } from '../../base/nearest-name.js'
import { DAILY_TABLES, type DailyTableName } from '../../storage/aggregates/daily-counts.js'
import { IS_INTERACTIVE } from '../../storage/aggregates/session-aggregates.js'
import { raw, type Sql, sql } from '../../storage/sql.js'
import { metricsFromAggregates, pageMetricsFromAggregates } from './aggregate-metrics.js'
import { canUseSessionAggregates, excludesVaryingTraits, splitHits, splitSessions } from './aggregate-split.js'
import { aggregateCondition, filterCondition, sourceRows, whereClause } from './conditions.js'
import { agentsOfGroups, canUseDailyCounts, dailyCounts } from './counted-days.js'
import { type Audience, quote } from './dimensions.js'
import { type Filter, replaceConditions } from './filters.js'
import { FOREIGN_METRICS, foreignName } from './foreign-names.js'
import { sectionOf } from './group-by-dimension.js'
import { type Grouping, groupColumns, TOTAL } from './grouping.js'
import { type Plan, withSuspected } from './plan.js'
import { sectionMetricsFromAggregates } from './section-metrics.js'
import { SECTION } from './sections.js'
import { sessionsFromHits, sessionsInWindow } from './sessions.js'
import { startedInWindow } from './window-conditions.js'

/** The metrics of each audience. The sum of pageviews is the only metric that mixes people and agents. */
export const METRICS = {
  human: ['visitors', 'sessions', 'pageviews', 'bounce', 'duration', 'views_per_session', 'events'],
  agent: [
    'fetches',
    'pageviews',
    'agents',
    'verified',
    'verified_fetches',
    'spoofed',
    'indeterminate',
    'unverifiable',
    'bytes',
  ],
  all: ['pageviews'],
} as const satisfies Record<Audience, readonly string[]>
export type Metric = (typeof METRICS)[Audience][number]

/** The metric of a read of one metric if the request names none. */
export const DEFAULT_METRIC = { human: 'visitors', agent: 'fetches', all: 'pageviews' } as const

/** Finds a metric of any audience by name. Throws `validation_error` on `metric` if it is unknown. */
export function findMetric(asked: string): Metric {
  const names = [...METRICS.human, ...METRICS.agent]
  const metric = names.find((name) => name === asked)
  if (metric) return metric
  const ours = foreignName(asked, FOREIGN_METRICS)
  const several = asked.includes(',')
    ? `; name one, such as ${asked.split(',').find((one) => names.some((name) => name === one)) ?? 'visitors'}: GET /api/stats/overview has all at once.`
    : undefined
  const otherwise = several ?? suggestName(asked, names, `; the metrics are ${[...new Set(names)].join(', ')}.`)
  const message = `Unknown metric ${quote(asked)}${ours === undefined ? otherwise : `; write ${ours}.`}`
  throw new ApiError('validation_error', message, 'metric')
}

/** Returns whether a metric has a meaning for an audience; where it has none, a read leaves it out and warns. */
export const hasMetric = (audience: Audience, metric: string): boolean =>
  METRICS[audience].some((name) => name === metric)

/** Finds a metric by name for a setting. Throws `validation_error` on `metric` if the audience does not have it. */
export function requireMetric(audience: Audience, asked: string): Metric {
  const metric = findMetric(asked)
  if (hasMetric(audience, metric)) return metric
  throw new ApiError('validation_error', `Audience ${audience} has no metric ${quote(asked)}.`, 'metric')
}

/** The type and the definition of each metric, as the API returns them. */
export const METRIC_INFO: Record<Metric, { type: 'count' | 'share' | 'seconds' | 'mean' | 'bytes'; meaning: string }> =
  {
    visitors: { type: 'count', meaning: 'Distinct visitors with a hit in the window.' },
    sessions: { type: 'count', meaning: 'Sessions that started in the window and have a hit that passes the filters.' },
    pageviews: { type: 'count', meaning: 'Pages viewed by people; for agents, fetches that read a page.' },
    bounce: {
      type: 'share',
      meaning:
        'Share of sessions with one pageview, no interactive event and less than 10 s engaged; with a filter on pathname, of the sessions that entered there.',
    },
    duration: {
      type: 'seconds',
      meaning: "Mean time from a session's first to its last hit, engagement included.",
    },
    views_per_session: { type: 'mean', meaning: 'Mean pageviews over whole sessions.' },
    events: { type: 'count', meaning: 'Custom events, outbound links, downloads and forms.' },
    fetches: { type: 'count', meaning: 'Requests by agents, of any kind and status.' },
    agents: { type: 'count', meaning: 'Distinct agents.' },
    verified: {
      type: 'share',
      meaning:
        '`verified_fetches` / (`verified_fetches` + `spoofed`); absent if both are 0. Leaves out fetches that cannot be decided, so read it with these counts and `indeterminate`.',
    },
    verified_fetches: { type: 'count', meaning: 'Fetches that passed a check that the operator publishes.' },
    spoofed: { type: 'count', meaning: 'Fetches that failed a check that the operator publishes.' },
    indeterminate: {
      type: 'count',
      meaning: 'Fetches that could not be checked at the time: a list was missing or outdated, or DNS did not respond.',
    },
    unverifiable: {
      type: 'count',
      meaning: 'Fetches that cannot be checked: the operator publishes no way to.',
    },
    bytes: { type: 'bytes', meaning: 'Body bytes sent to agents.' },
  }

/** Counts, which are 0 if there is nothing to count; any other metric is then absent. */
const COUNT_METRICS: ReadonlySet<string> = new Set([
  ...Object.entries(METRIC_INFO).flatMap(([name, { type }]) => (type === 'count' || type === 'bytes' ? [name] : [])),
  'entries',
  'exits',
  'people',
  'arrivals',
  'followed',
  'same_page',
  'other_page',
  'conversions',
  'count',
])
export const isCount = (metric: string): boolean => COUNT_METRICS.has(metric)

const VIEW_FLAG = raw("case when kind = 'pageview' then 1 else 0 end as views")
const EVENT_FLAG = sql`case when ${IS_INTERACTIVE} then 1 else 0 end as interactions`

/** Selects what people did in the window: `value, visitors, pageviews, events`. */
export function hitMetrics(plan: Plan, by: Grouping): Sql {
  const aggregated = metricsFromAggregates(plan, by, ['visitors', 'pageviews', 'events'])
  if (aggregated) return aggregated
  const value = by.value(raw('timestamp'))
  const where = filterCondition(plan)
  const { aggregates, isWhole, hits } = splitHits(plan, by)
  const hit = sql`${sourceRows('events', plan, plan.filters, by.dimension, hits)} as e where ${where}`
  if (aggregates === undefined) {
    return sql`
      select ${value} as value, count(distinct visitor_id) as visitors,
        count(*) filter (where kind = 'pageview') as pageviews, count(*) filter (where ${IS_INTERACTIVE}) as events
      from ${hit} group by value`
  }
  return sql`
    select value, count(distinct visitor_id) as visitors, sum(views) as pageviews, sum(interactions) as events
    from (select ${by.value(raw('started'))} as value, visitor_id, views, interactions from ${aggregates} as s where ${isWhole} and ${aggregateCondition(plan)}
      union all select ${value} as value, visitor_id, ${VIEW_FLAG}, ${EVENT_FLAG} from ${hit}) b
    group by value`
}

/**
 * Selects the sessions of the window with a hit that passes the filters, once per value of those hits: `session_id, value,
 * entered`, and the columns `more` computed from those hits.
 */
export function matchingSessions(plan: Plan, by: Grouping, more?: Sql): Sql {
  const { filters } = plan
  const { aggregates, hits } =
    more === undefined && canUseSessionAggregates(filters, by.dimension)
      ? splitSessions(plan, excludesVaryingTraits(filters, by.dimension))
      : { aggregates: undefined, hits: sql`(select * from events where ${startedInWindow(plan)})` }
  const where = filterCondition(plan)
  const counted = sql`
    select session_id, ${by.value(raw('session_start'))} as value, ${enteredFlag(plan, by)} as entered
      ${more ?? raw('')}
    from ${sourceRows('events', plan, filters, by.dimension, hits)} as e
    where ${where} group by session_id, value`
  return aggregates === undefined
    ? counted
    : sql`select session_id, ${by.value(raw('started'))} as value, 1 as entered from ${aggregates} as s where ${aggregateCondition(plan)}
        union all ${counted}`
}

/** Selects people's sessions of the window: `value, sessions, bounce, duration, views_per_session`. */
export function sessionMetrics(plan: Plan, by: Grouping): Sql {
  const means = raw('avg(ms) / 1000 as duration, avg(views) as views_per_session')
  const { filters } = plan
  if (filters.length === 0 && !by.dimension) {
    return sql`
      select ${by.value(raw('started'))} as value, count(*) as sessions, avg(bounced) as bounce, ${means}
      from (${sessionsInWindow(plan)}) s group by value`
  }
  const { aggregates, hits } = splitSessions(plan, excludesVaryingTraits(filters, by.dimension))
  if (aggregates && canUseSessionAggregates(filters, by.dimension)) {
    const where = filterCondition(plan)
    const sums = raw(
      'count(*) as session_count, sum(bounced) as bounces, sum(ms) * 1.0 as total_ms, sum(views) as total_views',
    )
    return sql`
      select value, sum(session_count) as sessions, sum(bounces) / sum(session_count) as bounce,
        sum(total_ms) / sum(session_count) / 1000 as duration,
        sum(total_views) * 1.0 / sum(session_count) as views_per_session
      from (
        select ${by.value(raw('started'))} as value, ${sums} from ${aggregates} as s where ${aggregateCondition(plan)} group by ${groupColumns(by)}
        union all
        select value, ${sums} from (
          select session_id, ${by.value(raw('session_start'))} as value
          from ${sourceRows('events', plan, filters, by.dimension, hits)} as e
          where ${where} group by session_id, value) m
        join (${sessionsFromHits(hits, plan.dialect)}) s on s.session_id = m.session_id group by value) b
      group by value`
  }
  return sql`
    select value, count(*) as sessions, avg(case when entered = 1 then bounced end) as bounce, ${means}
    from (${matchingSessions(plan, by)}) m join (${sessionsInWindow(plan)}) s on s.session_id = m.session_id
    group by value`
}

/** Excludes spoofed fetches: they say nothing about the agent whose name they use. */
export const NOT_SPOOFED = raw("verification <> 'spoofed'")
/** A fetch that a rule refused, by the columns of its row: its status says nothing about the page. */
export const IS_REFUSED = raw("(action is not null and action <> 'allow')")

const countVerifiedAs = (...results: readonly string[]): Sql =>
  raw(`sum(case when verification in (${results.map((one) => `'${one}'`).join(', ')}) then n else 0 end)`)
/** The counts that every response with the share `verified` has beside it: a share of 1 may be of a few fetches among many. */
export const VERIFICATION_COUNTS = ['verified_fetches', 'spoofed', 'indeterminate'] as const satisfies Metric[]
const VERIFIED_BY = ['ranges', 'rdns', 'web_bot_auth']

/**
 * Selects what agents fetched in the window: `value` and these metrics of agents; with `last_seen` also the time of the
 * last fetch. Rows are counted by their verification, which has few values, and summed from there: the engine does that
 * fastest.
 */
export function agentMetrics(asked: Plan, by: Grouping, metrics: readonly string[] = METRICS.agent): Sql {
  const plan = withSuspected(asked)
  const counted = agentMetricsFromCounts(plan, by, metrics)
  if (counted) return counted
  const agents = metrics.includes('agents')
  const lastSeen = metrics.includes('last_seen')
  const groups = raw(agents ? 'value, verification, agent_id' : 'value, verification')
  const [proven, spoofed] = [countVerifiedAs(...VERIFIED_BY), countVerifiedAs('spoofed')]
  return sql`
    select value, sum(n) as fetches, sum(pages) as pageviews, ${raw(agents ? 'count(distinct agent_id) as agents,' : '')}
      ${proven} * 1.0 / nullif(${countVerifiedAs(...VERIFIED_BY, 'spoofed')}, 0) as verified,
      ${proven} as verified_fetches, ${spoofed} as spoofed,
      ${countVerifiedAs('indeterminate')} as indeterminate, ${countVerifiedAs('unverifiable')} as unverifiable,
      ${raw(lastSeen ? 'max(last) as last_seen,' : '')} sum(size) as bytes
    from (
      select ${by.value(raw('timestamp'))} as value, verification, ${raw(agents ? 'agent_id,' : '')} count(*) as n,
        count(*) filter (where is_pageview) as pages, ${raw(lastSeen ? 'max(timestamp) as last,' : '')} sum(bytes) as size
      from agent_events where ${whereClause(plan)} group by ${groups}) f
    group by value`
}

const DAILY_COUNTS = [
  'fetches',
  'pages',
  'verified_fetches',
  'spoofed',
  'indeterminate',
  'unverifiable',
  'last_seen',
  'bytes',
]

/** The same from daily counts; undefined if these do not have the dimension, the filters or the metrics. */
function agentMetricsFromCounts(plan: Plan, by: Grouping, metrics: readonly string[]): Sql | undefined {
  const { dimension } = by
  if (dimension?.name === SECTION) return agentMetricsOfSections(plan, metrics)
  if (!plan.countedDays || (!dimension && by !== TOTAL)) return undefined
  const has = (name: DailyTableName) =>
    canUseDailyCounts(name, plan.filters) && (!dimension || Object.hasOwn(DAILY_TABLES[name].keys, dimension.name))
  const agents = metrics.includes('agents')
  const table = has('daily_agents') ? 'daily_agents' : has('daily_urls') && !agents ? 'daily_urls' : undefined
  if (!table) return undefined
  const keys = [...(dimension ? [dimension.name] : []), ...(agents ? ['agent_id'] : [])]
  return sql`
    select ${raw(dimension?.name ?? '0')} as value, ${raw(agents ? 'count(distinct agent_id) as agents,' : '')}
      ${sumDailyCounts(metrics)}
    from (${dailyCounts(plan, table, DAILY_COUNTS, keys.length > 0 ? { keys } : {})}) d group by value`
}

const sumDailyCounts = (metrics: readonly string[]): Sql =>
  raw(`sum(fetches) as fetches, sum(pages) as pageviews,
      sum(verified_fetches) * 1.0 / nullif(sum(verified_fetches) + sum(spoofed), 0) as verified,
      sum(verified_fetches) as verified_fetches, sum(spoofed) as spoofed, sum(indeterminate) as indeterminate,
      sum(unverifiable) as unverifiable, ${metrics.includes('last_seen') ? 'max(last_seen) as last_seen,' : ''}
      sum(bytes) as bytes`)

/** The same by section: a path's section is looked up once, and not once for each of its fetches. */
function agentMetricsOfSections(plan: Plan, metrics: readonly string[]): Sql {
  const page = sql`
    with page as materialized (
      select *, ${sectionOf('pathname', plan)} as value from (${dailyCounts(plan, 'daily_urls', DAILY_COUNTS, { keys: ['pathname'] })}) d)`
  const sums = sql`select value, ${sumDailyCounts(metrics)} from page group by value`
  if (!metrics.includes('agents')) return sql`${page} ${sums}`
  return sql`
    ${page}
    select s.*, agents from (${sums}) s join (
      select value, count(distinct agent_id) as agents
      from (${agentsOfGroups(plan, raw('select pathname, value from page'))}) g group by value) a
    on a.value is not distinct from s.value`
}

/** Selects `value` and these metrics of the plan's audience; a metric that cannot be computed is null. */
export function metricsBy(plan: Plan, by: Grouping, metrics: readonly string[] = METRICS[plan.audience]): Sql {
  if (plan.audience === 'agent') return agentMetrics(plan, by, metrics)
  if (plan.audience === 'all') {
    const count = plan.dialect.toInteger(raw('pageviews'))
    return sql`
      select value, sum(pageviews) as pageviews
      from (select value, ${count} as pageviews from (${hitMetrics(plan, by)}) h
        union all select value, ${count} as pageviews from (${agentMetrics(plan, by, ['pageviews'])}) f) b
      group by value`
  }
  const aggregated = metricsOfPeople(plan, by, metrics)
  if (aggregated) return aggregated
  return sql`
    select coalesce(by_hits.value, by_sessions.value) as value, visitors, sessions, pageviews, bounce, duration,
      views_per_session, events
    from (${hitMetrics(plan, by)}) by_hits full outer join (${sessionMetrics(plan, by)}) by_sessions
      on by_hits.value is not distinct from by_sessions.value`
}

/** Selects metrics of people from aggregated sessions or from their pages; undefined if the hits themselves are needed. */
const metricsOfPeople = (plan: Plan, by: Grouping, metrics: readonly string[]): Sql | undefined => {
  switch (by.dimension?.name) {
    case 'pathname':
      return pageMetricsFromAggregates(plan, metrics)
    case SECTION:
      return sectionMetricsFromAggregates(plan, metrics)
    default:
      return metricsFromAggregates(plan, by, metrics)
  }
}

/**
 * 1 for a session whose entry page passes the filters in place of a matching hit's path and, grouped by path, is the
 * group's path. A tree without `pathname` holds on the hit already.
 */
function enteredFlag(plan: Plan, by: Grouping): Sql {
  const entries = plan.filters.flatMap(entryFilter)
  return sql`max(case when ${enteredAtValue(plan, by)} and ${filterCondition(plan, entries)} then 1 else 0 end)`
}

/** Whether the session's entry page has the group's value, if the value is of a path. No section has an empty name. */
function enteredAtValue(plan: Plan, { dimension }: Grouping): Sql {
  if (dimension?.name === 'pathname') return raw('entry_page is not null and entry_page = pathname')
  if (dimension?.name !== SECTION) return raw('true')
  return sql`entry_page is not null
    and coalesce(${sectionOf('entry_page', plan)}, '') = coalesce(${sectionOf('pathname', plan)}, '')`
}

/** The filter with its conditions on `pathname` applied to the entry page; none without such a condition. */
function entryFilter(f: Filter): Filter[] {
  let usesPath = false
  const replaced = replaceConditions(f, (c) => {
    if (c.dimension !== 'pathname') return c
    usesPath = true
    return { ...c, dimension: 'entry_page' }
  })
  return usesPath ? [replaced] : []
}
