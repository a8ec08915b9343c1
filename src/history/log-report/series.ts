import { HOUR_MS } from '../../base/time-units.js'
import type { LogReport } from './report.js'

/** No zone begins its day within a quarter of an hour of another's, so quarters add up to the hours and days of any. */
const QUARTER_MS = 15 * 60_000
const MAX_HOURLY_MS = 2 * 24 * HOUR_MS
const MAX_DAILY_MS = 100 * 24 * HOUR_MS
/** Characters of `2026-11-21 13:45:00` that name the bucket. */
const LABEL_LENGTH = { hour: 13, day: 10, month: 7 } as const

interface Count {
  pageviews: number
  requests: number
}

/** Creates the time line of a log: people's pageviews and agents' requests, counted by quarters of an hour. */
export function createSeries() {
  const quarters = new Map<number, Count>()
  let latest = Number.NaN
  let count: Count = { pageviews: 0, requests: 0 }
  return {
    /** Returns the counts of the quarter that `at` (milliseconds since 1970) is in. */
    at(at: number): Count {
      const quarter = Math.floor(at / QUARTER_MS)
      if (quarter !== latest) {
        latest = quarter
        count = quarters.get(quarter) ?? { pageviews: 0, requests: 0 }
        quarters.set(quarter, count)
      }
      return count
    },
    /** Adds the quarters up to the hours of the day in a zone. */
    hours(tz: string): LogReport['hours'] {
      const format = new Intl.DateTimeFormat('sv-SE', { timeZone: tz, hour: '2-digit' })
      const hours = Array.from({ length: 24 }, (_, hour) => ({ hour, pageviews: 0, requests: 0 }))
      for (const [quarter, { pageviews, requests }] of quarters) {
        const hour = hours[Number(format.format(quarter * QUARTER_MS))]
        if (hour === undefined) continue
        hour.pageviews += pageviews
        hour.requests += requests
      }
      return hours
    },
    /** Adds the quarters up to hours (up to two days), days (up to 100 days) or months of a zone. */
    finish(start: number, end: number, tz: string): LogReport['series'] {
      const length = end - start
      const granularity = length <= MAX_HOURLY_MS ? 'hour' : length <= MAX_DAILY_MS ? 'day' : 'month'
      // Swedish writes dates as ISO 8601 does.
      const format = new Intl.DateTimeFormat('sv-SE', { timeZone: tz, dateStyle: 'short', timeStyle: 'medium' })
      const labelAt = (at: number) => format.format(at).slice(0, LABEL_LENGTH[granularity])
      const buckets = new Map<string, Count>()
      const step = granularity === 'month' ? 27 * 24 * HOUR_MS : granularity === 'day' ? HOUR_MS : QUARTER_MS
      for (let at = start; at <= end; at += step) buckets.set(labelAt(at), { pageviews: 0, requests: 0 })
      for (const [quarter, { pageviews, requests }] of quarters) {
        const label = labelAt(quarter * QUARTER_MS)
        const bucket = buckets.get(label) ?? { pageviews: 0, requests: 0 }
        buckets.set(label, {
          pageviews: bucket.pageviews + pageviews,
          requests: bucket.requests + requests,
        })
      }
      const sorted = [...buckets].sort(([a], [b]) => (a < b ? -1 : 1))
      return { granularity, buckets: sorted.map(([t, counts]) => ({ t, ...counts })) }
    },
  }
}
