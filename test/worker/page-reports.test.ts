import t, { type Test } from 'tap'
import { z } from 'zod'
import { createTrackEndpoints } from '../../src/api/track/endpoints.js'
import type { Hit } from '../../src/capture/hit.js'
import { sql } from '../../src/storage/sql.js'
import { findReports } from '../../src/worker/stored-reports.js'
import { browserHit } from '../fixtures/hits.js'
import { observation } from '../fixtures/observations.js'
import { openStore } from '../fixtures/open-store.js'
import { askRead } from '../fixtures/random-visits.js'
import { eventRow } from '../fixtures/rows.js'
import { createTestSalts, startWritePath } from '../fixtures/write-path.js'

const [SECOND, MINUTE] = [1_000, 60_000]
const DAY = 24 * 60 * MINUTE
const NOON = Date.parse('2026-11-21T12:00:00.000Z')
const FROM = { run: '00000000000000aa', sequence: 0, human: 0, agent: 0, drops: {} }
const PERSON = { hostname: 'one.example', ip: '192.0.2.1' }

const view = (minute: number, pathname: string) =>
  observation({ ...PERSON, timestamp: new Date(NOON + minute * MINUTE).toISOString(), pathname })
const hit = (minute: number, pathname: string, given: Partial<Hit>) =>
  browserHit({ ...PERSON, site: 2, timestamp: new Date(NOON + minute * MINUTE).toISOString(), pathname, ...given })
const engagement = (minute: number, pathname: string, engagedMinutes: number) =>
  hit(minute, pathname, { kind: 'engagement', engaged_ms: engagedMinutes * MINUTE })
const custom = (minute: number) => hit(minute, '/a', { kind: 'custom', name: 'play' })

const Row = z.object({
  kind: z.string(),
  pathname: z.string(),
  timestamp: z.date(),
  session_start: z.date().nullable(),
  engaged_ms: z.number().nullable(),
  scroll: z.number().nullable(),
})

async function setUp(t: Test) {
  const store = await openStore(t)
  let now = NOON
  const salts = createTestSalts(() => now)
  const start = () => startWritePath({ store, now: () => now, salts, from: FROM })
  let writing = await start()
  t.teardown(() => writing.stop())
  return {
    store,
    record: (...batch: readonly (ReturnType<typeof view> | Hit)[]) => {
      now = Math.max(now, ...batch.map(({ timestamp }) => Date.parse(timestamp)))
      return writing.record(batch)
    },
    restart: async () => {
      await writing.stop()
      writing = await start()
    },
    drops: () => writing.position().drops,
    /** Each row as kind, path, minute and the minute at which its session began. */
    rows: async (table: 'events' | 'loose_reports' = 'events') => {
      const all = table === 'events' ? sql`select * from events` : sql`select * from loose_reports`
      const rows = await store.query(sql`select * from (${all}) e order by timestamp, kind desc, pathname`)
      const minute = (date: Date) => Math.round((date.getTime() - NOON) / SECOND) / 60
      return rows
        .map((row) => Row.parse(row))
        .map(
          ({ kind, pathname, timestamp, session_start }) =>
            `${kind} ${pathname} ${minute(timestamp)}${session_start ? ` in ${minute(session_start)}` : ''}`,
        )
    },
  }
}

