import t from 'tap'
import { z } from 'zod'
import type { EventRow, Vitals } from '../../../src/storage/rows.js'
import { errorFingerprint } from '../../../src/worker/ingest/error-fingerprint.js'
import { filterQuery, openReads, sessionRows } from '../../fixtures/ask-reads.js'

const DAY = 'site=1&start=2026-10-10T00:00:00Z&end=2026-10-11T00:00:00Z'
const NOW = new Date('2026-10-11T01:00:00Z')
const at = (time: string) => `2026-10-${time}Z`
const measured = (given: Partial<Vitals>): Partial<EventRow> => ({
  kind: 'web_vitals',
  vitals: { lcp: null, cls: null, inp: null, fcp: null, ttfb: null, ...given },
})

const ann = sessionRows(1n, 1n, at('09T23:50:00'), { country: 'DE', device_type: 'desktop', browser: 'Chrome' })
const bob = sessionRows(2n, 2n, at('10T12:00:00'), { device_type: 'mobile', browser: 'Safari' })
const zoe = sessionRows(1n, 1n, at('10T12:00:00'), { site_id: 2, device_type: 'desktop' })

const MEASURED = {
  events: [
    ann(at('09T23:59:59.999'), '/', measured({ lcp: 500, cls: 0 })),
    ann(at('10T00:00:00'), '/', measured({ lcp: 1000, cls: 0.1, ttfb: 800.5 })),
    ann(at('10T00:01:00'), '/', measured({ lcp: 2000, cls: 0.1 })),
    ann(at('10T00:02:00'), '/b', measured({ lcp: 3000, cls: 0.1 })),
    bob(at('10T12:00:00'), '/b', { vitals: { lcp: 5000, cls: null, inp: 501, fcp: null, ttfb: null } }),
    bob(at('10T12:01:00'), '/b', measured({})),
    bob(at('10T12:02:00'), '/b', { kind: 'web_vitals' }),
    bob(at('10T12:03:00'), '/c'),
    bob(at('11T00:00:00'), '/b', measured({ lcp: 9000 })),
    zoe(at('10T12:00:00'), '/', measured({ lcp: 7, fcp: 7 })),
  ],
  agent_events: [],
}
/** The same value at every quantile. */
const level = (value: number, samples: number, rating: string) => ({
  p50: value,
  p75: value,
  p95: value,
  samples,
  rating,
})

