import t, { type Test } from 'tap'
import { z } from 'zod'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import type { Recording } from '../../../src/analytics/query/recording.js'
import changes from '../../../src/analytics/reads/stats/changes.js'
import type { AgentEventRow, EventRow, Rows } from '../../../src/storage/rows.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { all, common, day, times } from './url-rows.js'

/** The window is 21 October to 19 November, the one before 21 September to 20 October: `day(20)` and `day(-10)` begin them. */
const [NOW, BEFORE] = [20, -10]
const since = new Date('2026-09-01T00:00:00Z')
const whole: Recording = { since, gaps: [] }

let nextSession = 1n
/** So many visits of one page each, on a day. */
const visits = (n: number, on: Date, of: Partial<EventRow> = {}): Partial<Rows> => ({
  events: times(n, () => {
    const id = nextSession++
    const { pathname = '/', entry_page = pathname } = of
    return eventRow({ visitor_id: id, session_id: id, timestamp: on, session_start: on, ...of, pathname, entry_page })
  }),
})
/** So many pages that an agent read. */
const pageReads = (n: number, on: Date, of: Partial<AgentEventRow> = {}): Partial<Rows> => ({
  agent_events: times(n, () => agentRow({ timestamp: on, is_pageview: true, ...of })),
})

async function asker(rows: Rows, recording = whole, sections: string[] = []) {
  const store = await openStore(t)
  await store.append(rows)
  const site = async (id: number) => {
    const known = await common.site(id)
    return known && { ...known, sections }
  }
  return async (more = '') => {
    const window = /start=/.test(more) ? '' : '&start=2026-10-21T00:00:00Z&end=2026-11-20T00:00:00Z'
    const query = new URLSearchParams(`site=1${window}&granularity=day&${more}`)
    const answer = await runRead(changes, query, { ...common, store, site, recording: async () => recording })
    return { data: Data.parse(answer.data), meta: answer.meta }
  }
}
type Answer = z.infer<typeof Data>
const Part = z.strictObject({
  value: z.string().optional(),
  name: z.string().optional(),
  spoofed: z.literal(true).optional(),
  now: z.int(),
  before: z.int(),
  difference: z.int(),
})
const Data = z.strictObject({
  measure: z.string(),
  compared: z.number(),
  verdict: z.string(),
  now: z.int().optional(),
  before: z.int().optional(),
  difference: z.int().optional(),
  cause: Part.extend({
    dimension: z.string(),
    excess: z.number(),
    page: Part.optional(),
    times: z.array(z.strictObject({ t: z.string(), difference: z.int() })).optional(),
  }).optional(),
  granularity: z.string(),
  buckets: z.array(
    z.strictObject({
      t: z.string(),
      now: z.int().optional(),
      before: z.int().optional(),
      difference: z.int().optional(),
      partial: z.literal(true).optional(),
    }),
  ),
  dimensions: z.array(
    z.strictObject({
      dimension: z.string(),
      rose: z.array(Part),
      fell: z.array(Part),
      others: z.strictObject({ values: z.int(), now: z.int(), before: z.int(), difference: z.int() }),
    }),
  ),
})

/** A dimension in short: each named value with its numbers, `~` for none, then how many others there are. */
const short = ({ dimensions }: Answer, name: string): string => {
  const found = dimensions.find(({ dimension }) => dimension === name)
  if (!found) return 'absent'
  const part = ({ value = '~', spoofed, now, before }: z.infer<typeof Part>) =>
    `${spoofed ? `"${value}"` : value} ${before}>${now}`
  const { values, now, before } = found.others
  return `${found.rose.map(part).join(', ')} | ${found.fell.map(part).join(', ')} | ${values}: ${before}>${now}`
}

/** Every dimension, and the days, make the change of the total. */
function addsUp(t: Test, data: Answer): void {
  const sum = (parts: readonly { difference?: number | undefined }[]) =>
    parts.reduce((total, { difference = 0 }) => total + difference, 0)
  t.equal(sum(data.buckets), data.difference, 'the days add up')
  for (const { dimension, rose, fell, others } of data.dimensions)
    t.equal(sum([...rose, ...fell, others]), data.difference, `${dimension} adds up`)
}

