import { PRIOR_DIMENSIONS, SESSION_TRAITS } from '../session-aggregates.js'
import { raw, type Sql, sql } from '../sql.js'
import type { Store } from '../store.js'
import { type Dimension, findDimension } from './dimensions.js'
import { type Filter, isBehavioural } from './filters.js'
import type { Plan } from './plan.js'
import { inWindow, startedInWindow } from './window-conditions.js'

/**
 * How far the store has sealed sessions. Asked once before a read: an answer that has become old meanwhile is as right
 * as a new one, for `sessions` holds all that started before an earlier watermark too.
 */
export interface AggregateState {
  readonly watermark: Date
  /** When the first of those began that got hits since; undefined where none did. */
  readonly staleSince: Date | undefined
}

export async function readAggregateState(store: Pick<Store, 'query'>): Promise<AggregateState | undefined> {
  const [row] = await store.query(sql`
    select max(watermark) as watermark, (select min(session_start) from unsealed) as broken from seals`)
  if (!(row?.watermark instanceof Date)) return undefined
  return { watermark: row.watermark, staleSince: row.broken instanceof Date ? row.broken : undefined }
}

/** A read of people's sessions: some from where they are sealed, the rest from their hits. */
export interface SessionSplit {
  /** Rows of `sessions` that stand for all hits of theirs. */
  readonly sealed: Sql | undefined
  /** The rows of `events` that those do not stand for. */
  readonly rest: Sql
}

/** A read of what happened in the window: of the `sealed` only those that are `whole` stand for all hits of theirs. */
export interface HitSplit extends SessionSplit {
  readonly isWhole: Sql
}

/**
 * The column by which visitors can be counted without a set of their ids, for all together or by a dimension; undefined
 * where there is none, or where filters ask for more than is the same in all sessions that it tells of.
 */
export function priorColumn(filters: readonly Filter[], dimension?: Dimension): Sql | undefined {
  const same = (dimension?.parts ?? (dimension ? [dimension] : [])).map(({ name }) => name)
  if (filters.some(isBehavioural) || !dimensionNames(filters).every((name) => same.includes(name))) return undefined
  const prior = Object.entries(PRIOR_DIMENSIONS).find(
    ([, by]) => by.length === same.length && by.every((d) => same.includes(d)),
  )
  return prior && raw(prior[0])
}

/** Whether the pages of sessions can be asked: nothing but paths is. */
export const canUsePageAggregates = (filters: readonly Filter[]): boolean =>
  filters.every((f) => !isBehavioural(f)) && dimensionNames(filters).every((name) => name === 'pathname')

/** Whether sessions as a whole can be asked: every dimension is the same on all hits of a session, or nearly always. */
export const canUseSessionAggregates = (filters: readonly Filter[], also?: Dimension): boolean =>
  dimensionsUsed(filters, also).every(({ name, level }) => level === 'session' || SESSION_TRAITS.includes(name))

/**
 * Whether those in which something varies that is nearly always the same are to be read from their hits. What else a
 * visitor did is asked by the id of the hit.
 */
export const excludesMixed = (filters: readonly Filter[], also?: Dimension): boolean =>
  filters.some(isBehavioural) || dimensionsUsed(filters, also).some(({ name }) => SESSION_TRAITS.includes(name))

const dimensionsUsed = (filters: readonly Filter[], also?: Dimension): readonly Dimension[] => [
  ...dimensionNames(filters).map((name) => findDimension(name, 'filters')),
  ...(also?.parts ?? (also ? [also] : [])),
]

/** Of conditions on the hit itself: what else a visitor did is asked of other hits. */
const dimensionNames = (filters: readonly Filter[]): string[] =>
  filters.flatMap((f) => {
    if ('and' in f) return dimensionNames(f.and)
    if ('or' in f) return dimensionNames(f.or)
    if ('not' in f) return dimensionNames([f.not])
    if ('reached' in f) return dimensionNames([f.by])
    return 'dimension' in f ? [f.dimension] : []
  })

