import fc from 'fast-check'
import t from 'tap'
import { bucketKey, chooseGranularity, listBuckets } from '../../../src/analytics/query/buckets.js'
import { offsetSpans, parseTimeZone, startOf } from '../../../src/analytics/query/calendar.js'
import { Envelope, parseParameters, RANGES } from '../../../src/analytics/query/envelope.js'
import { createPlan, resolveWindow } from '../../../src/analytics/query/plan.js'
import { duckdbDialect as dialect } from '../../../src/storage/dialects/duckdb.js'
import { GRANULARITIES, raw, sql } from '../../../src/storage/sql.js'
import { openStore } from '../../fixtures/open-store.js'
import { bucketLabel, midnight, timeline } from '../../oracle/calendar.js'

const at = (iso: string) => new Date(iso.length === 17 ? iso.replace('Z', ':00.000Z') : iso)
const span = (start: string, end: string) => ({ start: at(start), end: at(end) })

const AUTUMN = '2026-11-21T08:00Z'
const windows: [range: (typeof RANGES)[number], tz: string, now: string, start: string, end: string, why: string][] = [
  ['today', 'Europe/Berlin', AUTUMN, '2026-11-20T23:00Z', AUTUMN, 'up to now'],
  ['yesterday', 'Europe/Berlin', AUTUMN, '2026-11-19T23:00Z', '2026-11-20T23:00Z', 'a whole day'],
  ['24h', 'Europe/Berlin', AUTUMN, '2026-11-20T08:00Z', AUTUMN, 'rolling'],
  ['7d', 'Europe/Berlin', AUTUMN, '2026-11-14T23:00Z', AUTUMN, 'today is the seventh day'],
  ['30d', 'Europe/Berlin', AUTUMN, '2026-10-22T22:00Z', AUTUMN, 'begins in summer time'],
  ['90d', 'Europe/Berlin', AUTUMN, '2026-08-23T22:00Z', AUTUMN, '24 August'],
  ['12mo', 'Europe/Berlin', AUTUMN, '2025-11-30T23:00Z', AUTUMN, 'this month is the twelfth'],
  ['mtd', 'Europe/Berlin', AUTUMN, '2026-10-31T23:00Z', AUTUMN, '1 November'],
  ['ytd', 'Europe/Berlin', AUTUMN, '2025-12-31T23:00Z', AUTUMN, '1 January'],
  ['all', 'Europe/Berlin', AUTUMN, '2026-02-03T04:05Z', AUTUMN, "the site's first row"],
  ['today', 'America/New_York', AUTUMN, '2026-11-21T05:00Z', AUTUMN, 'EST'],
  ['30d', 'America/New_York', AUTUMN, '2026-10-23T04:00Z', AUTUMN, 'begins in EDT'],
  ['mtd', 'America/New_York', AUTUMN, '2026-11-01T04:00Z', AUTUMN, 'the day its clocks went back began in EDT'],
  ['today', 'Asia/Kolkata', AUTUMN, '2026-11-20T18:30Z', AUTUMN, 'an offset of half an hour'],
  ['7d', 'Asia/Kolkata', AUTUMN, '2026-11-14T18:30Z', AUTUMN, 'no summer time'],
  ['today', 'Australia/Lord_Howe', AUTUMN, '2026-11-20T13:00Z', AUTUMN, 'summer time there'],
  ['90d', 'Australia/Lord_Howe', AUTUMN, '2026-08-23T13:30Z', AUTUMN, 'standard time there, half an hour later'],
  ['yesterday', 'Europe/Berlin', '2026-10-26T12:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z', '25 hours'],
  ['yesterday', 'Europe/Berlin', '2026-03-30T12:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z', '23 hours'],
  ['yesterday', 'America/New_York', '2026-03-09T12:00Z', '2026-03-08T05:00Z', '2026-03-09T04:00Z', '23 hours'],
  ['yesterday', 'Australia/Lord_Howe', '2026-04-05T14:00Z', '2026-04-04T13:00Z', '2026-04-05T13:30Z', '24 and a half'],
  ['24h', 'Europe/Berlin', '2026-10-25T12:00Z', '2026-10-24T12:00Z', '2026-10-25T12:00Z', '24 hours, not a day'],
  [
    'today',
    'Africa/Cairo',
    '2026-04-24T12:00Z',
    '2026-04-23T22:00Z',
    '2026-04-24T12:00Z',
    'a day that begins at 01:00',
  ],
  ['7d', 'Africa/Cairo', '2026-04-24T12:00Z', '2026-04-17T22:00Z', '2026-04-24T12:00Z', 'counted from such a day'],
  ['12mo', 'Europe/Berlin', '2026-03-31T12:00Z', '2025-03-31T22:00Z', '2026-03-31T12:00Z', 'from the 31st'],
  ['24h', 'UTC', '2026-11-21T08:00:00.001Z', '2026-11-20T08:00:10Z', '2026-11-21T08:00:10Z', 'with these ten seconds'],
  ['30d', 'UTC', '2026-11-21T23:59:51Z', '2026-10-23T00:00Z', '2026-11-22T00:00Z', 'and with the last of the day'],
  ['today', 'UTC', '2026-11-21T23:59:51Z', '2026-11-21T00:00Z', '2026-11-22T00:00Z', 'which is still today'],
]
t.test('a range becomes a window in its zone', async (t) => {
  for (const [range, tz, now, start, end, why] of windows) {
    const found = resolveWindow({ range, start: undefined, end: undefined }, tz, at(now), at('2026-02-03T04:05Z'))
    t.strictSame(found, span(start, end), `${range}, ${tz}, ${now}: ${why}`)
  }
  t.strictSame(new Set(windows.map(([range]) => range)), new Set(RANGES), 'every range is in the table')
})

