import { type Dialect, join, raw, type Sql, sql } from '../../storage/sql.js'
import { filterCondition } from './conditions.js'
import { type GoalCondition, goalFilter } from './goals.js'
import { TOTAL } from './grouping.js'
import { matchingSessions } from './metrics.js'
import type { Plan } from './plan.js'
import { sessionsInWindow } from './sessions.js'
import { startedInWindow } from './window-conditions.js'

/** A sequence of steps that sessions or visitors go through. */
export interface Funnel {
  readonly id: number
  readonly name: string
  /** 2 to 10 steps. None is a duration, because that is not a hit. */
  readonly steps: readonly (GoalCondition & { readonly label: string })[]
  /** The longest time from the first step's hit to the last step's; absent: unlimited. */
  readonly window_minutes?: number | undefined
}

/** The hits that form a chain: one session's, or those of all of a visitor's matching sessions. */
export type FunnelUnit = 'session' | 'visitor'

/**
 * Selects which step each session or visitor reached: `step, id, started` (of the latest session), one row for each
 * step reached. A chain consists of hits of matching sessions, each strictly later than the one before. If the funnel
 * has a window, the last is within it of the first. Step n is reached if a chain of the first n steps exists.
 */
export function stepsReached(funnel: Funnel, unit: FunnelUnit, plan: Plan): Sql {
  const id = raw(unit === 'session' ? 'session_id' : 'person')
  const from = unit === 'session' ? raw('events') : rowsWithPerson(plan)
  const tests = funnel.steps.map((step) => filterCondition(plan, [goalFilter(step)]))
  const filters = plan.filters.length > 0
  const asked = filters
    ? sql`${startedInWindow(plan)} and session_id in (select session_id from chosen)`
    : startedInWindow(plan)
  const chosen = filters ? [sql`chosen as (${matchingSessionIds(plan)})`] : []
  const level = (n: number) => raw(`level_${n}`)
  // Without a window the earliest hit of each step leaves the most time for the next, so each step is one pass and one
  // join.
  const levels = tests.map((test, i) =>
    i === 0
      ? sql`${level(0)} as (
          select ${id} as id, min(timestamp) as moment, max(session_start) as started from ${from} as e
          where ${asked} and ${test} group by ${id})`
      : sql`${level(i)} as (
          select p.id as id, min(e.timestamp) as moment, max(p.started) as started
          from (select * from ${from} as r where ${asked} and ${test}) e
            join ${level(i - 1)} p on e.${id} = p.id and e.timestamp > p.moment
          group by p.id)`,
  )
  const all = (of: readonly number[]) =>
    join(
      of.map((i) => sql`select ${i + 1} as step, id, started from ${level(i)}`),
      ' union all ',
    )
  if (funnel.window_minutes === undefined)
    return sql`with ${join([...chosen, ...levels], ', ')} ${all([...tests.keys()])}`
  const within = sql`
    select n.step, w.id, p.started
    from (${stepsWithinTime(tests, { id, from, asked, ms: funnel.window_minutes * 60_000, among: level(1), dialect: plan.dialect })}) w
      join ${level(0)} p on p.id = w.id
      join (${join(
        [...tests.keys()].slice(1).map((i) => sql`select ${i + 1} as step`),
        ' union all ',
      )}) n
        on n.step <= w.steps`
  return sql`with ${join([...chosen, ...levels.slice(0, 2)], ', ')} ${all([0])} union all ${within}`
}

/**
 * Selects `id, steps`: the number of steps in a chain within `ms`, for those in `among`, who reached two steps in any
 * time. Each hit that ends a chain carries the latest start of such a chain: a later start never ends later.
 */
function stepsWithinTime(
  tests: readonly Sql[],
  { id, from, asked, ms, among, dialect }: { id: Sql; from: Sql; asked: Sql; ms: number; among: Sql; dialect: Dialect },
): Sql {
  const flag = (i: number) => raw(`is_${i}`)
  const began = (i: number) => raw(`began_${i}`)
  const flags = tests.map((test, i) => sql`case when ${test} then 1 else 0 end as ${flag(i)}`)
  const hits = sql`
    select ${id} as id, ${dialect.epochMs(raw('timestamp'))} as moment, ${join(flags, ', ')} from ${from} as e
    where ${asked} and (${join(tests, ' or ')}) and ${id} in (select id from ${among})`
  const first = sql`select *, case when ${flag(0)} = 1 then moment end as ${began(0)} from (${hits}) h`
  const chains = tests.slice(1).reduce(
    (before, _, i) => sql`
      select *, case when ${flag(i + 1)} = 1 then max(${began(i)}) over (
        partition by id order by moment range between unbounded preceding and 1 preceding) end as ${began(i + 1)}
      from (${before}) c`,
    first,
  )
  const steps = tests.map((_, i) => sql`when moment - ${began(i)} <= ${ms} then ${i + 1}`).toReversed()
  return sql`select id, max(case ${join(steps, ' ')} else 0 end) as steps from (${chains}) c group by id`
}

/** Rows with the visitor of their session as `person`: a session over a change of salts has rows of two visitor ids. */
const rowsWithPerson = (plan: Plan): Sql => sql`
  (select e.*, o.person from events e
    join (select session_id as of_session, visitor_id as person from (${sessionsInWindow(plan)}) s) o
      on o.of_session = e.session_id)`

const matchingSessionIds = (plan: Plan): Sql => sql`select session_id from (${matchingSessions(plan, TOTAL)}) m`

/** The number of matching sessions or visitors, as a scalar subquery. */
export function countEveryone(unit: FunnelUnit, plan: Plan): Sql {
  const count = unit === 'session' ? raw('count(*)') : raw('count(distinct visitor_id)')
  const chosen = plan.filters.length > 0 ? sql`where session_id in (${matchingSessionIds(plan)})` : raw('')
  return sql`(select ${count} from (${sessionsInWindow(plan)}) s ${chosen})`
}