/** Sealed sessions that are not to be read from their hits all the same. */
const isAggregated = ({ site, window, aggregates: sealed }: Plan): Sql => {
  if (!sealed) return raw('false')
  const until = new Date(Math.min(window.end.getTime(), sealed.watermark.getTime()))
  return sql`site_id = ${site} and started >= ${window.start} and started < ${until}`
}
const staleSessions = ({ site, aggregates: sealed }: Plan): Sql | undefined =>
  sealed?.staleSince &&
  sql`select session_id from unsealed where site_id = ${site} and session_start >= ${sealed.staleSince}`

/** The sessions that started in the window, whole. With `steady`, those whose traits vary are read from their hits. */
export function splitSessions(plan: Plan, steady: boolean, table = 'sessions'): SessionSplit {
  const { aggregates: sealed } = plan
  if (!sealed) return { sealed: undefined, rest: sql`(select * from events where ${startedInWindow(plan)})` }
  const broken = staleSessions(plan)
  const apart = [
    ...(broken ? [broken] : []),
    ...(steady ? [sql`select session_id from sessions where ${isAggregated(plan)} and mixed`] : []),
  ]
  const [first, ...more] = apart
  const ids = first && more.reduce((all, one) => sql`${all} union all ${one}`, first)
  return {
    sealed: sql`(select *, ms / 1000.0 as duration from ${raw(table)} where ${isAggregated(plan)}
      ${broken ? sql`and session_id not in (${broken})` : raw('')} ${steady ? raw('and not mixed') : raw('')})`,
    rest: sql`(select * from events where ${startedInWindow(plan)} and session_start >= ${sealed.watermark}
      ${ids ? sql`union all select * from events where ${startedInWindow(plan)} and session_start < ${sealed.watermark} and session_id in (${ids})` : raw('')})`,
  }
}

/**
 * What happened in the window: sealed sessions that lie in it whole, of one visitor id, and in one bucket where it is
 * cut by time, each as one; and the hits of all others. None is sealed where the filters or the cut ask for hits.
 */
export function splitHits(plan: Plan, { value, dimension, fine }: Cut): HitSplit {
  const { aggregates: sealed, window, filters } = plan
  if (!sealed || fine || !canUseSessionAggregates(filters, dimension))
    return { sealed: undefined, isWhole: raw('false'), rest: sql`(select * from events where ${inWindow(plan)})` }
  const broken = staleSessions(plan)
  const bucket = dimension ? raw('true') : sql`${value(raw('started'))} = ${value(raw('ended'))}`
  const steady = excludesMixed(filters, dimension) ? raw('not mixed') : raw('true')
  const whole = sql`(ended < ${window.end} and ids = 1 and ${steady} and ${bucket})`
  // A late hit may have changed where a session came from: whoever it is of has sessions that still tell of it as it was.
  const stale =
    broken && dimension
      ? sql`select visitor_id from sessions where site_id = ${plan.site} and session_id in (${broken})`
      : undefined
  const ids = sql`select session_id from sessions where ${isAggregated(plan)} and not ${whole}
    ${broken ? sql`union all ${broken}` : raw('')}
    ${stale ? sql`union all select session_id from sessions where ${isAggregated(plan)} and visitor_id in (${stale})` : raw('')}`
  const after = new Date(Math.max(window.start.getTime(), sealed.watermark.getTime()))
  return {
    isWhole: stale ? sql`(${whole} and not stale)` : whole,
    sealed: sql`(
      select *, ms / 1000.0 as duration ${stale ? sql`, visitor_id in (${stale}) as stale` : raw('')} from sessions
      where ${isAggregated(plan)} ${broken ? sql`and session_id not in (${broken})` : raw('')})`,
    rest: sql`(select * from events where ${inWindow(plan)} and session_start < ${window.start}
      union all select * from events where ${inWindow(plan)} and session_start >= ${after}
      union all select * from events where ${inWindow(plan)} and session_start >= ${window.start}
        and session_start < ${sealed.watermark} and session_id in (${ids}))`,
  }
}

/** How hits are cut (`By` of metrics.ts). */
interface Cut {
  value(moment: Sql): Sql
  dimension?: Dimension
  fine?: boolean
}