const given: [query: string, start: string, end: string, why: string][] = [
  [
    'start=2026-11-01T00:00:00Z&end=2026-11-02T00:00:00Z&range=7d',
    '2026-11-01T00:00Z',
    '2026-11-02T00:00Z',
    'start and end win over range',
  ],
  ['start=2026-11-20T08:00:00%2B01:00', '2026-11-20T07:00Z', AUTUMN, 'start alone: until now'],
  ['start=2026-11-20T08:00:00+01:00', '2026-11-20T07:00Z', AUTUMN, 'a plus that was not escaped'],
  ['end=2026-11-01T12:00:00Z&range=7d', '2026-10-25T23:00Z', '2026-11-01T12:00Z', 'end alone: the range before it'],
  ['', '2026-10-22T22:00Z', AUTUMN, '30 days by default'],
  ['start=2026-11-01&end=2026-11-02', '2026-10-31T23:00Z', '2026-11-02T23:00Z', 'two days, both whole'],
  ['start=2026-10-25&end=2026-10-25', '2026-10-24T22:00Z', '2026-10-25T23:00Z', 'a day of 25 hours'],
  ['start=2026-03-29&end=2026-03-29', '2026-03-28T23:00Z', '2026-03-29T22:00Z', 'a day of 23 hours'],
  ['start=2026-04-24&end=2026-04-24&tz=Africa/Cairo', '2026-04-23T22:00Z', '2026-04-24T21:00Z', 'begins at 01:00'],
  ['start=2026-11-01&end=2026-11-02&tz=UTC', '2026-11-01T00:00Z', '2026-11-03T00:00Z', 'of the zone that is asked for'],
  ['start=2026-11-20', '2026-11-19T23:00Z', AUTUMN, 'a day alone: until now'],
  ['start=2026-11-20T12:00:00Z&end=2026-11-20', '2026-11-20T12:00Z', '2026-11-20T23:00Z', 'an instant with a day'],
  ['end=2026-11-01&range=7d', '2026-10-25T23:00Z', '2026-11-01T23:00Z', 'the range up to that day: seven whole days'],
  ['end=2026-10-31&range=mtd', '2026-09-30T22:00Z', '2026-10-31T23:00Z', 'the month of that day'],
  ['end=2026-11-01&range=today', '2026-10-31T23:00Z', '2026-11-01T23:00Z', 'that day'],
]
const site = { id: 1, timezone: 'Europe/Berlin' }
const resolved = { dialect, site, audience: 'human' as const, segment: [], now: at(AUTUMN) }
const planned = (query: string) =>
  createPlan(parseParameters(Envelope, new URLSearchParams(`site=1&${query}`)), resolved)
t.test('start and end override the range', async (t) => {
  for (const [query, start, end, why] of given) t.strictSame(planned(query).window, span(start, end), why)
})