const FOG = { source: 'tidewire.example', pathname: '/fog', country: 'NO' }
/** 100 visits before; now each tenth more, and 45 from one source to one page on two days. */
const ONE_CAUSE = [
  visits(60, day(BEFORE), { country: 'DE' }),
  visits(40, day(BEFORE + 1), { source: 'Google', pathname: '/a', country: 'DE', utm_campaign: 'spring' }),
  visits(66, day(NOW), { country: 'DE' }),
  visits(44, day(NOW + 1), { source: 'Google', pathname: '/a', country: 'DE', utm_campaign: 'spring' }),
  visits(30, day(44, 9), FOG),
  visits(15, day(45, 9), FOG),
]

t.test('one source, one page and two days make most of the change', async (t) => {
  const ask = await asker(all(...ONE_CAUSE))
  const { data, meta } = await ask()
  addsUp(t, data)
  t.match(data, { measure: 'sessions', compared: 1, verdict: 'cause', now: 155, before: 100, difference: 55 })
  t.equal(short(data, 'source'), 'tidewire.example 0>45, ~ 60>66, Google 40>44 |  | 0: 0>0')
  t.equal(short(data, 'entry_page'), '/fog 0>45, / 60>66, /a 40>44 |  | 0: 0>0')
  t.equal(short(data, 'country'), 'NO 0>45, DE 100>110 |  | 0: 0>0')
  t.equal(short(data, 'utm_campaign'), '~ 60>111, spring 40>44 |  | 0: 0>0')
  t.strictSame(data.cause, {
    dimension: 'source',
    ...{ value: 'tidewire.example', now: 45, before: 0, difference: 45 },
    // Page and country have the same excess; a source comes first.
    excess: 45,
    page: { value: '/fog', now: 45, before: 0, difference: 45 },
    // 30 of 45 are two thirds; with 15 more it is all.
    times: [
      { t: '2026-11-14T00:00:00.000Z', difference: 30 },
      { t: '2026-11-15T00:00:00.000Z', difference: 15 },
    ],
  })
  const days = data.buckets.filter(({ difference }) => difference !== 0)
  t.strictSame(
    days.map((one) => [one.t.slice(5, 10), one.before, one.now]),
    [
      ['10-21', 60, 66],
      ['10-22', 40, 44],
      ['11-14', 0, 30],
      ['11-15', 0, 15],
    ],
    'each day against the one at the same distance from the start of the window before',
  )
  t.equal(data.buckets.length, 30)
  t.strictSame(meta.comparison, { start: '2026-09-21T00:00:00.000Z', end: '2026-10-21T00:00:00.000Z' })
  t.strictSame(meta.warnings, undefined)
  t.match((await ask('compare=none')).meta, {
    query: { compare: 'previous' },
    warnings: [{ code: 'comparison_fixed' }],
  })
  const filtered = await ask(`filters=${encodeURIComponent('[{"dimension":"country","op":"is","value":"DE"}]')}`)
  t.match(filtered.data, { now: 110, before: 100, verdict: 'chance' }, 'filters apply: 10 is below 2 * sqrt(210)')
  await t.rejects(ask('audience=all'), { field: 'audience', code: 'validation_error' })
})

t.test('verdicts', async (t) => {
  const source = (value: string | null, before: number, now: number) => [
    visits(before, day(BEFORE), { source: value, pathname: `/${value}` }),
    visits(now, day(NOW), { source: value, pathname: `/${value}` }),
  ]
  const table: [parts: Partial<Rows>[][], verdict: string, cause: string | undefined, why: string][] = [
    [[source('a', 100, 128)], 'chance', undefined, '28 is below 2 * sqrt(228), which is 30.2'],
    [[source('a', 100, 131)], 'spread', undefined, 'all visits have one source: it grew as the total, excess 0'],
    [[source('a', 0, 4)], 'cause', 'a', '4 is not below 2 * sqrt(4), and there was nothing before'],
    [[source('a', 50, 50)], 'chance', undefined, 'nothing changed'],
    [
      [source('a', 100, 50), source('b', 100, 100)],
      'cause',
      'a',
      'a fell by 50, by 25 with all others: excess -25 of -50',
    ],
    [[source(null, 20, 80), source('b', 100, 100)], 'cause', undefined, 'visits without a source rose'],
    [
      [source('a', 100, 140), source('b', 100, 140), source('c', 100, 140), source('d', 100, 100)],
      'spread',
      undefined,
      'each has an excess of 10 of 120',
    ],
    [[source('a', 100, 40), source('b', 20, 80)], 'chance', undefined, 'they cancel each other out'],
  ]
  for (const [parts, verdict, cause, why] of table) {
    const { data } = await (await asker(all(...parts.flat())))()
    t.equal(data.verdict, verdict, why)
    t.equal(data.cause?.value, cause, why)
    t.equal(data.cause !== undefined, verdict === 'cause', why)
    addsUp(t, data)
  }
})

