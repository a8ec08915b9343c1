import { ApiError } from '../../base/errors.js'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time-units.js'
import { type Dialect, GRANULARITIES, type Granularity, raw, type Sql, sql } from '../../storage/sql.js'
import { type OffsetSpan, offsetSpans, startOf, type Window } from './calendar.js'

/** A bucket of a window: its first instant, and the value of `bucketKey` for its rows. */
export interface Bucket {
  readonly t: Date
  readonly key: number
}

/** 1970-01-01 was a Thursday. */
const EPOCH_TO_MONDAY = 3 * DAY_MS

/** Cuts a local time (in milliseconds, as if it were UTC) into units: the unit's number, and its first moment. */
const UNITS: Record<Granularity, { index(local: number): number; start(index: number): number }> = {
  minute: { index: (local) => Math.floor(local / MINUTE_MS), start: (i) => i * MINUTE_MS },
  hour: { index: (local) => Math.floor(local / HOUR_MS), start: (i) => i * HOUR_MS },
  day: { index: (local) => Math.floor(local / DAY_MS), start: (i) => i * DAY_MS },
  week: {
    index: (local) => Math.floor((local + EPOCH_TO_MONDAY) / (7 * DAY_MS)),
    start: (i) => i * 7 * DAY_MS - EPOCH_TO_MONDAY,
  },
  month: {
    index: (local) => new Date(local).getUTCFullYear() * 12 + new Date(local).getUTCMonth(),
    start: (i) => Date.UTC(Math.floor(i / 12), i % 12),
  },
}
/** Units of the clock: an hour that the clock shows twice is two buckets. A day of 25 hours is one. */
const isClockUnit = (unit: Granularity) => unit === 'minute' || unit === 'hour'

/**
 * Lists the buckets that the window touches, in order, at most `limit` of them. The first may begin before the window.
 */
export function listBuckets(window: Window, tz: string, unit: Granularity, limit = Infinity): Bucket[] {
  const from = startOf(unit === 'week' || unit === 'month' ? unit : 'day', window.start, tz)
  const buckets: Bucket[] = []
  let first = 0
  for (const span of offsetSpans({ start: from, end: window.end }, tz)) {
    const { index, start } = UNITS[unit]
    const last = index(span.end - 1 + span.offset)
    for (let i = index(span.start + span.offset); i <= last; i++) {
      const key = isClockUnit(unit) ? start(i) - span.offset : unit === 'month' ? i : start(i)
      const before = buckets.at(-1)
      if (before && (isClockUnit(unit) ? key === before.key : key <= before.key)) continue
      const t = Math.max(start(i) - span.offset, span.start)
      if (t <= window.start.getTime()) first = buckets.length
      buckets.push({ t: new Date(t), key })
      if (buckets.length - first > limit) return buckets.slice(first, first + limit)
    }
  }
  return window.start < window.end ? buckets.slice(first) : []
}

/** No bucket is longer. */
const MAX_LENGTH: Record<Granularity, number> = {
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: 2 * DAY_MS,
  week: 8 * DAY_MS,
  month: 32 * DAY_MS,
}

/** Returns the end of each of these buckets, which may lie after the window. */
export function bucketEnds(buckets: readonly Bucket[], tz: string, unit: Granularity): Date[] {
  return buckets.map(({ t }, i) => {
    const next = buckets[i + 1]?.t
    if (next) return next
    const end = new Date(t.getTime() + MAX_LENGTH[unit])
    return listBuckets({ start: t, end }, tz, unit, 2)[1]?.t ?? end
  })
}

/**
 * The key of a row's bucket in SQL: arithmetic on whole milliseconds with the zone's offset as a CASE, so that the
 * engine looks up no time zone per row.
 */
export function bucketKey(column: Sql, window: Window, tz: string, unit: Granularity, dialect: Dialect): Sql {
  const offset = offsetSql(column, offsetSpans(window, tz))
  const local = sql`(${dialect.epochMs(column)} + ${offset})`
  const size = (ms: number) => raw(String(ms))
  // `local` occurs only once, because engines compute it as often as it is written.
  const cut = (value: Sql, ms: number) => sql`${dialect.divideInteger(value, size(ms))} * ${size(ms)}`
  switch (unit) {
    case 'minute':
      return sql`(${cut(local, MINUTE_MS)} - ${offset})`
    case 'hour':
      return sql`(${cut(local, HOUR_MS)} - ${offset})`
    case 'day':
      return sql`(${cut(local, DAY_MS)})`
    case 'week':
      return sql`(${cut(sql`(${local} + ${size(EPOCH_TO_MONDAY)})`, 7 * DAY_MS)} - ${size(EPOCH_TO_MONDAY)})`
    case 'month': {
      const at = dialect.addMs(column, offset)
      return sql`(extract(year from ${at}) * 12 + extract(month from ${at}) - 1)`
    }
  }
}

/** The hour of the week of a local time (in milliseconds, as if it were UTC): 0 is Monday 00:00, 167 is Sunday 23:00. */
export const weekHourOf = (local: number): number => Math.floor((local + EPOCH_TO_MONDAY) / HOUR_MS) % 168

/** The same in SQL, for the instant of a row. */
export function weekHour(column: Sql, window: Window, tz: string, dialect: Dialect): Sql {
  const shift = raw(String(EPOCH_TO_MONDAY))
  const local = sql`(${dialect.epochMs(column)} + ${offsetSql(column, offsetSpans(window, tz))} + ${shift})`
  return sql`(${dialect.divideInteger(local, raw(String(HOUR_MS)))} % 168)`
}

function offsetSql(column: Sql, spans: readonly OffsetSpan[]): Sql {
  const [last, ...earlier] = spans.toReversed()
  const ms = (span: OffsetSpan | undefined) => raw(String(span?.offset ?? 0))
  if (earlier.length === 0) return ms(last)
  const cases = earlier
    .toReversed()
    .reduce((text, span) => sql`${text} when ${column} < ${new Date(span.end)} then ${ms(span)}`, raw('(case'))
  return sql`${cases} else ${ms(last)} end)`
}

const TARGET_BUCKETS = 200
const MAX_BUCKETS = 10_000

/**
 * Returns the requested granularity, or the finest that gives at most 200 buckets. Throws `validation_error` on
 * `granularity` if the requested one gives more than 10,000.
 */
export function chooseGranularity(window: Window, tz: string, asked: Granularity | undefined): Granularity {
  const duration = window.end.getTime() - window.start.getTime()
  /** Listing them is the exact count, and slow: it is left out where even the longest buckets would be too many. */
  const hasAtMost = (count: number, unit: Granularity) =>
    duration <= count * MAX_LENGTH[unit] && listBuckets(window, tz, unit, count + 1).length <= count
  if (asked === undefined) return GRANULARITIES.find((unit) => hasAtMost(TARGET_BUCKETS, unit)) ?? 'month'
  if (hasAtMost(MAX_BUCKETS, asked)) return asked
  throw new ApiError(
    'validation_error',
    `granularity ${asked} gives more than ${MAX_BUCKETS} buckets for this window.`,
    'granularity',
  )
}