t.test('a day in a zone is the day that its clock shows, as the oracle walks it', async (t) => {
  for (const tz of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Africa/Cairo', 'UTC'])
    for (let n = 0; n < 366; n += 1) {
      const noon = Date.UTC(2026, 0, 1 + n, 12)
      const day = new Date(noon).toISOString().slice(0, 10)
      const found = planned(`start=${day}&end=${day}&tz=${tz}`).window
      const wanted = { start: new Date(midnight(noon, tz)), end: new Date(midnight(noon, tz, 1)) }
      if (found.start.getTime() !== wanted.start.getTime() || found.end.getTime() !== wanted.end.getTime())
        t.strictSame(found, wanted, `${day} in ${tz}`)
    }
  t.throws(
    () => planned('start=2026-11-02&end=2026-11-01'),
    { code: 'validation_error', field: 'start' },
    'the wrong way round',
  )
})

const compared: [query: string, start: string, end: string, why: string][] = [
  ['range=yesterday&compare=previous', '2026-11-18T23:00Z', '2026-11-19T23:00Z', 'the same length, right before'],
  [
    'start=2026-10-24T22:00:00Z&end=2026-10-25T23:00:00Z&compare=previous',
    '2026-10-23T21:00Z',
    '2026-10-24T22:00Z',
    '25 hours before a day of 25 hours',
  ],
  ['range=mtd&compare=year', '2025-10-31T23:00Z', '2025-11-21T08:00Z', 'the same days'],
  [
    'start=2026-03-28T23:00:00Z&end=2026-03-29T22:00:00Z&compare=year',
    '2025-03-28T23:00Z',
    '2025-03-29T23:00Z',
    'by the calendar: a day of 24 hours a year before one of 23',
  ],
  [
    'start=2024-02-29T10:00:00Z&end=2024-03-01T10:00:00Z&compare=year',
    '2023-02-28T10:00Z',
    '2023-03-01T10:00Z',
    'no 29 February',
  ],
]
t.test('compare selects the other window', async (t) => {
  for (const [query, start, end, why] of compared) t.strictSame(planned(query).comparison, span(start, end), why)
  t.equal(planned('compare=none').comparison, undefined)
})

const chosen: [start: string, end: string, unit: string, why: string][] = [
  ['2026-11-20T23:00Z', '2026-11-21T02:00Z', 'minute', '180'],
  ['2026-11-20T23:00Z', '2026-11-21T02:20Z', 'minute', '200 are few enough'],
  ['2026-11-20T23:00Z', '2026-11-21T02:21Z', 'hour', '201 are not, though hours are four'],
  ['2026-11-14T23:00Z', AUTUMN, 'hour', '7 days: 153'],
  ['2026-10-22T22:00Z', AUTUMN, 'day', '30'],
  ['2025-11-30T23:00Z', AUTUMN, 'week', 'a year: 356 days are too many'],
  ['2010-01-01T00:00Z', AUTUMN, 'month', '203 months, and nothing is coarser'],
]
t.test('granularity defaults to at most 200 buckets', async (t) => {
  for (const [start, end, unit, why] of chosen) {
    t.equal(chooseGranularity(span(start, end), 'Europe/Berlin', undefined), unit, why)
  }
  const week = span('2026-11-14T00:00:00.000Z', '2026-11-20T22:40:00.000Z')
  t.equal(chooseGranularity(week, 'UTC', 'minute'), 'minute', '10,000 may be asked for')
  const more = { ...week, end: new Date(week.end.getTime() + 1) }
  t.throws(
    () => chooseGranularity(more, 'UTC', 'minute'),
    { code: 'validation_error', field: 'granularity' },
    '10,001 may not',
  )
})

const cut: [
  start: string,
  end: string,
  tz: string,
  unit: 'hour' | 'day' | 'week' | 'month',
  starts: string[],
  why: string,
][] = [
  [
    '2026-10-24T23:40Z',
    '2026-10-25T02:10Z',
    'Europe/Berlin',
    'hour',
    ['2026-10-24T23:00Z', '2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'],
    'two o’clock happens twice: two buckets',
  ],
  [
    '2026-10-23T22:00Z',
    '2026-10-26T10:00Z',
    'Europe/Berlin',
    'day',
    ['2026-10-23T22:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    'a day of 25 hours is one',
  ],
  [
    '2026-03-29T10:00Z',
    '2026-03-30T10:00Z',
    'Europe/Berlin',
    'day',
    ['2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    'the first bucket begins before the window, and before the clocks changed',
  ],
  [
    '2026-04-04T14:00Z',
    '2026-04-04T16:00Z',
    'Australia/Lord_Howe',
    'hour',
    ['2026-04-04T14:00Z', '2026-04-04T15:00Z', '2026-04-04T15:30Z'],
    'half of one o’clock is repeated',
  ],
  [
    '2026-10-03T14:30Z',
    '2026-10-03T17:00Z',
    'Australia/Lord_Howe',
    'hour',
    ['2026-10-03T14:30Z', '2026-10-03T15:30Z', '2026-10-03T16:00Z'],
    'half of two o’clock is left out',
  ],
  [
    '2026-04-23T10:00Z',
    '2026-04-24T10:00Z',
    'Africa/Cairo',
    'day',
    ['2026-04-22T22:00Z', '2026-04-23T22:00Z'],
    'a day that begins at 01:00',
  ],
  [
    '2026-10-21T10:00Z',
    '2026-11-03T10:00Z',
    'Europe/Berlin',
    'week',
    ['2026-10-18T22:00Z', '2026-10-25T23:00Z', '2026-11-01T23:00Z'],
    'weeks start on Monday',
  ],
  [
    '2025-12-31T23:30Z',
    '2026-04-01T00:00Z',
    'Europe/Berlin',
    'month',
    ['2025-12-31T23:00Z', '2026-01-31T23:00Z', '2026-02-28T23:00Z', '2026-03-31T22:00Z'],
    'months are the calendar’s',
  ],
  ['2026-01-01T00:00Z', '2026-01-01T00:00Z', 'UTC', 'day', [], 'an empty window has no buckets'],
]
t.test('buckets cover the window, also when clocks change', async (t) => {
  for (const [start, end, tz, unit, starts, why] of cut) {
    const found = listBuckets(span(start, end), tz, unit)
    t.strictSame(
      found.map((bucket) => bucket.t),
      starts.map(at),
      `${tz}: ${why}`,
    )
    t.equal(new Set(found.map(({ key }) => key)).size, found.length, 'each has a key of its own')
  }
})

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'America/St_Johns',
]
t.test('the engine and the calendar put a row into the same bucket', async (t) => {
  const store = await openStore(t)
  const start = fc.integer({ min: at('2026-02-01T00:00Z').getTime(), max: at('2026-12-01T00:00Z').getTime() })
  const property = fc.asyncProperty(
    fc.constantFrom(...ZONES),
    fc.constantFrom(...GRANULARITIES),
    start,
    fc.integer({ min: 1, max: 260 * 86_400_000 }),
    fc.array(fc.double({ min: 0, max: 0.999999, noNaN: true }), { minLength: 1, maxLength: 20 }),
    async (tz, unit, from, length, shares) => {
      const window = {
        start: new Date(from),
        end: new Date(from + (unit === 'minute' ? length % 86_400_000 : length) + 1),
      }
      const rows = shares.map((share) => Math.floor(from + share * (window.end.getTime() - from)))
      const values = rows.map((ms) => sql`select ${new Date(ms)} as ts`).reduce((a, b) => sql`${a} union all ${b}`)
      const key = bucketKey(raw('ts'), window, tz, unit, store.dialect)
      const found = await store.query(sql`select epoch_ms(ts) as ms, ${key} as key from (${values}) r`)
      const own = listBuckets(window, tz, unit)
      t.notOk(
        own.some(({ t: a }, i) => i > 0 && a <= (own[i - 1]?.t ?? a)),
        'in order',
      )
      for (const { ms, key } of found) {
        const bucket = own.find((each) => each.key === key)
        if (!bucket || typeof ms !== 'number') throw new Error(`${tz} ${unit}: no bucket of ${ms}`)
        const next = own[own.indexOf(bucket) + 1]?.t.getTime() ?? Infinity
        const name = bucketLabel(bucket.t.getTime(), tz, unit)
        if (bucket.t.getTime() > ms || next <= ms || name !== bucketLabel(ms, tz, unit)) {
          throw new Error(`${tz} ${unit}: ${new Date(ms).toISOString()} in the bucket of ${bucket.t.toISOString()}`)
        }
      }
    },
  )
  await fc.assert(property, { numRuns: 300, seed: 1 })
})

t.test('the list of buckets equals the one from walking the clock', async (t) => {
  for (const tz of ZONES) {
    for (const unit of ['hour', 'day', 'week', 'month'] as const) {
      const window = span('2026-03-01T11:11:11.111Z', '2026-11-05T22:22:22.222Z')
      t.strictSame(
        listBuckets(window, tz, unit).map((bucket) => bucket.t.getTime()),
        timeline(window.start.getTime(), window.end.getTime(), tz, unit).map((bucket) => bucket.t),
        `${tz} ${unit}`,
      )
    }
  }
})

t.test('time zones are normalised or refused', async (t) => {
  const words: [word: string, name: string | undefined][] = [
    ['Europe/Berlin', 'Europe/Berlin'],
    ['europe/berlin', 'Europe/Berlin'],
    ['UTC', 'UTC'],
    ['Mars/Olympus', undefined],
    ['+01:00', undefined],
    ['', undefined],
    ['constructor', undefined],
  ]
  for (const [word, name] of words) t.equal(parseTimeZone(word), name, word)
  t.strictSame(offsetSpans(span('2026-10-24T00:00Z', '2026-10-26T00:00Z'), 'Europe/Berlin'), [
    { start: at('2026-10-24T00:00Z').getTime(), end: at('2026-10-25T01:00Z').getTime(), offset: 7_200_000 },
    { start: at('2026-10-25T01:00Z').getTime(), end: at('2026-10-26T00:00Z').getTime(), offset: 3_600_000 },
  ])
  t.strictSame(startOf('week', at('2026-11-22T12:00Z'), 'UTC'), at('2026-11-16T00:00Z'), 'Sunday ends a week')
})
