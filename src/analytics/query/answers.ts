import { arrivingAssistant, IS_GENUINE } from '../../storage/aggregates/daily-counts.js'
import { isIn, join, raw, type Sql, sql } from '../../storage/sql.js'
import { operatorOfAssistant } from './citations.js'
import { filterCondition, sourceRows } from './conditions.js'
import { findDimension } from './dimensions.js'
import { type Plan, planForTable, withoutUrlFilters, withWindow } from './plan.js'
import type { Assistant } from './read-context.js'
import { sessionsInWindow } from './sessions.js'
import { inWindow, startedInWindow } from './window-conditions.js'

/** Live fetches and the arrivals that are looked at: of these assistants, at most `limitMs` after a fetch. */
export interface AnswerScope {
  readonly assistants: readonly Assistant[]
  readonly limitMs: number
}

/** Arrivals below which a median would be chance: their delays are listed singly. */
export const MIN_ARRIVALS_OF_MEDIAN = 5
/** The columns with the delays of so few arrivals, shortest first. */
export const SINGLE_DELAYS = Array.from({ length: MIN_ARRIVALS_OF_MEDIAN - 1 }, (_, i) => `delay_${i + 1}`)

/** A log without any referrer cannot show an arrival: its fetches would all look as if no reader had followed. */
const hasReferrers = ({ site }: Plan): Sql => sql`
  (import_id is null or import_id in (
    select import_id from events where site_id = ${site} and import_id is not null and referrer is not null))`

/**
 * Selects columns of assistants' live fetches of pages, also of `limitMs` before and after the window: an arrival near its ends
 * may belong to a fetch on the other side.
 */
const selectFetches = (plan: Plan, { assistants, limitMs }: AnswerScope, columns: Sql, where: Sql): Sql => {
  const { start, end } = plan.window
  const around = { start: new Date(start.getTime() - limitMs), end: new Date(end.getTime() + limitMs) }
  const operators = [...new Set(assistants.map(({ operator }) => operator))]
  return sql`
    select ${columns} from agent_events
    where ${inWindow(withWindow(plan, around))} and purpose = 'assistant' and is_pageview and ${raw(IS_GENUINE)}
      and ${isIn(raw('operator'), operators)} and ${where}`
}

/** Selects `operator, hostname, pathname, fetched` (milliseconds since 1970), `passes`: 1 for fetches that pass the filters. */
const liveFetches = (plan: Plan, scope: AnswerScope): Sql => {
  const passes = sql`case when ${filterCondition(planForTable(plan, 'agent_events'))} then 1 else 0 end as passes`
  const fetched = sql`${plan.dialect.epochMs(raw('timestamp'))} as fetched`
  return selectFetches(plan, scope, sql`operator, hostname, pathname, ${fetched}, ${passes}`, hasReferrers(plan))
}

/** Selects as `n` the window's fetches that are left out, because their log names no referrer. */
export const fetchesWithoutReferrers = (plan: Plan, scope: AnswerScope): Sql => {
  return selectFetches(plan, scope, raw('count(*) as n'), sql`${inWindow(plan)} and not ${hasReferrers(plan)}`)
}

/** Keeps fetches of the window that pass the filters. */
const isCounted = ({ window: { start, end } }: Plan): Sql =>
  sql`passes = 1 and fetched >= ${start.getTime()} and fetched < ${end.getTime()}`

/** The window of arrivals: a fetch counts in its window, also with a reader who came after the window's end. */
const arrivalWindow = ({ window: { start, end } }: Plan, { limitMs }: AnswerScope, movedMs = 0) => ({
  start: new Date(start.getTime() - movedMs),
  end: new Date(end.getTime() + limitMs - movedMs),
})

/**
 * Selects people's sessions that an assistant sent: `session_id, sender` (the operator), `entry_host, entry_path, came`
 * (milliseconds since 1970, moved by `movedMs`). Filters on URLs select fetches alone.
 */
const arrivals = (plan: Plan, scope: AnswerScope, movedMs: number): Sql => {
  const { dialect } = plan
  const side = withWindow(planForTable(withoutUrlFilters(plan), 'events'), arrivalWindow(plan, scope, movedMs))
  return sql`
    select session_id, ${operatorOfAssistant(scope.assistants)} as sender, entry_host, entry_path, came
    from (
      select session_id, min(assistant) as assistant, min(hostname) as entry_host, min(pathname) as entry_path,
        min(moment) + ${movedMs} as came
      from (
        select session_id, hostname, pathname, ${dialect.epochMs(raw('timestamp'))} as moment,
          ${arrivingAssistant(dialect)} as assistant
        from ${sourceRows('events', side)} as e
        where ${inWindow(side)} and kind = 'pageview' and ${filterCondition(side)}) v
      where assistant is not null group by session_id) s`
}

/**
 * Selects each arrival with the fetch that it followed: the operator's latest one of the same page in the `limitMs` before it,
 * else the latest of any page, of two in one millisecond the page that sorts last. `session_id, operator, hostname, pathname`
 * (of the fetch), `fetched, came, same_page`. A fetch before the window takes its arrivals with it.
 *
 * An arrival meets only the fetches of two slots of `limitMs`: 2,000,000 fetches and 50,000 arrivals took DuckDB 0.7 s on two
 * cores with 10 minutes and 3.1 s with 60; two window functions over all of them 1.5 s.
 */
