import type { Rows } from '../../src/storage/rows.js'
import { bucketLabel, timeline } from './calendar.js'
import type { ExpectedAnswer, ExpectedRead } from './expected-reads.js'
import { bucketParts } from './recorded.js'
import { type Question, siteView } from './site-rows.js'

const HOUR = 3_600_000

/** The weekday (1 is Monday) and the hour that clocks in the zone show. */
function clockOf(at: number, tz: string): { weekday: number; hour: number } {
  const [date = '', hour] = bucketLabel(at, tz, 'hour').split(' ')
  return { weekday: new Date(date).getUTCDay() || 7, hour: Number(hour) }
}

/** Recounts `stats/hours` hour by hour of the window. */
function expectHours(rows: Rows, q: Question): ExpectedAnswer {
  const { tz, window } = q
  const label = (at: number) => bucketLabel(at, tz, 'hour')
  const parts = bucketParts(rows, q, 'hour')
  const whole = timeline(window[0], window[1], tz, 'hour').filter(
    ({ t }, i) => parts[i] === 'all' && label(t + HOUR - 1) === label(t) && label(t + HOUR) !== label(t),
  )
  const { sessionsInWindow, fetchesInWindow } = siteView(rows, q)
  const times =
    q.audience === 'agent'
      ? fetchesInWindow.filter((row) => row.is_pageview).map((row) => row.timestamp.getTime())
      : sessionsInWindow.map(({ session }) => session.start)
  const labels = new Set(whole.map(({ label }) => label))
  const counted = times.filter((at) => labels.has(label(at)))
  const cells = [1, 2, 3, 4, 5, 6, 7].flatMap((weekday) =>
    Array.from({ length: 24 }, (_, hour) => {
      const isHere = (at: number) => {
        const clock = clockOf(at, tz)
        return clock.weekday === weekday && clock.hour === hour
      }
      const hours = whole.filter(({ t }) => isHere(t)).length
      const count = counted.filter(isHere).length
      return { weekday, hour, hours, ...(hours === 0 ? {} : { count, average: count / hours }) }
    }),
  )
  const measure = q.audience === 'agent' ? 'pageviews' : 'sessions'
  return { params: '', data: { measure, left_out: times.length - counted.length, cells } }
}

export const HOURS: ExpectedRead = {
  path: 'hours',
  audiences: ['human', 'agent'],
  ignoresComparison: true,
  expect: expectHours,
}
