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
  /** Leaves out goals and stays. */
  readonly hidesVisits: boolean
}

/** Arrivals below which a median would be chance: their delays are listed singly. */
export const MIN_ARRIVALS_OF_MEDIAN = 5
/** The columns with the delays of the first arrivals, shortest first. */
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

/** Added to the moment of a fetch of the same page, so that it counts before any later one: more than any moment. */
const SAME_PAGE_MS = 100_000_000_000_000

/**
 * Defines `arrived`, the arrivals, and `matched`, each with the fetch that it followed: the operator's latest one of the same
 * page in the `limitMs` before it, else the latest of any page, of two in one millisecond the page that sorts last. A fetch
 * before the window takes its arrivals with it. `session_id, operator, hostname, pathname` (of the fetch), `delay, same_page`;
 * `nth` and `nth_of_kind` are 1 on the first arrival after a fetch, and on the first at the same page or at others.
 *
 * The latest moment is found first, as a number, and its page afterwards: an arrival meets the fetches of two slots of
 * `limitMs`, and comparing their pages takes most of the time.
 */
const withMatched = (plan: Plan, scope: AnswerScope, movedMs: number): Sql => {
  const { dialect } = plan
  const slot = (moment: string) => dialect.divideInteger(raw(moment), sql`${scope.limitMs}`)
  const isSame = raw('(entry_host = hostname and entry_path = pathname)')
  const page = dialect.tuple([raw('hostname'), raw('pathname'), raw('passes')])
  const member = (position: number) => dialect.tupleMember(raw('page'), position)
  return sql`
    with arrived as materialized (${arrivals(plan, scope, movedMs)}),
    matched as materialized (
      select *, row_number() over (partition by operator, hostname, pathname, fetched order by came, session_id) as nth,
        row_number() over (partition by operator, hostname, pathname, fetched, same_page order by came, session_id) as nth_of_kind
      from (
        select session_id, operator, came, fetched, came - fetched as delay, same_page, ${member(1)} as hostname,
          ${member(2)} as pathname, ${member(3)} as passes
        from (
          select session_id, min(sender) as operator, min(came) as came, min(fetched) as fetched,
            min(is_same) as same_page, max(${page}) as page
          from (
            select v.*, is_same, latest - is_same * ${SAME_PAGE_MS} as moment
            from arrived v
            join (
              select id, latest, case when latest >= ${SAME_PAGE_MS} then 1 else 0 end as is_same
              from (
                select session_id as id, max(fetched + case when ${isSame} then ${SAME_PAGE_MS} else 0 end) as latest
                from (select *, ${slot('fetched')} as slot from (${liveFetches(plan, scope)}) l) f
                join (
                  select *, ${slot('came')} - back as near_slot from arrived
                  cross join (select 0 as back union all select 1 as back) b) a on sender = operator and near_slot = slot
                where fetched <= came and came - fetched <= ${scope.limitMs} group by session_id) n) n on id = session_id) a
          join (${liveFetches(plan, scope)}) f on sender = operator and moment = fetched
          where is_same = 0 or ${isSame} group by session_id) m) m
      where ${isCounted(plan)})`
}

/** Selects `session_id, goals` of the sessions in `arrived`: each goal counts once a session. */
const reachedGoals = (whole: Plan): Sql => sql`
  select session_id, count(distinct goal) as goals
  from ${sourceRows('events', whole, [], findDimension('goal', 'filters'))} as e
  where ${startedInWindow(whole)} and ${HAS_ARRIVED} group by session_id`
const HAS_ARRIVED = raw('session_id in (select session_id from arrived)')

/** Moves the arrivals by `movedMs`, and counts them in so many equal parts of the time as `bin_0, bin_1, …`. */
interface AnswerOptions {
  readonly movedMs?: number
  readonly bins?: number
}

/**
 * Selects by these columns of the fetch: `fetches, followed, followed_same_page, arrivals, same_page, other_page, not_followed,
 * delay` and `stay` (medians in seconds, null for few arrivals), `goals` (null if the site has none), and `SINGLE_DELAYS` in
 * milliseconds.
 */
export function answerRows(
  plan: Plan,
  scope: AnswerScope,
  keys: readonly string[],
  { movedMs = 0, bins = 0 }: AnswerOptions = {},
): Sql {
  const { dialect } = plan
  const whole = { ...withWindow(plan, arrivalWindow(plan, scope, movedMs)), filters: [] }
  const hasGoals = !scope.hidesVisits && (plan.goals ?? []).length > 0
  const goals = hasGoals ? sql`left join (${reachedGoals(whole)}) g on g.session_id = m.session_id` : raw('')
  const columns = raw(keys.map((key) => `${key}, `).join(''))
  const grouped = raw(keys.length === 0 ? '' : `group by ${keys.join(', ')}`)
  const ofKeys = raw(keys.length === 0 ? '' : `partition by ${keys.map((key) => `m.${key}`).join(', ')}`)
  const enough = raw(`arrivals >= ${MIN_ARRIVALS_OF_MEDIAN}`)
  const few = SINGLE_DELAYS.map((name, i) => [name, `max(case when place = ${i + 1} then delay end)`])
  // An arrival exactly at the limit belongs to the last part.
  const part = (i: number) => `part ${i === bins - 1 ? '>=' : '='} ${i}`
  const more = [
    ...few,
    ...Array.from({ length: bins }, (_, i) => [`bin_${i}`, `coalesce(sum(case when ${part(i)} then 1 else 0 end), 0)`]),
  ]
  const counts = ['fetches', 'followed', 'followed_same_page', 'arrivals', 'same_page']
  const integers = (...values: readonly string[]) =>
    join(
      values.map((value, i) => sql`${dialect.toInteger(raw(value))} as ${raw(counts[i] ?? 'goals')}`),
      ', ',
    )
  return sql`
    ${withMatched(plan, scope, movedMs)}
    select ${columns} ${raw(counts.join(', '))}, arrivals - same_page as other_page, ${raw(hasGoals ? 'goals' : 'null as goals')},
      (fetches - followed) * 1.0 / nullif(fetches, 0) as not_followed, case when ${enough} then median_delay / 1000.0 end as delay,
      case when ${scope.hidesVisits ? raw('false') : enough} then median_stay / 1000.0 end as stay, ${raw(more.map(([name]) => name).join(', '))}
    from (
      select ${columns} ${raw([...counts, 'goals'].map((name) => `coalesce(sum(${name}), 0) as ${name}, `).join(''))}
        ${dialect.quantile(raw('delay'), 0.5)} as median_delay, ${dialect.quantile(raw('ms'), 0.5)} as median_stay,
        ${raw(more.map(([name, value]) => `${value} as ${name}`).join(', '))}
      from (
        select operator, hostname, pathname, ${integers('count(*)', '0', '0', '0', '0', '0')},
          null as delay, null as ms, null as place, null as part
        from (${liveFetches(plan, scope)}) f
        where ${isCounted(plan)} group by operator, hostname, pathname
        union all
        select m.operator, m.hostname, m.pathname, ${integers(
          '0',
          'case when nth = 1 then 1 else 0 end',
          'case when nth_of_kind = 1 then same_page else 0 end',
          '1',
          'same_page',
          hasGoals ? 'coalesce(g.goals, 0)' : '0',
        )}, delay, s.ms, row_number() over (${ofKeys} order by delay, m.session_id),
          ${dialect.divideInteger(raw('delay'), sql`${scope.limitMs / Math.max(1, bins)}`)}
        from matched m ${goals}
        left join (${sessionsInWindow(whole, HAS_ARRIVED)}) s on s.session_id = m.session_id) u
      ${grouped}) t`
}
