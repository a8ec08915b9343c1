import fc from 'fast-check'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { runRead } from '../../src/analytics/query/prepare-read.js'
import { reads } from '../../src/analytics/reads/index.js'
import type { Evidence, Hit } from '../../src/capture/hit.js'
import type { Observation } from '../../src/capture/observation.js'
import type { EventStore } from '../../src/storage/event-store.js'
import { sql } from '../../src/storage/sql.js'
import { browserHit } from '../fixtures/hits.js'
import { observation } from '../fixtures/observations.js'
import { openStore } from '../fixtures/open-store.js'
import { createTestSalts, startWritePath } from '../fixtures/write-path.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const FROM = { run: '00000000000000aa', sequence: 0, human: 0, agent: 0, drops: {} }
const NOON = Date.parse('2026-11-21T12:00:00.000Z')

const Row = z.object({
  kind: z.string(),
  pathname: z.string(),
  timestamp: z.date(),
  session_start: z.date(),
  recorded_by: z.string(),
  status: z.number().nullable(),
  screen_class: z.string().nullable(),
  props: z.string().nullable(),
})
const rowsOf = async (store: EventStore, from = 0) =>
  (
    await store.query(sql`select kind, pathname, timestamp, session_start, recorded_by, status, screen_class, props
      from events where timestamp >= ${new Date(from)} order by timestamp, kind, pathname`)
  ).map((row) => Row.parse(row))

const ONE = { hostname: 'one.example' }
const view = (at: number, given: Partial<Observation> = {}) =>
  observation({ ...ONE, timestamp: new Date(at).toISOString(), ...given })
const browserReport = (at: number, given: Partial<Hit> = {}) =>
  browserHit({ ...ONE, site: 2, timestamp: new Date(at).toISOString(), ...given })

/** The write path over a store, with a clock that the test sets. */
async function setUp(t: Test) {
  const store = await openStore(t)
  let now = NOON
  const salts = createTestSalts(() => now)
  const start = (limit?: number) =>
    startWritePath({ store, now: () => now, salts, from: FROM, ...(limit && { viewMemory: { maxEntries: limit } }) })
  let writing = await start()
  return {
    store,
    set: (at: number) => {
      now = at
    },
    drops: () => writing.position().drops,
    dropped: () => writing.dropped,
    record: async (at: number, ...batch: Evidence[]) => {
      now = at
      await writing.record(batch)
    },
    restart: async (limit?: number) => {
      await writing.stop()
      writing = await start(limit)
    },
    stop: () => writing.stop(),
  }
}

t.test('a view is one row across commits and restarts', { timeout: 600_000 }, async (t) => {
  const { store, record, restart, drops, stop } = await setUp(t)
  const reported = { screen_width: 800, props: { plan: 'pro' } }
  await record(NOON, view(NOON, { pathname: '/a' }))
  await record(NOON + 2, browserReport(NOON + 2, { pathname: '/a', ...reported }))
  await record(NOON + 3, view(NOON + 3, { pathname: '/b' }))
  await restart()
  await record(
    NOON + 4,
    browserReport(NOON + 4, { pathname: '/b', ...reported }),
    browserReport(NOON + 5, { pathname: '/c', ...reported }),
  )
  await restart()
  await record(NOON + 6, view(NOON + 4, { pathname: '/c' }))
  t.strictSame(drops(), { same_view: 1 })
  await record(NOON + 7, view(NOON + 7, { pathname: '/d' }))
  // A memory of two pages has forgotten that view; the store has it.
  await restart(4)
  await record(NOON + 8, ...['/e', '/f', '/g', '/h'].map((pathname) => view(NOON + 8, { pathname })))
  await record(NOON + 9, browserReport(NOON + 9, { pathname: '/d', ...reported }))
  await stop()
  const rows = await rowsOf(store)
  t.equal(rows.length, 8)
  for (const pathname of ['/a', '/b', '/c', '/d'])
    t.match(
      rows.find((row) => row.pathname === pathname),
      { recorded_by: 'browser', status: 200, screen_class: 'md', props: '{"plan":"pro"}' },
      pathname,
    )
})