t.test('stats/performance', async (t) => {
  const ask = await openReads(t, MEASURED, NOW)
  const { data, meta } = await ask('performance', DAY)
  // With 1000, 2000, 3000 and 5000, p50 is between the second and third, p75 a quarter of the way from the third to the
  // fourth, p95 0.85 of that way.
  const lcp = { p50: 2500, p75: 3500, p95: 4700, samples: 4, rating: 'needs-improvement' }
  const cls = level(0.1, 3, 'good')
  const all = { lcp, cls, inp: level(501, 1, 'poor'), ttfb: level(800.5, 1, 'needs-improvement') }
  t.strictSame(data, all)
  t.match(meta, { rows: 1, warnings: { length: 1, 0: { metric: 'fcp', code: 'no_vitals_data' } } })

  const ofRoot = { p50: 1500, p75: 1750, p95: 1950, samples: 2, rating: 'good' }
  const ofB = { p50: 4000, p75: 4500, p95: 4900, samples: 2, rating: 'poor' }
  const paths = [
    { value: '/', lcp: ofRoot, cls: level(0.1, 2, 'good'), ttfb: all.ttfb },
    { value: '/b', lcp: ofB, cls: level(0.1, 1, 'good'), inp: all.inp },
  ]
  const byPath = await ask('performance', `${DAY}&dimension=page`)
  t.strictSame(
    byPath.data,
    { ...all, rows: paths },
    'of equals the first by name; where nothing was measured is not a row',
  )
  t.match(byPath.meta, { rows: 2, total: 2, query: { dimension: 'pathname' } })
  const second = await ask('performance', `${DAY}&dimension=pathname&limit=1&page=2`)
  t.strictSame(second.data, { ...all, rows: paths.slice(1) }, 'page by page')
  t.match(second.meta, { rows: 1, total: 2 })
  t.strictSame((await ask('performance', `${DAY}&dimension=pathname&page=3`)).data, { ...all, rows: [] }, 'beyond them')

  const ofAnn = { p50: 2000, p75: 2500, p95: 2900, samples: 3, rating: 'good' }
  const countries = [
    { value: 'DE', lcp: ofAnn, cls, ttfb: all.ttfb },
    { lcp: level(5000, 1, 'poor'), inp: all.inp },
  ]
  t.strictSame((await ask('performance', `${DAY}&dimension=country`)).data, { ...all, rows: countries })
  for (const [dimension, values] of [
    ['device_type', ['desktop', 'mobile']],
    ['browser', ['Chrome', 'Safari']],
    ['exit_page', ['/c', undefined]],
    ['event_name', []],
  ] as const) {
    const { data } = await ask('performance', `${DAY}&dimension=${dimension}`)
    const { rows } = z.object({ rows: z.array(z.object({ value: z.string().optional() })) }).parse(data)
    t.strictSame(new Set(rows.map(({ value }) => value)), new Set(values), dimension)
  }

  const then = { lcp: { p50: 500, p75: 500, p95: 500, samples: 1 }, cls: { p50: 0, p75: 0, p95: 0, samples: 1 } }
  const compared = await ask('performance', `${DAY}&dimension=pathname&compare=previous`)
  t.match(compared.data, {
    comparison: then,
    change: { lcp: { p50: 4, p75: 6, p95: 8.4, samples: 3 }, cls: { samples: 2 } },
    rows: [
      { value: '/', comparison: then, change: { lcp: { p50: 2, samples: 1 } } },
      { value: '/b', comparison: {}, change: {} },
    ],
  })
  t.notMatch(JSON.stringify(compared.data), /null|"inp":\{"samples":0/, 'what was not measured is absent there too')
  const safari = filterQuery({ dimension: 'browser', op: 'is', value: 'Safari' })
  t.strictSame((await ask('performance', `${DAY}${safari}`)).data, { lcp: level(5000, 1, 'poor'), inp: all.inp })
  const nothing = await ask('performance', `${DAY}${filterQuery({ dimension: 'browser', op: 'is', value: 'Lynx' })}`)
  t.strictSame(nothing.data, {})
  t.match(nothing.meta.warnings, [{ code: 'no_vitals_data' }, { code: 'no_such_value', value: 'Lynx' }])
  t.strictSame((await ask('performance', DAY.replace('site=1', 'site=2'))).data, {
    ...{ lcp: level(7, 1, 'good'), fcp: level(7, 1, 'good') },
  })
  for (const [query, field] of [
    ['dimension=operator', 'dimension'],
    ['dimension=', 'dimension'],
    ['dimension=constructor', 'dimension'],
  ] as const) {
    await t.rejects(ask('performance', `${DAY}&${query}`), { code: 'validation_error', field }, query)
  }
})

t.test('ratings use p75; a value at a threshold has the better rating', async (t) => {
  const bounds = { lcp: [2500, 4000], cls: [0.1, 0.25], inp: [200, 500], fcp: [1800, 3000], ttfb: [800, 1800] }
  const hit = sessionRows(1n, 1n, at('10T12:00:00'))
  const events = Object.entries(bounds).flatMap(([vital, [good = 0, poor = 0]]) =>
    [good, good * 1.01, poor, poor * 1.01].map((value, i) =>
      hit(at('10T12:00:00'), `/${vital}${i}`, measured({ [vital]: value })),
    ),
  )
  const ask = await openReads(t, { events, agent_events: [] }, NOW)
  const { data } = await ask('performance', `${DAY}&dimension=pathname`)
  const Rows = z.array(z.looseObject({ value: z.string() }))
  const { rows } = z.object({ rows: Rows }).parse(data)
  for (const { value, ...vitals } of rows) {
    const rating = ['good', 'needs-improvement', 'needs-improvement', 'poor'][Number(value.at(-1))]
    t.match(vitals, { [value.slice(1, -1)]: { rating } }, value)
  }
  t.equal(rows.length, 20)
})

const thrown = (message: string, type = 'TypeError', frame: string | null = null): Partial<EventRow> => ({
  kind: 'error',
  error: { type, message, frame, fingerprint: errorFingerprint({ type, message, frame }) },
})
const [OLD, NEW] = ['send@https://x.example/app.3f9a1c.js:1:2345', 'send@https://x.example/app.77b0e2.js:1:99']

const THROWN = {
  events: [
    ann(at('09T23:50:00'), '/'),
    ann(at('09T23:59:59.999'), '/', thrown('Order 1 is gone', 'TypeError', OLD)),
    ann(at('10T00:00:00'), '/z', thrown('Order 2 is gone', 'TypeError', OLD)),
    ann(at('10T00:59:59.999'), '/b', thrown('Order 3 is gone', 'TypeError', OLD)),
    bob(at('10T12:00:00'), '/b', thrown('Order 4 is gone', 'TypeError', NEW)),
    bob(at('10T23:59:59.999'), '/z', thrown('Order 5 is gone', 'TypeError', NEW)),
    bob(at('10T12:30:00'), '/c', thrown('<b>"no"</b>', 'SyntaxError')),
    bob(at('10T12:30:00'), '/c', { kind: 'error' }),
    bob(at('11T00:00:00'), '/z', thrown('Order 6 is gone', 'TypeError', NEW)),
    zoe(at('10T12:00:00'), '/theirs', thrown('Order 7 is gone', 'TypeError', NEW)),
  ],
  agent_events: [],
}
const hours = (counts: Record<number, number>) => Array.from({ length: 24 }, (_, i) => counts[i] ?? 0)

t.test('stats/errors', async (t) => {
  const ask = await openReads(t, THROWN, NOW)
  const gone = {
    fingerprint: errorFingerprint({ type: 'TypeError', message: 'Order 0 is gone', frame: OLD }),
    ...{ message: 'Order 5 is gone', type: 'TypeError', frame: NEW, count: 4, visitors: 2, sessions: 2 },
    ...{ first_seen: '2026-10-10T00:00:00.000Z', last_seen: '2026-10-10T23:59:59.999Z' },
    ...{ pathname: '/b', sparkline: hours({ 0: 2, 12: 1, 23: 1 }) },
  }
  const no = {
    fingerprint: errorFingerprint({ type: 'SyntaxError', message: '<b>"yes"</b>', frame: null }),
    ...{ message: '<b>"no"</b>', type: 'SyntaxError', count: 1, visitors: 1, sessions: 1 },
    ...{ first_seen: '2026-10-10T12:30:00.000Z', last_seen: '2026-10-10T12:30:00.000Z' },
    ...{ pathname: '/c', sparkline: hours({ 12: 1 }) },
  }
  const { data, meta } = await ask('errors', DAY)
  t.strictSame(data, [gone, no], 'across a deploy one error, and of equal paths the first by name')
  t.match(meta, { rows: 2, total: 2 })
  t.strictSame((await ask('errors', `${DAY}&limit=1&page=2`)).data, [no], 'page by page')
  t.match((await ask('errors', `${DAY}&limit=1&page=2`)).meta, { total: 2 })
  t.strictSame((await ask('errors', `${DAY}&page=3`)).data, [])
  t.match((await ask('errors', `${DAY}&compare=previous`)).data, [
    { comparison: { count: 1, visitors: 1, sessions: 1 }, change: { count: 3, visitors: 1, sessions: 1 } },
    { comparison: { count: 0, visitors: 0, sessions: 0 }, change: {} },
  ])
  const german = filterQuery({ dimension: 'country', op: 'is', value: 'DE' })
  t.match((await ask('errors', `${DAY}${german}`)).data, [
    { count: 2, visitors: 1, message: 'Order 3 is gone', frame: OLD, sparkline: hours({ 0: 2 }) },
  ])
  t.match((await ask('errors', DAY.replace('site=1', 'site=2'))).data, [
    { count: 1, pathname: '/theirs', message: 'Order 7 is gone' },
  ])
})

t.test('a sparkline covers the window with at most 31 points and adds up', async (t) => {
  const ask = await openReads(t, THROWN, NOW)
  const Rows = z.array(z.object({ count: z.int(), sparkline: z.array(z.int().nullable()) }))
  for (const [query, points, why] of [
    ['start=2026-10-10T00:00:00Z&end=2026-10-11T00:00:00Z', 24, 'hours'],
    ['start=2026-10-10T12:00:00Z&end=2026-10-10T12:31:00Z', 31, 'minutes'],
    ['start=2026-10-10T11:00:00Z&end=2026-10-10T13:00:00Z', 30, '120 minutes, four at a time'],
    ['start=2026-10-04T00:00:00Z&end=2026-10-11T00:00:00Z', 28, '168 hours, six at a time'],
    ['start=2026-10-01T00:00:00Z&end=2026-11-01T00:00:00Z', 31, 'days'],
    ['start=2026-10-01T00:00:00Z&end=2026-11-01T00:00:00Z&tz=Europe/Berlin', 16, '32 of them, two at a time'],
    ['start=2016-01-01T00:00:00Z&end=2026-11-01T00:00:00Z', 26, '130 months, five at a time'],
    ['start=2026-10-10T00:00:00Z&end=2026-10-11T00:00:00Z&granularity=minute', 31, '1440 minutes as asked for'],
  ] as const) {
    const rows = Rows.parse((await ask('errors', `site=1&${query}`)).data)
    t.ok(rows.length > 0)
    for (const { count, sparkline } of rows) {
      t.equal(sparkline.length, points, why)
      t.equal(
        sparkline.reduce<number>((sum, n) => sum + (n ?? 0), 0),
        count,
        'adds up',
      )
    }
  }
})
