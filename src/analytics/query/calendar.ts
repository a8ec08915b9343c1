import { Temporal } from 'temporal-polyfill'

/** A time span; `end` is exclusive. */
export interface Window {
  readonly start: Date
  readonly end: Date
}
type CalendarUnit = 'day' | 'week' | 'month' | 'year'

const zoned = (at: Date, tz: string) => Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(tz)
const instant = (at: Temporal.ZonedDateTime) => new Date(at.epochMilliseconds)

/** Parses an ISO-8601 instant with its offset. Returns undefined for 30 February, or a time without a zone. */
export function parseInstant(text: string): Date | undefined {
  if (!ISO.test(text)) return undefined
  try {
    return new Date(Temporal.Instant.from(text).epochMilliseconds)
  } catch {
    return undefined
  }
}
/** Temporal accepts more than the standard's everyday form: annotations, other separators, years of six digits. */
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/

/** A calendar day in any time zone, such as `2026-11-21`. */
export interface LocalDay {
  readonly day: string
}

/** Parses a calendar day. Returns undefined for 30 February, or for any other form. */
export function parseDay(text: string): LocalDay | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  try {
    return { day: Temporal.PlainDate.from(text).toString() }
  } catch {
    return undefined
  }
}

/** The first instant of a day in the zone, or of the day some days later. */
export const startOfDay = ({ day }: LocalDay, tz: string, later = 0): Date =>
  instant(Temporal.PlainDate.from(day).add({ days: later }).toZonedDateTime(tz))

/**
 * Returns an IANA time zone in its usual spelling; undefined if it does not exist. An offset such as `+01:00` is not
 * accepted.
 */
export function parseTimeZone(word: string): string | undefined {
  if (!/^[A-Za-z]/.test(word)) return undefined
  try {
    return zoned(new Date(0), word).timeZoneId
  } catch {
    return undefined
  }
}

/** The first instant of the day, week (Monday), month or year of `at` in the zone. A day may begin at 01:00. */
export function startOf(unit: CalendarUnit, at: Date, tz: string): Date {
  const local = zoned(at, tz)
  const date = local.toPlainDate()
  const first = {
    day: date,
    week: date.subtract({ days: date.dayOfWeek - 1 }),
    month: date.with({ day: 1 }),
    year: date.with({ month: 1, day: 1 }),
  }[unit]
  return instant(first.toZonedDateTime(tz))
}

/** The same local time some days, months or years later, or earlier if negative; 29 February becomes the 28th. */
export const shift = (at: Date, by: { days?: number; months?: number; years?: number }, tz: string): Date =>
  instant(zoned(at, tz).add(by))

/**
 * That hour of the local day of `at`, also on days when the clocks change. An hour that they skip becomes the next one.
 */
export const atLocalHour = (at: Date, hour: number, tz: string): Date =>
  instant(zoned(at, tz).toPlainDate().toZonedDateTime({ timeZone: tz, plainTime: { hour } }))

/** The local date of `at`, such as `2026-11-21`. */
export const localDate = (at: Date, tz: string): string => zoned(at, tz).toPlainDate().toString()

/** A span with one UTC offset, in milliseconds. */
export interface OffsetSpan {
  readonly start: number
  readonly end: number
  readonly offset: number
}

/** Splits the window where the zone's clocks change: a few spans, in order, without gaps. */
export function offsetSpans({ start, end }: Window, tz: string): OffsetSpan[] {
  const spans: OffsetSpan[] = []
  let at = zoned(start, tz)
  while (at.epochMilliseconds < end.getTime()) {
    const next = at.getTimeZoneTransition('next')
    const until = Math.min(next?.epochMilliseconds ?? Infinity, end.getTime())
    spans.push({ start: at.epochMilliseconds, end: until, offset: at.offsetNanoseconds / 1e6 })
    if (!next) break
    at = next
  }
  return spans
}
