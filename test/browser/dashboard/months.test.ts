import t from 'tap'
import { z } from 'zod'
import { loadDashboardModule } from '../../fixtures/dashboard-module.js'

type Days = { start: string; end: string }
const { monthBefore, isMonth, dayOf, addDays, instantOf } = z
  .object({
    monthBefore: z.custom<(day: string) => Days>(),
    isMonth: z.custom<(start: string, end: string) => boolean>(),
    dayOf: z.custom<(instant: number, zone: string) => string>(),
    addDays: z.custom<(day: string, count: number) => string>(),
    instantOf: z.custom<(local: string, zone: string) => number>(),
  })
  .parse(await loadDashboardModule('state/zone.ts'))

const ZONE = 'Europe/Berlin'

t.test('last month in the zone of the site, by hand', async (t) => {
  const rows: readonly [now: string, month: Days, from: string, until: string, why: string][] = [
    [
      '2026-03-31T21:59:00Z',
      { start: '2026-02-01', end: '2026-02-28' },
      '2026-01-31T23:00:00.000Z',
      '2026-02-28T23:00:00.000Z',
      'a minute before April, in summer time',
    ],
    [
      '2026-03-31T22:00:00Z',
      { start: '2026-03-01', end: '2026-03-31' },
      '2026-02-28T23:00:00.000Z',
      '2026-03-31T22:00:00.000Z',
      'March lacks an hour: 743 hours',
    ],
    [
      '2026-10-31T22:59:00Z',
      { start: '2026-09-01', end: '2026-09-30' },
      '2026-08-31T22:00:00.000Z',
      '2026-09-30T22:00:00.000Z',
      'a minute before November, in winter time',
    ],
    [
      '2026-10-31T23:00:00Z',
      { start: '2026-10-01', end: '2026-10-31' },
      '2026-09-30T22:00:00.000Z',
      '2026-10-31T23:00:00.000Z',
      'October has an hour more: 745 hours',
    ],
    [
      '2028-03-05T12:00:00Z',
      { start: '2028-02-01', end: '2028-02-29' },
      '2028-01-31T23:00:00.000Z',
      '2028-02-29T23:00:00.000Z',
      'a leap year',
    ],
    [
      '2026-01-31T12:00:00Z',
      { start: '2025-12-01', end: '2025-12-31' },
      '2025-11-30T23:00:00.000Z',
      '2025-12-31T23:00:00.000Z',
      'the year before',
    ],
  ]
  for (const [now, month, from, until, why] of rows) {
    const { start, end } = monthBefore(dayOf(Date.parse(now), ZONE))
    t.same({ start, end }, month, why)
    const edge = (day: string) => new Date(instantOf(`${day}T00:00`, ZONE)).toISOString()
    t.same([edge(start), edge(addDays(end, 1))], [from, until], `${why}: its instants`)
    t.equal(isMonth(start, end), true)
    t.equal(isMonth(start, addDays(end, -1)), false)
    t.equal(isMonth(addDays(start, 1), addDays(end, 1)), false)
  }
})