t.test('sections are those of the owner, then those that are found; many pages of one can be a cause', async (t) => {
  const guides = times(10, (i) => [
    visits(2, day(BEFORE), { pathname: `/guides/${i}` }),
    visits(12, day(NOW), { pathname: `/guides/${i}` }),
  ])
  const tides = [
    ...[visits(40, day(BEFORE), { pathname: '/tides/a' }), visits(10, day(NOW), { pathname: '/tides/a' })],
    visits(40, day(NOW), { pathname: '/tides/b' }),
    ...[visits(8, day(BEFORE)), visits(8, day(NOW))],
  ]
  const reads = [pageReads(3, day(NOW), { pathname: '/tides/a' }), pageReads(2, day(BEFORE), { pathname: '/tides' })]
  const rows = all(...guides.flat(), ...tides, ...reads)
  const ask = await asker(rows, whole, ['/tides/*'])
  const { data } = await ask()
  addsUp(t, data)
  // Folders below the root with three pages are found: /guides has ten.
  t.equal(short(data, 'section'), '/guides/* 20>120, /tides/* 40>50 |  | 1: 8>8')
  // 178 against 68 is 110 more. Without it /guides would have 20 * 110 / 68 = 32.4 more; each of its pages has 10 at most.
  t.match(data.cause, { dimension: 'section', value: '/guides/*', difference: 100 })
  t.equal(Math.round(data.cause?.excess ?? 0), 68)
  t.equal(data.cause?.page, undefined, 'no page holds most of it')
  t.equal(
    short((await ask('audience=agent')).data, 'section'),
    '/tides/* 2>3 |  | 0: 0>0',
    'the folder itself is in it',
  )
  const found = await asker(rows)
  t.equal(
    short((await found()).data, 'section'),
    '/guides/* 20>120, /tides/* 40>50 |  | 1: 8>8',
    '/tides and two below it',
  )
})

t.test('at most five rises and three falls are named, and the others are the rest', async (t) => {
  const rises = times(7, (i) => [
    visits(10, day(BEFORE), { source: `r${i}` }),
    visits(20 + i, day(NOW), { source: `r${i}` }),
  ])
  const falls = times(5, (i) => [
    visits(30, day(BEFORE), { source: `f${i}` }),
    visits(20 - i, day(NOW), { source: `f${i}` }),
  ])
  const same = [visits(5, day(BEFORE), { source: 'same' }), visits(5, day(NOW), { source: 'same' })]
  const { data } = await (await asker(all(...rises.flat(), ...falls.flat(), ...same)))()
  // Named: +16 +15 +14 +13 +12, and -14 -13 -12. Others: r0 +10, r1 +11, f0 -10, f1 -11, and the one that is the same.
  t.equal(
    short(data, 'source'),
    'r6 10>26, r5 10>25, r4 10>24, r3 10>23, r2 10>22 | f4 30>16, f3 30>17, f2 30>18 | 5: 85>85',
  )
  addsUp(t, data)
})

t.test('reads of agents; a claimed name is a value of its own', async (t) => {
  const gptbot = { agent_id: 'gptbot' }
  const spoofed = { ...gptbot, verification: 'spoofed', verified: false }
  const ask = await asker(
    all(
      pageReads(50, day(BEFORE), { ...gptbot, pathname: '/a', country: 'US' }),
      pageReads(40, day(NOW), { ...gptbot, pathname: '/a', country: 'US' }),
      pageReads(90, day(NOW + 3), { ...spoofed, pathname: '/b', country: 'RU' }),
      pageReads(5, day(BEFORE), { agent_id: 'bingbot', pathname: '/a' }),
      // A fetch that read no page, as of a picture.
      { agent_events: [agentRow({ timestamp: day(NOW), is_pageview: false })] },
    ),
  )
  const { data } = await ask('audience=agent')
  addsUp(t, data)
  t.match(data, { measure: 'pageviews', now: 130, before: 55, difference: 75, verdict: 'cause' })
  t.equal(short(data, 'agent_id'), '"gptbot" 0>90 | gptbot 50>40, bingbot 5>0 | 0: 0>0')
  t.equal(short(data, 'pathname'), '/b 0>90 | /a 55>40 | 0: 0>0')
  t.equal(short(data, 'country'), 'RU 0>90 | US 50>40, ~ 5>0 | 0: 0>0')
  t.match(data.cause, {
    ...{ dimension: 'agent_id', value: 'gptbot', name: 'GPTBot', spoofed: true, difference: 90 },
    page: { value: '/b', difference: 90 },
    times: [{ t: '2026-10-24T00:00:00.000Z', difference: 90 }],
  })
})