t.test('facts in any order and any split give the same rows', { timeout: 600_000 }, async (t) => {
  const visits: [facts: (ReturnType<typeof view> | Hit)[], rows: string[], why: string][] = [
    [
      [view(0, '/a'), engagement(5, '/a', 4)],
      ['pageview /a 0 in 0', 'engagement /a 5 in 0'],
      'engagement before its pageview waits for it',
    ],
    [
      [engagement(0, '/a', 1), view(1, '/a')],
      ['pageview /a 1 in 1', 'engagement /a 1 in 1'],
      'engagement that overtook its pageview on the way, by at most a minute',
    ],
    [
      [view(-20, '/a'), engagement(0, '/a', 1), view(0.5, '/a')],
      ['pageview /a -20 in -20', 'engagement /a 0 in -20', 'pageview /a 0.5 in -20'],
      'it did not overtake if the page was seen before',
    ],
    [
      [view(-20, '/b'), engagement(0, '/a', 1), view(0.5, '/a'), view(0.9, '/a')],
      ['pageview /b -20 in -20', 'pageview /a 0.5 in -20', 'engagement /a 0.5 in -20', 'pageview /a 0.9 in -20'],
      'of two views after it the first, although a visit runs',
    ],
    [
      [view(0, '/a'), custom(38), engagement(45, '/a', 10)],
      ['pageview /a 0 in 0', 'engagement /a 10 in 0', 'custom /a 38 in 38'],
      'a report after the end of its session does not prolong it',
    ],
    [
      [view(0, '/a'), custom(38), engagement(45, '/a', 40)],
      ['pageview /a 0 in 0', 'custom /a 38 in 0', 'engagement /a 45 in 0'],
      'who was engaged for 40 minutes before was there all the time',
    ],
    [
      [view(-1440, '/a'), view(-1380, '/b'), engagement(-1379, '/a', 1), view(0, '/a')],
      [
        'pageview /a -1440 in -1440',
        'engagement /a -1439 in -1440',
        'pageview /b -1380 in -1380',
        'pageview /a 0 in 0',
      ],
      'the view at its time, not the last one that was processed',
    ],
    [
      [view(0, '/a'), view(20, '/b'), engagement(60, '/a', 2)],
      ['pageview /a 0 in 0', 'pageview /b 20 in 0', 'engagement /a 22 in 0'],
      'dated after the last hit of the session, which may arrive later',
    ],
    [
      [view(0, '/a'), view(50, '/a'), engagement(70, '/a', 2)],
      ['pageview /a 0 in 0', 'pageview /a 50 in 50', 'engagement /a 70 in 50'],
      'of two visits the one that saw the page last',
    ],
  ]
  const leaving = (minute: number, pathname: string, engagedMinutes: number) =>
    hit(minute, pathname, { engaged_ms: engagedMinutes * MINUTE, scroll: 30 })
  const error = (minute: number, pathname: string) =>
    hit(minute, pathname, { kind: 'error', props: { message: 'x is undefined' } })
  visits.push(
    [
      [view(0, '/a'), error(45, '/never'), engagement(100, '/a', 80)],
      ['pageview /a 0 in 0', 'error /never 45 in 0', 'engagement /a 100 in 0'],
      'a report in the time that a later one covers',
    ],
    [
      [view(0, '/a'), view(1, '/b'), engagement(50, '/b', 2), engagement(100, '/a', 80)],
      ['pageview /a 0 in 0', 'pageview /b 1 in 0', 'engagement /b 50 in 0', 'engagement /a 100 in 0'],
      'the same of a page that was seen',
    ],
    [
      [view(0, '/a'), leaving(45, '/b', 40)],
      ['pageview /a 0 in 0', 'engagement /a 45 in 0', 'pageview /b 45 in 0'],
      'a pageview that does not name the previous page: the page that was seen last before it',
    ],
    [
      [view(0, '/a'), leaving(100, '/b', 5)],
      ['pageview /a 0 in 0', 'engagement /a 5 in 0', 'pageview /b 100 in 100'],
      'in the visit that saw the page, if that has ended',
    ],
    [
      [leaving(0, '/a', 0), view(5, '/b'), custom(7)],
      ['pageview /a 0 in 0', 'pageview /b 5 in 0', 'custom /a 7 in 0'],
      'no page was seen before it, and a later one is not meant',
    ],
    [
      [custom(-5), leaving(0, '/a', 0), view(1_440, '/b')],
      ['custom /a -5 in -5', 'pageview /a 0 in -5', 'pageview /b 1440 in 1440'],
      'nor after an event, nor a day later',
    ],
  )
  const orders = (n: number): number[][] =>
    n === 0 ? [[]] : orders(n - 1).flatMap((order) => Array.from({ length: n }, (_, i) => order.toSpliced(i, 0, n - 1)))
  const { record, rows, restart } = await setUp(t)
  // Each delivery is of a visitor of its own, whose pages have its number.
  const deliveries = visits
    .flatMap(([facts, expected, why]) =>
      orders(facts.length).flatMap((order) => [1, 2, 9].map((split) => ({ facts, expected, why, order, split }))),
    )
    .map(({ facts, ...rest }, number) => {
      const own = { ip: `10.1.${number >> 8}.${number & 255}` }
      const sent = rest.order.flatMap((i) => facts[i] ?? [])
      return { ...rest, sent: sent.map((fact) => ({ ...fact, ...own, pathname: `/${number}${fact.pathname}` })) }
    })
  for (let request = 0; request < 4; request++) {
    await record(...deliveries.flatMap(({ sent, split }) => sent.slice(request * split, (request + 1) * split)))
    if (request === 1) await restart()
  }
  const stored = await rows()
  for (const [number, { expected, why, order, split }] of deliveries.entries())
    t.strictSame(
      stored.filter((row) => row.includes(` /${number}/`)).map((row) => row.replace(`/${number}/`, '/')),
      expected,
      `${why}: ${order.join(' ')}, ${split} a request`,
    )
  const unnamed = deliveries.filter(({ expected }) => !expected.some((row) => row.startsWith('engagement')))
  t.strictSame(
    await rows('loose_reports'),
    unnamed.map(() => 'engagement  0'),
  )
})