const followedFetches = (plan: Plan, scope: AnswerScope, movedMs = 0): Sql => {
  const { dialect } = plan
  const slot = (moment: string) => dialect.divideInteger(raw(moment), sql`${scope.limitMs}`)
  const same = raw('case when entry_host = hostname and entry_path = pathname then 1 else 0 end')
  const best = dialect.tuple([same, raw('fetched'), raw('hostname'), raw('pathname'), raw('passes')])
  const member = (position: number) => dialect.tupleMember(raw('best'), position)
  return sql`
    select * from (
      select session_id, operator, came, ${member(1)} as same_page, ${member(2)} as fetched, ${member(3)} as hostname,
        ${member(4)} as pathname, ${member(5)} as passes
      from (
        select session_id, min(sender) as operator, min(came) as came, max(${best}) as best
        from (select *, ${slot('fetched')} as slot from (${liveFetches(plan, scope)}) l) f
        join (
          select *, ${slot('came')} - back as near_slot from (${arrivals(plan, scope, movedMs)}) v
          cross join (select 0 as back union all select 1 as back) b) a on sender = operator and near_slot = slot
        where fetched <= came and came - fetched <= ${scope.limitMs} group by session_id) m) w
    where ${isCounted(plan)}`
}

/** Selects `bin, arrivals`: how many arrivals followed in each `binMs` after the fetch, moved by `movedMs`. */
export const delayBins = (plan: Plan, scope: AnswerScope, binMs: number, movedMs = 0): Sql => sql`
  select ${plan.dialect.divideInteger(raw('(came - fetched)'), sql`${binMs}`)} as bin, count(*) as arrivals
  from (${followedFetches(plan, scope, movedMs)}) m group by 1`

/** Selects `session_id, goals` of the sessions in `matched`: each goal counts once a session. */
const reachedGoals = (whole: Plan): Sql => sql`
  select session_id, count(distinct goal) as goals
  from ${sourceRows('events', whole, [], findDimension('goal', 'filters'))} as e
  where ${startedInWindow(whole)} and session_id in (select session_id from matched) group by session_id`

/**
 * Selects by these columns of the fetch: `fetches, followed, arrivals, same_page, other_page, not_followed, delay` and `stay`
 * (medians in seconds, null for few arrivals), `goals` (null if the site has none), and `SINGLE_DELAYS`, null for more arrivals.
 */
export function answerRows(plan: Plan, scope: AnswerScope, keys: readonly string[]): Sql {
  const { dialect } = plan
  const count = (value: string) => dialect.toInteger(raw(value))
  const whole = { ...withWindow(plan, arrivalWindow(plan, scope)), filters: [] }
  const hasGoals = (plan.goals ?? []).length > 0
  const goals = hasGoals ? sql`left join (${reachedGoals(whole)}) g on g.session_id = m.session_id` : raw('')
  const columns = raw(keys.map((key) => `${key}, `).join(''))
  const grouped = raw(keys.length === 0 ? '' : `group by ${keys.join(', ')}`)
  const ofKeys = raw(keys.length === 0 ? '' : `partition by ${keys.map((key) => `m.${key}`).join(', ')}`)
  const enough = raw(`arrivals >= ${MIN_ARRIVALS_OF_MEDIAN}`)
  const single = SINGLE_DELAYS.map(
    (name, i) => sql`, max(case when place = ${raw(String(i + 1))} then delay end) as ${raw(name)}`,
  )
  const singleSeconds = SINGLE_DELAYS.map(
    (name) => sql`, case when not ${enough} then ${raw(name)} / 1000.0 end as ${raw(name)}`,
  )
  return sql`
    with matched as materialized (${followedFetches(plan, scope)})
    select ${columns} fetches, followed, arrivals, same_page, arrivals - same_page as other_page, goals,
      (fetches - followed) * 1.0 / nullif(fetches, 0) as not_followed, case when ${enough} then median_delay / 1000.0 end as delay,
      case when ${enough} then median_stay / 1000.0 end as stay${join(singleSeconds, '')}
    from (
      select ${columns} coalesce(sum(fetches), 0) as fetches, coalesce(sum(followed), 0) as followed,
        coalesce(sum(arrivals), 0) as arrivals, coalesce(sum(same_page), 0) as same_page, sum(goals) as goals,
        ${dialect.quantile(raw('delay'), 0.5)} as median_delay, ${dialect.quantile(raw('ms'), 0.5)} as median_stay${join(single, '')}
      from (
        select operator, hostname, pathname, ${count('count(*)')} as fetches, ${count('0')} as followed,
          ${count('0')} as arrivals, ${count('0')} as same_page, ${hasGoals ? count('0') : raw('null')} as goals, null as delay,
          null as ms, null as place
        from (${liveFetches(plan, scope)}) f
        where ${isCounted(plan)} group by operator, hostname, pathname
        union all
        select m.operator, m.hostname, m.pathname, ${count('0')},
          ${count(`case when row_number() over (partition by m.operator, m.hostname, m.pathname, m.fetched
            order by m.came, m.session_id) = 1 then 1 else 0 end`)},
          ${count('1')}, ${count('m.same_page')},
          ${hasGoals ? count('coalesce(g.goals, 0)') : raw('null')}, m.came - m.fetched, s.ms,
          row_number() over (${ofKeys} order by m.came - m.fetched, m.session_id)
        from matched m ${goals}
        left join (
          select session_id, ms from (${sessionsInWindow(whole)}) s where session_id in (select session_id from matched)) s
          on s.session_id = m.session_id) u
      ${grouped}) t`
}
