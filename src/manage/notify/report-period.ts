import { atLocalHour, localDate, shift, startOf, type Window } from '../../analytics/query/calendar.js'
import type { Period } from '../reports.js'

/** A week or month that has ended and whose report is due. */
export interface EndedPeriod extends Window {
  /** The kind with its first day: `weekly:2026-11-16`. */
  readonly name: string
  /** `2026-11-16 to 2026-11-22`. */
  readonly days: string
}

/** The local hour at which a report is sent. */
const SEND_HOUR = 6
const UNITS = { weekly: 'week', monthly: 'month' } as const
const STEPS = { weekly: { days: -7 }, monthly: { months: -1 } } as const

/** Returns the last week or month, in the time zone, whose report was due (at `SEND_HOUR` after its end) by `now`. */
export function lastEndedPeriod(period: Period, now: Date, tz: string): EndedPeriod {
  const before = (at: Date) => startOf(UNITS[period], shift(at, STEPS[period], tz), tz)
  const latest = startOf(UNITS[period], now, tz)
  const end = now < atLocalHour(latest, SEND_HOUR, tz) ? before(latest) : latest
  const start = before(end)
  const first = localDate(start, tz)
  const last = localDate(new Date(end.getTime() - 1), tz)
  return { start, end, name: `${period}:${first}`, days: `${first} to ${last}` }
}
