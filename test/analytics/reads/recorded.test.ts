import t from 'tap'
import { z } from 'zod'
import { createRecordingLookup, joinGaps, recordedPart } from '../../../src/analytics/query/recording.js'
import { WORLD } from '../../fixtures/world.js'
import { asker, DAY } from './world-reads.js'

t.test('times that were not recorded have no value, also across a night of 25 hours', async (t) => {
  const gaps = [
    // In Berlin from one o'clock on the 25th, through the hour that the clocks show twice.
    { start: new Date('2026-10-24T23:00:00Z'), end: new Date('2026-10-25T00:20:00Z'), reason: 'not_running' as const },
    { start: new Date('2026-10-25T02:00:00Z'), end: new Date('2026-10-25T04:30:00Z'), reason: 'rows_lost' as const },
  ]
  const ask = await asker(WORLD, gaps)
  const Data = z.object({ buckets: z.array(z.looseObject({ t: z.string() })) })
  const hours = async (query: string) => {
    const { data, meta } = await ask('stats/timeseries', `${DAY}&granularity=hour&${query}`)
    return {
      buckets: Data.parse(data)
        .buckets.slice(0, 9)
        .map(({ t: _, ...bucket }) => bucket),
      meta,
    }
  }
  const people = await hours('metric=pageviews')
  t.strictSame(
    people.buckets,
    [
      { value: 1 },
      {},
      { value: 2, partial: true },
      { value: 1 },
      {},
      {},
      { value: 0, partial: true },
      { value: 0 },
      { value: 0 },
    ],
    'midnight, the gap, both hours at two, the other gap',
  )
  t.strictSame(people.meta.recorded, {
    since: '2026-10-24T10:00:00.000Z',
    gaps: [
      { start: '2026-10-24T23:00:00.000Z', end: '2026-10-25T00:20:00.000Z', reason: 'not_running' },
      { start: '2026-10-25T02:00:00.000Z', end: '2026-10-25T04:30:00.000Z', reason: 'rows_lost' },
    ],
  })
  t.same(
    people.meta.warnings?.map(({ message }) => message),
    [
      'Not recorded whole: readership was not running from 2026-10-24T23:00:00.000Z to 2026-10-25T00:20:00.000Z, rows were lost from 2026-10-25T02:00:00.000Z to 2026-10-25T04:30:00.000Z. Values of these times are absent or too low.',
    ],
    'the warning names the gaps, and no time before the first row',
  )
  const fetches = await hours('audience=agent')
  t.strictSame(
    fetches.buckets,
    [
      { value: 0 },
      {},
      { value: 0, partial: true },
      { value: 0 },
      {},
      {},
      { value: 0, partial: true },
      { value: 1 },
      { value: 1 },
    ],
    'the same for agents',
  )
  const one = async (query: string) => Data.parse((await ask('stats/timeseries', query)).data).buckets
  t.match(
    await one('site=1&start=2026-10-24T21:30:00Z&end=2026-10-24T23:30:00Z&granularity=hour&metric=pageviews'),
    [{ value: 1, partial: true }, { value: 1, partial: undefined }, { value: undefined }],
    'an hour that the window cuts is counted in part',
  )
  t.match(
    (await one('site=1&range=7d&granularity=day&metric=pageviews')).slice(4),
    [
      { value: 1, partial: true },
      { value: 4, partial: true },
      { value: 1, partial: true },
    ],
    'the day of the first row, the day of the gaps, and today',
  )
  t.match(
    await one('site=1&start=2026-10-26&end=2026-10-28&granularity=day&metric=pageviews'),
    [{ value: 1, partial: true }, { value: undefined }, { value: undefined }],
    'nothing is known of tomorrow',
  )
  const night = await ask('stats/overview', 'site=1&start=2026-10-25T02:00:00Z&end=2026-10-25T03:00:00Z')
  t.strictSame(night.data, {}, 'a window that lies in a gap has no totals')
  t.match(night.meta.warnings, [{ code: 'not_recorded', message: /rows were lost from 2026-10-25T02:00:00/ }])
  const newer = await ask('stats/overview', 'site=2&range=7d&compare=previous')
  t.match(newer.meta.recorded, { since: '2026-10-25T05:00:00.000Z', gaps: [], comparison: [] }, 'its own first row')
  t.match(newer.data, { visitors: 1, comparison: { visitors: undefined }, change: {} })
})