t.test('the first browser hit of a site completes the stored view and is not a row of its own', async (t) => {
  // Batches of views (`v`) and first hits (`h`) at seconds; `|` separates batches, `!` is a restart; then the number of rows.
  const rows: [string, number, string][] = [
    ['v0 h1', 1, 'in one batch'],
    ['v0 | h1', 1, 'behind its commit'],
    ['v0 | ! | h1', 1, 'and a restart'],
    ['v0 | v5 | h6 h7', 2, 'two tabs'],
    ['v0 | v5 h6 | h7', 2, 'one of them before the first hit’s batch'],
    ['v0 | v5 | h6 | v8 | h9 h10', 3, 'and one behind it'],
    ['v0 | h1 | ! | v2 | h3', 2, 'a site that is known to have hits'],
    ['v0 | h1 h900', 2, 'once completed it is not a half any more'],
    ['h1 | v0', 1, 'the script ran before the page had ended'],
    ['h1 | ! | v0', 1, 'and a restart between'],
    ['v0 | h1800', 2, 'not of the same view'],
    ['v0 | h1799', 1, 'within half an hour'],
    ['v100 | v0 | h1', 2, 'a view that ended late'],
  ]
  for (const [batches, expected, why] of rows) {
    const { store, record, restart, stop } = await setUp(t)
    let now = 0
    for (const batch of batches.split(' | ')) {
      if (batch === '!') {
        await restart()
        continue
      }
      const all = batch.split(' ').map((word) => {
        const at = NOON + Number(word.slice(1)) * SECOND
        now = Math.max(now, at)
        return word[0] === 'v' ? view(at) : browserReport(at, { screen_width: 800 })
      })
      await record(now, ...all)
    }
    await stop()
    t.equal((await rowsOf(store)).length, expected, `${batches}: ${why}`)
  }
})

t.test('reads return the same from rows and from aggregates', async (t) => {
  const { store, record, stop } = await setUp(t)
  const [ann, bob] = [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }]
  const on = (pathname: string, engaged_ms: number, scroll: number) => ({ pathname, engaged_ms, scroll })
  const measured = { kind: 'engagement' as const }
  const s = (seconds: number) => NOON + seconds * SECOND
  await record(
    s(0),
    view(s(0), { pathname: '/', ...ann }),
    browserReport(s(0.2), { pathname: '/', screen_width: 1000, ...ann }),
  )
  await record(s(60), browserReport(s(60), { ...on('/b', 20_000, 50), referrer: 'https://one.example/', ...ann }))
  await record(s(100), view(s(100), { pathname: '/', ...bob }))
  await record(s(110), browserReport(s(110), { ...measured, ...on('/', 3_000, 20), ...bob }))
  await record(s(120), browserReport(s(120), { ...measured, ...on('/b', 5_000, 80), ...ann }))
  // The tab is closed hours later.
  await record(s(3 * 3600), browserReport(s(3 * 3600), { ...measured, ...on('/b', 60_000, 70), ...ann }))
  const ask = async (path: string, query = '') => {
    const read = reads.find((each) => each.path === `/api/stats/${path}`)
    if (!read) throw new Error(path)
    const answer = await runRead(read, new URLSearchParams(`site=2&range=30d${query}`), {
      ...{ store, now: () => new Date(s(4 * 3600)), segment: async () => undefined, catalog: [], assistants: [] },
      site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true }),
    })
    return answer.data
  }
  const check = async (when: string) => {
    // Ann read for a minute after her last hit at 120 s. Bob's last hit is at 110 s, with less than 10 s of engagement.
    const duration = (180 + 10) / 2
    t.match(
      await ask('overview'),
      { visitors: 2, sessions: 2, pageviews: 3, bounce: 0.5, duration, views_per_session: 1.5 },
      when,
    )
    const pages = {
      '/': { visitors: 2, pageviews: 2, entries: 2, exits: 1, time_on_page: (20 + 3) / 2, scroll_depth: (50 + 20) / 2 },
      '/b': { visitors: 1, pageviews: 1, entries: 0, exits: 1, time_on_page: 65, scroll_depth: 80 },
    }
    const rows = z.array(z.looseObject({ pathname: z.enum(['/', '/b']) })).parse(await ask('pages'))
    t.equal(rows.length, 2, when)
    for (const row of rows) t.match(row, pages[row.pathname], `${when}: ${row.pathname}`)
    t.match(await ask('overview', '&start=2026-11-21T13:00:00Z&end=2026-11-21T16:00:00Z'), { visitors: 0, sessions: 0 })
  }
  await check('from the rows')
  await store.aggregate(new Date(s(4 * 3600)))
  await check('aggregated')
  const screens = () => ask('breakdown', '&dimension=screen_class')
  t.match(await screens(), [{ value: 'lg', sessions: 1 }])
  // His browser's first pageview arrives after aggregation and makes the session stale.
  await record(s(4 * 3600), browserReport(s(100.5), { pathname: '/', screen_width: 300, ...bob }))
  t.match(await store.query(sql`select count(*) as n from stale_sessions`), [{ n: 1 }])
  const xs = async () =>
    z
      .array(z.looseObject({ value: z.string().optional() }))
      .parse(await screens())
      .find(({ value }) => value === 'xs')
  t.match(await xs(), { sessions: 1, visitors: 1, pageviews: 1 })
  await store.aggregate(new Date(s(4 * 3600)))
  t.match(await xs(), { sessions: 1, visitors: 1, pageviews: 1 }, 'and aggregated again')
  await check('again')
  await stop()
})