t.test('a first visit in one batch keeps the engagement of its pages', async (t) => {
  const { record, store, drops } = await setUp(t)
  const hits: Hit[] = []
  const endpoints = createTrackEndpoints({
    sites: async () => [
      {
        ...{ id: 2, domains: ['one.example'], timezone: 'UTC', visitor_salt: 'never' },
        ...{ respect_gpc: false, excluded_paths: [] },
      },
    ],
    record: (one) => hits.push(one),
    drop: () => t.fail('nothing is dropped'),
    limit: { take: () => true, isExhausted: () => false, size: 0 },
    now: () => NOON,
    log: (error) => t.fail('no error', { error }),
  })
  const payloads = ['/c', '/b', '/a'].map((path, n) => ({
    ...{ s: 2, u: `https://one.example${path}` },
    ...(n > 0 && { d: n * 9_000, sc: n * 40 }),
  }))
  const body = Buffer.from(JSON.stringify(payloads))
  await endpoints.take(
    { endpoint: 'batch', body },
    {
      ip: PERSON.ip,
      host: 'one.example',
      header: (name) =>
        name === 'user-agent'
          ? (hits[0]?.user_agent ?? 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0')
          : undefined,
      signed: () => undefined,
    },
  )
  t.strictSame(
    hits.map(({ pathname, timestamp }) => [pathname, Date.parse(timestamp) - NOON]),
    [
      ['/c', -2],
      ['/b', -1],
      ['/a', 0],
    ],
    'in the order of the batch',
  )
  await record(...hits)
  t.strictSame(drops(), {})
  const { data } = await askRead(store, NOON + SECOND, 'pages', 'site=2&range=24h')
  t.match(
    new Map(
      z
        .array(z.looseObject({ pathname: z.string() }))
        .parse(data)
        .map((page) => [page.pathname, page]),
    ),
    new Map([
      ['/c', { entries: 1, exits: 0, time_on_page: 9, scroll_depth: 40 }],
      ['/b', { entries: 0, exits: 0, time_on_page: 18, scroll_depth: 80 }],
      ['/a', { entries: 0, exits: 1 }],
    ]),
  )
})

t.test('vitals and errors of a visitor without a session are counted, and only there', async (t) => {
  const { record, store, rows, restart } = await setUp(t)
  await record(
    hit(0, '/a', { kind: 'web_vitals', vitals: { lcp: 1_200 } }),
    hit(0, '/a', { kind: 'error', props: { type: 'TypeError', message: 'x is undefined' } }),
    engagement(0, '/a', 1),
  )
  const ask = async (path: string) => (await askRead(store, NOON + MINUTE, path, 'site=2&range=24h')).data
  const check = async (sessions: number) => {
    t.match(await ask('performance'), { lcp: { samples: 1, p75: 1_200 } })
    t.match(await ask('errors'), [{ type: 'TypeError', count: 1, visitors: 1, sessions, pathname: '/a' }])
    t.match(await ask('overview'), { visitors: sessions, sessions, pageviews: sessions })
  }
  await check(0)
  t.equal((await rows('loose_reports')).length, 3)
  await restart()
  await record(view(-1, '/a'))
  await check(1)
  t.strictSame(await rows('loose_reports'), [], 'the session came late')
  t.strictSame(await rows(), [
    'pageview /a -1 in -1',
    'web_vitals /a 0 in -1',
    'error /a 0 in -1',
    'engagement /a 0 in -1',
  ])
})

t.test('a report that came more than a minute before its pageview is not a report of it', async (t) => {
  const { record, rows } = await setUp(t)
  await record(engagement(0, '/a', 1))
  await record(view(61 / 60, '/a'))
  t.strictSame(
    [await rows('loose_reports'), await rows()],
    [['engagement /a 0'], [`pageview /a ${61 / 60} in ${61 / 60}`]],
  )
})

t.test('reports without a session leave with a person and at the end of retention', async (t) => {
  const { record, store, rows } = await setUp(t)
  const error = { kind: 'error' as const, props: { message: 'x' } }
  await record(hit(0, '/a', error), view(120, '/b'), hit(0, '/a', { ...error, ip: '192.0.2.9' }))
  const [row] = await store.query(sql`select visitor_id from events`)
  const { rows: removed } = await store.remove({ site: 2, visitor: BigInt(`0x${row?.visitor_id}`) })
  t.equal(removed, 2)
  t.equal((await rows('loose_reports')).length, 1)
  await store.remove({ site: 2, before: new Date(NOON + DAY) })
  t.strictSame(await rows('loose_reports'), [])
})

t.test('a commit places the latest 500 reports of each visitor again', async (t) => {
  const { store } = await setUp(t)
  const report = (visitor: bigint, n: number) =>
    eventRow({ kind: 'engagement', visitor_id: visitor, timestamp: new Date(NOON), reported_at: new Date(NOON + n) })
  const events = [...Array.from({ length: 600 }, (_, n) => report(1n, n)), report(2n, 0), report(2n, 1)]
  await store.append({ events, agent_events: [] })
  const found = await findReports(store, [1n, 2n, 3n], NOON, NOON + MINUTE)
  const timesOf = (visitor: bigint) =>
    found.filter((one) => one.visitor_id === visitor).map((one) => one.reported_at.getTime() - NOON)
  t.strictSame(
    timesOf(1n),
    Array.from({ length: 500 }, (_, n) => 599 - n),
  )
  t.strictSame(timesOf(2n), [1, 0], 'another visitor has reports of its own')
})
