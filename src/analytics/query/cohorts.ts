import { raw, type Sql, sql } from '../../storage/sql.js'
import { splitSessions, staleSessions, visitorsLeftOut } from './aggregate-split.js'
import { aggregateCondition, filterCondition } from './conditions.js'
import { onlyLeavesOutSessions } from './filters.js'
import { TOTAL } from './grouping.js'
import { matchingSessions } from './metrics.js'
import type { Plan } from './plan.js'
import { sessionsFromHits, sessionsInWindow } from './sessions.js'

/** The key in SQL of the period in which the instant of a column lies. */
type PeriodKey = (column: Sql) => Sql

/**
 * Selects `cohort, period, visitors`: of the visitors whose first session ever began in one period of the window, how many
 * began a session in another. Both are keys of periods.
 */
export function cohortGrid(plan: Plan, key: PeriodKey): Sql {
  const { window, filters } = plan
  const bucket = (column: string) => key(raw(column))
  const whole = { ...plan, window: { start: new Date(0), end: window.end } }
  const fromAggregates = onlyLeavesOutSessions(filters) ? gridFromAggregates(plan, whole, bucket) : undefined
  if (fromAggregates) return fromAggregates
  // With mandatory filters, a visitor is new at the first session that passes them: a share shows no other.
  const seen = plan.mandatory
    ? sql`where session_id in (select session_id from (${matchingSessions({ ...whole, filters: plan.mandatory }, TOTAL)}) w)`
    : raw('')
  const passing =
    filters.length === 0
      ? raw('')
      : sql`where session_id in (select session_id from (${matchingSessions(plan, TOTAL)}) m)`
  const active = sql`
    select visitor_id, ${bucket('started')} as period from (${sessionsInWindow(plan)}) s ${passing}
    group by visitor_id, period`
  const newcomers = newcomersOf(sql`(${sessionsInWindow(whole)}) s ${seen}`, plan, bucket)
  // The new visitors that the filters let into the cohort; without filters all of them.
  const members =
    filters.length === 0
      ? newcomers
      : sql`select n.visitor_id, cohort from (${newcomers}) n
          join (${active}) o on o.visitor_id = n.visitor_id and o.period = n.cohort`
  return joinCohorts(members, active)
}

/** Selects `visitor_id, cohort` of the visitors whose first session among these began in the window. */
const newcomersOf = (sessions: Sql, { window }: Plan, bucket: (column: string) => Sql): Sql => sql`
  select visitor_id, ${bucket('first')} as cohort
  from (select visitor_id, min(started) as first from ${sessions} group by visitor_id) f
  where first >= ${window.start}`

const joinCohorts = (members: Sql, active: Sql): Sql => sql`
  select cohort, period, count(*) as visitors from (${members}) c
  join (${active}) a on a.visitor_id = c.visitor_id group by cohort, period`

/**
 * The grid without a set of visitor ids: an aggregated session knows when its visitor's first one began and whether one
 * in its own period came before. Visitors with a session that is read from its hits, or left out, are counted from all of theirs.
 */
function gridFromAggregates(plan: Plan, whole: Plan, bucket: (column: string) => Sql): Sql | undefined {
  const { aggregates, hits } = splitSessions(whole, false)
  if (!aggregates) return undefined
  const { start } = plan.window
  const stale = staleSessions(plan)
  const leftOut = visitorsLeftOut(whole)
  const passing = leftOut ? sql`(select * from ${hits} e where ${filterCondition(plan)})` : hits
  const passes = leftOut ? sql`and ${aggregateCondition(plan)}` : raw('')
  const open = sql`visitor_id in (${plan.dialect.distinctList(raw('visitor_id'), raw('opened'))})`
  return sql`
    with opened as materialized (
      select visitor_id, started from (${sessionsFromHits(passing, plan.dialect)}) h
      ${leftOut ? sql`union all select visitor_id, null from (${leftOut}) o` : raw('')}
      ${stale ? sql`union all select visitor_id, null from sessions where site_id = ${plan.site} and session_id in (${stale})` : raw('')}),
    own as materialized (
      select visitor_id, started from opened where started is not null
      union all select visitor_id, started from ${aggregates} a where ${open} ${passes})
    select cohort, period, sum(visitors) as visitors from (
      select ${bucket('first_seen')} as cohort, ${bucket('started')} as period, count(*) as visitors
      from ${aggregates} s
      where started >= ${start} and first_seen >= ${start} and not ${open} ${passes}
        and (previous is null or ${bucket('previous')} <> ${bucket('started')})
      group by cohort, period
      union all ${joinCohorts(
        newcomersOf(raw('own'), plan, bucket),
        sql`select visitor_id, ${bucket('started')} as period from own where started >= ${start} group by visitor_id, period`,
      )}) g
    group by cohort, period`
}