t.test('each of several views in the same millisecond gets one addition', async (t) => {
  const { store, record, restart, stop } = await setUp(t)
  await record(NOON, view(NOON), view(NOON), view(NOON))
  await restart()
  await record(NOON + 1, browserReport(NOON + 1, { screen_width: 300 }), browserReport(NOON + 1, { screen_width: 300 }))
  await stop()
  t.strictSame((await rowsOf(store)).map((row) => row.screen_class).sort(), ['xs', 'xs', null].sort())
})

t.test('after an hour’s outage late hits also make one row a view, in one session', async (t) => {
  const { store, record, restart, drops, stop } = await setUp(t)
  await record(NOON + 3 * HOUR, view(NOON + 3 * HOUR, { ip: '192.0.2.9' }))
  await restart()
  const minute = (n: number) => NOON + n * MINUTE
  await record(
    minute(190),
    view(minute(0), { pathname: '/a' }),
    browserReport(minute(0) + 5, { pathname: '/a' }),
    view(minute(5), { pathname: '/b' }),
  )
  await record(
    minute(191),
    browserReport(minute(5) + 5, { pathname: '/b', screen_width: 400 }),
    browserReport(minute(9), { kind: 'engagement', engaged_ms: 3 * MINUTE, pathname: '/b' }),
    browserReport(minute(100), { kind: 'engagement', engaged_ms: 1, pathname: '/unknown' }),
  )
  t.strictSame(drops(), {}, 'the report of an unknown page waits for its view')
  await restart()
  await record(minute(192), browserReport(minute(12), { kind: 'engagement', engaged_ms: 1, pathname: '/b' }))
  await stop()
  const rows = (await rowsOf(store)).filter(({ timestamp }) => timestamp.getTime() < minute(60))
  t.match(rows, [
    { pathname: '/a', kind: 'pageview', recorded_by: 'browser' },
    { pathname: '/b', kind: 'pageview', recorded_by: 'browser', screen_class: 'xs' },
    // Dated when the page was left: at that time its session was known, or was not.
    { pathname: '/b', kind: 'engagement' },
    { pathname: '/b', kind: 'engagement' },
  ])
  t.equal(rows.length, 4)
  for (const row of rows) t.equal(row.session_start.getTime(), NOON, row.pathname)
})

t.test('a page whose route is in the fragment is one row with the server’s path', async (t) => {
  const { store, record, restart, stop } = await setUp(t)
  const [a, b] = [{ pathname: '/app#/a', screen_width: 800 }, { pathname: '/app#/b' }]
  const s = (seconds: number) => NOON + seconds * SECOND
  await record(s(0), view(s(0), { pathname: '/app' }))
  await record(s(1), browserReport(s(1), a))
  await record(s(60), view(s(60), { pathname: '/app' }))
  await restart()
  await record(s(61), browserReport(s(61), a))
  await record(s(62), browserReport(s(62), { ...b, engaged_ms: 0, scroll: 0 }))
  await record(s(120), browserReport(s(120), a))
  await restart()
  await record(s(121), view(s(119), { pathname: '/app' }))
  await stop()
  t.match(await rowsOf(store), [
    { pathname: '/app', timestamp: new Date(s(0)), recorded_by: 'browser', status: 200, screen_class: 'md' },
    { pathname: '/app', timestamp: new Date(s(60)), recorded_by: 'browser', status: 200, screen_class: 'md' },
    { pathname: '/app#/b', recorded_by: 'browser', status: null },
    // The browser reported it first, so engagement is known.
    { pathname: '/app#/a', timestamp: new Date(s(120)), recorded_by: 'browser', status: 200, screen_class: 'md' },
  ])
  t.equal((await rowsOf(store)).length, 4)
})