t.test('only hours that were recorded in both windows are compared', async (t) => {
  const gap = (from: number, to: number) => ({
    start: day(from),
    end: day(to),
    reason: 'not_running' as const,
  })
  const rows = all(
    visits(10, day(BEFORE, 5), { source: 'a' }),
    visits(10, day(BEFORE + 1, 5), { source: 'a' }),
    visits(40, day(NOW, 5), { source: 'a' }),
    visits(7, day(NOW + 1, 5), { source: 'a' }),
    visits(3, day(NOW + 1, 6), { source: 'a' }),
  )
  const table: [
    recording: Recording,
    compared: number,
    before: number | undefined,
    now: number | undefined,
    why: string,
  ][] = [
    [{ since, gaps: [] }, 1, 20, 50, 'all of it'],
    [{ since, gaps: [gap(NOW + 1, NOW + 2)] }, 29 / 30, 10, 40, 'a day without a record now leaves out its day before'],
    [{ since, gaps: [gap(BEFORE, BEFORE + 1)] }, 29 / 30, 10, 10, 'and the other way round'],
    [
      {
        since,
        gaps: [{ ...gap(NOW + 1, NOW + 1), start: day(NOW + 1, 5), end: new Date(day(NOW + 1, 5).getTime() + 60_000) }],
      },
      719 / 720,
      ...([10, 43] as const),
      'a minute leaves out its hour, of 7 visits now and 10 before',
    ],
    [{ since: day(5), gaps: [] }, 0.5, 0, 0, 'half of the window before: the visits of the first days are left out'],
    [{ since: day(5, 1), gaps: [] }, 359 / 720, undefined, undefined, 'an hour less than half: no change at all'],
    [{ since: undefined, gaps: [] }, 0, undefined, undefined, 'nothing was ever recorded'],
  ]
  for (const [recording, compared, before, now, why] of table) {
    const { data } = await (await asker(rows, recording))()
    t.match({ ...data, compared: Math.round(data.compared * 720) }, { compared: Math.round(compared * 720) }, why)
    t.equal(data.before, before, why)
    t.equal(data.now, now, why)
    if (now === undefined) t.match(data, { verdict: 'unknown', buckets: [], dimensions: [] })
    else addsUp(t, data)
  }
  const { data, meta } = await (await asker(rows, { since: day(19), gaps: [] }))()
  t.equal(data.verdict, 'unknown')
  t.match(meta.warnings, [{ code: 'too_little_compared', message: /^Only 3 % / }], 'with a reason: 24 of 720 hours')
  const gone = await (await asker(rows, { since, gaps: [gap(NOW + 1, NOW + 2)] }))()
  t.strictSame(gone.data.buckets[1], { t: '2026-10-22T00:00:00.000Z' }, 'a day without a record has no numbers')
})

t.test('a day of two windows that begin at another hour, and a year', async (t) => {
  const rows = all(visits(3, day(NOW, 1)), visits(5, day(NOW - 1, 13)), visits(4, new Date('2025-10-21T10:00:00Z')))
  const ask = await asker(rows, { since: new Date('2025-01-01T00:00:00Z'), gaps: [] })
  // A day and a half: the window before begins at noon, and its second half is compared with the half day.
  const half = (await ask('start=2026-10-21T00:00:00Z&end=2026-10-22T12:00:00Z')).data
  t.strictSame(
    half.buckets.map((one) => [one.before, one.now, one.partial]),
    [
      [0, 3, undefined],
      [5, 0, true],
    ],
  )
  const year = (await ask('start=2026-10-21T00:00:00Z&end=2026-10-22T00:00:00Z&compare=year')).data
  t.match(year, { now: 3, before: 4, difference: -1, verdict: 'chance' })
  const leap = (await ask('start=2024-02-28T00:00:00Z&end=2024-03-01T00:00:00Z&compare=year')).data
  t.equal(leap.verdict, 'unknown')
})
