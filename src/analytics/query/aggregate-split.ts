import { PRIOR_DIMENSIONS, SESSION_TRAITS } from '../../storage/aggregates/session-aggregates.js'
import { raw, type Sql, sql } from '../../storage/sql.js'
import type { Store } from '../../storage/store.js'
import { type Dimension, findDimension } from './dimensions.js'
import { type Filter, isBehavioural, leavesOutSessions } from './filters.js'
import type { Grouping } from './grouping.js'
import type { AggregateState, CountedDays, Plan } from './plan.js'
import { inWindow, startedInWindow } from './window-conditions.js'

/**
 * Asks the store how far it has aggregated sessions, once before a read. A state that is outdated by the time the read
 * runs gives the same result, because `sessions` keeps every session that started before an earlier `until`, which
 * may be 1970 in a store that has aggregated nothing yet.
 */
export async function readAggregateState(store: Pick<Store, 'query'>): Promise<AggregateState | undefined> {
  const [row] = await store.query(sql`
    select max(started) as until, (select min(session_start) from stale_sessions) as stale_since from aggregated_until`)
  if (!(row?.until instanceof Date && row.until.getTime() > 0)) return undefined
  return { until: row.until, staleSince: row.stale_since instanceof Date ? row.stale_since : undefined }
}

/** Asks the store which days of a site it has counted, once before a read; a changed day is right from its rows too. */
export async function readCountedDays(store: Pick<Store, 'query'>, site: number): Promise<CountedDays | undefined> {
  const rows = await store.query(sql`
    select until, day from (select max(day) as until from daily_aggregated_until) s
    left join (select distinct day from daily_changed where site_id = ${site}) c on true order by day`)
  const until = rows[0]?.until
  if (!(until instanceof Date && until.getTime() > 0)) return undefined
  return { until, changed: rows.flatMap(({ day }) => (day instanceof Date ? [day] : [])) }
}

/** Splits the sessions of a read: some are read from aggregates, the others from their hits. */
interface SessionSplit {
  /** Rows of `sessions`, each of which replaces all hits of its session. */
  readonly aggregates: Sql | undefined
  /** The rows of `events` whose sessions are not in `aggregates`. */
  readonly hits: Sql
}

/** Splits the hits of the window: only aggregates that satisfy `isWhole` replace all hits of their session. */
interface HitSplit extends SessionSplit {
  readonly isWhole: Sql
}

/**
 * The `prior` column that counts visitors without a set of their ids, in total or by a dimension. Undefined if the
 * aggregates have none for it, or if filters use a dimension other than those of the column.
 */
export function priorColumn(filters: readonly Filter[], dimension?: Dimension): Sql | undefined {
  const same = (dimension?.parts ?? (dimension ? [dimension] : [])).map(({ name }) => name)
  if (filters.some(isBehavioural)) return undefined
  if (!dimensionNames(filters).every((name) => same.includes(name))) return undefined
  const prior = Object.entries(PRIOR_DIMENSIONS).find(
    ([, by]) => by.length === same.length && by.every((d) => same.includes(d)),
  )
  return prior && raw(prior[0])
}

/** Returns true if `session_pages` can apply the filters: they use `pathname` only, or leave out sessions. */
export const canUsePageAggregates = (filters: readonly Filter[]): boolean =>
  filters.every((f) => !isBehavioural(f)) && dimensionNames(filters).every((name) => name === 'pathname')

/** Returns true if `sessions` can apply the filters: each dimension is the same on all, or nearly all, hits of a session. */
export const canUseSessionAggregates = (filters: readonly Filter[], also?: Dimension): boolean =>
  dimensionsUsed(filters, also).every(({ name, level }) => level === 'session' || SESSION_TRAITS.includes(name))

/**
 * Returns true if sessions whose traits vary (`traits_vary`) must be read from their hits: a trait is used, or `has_done` is,
 * which looks up the visitor id of the hit.
 */
export const excludesVaryingTraits = (filters: readonly Filter[], also?: Dimension): boolean =>
  filters.some(isBehavioural) || dimensionsUsed(filters, also).some(({ name }) => SESSION_TRAITS.includes(name))

const dimensionsUsed = (filters: readonly Filter[], also?: Dimension): readonly Dimension[] => [
  ...dimensionNames(filters).map((name) => findDimension(name, 'filters')),
  ...(also?.parts ?? (also ? [also] : [])),
]

/** The dimensions of conditions on the hit itself; `has_done` applies its conditions to other hits. */
const dimensionNames = (filters: readonly Filter[]): string[] =>
  filters.flatMap((f) => {
    if ('and' in f) return dimensionNames(f.and)
    if ('or' in f) return dimensionNames(f.or)
    if ('not' in f) return dimensionNames([f.not])
    if ('reached' in f) return dimensionNames([f.by])
    return 'dimension' in f ? [f.dimension] : []
  })

