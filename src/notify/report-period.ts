import type { Period } from '../manage/reports.js'
import { atLocalHour, localDate, shift, startOf, type Window } from '../query/calendar.js'

/** A week or a month that has ended, and whose report is due. */
export interface EndedPeriod extends Window {
  /** `weekly:2026-11-16`, by its first day. */
  readonly name: string
  /** `2026-11-16 to 2026-11-22`. */
  readonly days: string
}

/** The local hour at which a report is sent. */
const SEND_HOUR = 6
const UNITS = { weekly: 'week', monthly: 'month' } as const
const STEPS = { weekly: { days: -7 }, monthly: { months: -1 } } as const

/** The last week or month, in the zone, that ended at `HOUR` of this day or before. */
export function lastEndedPeriod(period: Period, now: Date, tz: string): EndedPeriod {
  const before = (at: Date) => startOf(UNITS[period], shift(at, STEPS[period], tz), tz)
  const latest = startOf(UNITS[period], now, tz)
  const end = now < atLocalHour(latest, SEND_HOUR, tz) ? before(latest) : latest
  const start = before(end)
  const first = localDate(start, tz)
  const last = localDate(new Date(end.getTime() - 1), tz)
  return { start, end, name: `${period}:${first}`, days: `${first} to ${last}` }
}
