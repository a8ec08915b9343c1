import { HOUR_MS } from '../../base/time-units.js'
import { raw, type Sql, sql } from '../../storage/sql.js'
import { weekHour, weekHourOf } from './buckets.js'
import { offsetSpans, type Window } from './calendar.js'
import { MAX_PARTS, remaining, unrecorded } from './compared-times.js'
import { whereClause } from './conditions.js'
import { matchingSessions } from './metrics.js'
import type { Plan } from './plan.js'
import type { Recording } from './recording.js'
import { isWithin } from './window-conditions.js'

/** The hours of a week, from Monday 00:00. */
export const WEEK_HOURS = 168
/** The cell of what happened in an hour that was not recorded whole. */
export const NO_CELL = -1

/** The hours of a window that were recorded whole, from their first minute to their last. */
export interface WholeHours {
  /** Parts of the window, in order, that have all of them and nothing else. */
  readonly times: readonly Window[]
  /** How many there are of each hour of the week. */
  readonly counts: readonly number[]
}

/**
 * Finds the hours of a window, as clocks in the zone show them, that were recorded whole. An hour that clocks show twice is
 * two hours. Where clocks change by half an hour, the cut hours are left out: an average of an hour needs an hour.
 */
export function findWholeHours(whole: Window, tz: string, recording: Recording, now: Date): WholeHours {
  const window = { start: whole.start, end: whole.end > now ? now : whole.end }
  const missing = unrecorded(window, recording, now)
  const length = window.end.getTime() - window.start.getTime()
  for (let step = HOUR_MS; ; step *= 2) {
    const times: { start: number; end: number }[] = []
    const counts = Array.from({ length: WEEK_HOURS }, () => 0)
    for (const { start, end, offset } of offsetSpans(window, tz)) {
      const first = Math.ceil((start + offset) / HOUR_MS) * HOUR_MS - offset
      const last = Math.floor((end + offset) / HOUR_MS) * HOUR_MS - offset
      if (last <= first) continue
      const cuts = missing.flatMap((time): [number, number][] => {
        const [from, to] = [Math.max(time.start.getTime(), first), Math.min(time.end.getTime(), last)]
        return from < to ? [[from - first, to - first]] : []
      })
      for (const [from, to] of remaining(cuts, last - first, step)) {
        for (let at = first + from; at < first + to; at += HOUR_MS) {
          const cell = weekHourOf(at + offset)
          counts[cell] = (counts[cell] ?? 0) + 1
        }
        const before = times.at(-1)
        if (before?.end === first + from) before.end = first + to
        else times.push({ start: first + from, end: first + to })
      }
    }
    if (times.length > MAX_PARTS && step < length) continue
    return { times: times.map(({ start, end }) => ({ start: new Date(start), end: new Date(end) })), counts }
  }
}

/** Selects `cell` and `n`: visits of people by their start, or reads of agents, in each hour of the week. */
export function countWeekHours(plan: Plan, { times }: WholeHours): Sql {
  const { window, tz, dialect } = plan
  const cell = (moment: Sql) =>
    sql`case when ${isWithin(moment, times, window)} then ${weekHour(moment, window, tz, dialect)} else ${raw(String(NO_CELL))} end`
  if (plan.audience === 'agent')
    return sql`
      select ${cell(raw('timestamp'))} as cell, count(*) as n from agent_events
      where ${whereClause(plan)} and is_pageview group by cell`
  return sql`select value as cell, count(*) as n from (${matchingSessions(plan, { value: cell })}) m group by value`
}