t.test('reads that come at once look for the first row of a site once', async (t) => {
  let asked = 0
  let time = 0
  let first: Date | undefined
  const recordingOf = createRecordingLookup({
    async query() {
      asked += 1
      if (first === undefined) throw new Error('the store is closed')
      return [{ first }]
    },
    gaps: async () => [],
    clock: () => time,
  })
  const since = async (count: number) => {
    const all = await Promise.allSettled(Array.from({ length: count }, () => recordingOf(1)))
    return all.map((one) => (one.status === 'fulfilled' ? one.value.since : 'failed'))
  }
  const [early, late] = [new Date('2026-10-01T00:00:00Z'), new Date('2026-10-02T00:00:00Z')]
  const rows: [at: number, stored: Date | undefined, found: unknown, asked: number, why: string][] = [
    [0, undefined, 'failed', 1, 'a failure is shared, and not cached'],
    [1, late, late, 2, 'found'],
    [60_000, early, late, 2, 'cached'],
    [60_001, early, early, 3, 'after a minute, an import may have added older rows'],
  ]
  for (const [at, stored, found, times, why] of rows) {
    time = at
    first = stored
    t.same(
      await since(10),
      Array.from({ length: 10 }, () => found),
      why,
    )
    t.equal(asked, times, why)
  }
})

t.test('thousands of gaps do not slow down a chart', async (t) => {
  const HOUR = 3_600_000
  const start = Date.parse('2026-01-01T00:00:00Z')
  const at = (hours: number) => new Date(start + hours * HOUR)
  // A machine that sleeps for the first half of each second hour, for a year.
  const gaps = Array.from({ length: 4_380 }, (_, i) => ({
    ...{ start: at(2 * i), end: at(2 * i + 0.5), reason: 'clock_changed' as const },
  }))
  const recording = { since: new Date(start - HOUR), gaps }
  const began = performance.now()
  const parts = Array.from({ length: 8_760 }, (_, i) =>
    recordedPart(recording, { start: at(i), end: at(i + 1) }, at(9_000)),
  )
  const ms = performance.now() - began
  t.same(new Set(parts.filter((_, i) => i % 2 === 0)), new Set(['part']))
  t.same(new Set(parts.filter((_, i) => i % 2 === 1)), new Set(['all']))
  t.ok(ms < 2_000, `${Math.round(ms)} ms for the hours of a year; it took 14 s when each hour looked at all gaps`)
})

t.test('an answer lists 200 gaps at most, and leaves no time out', async (t) => {
  const MINUTE = 60_000
  const start = Date.parse('2026-10-25T00:00:00Z')
  const at = (minutes: number) => new Date(start + minutes * MINUTE)
  const window = { start: at(0), end: at(400) }
  // Two in each part of the window of two minutes: 20 seconds long at its start, 30 seconds from its middle.
  const gaps = Array.from({ length: 400 }, (_, i) => ({
    ...{ start: at(i), end: at(i + (i % 2 === 0 ? 1 / 3 : 1 / 2)) },
    reason: i % 2 === 0 ? ('rows_lost' as const) : ('not_running' as const),
  }))
  const rows: [count: number, listed: number, first: object, last: object, why: string][] = [
    [200, 200, gaps[0] ?? {}, gaps[199] ?? {}, 'as they are'],
    [
      201,
      101,
      { start: at(0), end: at(1.5), reason: 'not_running', joined: 2 },
      gaps[200] ?? {},
      'joined in twos; the last is alone in its part',
    ],
    [
      400,
      200,
      { start: at(0), end: at(1.5), reason: 'not_running', joined: 2 },
      { start: at(398), end: at(399.5), reason: 'not_running', joined: 2 },
      'all of them joined, with the reason of the longer one',
    ],
  ]
  for (const [count, listed, first, last, why] of rows) {
    const found = joinGaps(gaps.slice(0, count), window)
    t.equal(found.length, listed, why)
    t.strictSame([found[0], found.at(-1)], [first, last], why)
  }
  const ask = await asker(WORLD, gaps)
  const answer = await ask(
    'stats/overview',
    `site=1&start=${at(0).toISOString()}&end=${at(400).toISOString()}&compare=none`,
  )
  const { gaps: shown = [] } = answer.meta.recorded ?? {}
  t.equal(shown.length, 200)
  t.same(shown[0], { start: at(0).toISOString(), end: at(1.5).toISOString(), reason: 'not_running', joined: 2 })
})