t.test('a view that only the store knows is counted for its site', async (t) => {
  const { record, restart, dropped, stop } = await setUp(t)
  await record(NOON, browserReport(NOON, { pathname: '/a' }), browserReport(NOON, { pathname: '/b' }))
  // Memory has forgotten both views; the store has their rows.
  await restart(4)
  const more = ['/e', '/f', '/g', '/h'].map((pathname) => browserReport(NOON + 1, { pathname, ip: '192.0.2.7' }))
  await record(NOON + 1, ...more)
  await record(
    NOON + 2,
    view(NOON, { pathname: '/a', shipped: { site: 2, as: 'human' } }),
    view(NOON, { pathname: '/b' }),
    browserReport(NOON + 100 * MINUTE, { kind: 'engagement', engaged_ms: 1, pathname: '/unknown', ip: '192.0.2.8' }),
  )
  t.strictSame(dropped(), [{ site: 2, door: 'edge', reason: 'same_view', count: 1 }])
  await stop()
})

t.test('a view that memory matched to a hit of the batch is not matched again by the store', async (t) => {
  const { store, record, stop } = await setUp(t)
  // Only the store knows the first view, which came before the site's first browser hit.
  await record(NOON, view(NOON))
  await record(NOON, view(NOON), browserReport(NOON))
  await record(NOON + 3, view(NOON + 3))
  await record(NOON + 10_000, browserReport(NOON + 3), browserReport(NOON))
  await stop()
  t.match(
    (await rowsOf(store)).map(({ timestamp, recorded_by, status }) => [+timestamp - NOON, recorded_by, status]),
    [
      [0, 'browser', 200],
      [0, 'browser', 200],
      [3, 'browser', 200],
    ],
  )
})

/** Tabs that open a page, with the times of the request, of the script, and of both reports. */
const tabs = fc.array(
  fc.record({
    path: fc.constantFrom('/', '/a'),
    gap: fc.constantFrom(0, 3, SECOND, 40 * SECOND, 10 * MINUTE, 29 * MINUTE, 45 * MINUTE),
    runs: fc.constantFrom(0, 1, 300, 5 * SECOND),
    slow: fc.constantFrom(0, 0, 200, 4 * SECOND, 5 * MINUTE),
    relayed: fc.constantFrom(0, 0, 500, 10 * SECOND),
    restart: fc.constantFrom(false, false, false, true),
  }),
  { minLength: 1, maxLength: 12 },
)

t.test('in any order a view is one row', { timeout: 600_000 }, async (t) => {
  const { store, record, restart, set, stop } = await setUp(t)
  let run = 0
  await fc.assert(
    fc.asyncProperty(tabs, fc.constantFrom(undefined, 8), async (opened, limit) => {
      run++
      const ip = `10.${run >> 16}.${(run >> 8) & 255}.${run & 255}`
      const from = NOON + run * 24 * HOUR
      let at = from
      const arrivals: { at: number; evidence: Evidence; restart: boolean }[] = []
      for (const { path: pathname, gap, runs, slow, relayed, restart } of opened) {
        at += gap
        arrivals.push({ at: at + slow, evidence: view(at, { pathname, ip }), restart })
        arrivals.push({
          at: at + runs + relayed,
          evidence: browserReport(at + runs, { pathname, ip, screen_width: 400 }),
          restart: false,
        })
      }
      arrivals.sort((a, b) => a.at - b.at)
      set(from)
      await restart(limit)
      for (let n = 0; n < arrivals.length; ) {
        const part = arrivals.slice(n, n + 1 + (n % 3))
        n += part.length
        await record(part.at(-1)?.at ?? at, ...part.map(({ evidence }) => evidence))
        if (part.some((one) => one.restart)) await restart(limit)
      }
      const rows = await rowsOf(store, from)
      return (
        rows.length === opened.length &&
        rows.every(({ status, screen_class }) => status === 200 && screen_class === 'xs')
      )
    }),
    { numRuns: Number(process.env.RUNS ?? 16) },
  )
  await stop()
})
