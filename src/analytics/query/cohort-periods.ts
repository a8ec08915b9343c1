import { DAY_MS } from '../../base/time-units.js'
import { type Dialect, raw, type Sql, sql } from '../../storage/sql.js'
import { bucketEnds, bucketKey, listBuckets } from './buckets.js'
import type { Window } from './calendar.js'
import { type SaltPeriod, saltPeriodEnd } from './salt-periods.js'

export type CohortUnit = 'day' | 'week' | 'month'

/** A period of cohorts, with the value of the key for sessions that began in it. */
export interface CohortPeriod extends Window {
  readonly key: number
  /** The instant at which the visitors of the period get another id. */
  readonly idsEnd?: Date | undefined
}

/** Lists the periods that the window touches by the calendar of the zone, at most `limit` of them. */
export function calendarPeriods(window: Window, tz: string, unit: CohortUnit, limit?: number): CohortPeriod[] {
  const buckets = listBuckets(window, tz, unit, limit)
  const ends = bucketEnds(buckets, tz, unit)
  return buckets.map(({ t: start, key }, i) => ({ start, end: ends[i] ?? window.end, key }))
}

const WEEK_MS = 7 * DAY_MS
/** The fifth week of a month has up to three days. */
const WEEKS_OF_MONTH = 5
const countsFromFirst = (unit: CohortUnit, salt: SaltPeriod) => unit === 'week' && salt === 'month'

/**
 * Lists the periods that the window touches as they follow each change of ids, by UTC, as ids change. Where ids last a month,
 * weeks begin on the 1st, 8th, 15th, 22nd and 29th. No period goes on after a change, so that each is known or not. Ids that never
 * change leave the calendar of the zone.
 */
export function idPeriods(window: Window, tz: string, unit: CohortUnit, salt: SaltPeriod): CohortPeriod[] {
  if (salt === 'never') return calendarPeriods(window, tz, unit)
  const periods = countsFromFirst(unit, salt) ? weeksOfMonths(window) : calendarPeriods(window, 'UTC', unit)
  return periods.map((period) => ({ ...period, idsEnd: saltPeriodEnd(salt, period.start) }))
}

function weeksOfMonths({ start, end }: Window): CohortPeriod[] {
  const periods: CohortPeriod[] = []
  const first = start.getUTCFullYear() * 12 + start.getUTCMonth()
  for (let month = first; monthStart(month) < end.getTime(); month++)
    for (let week = 0; week < WEEKS_OF_MONTH; week++) {
      const begins = monthStart(month) + week * WEEK_MS
      const ends = Math.min(begins + WEEK_MS, monthStart(month + 1))
      if (begins < ends && begins < end.getTime() && ends > start.getTime())
        periods.push({ start: new Date(begins), end: new Date(ends), key: month * WEEKS_OF_MONTH + week })
    }
  return periods
}
const monthStart = (month: number): number => Date.UTC(Math.floor(month / 12), month % 12)

/** Whether the change of ids cuts a period short. */
export const isCutShort = ({ start, end }: CohortPeriod, unit: CohortUnit): boolean =>
  unit === 'week' && end.getTime() - start.getTime() < WEEK_MS

/** Counts the periods, with its own, in which the visitors of a cohort keep their ids. */
export function periodsOfIds({ start, idsEnd }: CohortPeriod, unit: CohortUnit): number {
  if (idsEnd === undefined) return Number.POSITIVE_INFINITY
  return unit === 'month' ? 1 : Math.ceil((idsEnd.getTime() - start.getTime()) / (unit === 'day' ? DAY_MS : WEEK_MS))
}

/** The key in SQL of the period of `idPeriods` in which an instant lies. */
export function idPeriodKey(
  column: Sql,
  { window, tz, dialect }: { window: Window; tz: string; dialect: Dialect },
  unit: CohortUnit,
  salt: SaltPeriod,
): Sql {
  if (!countsFromFirst(unit, salt)) return bucketKey(column, window, salt === 'never' ? tz : 'UTC', unit, dialect)
  const month = sql`(extract(year from ${column}) * 12 + extract(month from ${column}) - 1)`
  const week = dialect.divideInteger(sql`(extract(day from ${column}) - 1)`, raw('7'))
  return sql`(${month} * ${raw(String(WEEKS_OF_MONTH))} + ${week})`
}