/** Selects the aggregated sessions that started in the window, stale ones included. */
const isAggregated = ({ site, window, aggregates }: Plan): Sql => {
  if (!aggregates) return raw('false')
  const until = new Date(Math.min(window.end.getTime(), aggregates.until.getTime()))
  return sql`site_id = ${site} and started >= ${window.start} and started < ${until}`
}

/** Selects the aggregated sessions that got hits since; undefined without such sessions. */
export const staleSessions = ({ site, aggregates }: Plan): Sql | undefined =>
  aggregates?.staleSince &&
  sql`select session_id from stale_sessions where site_id = ${site} and session_start >= ${aggregates.staleSince}`

/** Comments that say in a statement's text which part of the split a subquery is. */
const AGGREGATED = raw('/* aggregated sessions */')
const OTHER_HITS = raw('/* hits that no aggregate replaces */')

/** Splits the sessions that started in the window. With `excludeVarying`, sessions whose traits vary are read from hits. */
export function splitSessions(plan: Plan, excludeVarying: boolean, table = 'sessions'): SessionSplit {
  const { aggregates } = plan
  const started = startedInWindow(plan)
  if (!aggregates) return { aggregates: undefined, hits: sql`(select * from events where ${started})` }
  const stale = staleSessions(plan)
  const fromHits = [
    ...(stale ? [stale] : []),
    ...(excludeVarying ? [sql`select session_id from sessions where ${isAggregated(plan)} and traits_vary`] : []),
  ]
  const [first, ...more] = fromHits
  const sessionIds = first && more.reduce((all, one) => sql`${all} union all ${one}`, first)
  const { until } = aggregates
  return {
    aggregates: sql`(${AGGREGATED} select *, ms / 1000.0 as duration from ${raw(table)} where ${isAggregated(plan)}
      ${stale ? sql`and session_id not in (${stale})` : raw('')} ${excludeVarying ? raw('and not traits_vary') : raw('')})`,
    hits: sql`(${OTHER_HITS} select * from events where ${started} and session_start >= ${until}
      ${sessionIds ? sql`union all select * from events where ${started} and session_start < ${until} and session_id in (${sessionIds})` : raw('')})`,
  }
}

/**
 * Selects the visitors whose aggregates may name a previous session that the filters leave out; undefined if they leave out
 * none. A stale session may have become one that is left out.
 */
export function visitorsLeftOut(plan: Plan): Sql | undefined {
  if (!leavesOutSessions(plan.filters)) return undefined
  const stale = staleSessions(plan)
  return sql`select visitor_id from sessions where ${isAggregated(plan)}
    and (suspected ${stale ? sql`or session_id in (${stale})` : raw('')})`
}

/**
 * Splits what happened in the window. An aggregate replaces the hits of a session that lies in the window as a whole, has
 * one visitor id and, if grouped by time, lies in one bucket. All hits are read if the filters or the grouping need them.
 */
export function splitHits(plan: Plan, { value, dimension, perHit }: Grouping): HitSplit {
  const { aggregates, window, filters } = plan
  if (!aggregates || perHit || !canUseSessionAggregates(filters, dimension))
    return { aggregates: undefined, isWhole: raw('false'), hits: sql`(select * from events where ${inWindow(plan)})` }
  const stale = staleSessions(plan)
  const sameBucket = dimension ? raw('true') : sql`${value(raw('started'))} = ${value(raw('ended'))}`
  const traitsAgree = excludesVaryingTraits(filters, dimension) ? raw('not traits_vary') : raw('true')
  const isWhole = sql`(ended < ${window.end} and visitor_ids = 1 and ${traitsAgree} and ${sameBucket})`
  // A late hit may change a session's source or country. The visitor's other aggregates then have an outdated `prior`.
  const visitors =
    stale && dimension
      ? sql`select visitor_id from sessions where site_id = ${plan.site} and session_id in (${stale})`
      : undefined
  const sessionIds = sql`select session_id from sessions where ${isAggregated(plan)} and not ${isWhole}
    ${stale ? sql`union all ${stale}` : raw('')}
    ${visitors ? sql`union all select session_id from sessions where ${isAggregated(plan)} and visitor_id in (${visitors})` : raw('')}`
  const after = new Date(Math.max(window.start.getTime(), aggregates.until.getTime()))
  return {
    isWhole: visitors ? sql`(${isWhole} and not stale)` : isWhole,
    aggregates: sql`(
      ${AGGREGATED} select *, ms / 1000.0 as duration ${visitors ? sql`, visitor_id in (${visitors}) as stale` : raw('')} from sessions
      where ${isAggregated(plan)} ${stale ? sql`and session_id not in (${stale})` : raw('')})`,
    hits: sql`(${OTHER_HITS} select * from events where ${inWindow(plan)} and session_start < ${window.start}
      union all select * from events where ${inWindow(plan)} and session_start >= ${after}
      union all select * from events where ${inWindow(plan)} and session_start >= ${window.start}
        and session_start < ${aggregates.until} and session_id in (${sessionIds}))`,
  }
}
