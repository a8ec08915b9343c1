import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import type { EventStore } from '../../src/storage/event-store.js'
import { sql } from '../../src/storage/sql.js'
import { startSession } from '../../src/worker/ingest/session-memory.js'
import { findSessionEnds, findSessionsNear, readActiveSessions } from '../../src/worker/stored-sessions.js'
import { directory } from '../fixtures/files.js'
import { observation } from '../fixtures/observations.js'
import { openStore } from '../fixtures/open-store.js'
import { type Random, seeded } from '../fixtures/random.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { openStoreAt } from '../fixtures/store.js'
import { createTestSalts, startWritePath } from '../fixtures/write-path.js'
import { startWriter } from '../fixtures/writer-process.js'
import { findWrongDailyCounts } from '../fixtures/wrong-daily-counts.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const HALF_HOUR = 30 * MINUTE
const FROM = { run: '00000000000000aa', sequence: 0, human: 0, agent: 0, drops: {} }

const Row = z.object({
  pathname: z.string(),
  timestamp: z.date(),
  visitor_id: z.string(),
  session_id: z.string(),
  session_start: z.date(),
  entry_page: z.string(),
  utm_source: z.string().nullable(),
  source: z.string().nullable(),
  suspected: z.boolean(),
})
const rowsOf = async (store: EventStore, from: number) =>
  (
    await store.query(sql`select pathname, timestamp, visitor_id, session_id, session_start, entry_page, utm_source,
      source, suspected from events where timestamp >= ${new Date(from)} order by timestamp`)
  ).map((row) => Row.parse(row))

/** One hit of a person, with its times of occurrence and arrival in milliseconds. */
interface Hit {
  hostname: string
  ip: string
  pathname: string
  at: number
  arrives: number
}

/** Visits over two midnights, with gaps shorter than, equal to and longer than a session's; hits arrive up to a day late. */
function stream(random: Random, number: number, from: number): Hit[] {
  const gaps = [0, 1, MINUTE, 20 * MINUTE, HALF_HOUR - 1, HALF_HOUR, 40 * MINUTE, 3 * HOUR, 9 * HOUR] as const
  /** Late hits arrive together, as a shipper's spool does. */
  const shipped = (at: number, delay: number) => Math.ceil((at + delay) / (2 * HOUR)) * 2 * HOUR - at
  const people = [`10.${number >> 8}.${number & 255}.1`, `10.${number >> 8}.${number & 255}.2`] as const
  const clocks = new Map<string, number>()
  return Array.from({ length: 2 + random.int(20) }, (_, n) => {
    const hostname = random.of(['day.example', 'one.example'])
    const ip = random.of(people)
    const who = hostname + ip
    const at = (clocks.get(who) ?? from + DAY - 2 * HOUR + clocks.size) + random.of(gaps)
    clocks.set(who, at)
    const delays = [0, 3_000, shipped(at, 0), shipped(at, random.int(21 * HOUR)), shipped(at, 21 * HOUR)] as const
    return { hostname, ip, pathname: `/${number}-${n}`, at, arrives: at + random.of(delays) }
  })
}

/** The session of each hit if all had come in order, computed without the code under test. */
function inOrder(arrived: readonly Hit[]): Map<string, { who: string; start: number; entry: string }> {
  const open = new Map<string, { start: number; entry: string; last: number }>()
  const truth = new Map<string, { who: string; start: number; entry: string }>()
  for (const { hostname, ip, at, pathname } of [...arrived].sort((a, b) => a.at - b.at)) {
    const who = hostname + ip
    let session = open.get(who)
    if (session === undefined || at - session.last >= HALF_HOUR) session = { start: at, entry: pathname, last: at }
    session.last = at
    open.set(who, session)
    truth.set(pathname, { who, start: session.start, entry: session.entry })
  }
  return truth
}

/** Aggregated sessions that differ from a plain count of all rows, or are missing. */
const findWrongAggregates = (store: EventStore) =>
  store.query(sql`
    with counted as (select site_id, session_id, arg_min(visitor_id, timestamp) as visitor_id, min(session_start) as started,
      max(timestamp) as ended, count(*) as views, min(entry_page) as entry_page, min(utm_source) as utm_source,
      min(visitor_id) = max(visitor_id) as one_id
      from events group by site_id, session_id),
    expected as (select *, lag(case when one_id then started end ignore nulls)
      over (partition by site_id, visitor_id order by started, session_id) as prior
      from counted qualify started < (select max(started) from aggregated_until))
    select e.session_id as counted, s.session_id as aggregated, e.started, s.started as aggregated_started, e.prior, s.prior as aggregated_prior
    from (select * from expected where session_id not in (select session_id from stale_sessions)) e
    full join (select * from sessions where session_id not in (select session_id from stale_sessions)) s
      on s.site_id = e.site_id and s.session_id = e.session_id
    where e.session_id is null or s.session_id is null or s.started <> e.started or s.ended <> e.ended
      or s.views <> e.views or s.entry_page <> e.entry_page or s.utm_source <> e.utm_source
      or (s.prior is distinct from e.prior and (select count(*) from stale_sessions) = 0)`)

const observed = ({ hostname, ip, pathname, at }: Hit) =>
  observation({ hostname, ip, pathname, timestamp: new Date(at).toISOString(), query: `utm_source=From${pathname}` })

t.test('shuffled and delayed streams are stored as if all hits had come in order', { timeout: 300_000 }, async (t) => {
  const store = await openStore(t)
  const random = seeded(20261121)
  let now = 0
  const salts = createTestSalts(() => now)
  let late = 0
  let restarts = 0
  const streams = Number(process.env.STREAMS ?? 75)
  for (let number = 0; number < streams; number += 25) {
    // Many streams at once, because a commit takes as long for one hit as for many.
    const from = Date.UTC(2020, 0, 1) + number * DAY
    const hits = Array.from({ length: 25 }, (_, n) => stream(random, number + n, from)).flat()
    const arrived = hits.sort((a, b) => a.arrives - b.arrives)
    const truth = inOrder(arrived)
    late += arrived.filter((hit, i) => arrived.slice(0, i).some(({ at }) => at > hit.at)).length
    now = arrived[0]?.arrives ?? from
    salts.expire()
    // The salts are kept: without them the same people become other visitors. Only sessions are forgotten.
    const start = () => startWritePath({ store, now: () => now, salts, from: FROM, limit: random.of([16, 1_000]) })
    let writing = await start()
    for (let at = 0; at < arrived.length; ) {
      const until = (arrived[at]?.arrives ?? 0) + random.of([0, HOUR])
      const part = arrived.slice(at, at + 1 + random.int(80)).filter(({ arrives }) => arrives <= until)
      at += part.length
      now = part.at(-1)?.arrives ?? now
      if (random() < 0.15) {
        restarts++
        await writing.stop()
        writing = await start()
      }
      await writing.record(part.map(observed))
      // Sessions that are aggregated by then are aggregated again.
      if (random() < 0.2) await store.aggregate(new Date(now - random.of([0, 2 * HOUR, 12 * HOUR])))
    }
    await writing.stop()
    t.strictSame(await findWrongAggregates(store), [], 'what is aggregated is what the rows say')
    t.strictSame(await findWrongDailyCounts(store), [], 'and what is counted by day')
    await store.aggregate(new Date(now + DAY))
    t.strictSame(await store.query(sql`select * from stale_sessions`), [])
    t.strictSame(await findWrongAggregates(store), [], 'all of it')
    t.strictSame(await store.query(sql`select * from daily_changed`), [])
    t.strictSame(await findWrongDailyCounts(store), [], 'all days')
    const stored = await rowsOf(store, from)
    const ids = new Map<string, string>()
    const wrong = stored.filter((row) => {
      const expected = truth.get(row.pathname)
      if (expected === undefined) return true
      const key = `${expected.who} ${expected.start}`
      const id = ids.get(key) ?? row.session_id
      ids.set(key, id)
      return (
        row.session_start.getTime() !== expected.start ||
        row.entry_page !== expected.entry ||
        row.utm_source !== `From${expected.entry}` ||
        row.source !== `from${expected.entry}` ||
        row.session_id !== id
      )
    })
    if (stored.length !== arrived.length || wrong.length > 0 || new Set(ids.values()).size !== ids.size)
      t.fail(`streams from ${number}`, { wrong })
  }
  t.ok(late > 4 * streams && restarts > streams / 20, `${late} late rows, ${restarts} restarts`)
})

t.test('a session spans midnight and a restart, and its first hit arrives last', async (t) => {
  const store = await openStore(t)
  const midnight = Date.UTC(2026, 10, 22)
  let now = midnight - HOUR
  const salts = createTestSalts(() => now)
  let writing = await startWritePath({ store, now: () => now, salts, from: FROM })
  const hit = (minute: number, ip = '192.0.2.1') => {
    const at = midnight + minute * MINUTE
    return observed({ hostname: 'day.example', ip, pathname: `/${minute}`, at, arrives: now })
  }
  await writing.record([hit(-20), hit(-25, '192.0.2.2')])
  now = midnight + 10 * MINUTE
  await writing.record([hit(5)])
  const sessions = async () =>
    (await rowsOf(store, 0)).map(({ pathname, entry_page, session_start, session_id, visitor_id }) => ({
      pathname,
      entry_page,
      start: (session_start.getTime() - midnight) / MINUTE,
      session_id,
      visitor_id,
    }))
  t.match(await sessions(), [
    { pathname: '/-25', entry_page: '/-25' },
    { pathname: '/-20', entry_page: '/-20' },
    { pathname: '/5', entry_page: '/-20', start: -20 },
  ])
  // The next live hit continues the session as the late hit changed it.
  now = midnight + 12 * MINUTE
  await writing.record([hit(-45)])
  await writing.record([hit(12)])
  now = midnight + 33 * MINUTE
  await writing.stop()
  writing = await startWritePath({ store, now: () => now, salts, from: FROM })
  await writing.record([hit(33)])
  now = midnight + 20 * HOUR
  await writing.record([hit(-70), hit(50), hit(100)])
  await writing.stop()
  const rows = await sessions()
  const merged = rows.filter(({ pathname }) => !['/-25', '/100'].includes(pathname))
  t.equal(merged.length, 7)
  for (const row of merged)
    t.match(row, { entry_page: '/-70', start: -70, session_id: merged[0]?.session_id }, row.pathname)
  t.equal(new Set(merged.map(({ visitor_id }) => visitor_id)).size, 2, 'two ids, one session')
  t.match(
    rows.find(({ pathname }) => pathname === '/-25'),
    { entry_page: '/-25' },
    'another visitor',
  )
  t.match(
    rows.find(({ pathname }) => pathname === '/100'),
    { entry_page: '/100', start: 100 },
    'another visit',
  )
  t.equal(new Set(rows.map(({ session_id }) => session_id)).size, 3)
})

t.test('a move changes only sessions, with any texts, and together with its rows or not at all', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  const store = await openStoreAt(file, { idle_ms: 0 })
  const start = Date.UTC(2026, 10, 21, 8)
  const row = (minute: number, given: Partial<Parameters<typeof eventRow>[0]> = {}) =>
    eventRow({ timestamp: new Date(start + minute * MINUTE), session_id: 5n, session_start: new Date(start), ...given })
  await store.append({
    events: [
      row(0, { suspected: true, suspected_by: 'headers:accept', props: '{"a":1}' }),
      row(10, { kind: 'engagement', engaged_ms: 5_000, visitor_id: 2n }),
      row(20, { session_id: 6n }),
      row(50, { session_id: 7n }),
    ],
    agent_events: [agentRow()],
  })
  const window = { visitor_id: 2n, from: start, to: start + HOUR }
  t.match(
    await findSessionsNear(store, [window, { visitor_id: 1n, from: start + HOUR, to: start + 2 * HOUR }]),
    [{ visitor_id: 2n, session_id: 5n, last_seen: new Date(start + 10 * MINUTE) }],
    'engagement is a hit',
  )
  t.strictSame(await findSessionsNear(store, [{ ...window, to: start + 10 * MINUTE }]), [], 'bounds are outside')
  const ends = await findSessionEnds(store, [5n, 7n], new Date(start))
  const minutes = (id: bigint) =>
    ends
      .get(id)
      ?.map(({ visitor_id, last_seen }) => [visitor_id, (Number(last_seen) - start) / MINUTE])
      .sort()
  t.strictSame(
    [minutes(5n), minutes(7n)],
    [
      [
        [1n, 0],
        [2n, 10],
      ],
      [[1n, 50]],
    ],
  )

  const before = await store.query(sql`select * from events order by timestamp`)
  const arrival = {
    entry_page: `/'; drop table events; --"\\ \u0000 \ud83d\ude00`,
    referrer: 'https://x.example/\ud800',
    source: null,
    channel: 'Referral',
    utm_source: '\u0000',
    utm_medium: '{"was_id":"7"}',
    utm_campaign: '日本語',
    utm_content: '',
    utm_term: '$1 ? :a',
  }
  const to = { session_id: (1n << 64n) - 1n, session_start: new Date(start - MINUTE), arrival }
  const move = { site_id: 1, session_ids: [5n, 6n], to, first: new Date(start), last: new Date(start + 20 * MINUTE) }
  const mark = { ...FROM, sequence: 1 }
  // Its rows cannot be stored, so the move is not made either.
  await t.rejects(store.append({ events: [row(0, { status: Number.NaN })], agent_events: [] }, mark, { moves: [move] }))
  t.strictSame(await store.query(sql`select * from events order by timestamp`), before)
  await store.append({ events: [row(70)], agent_events: [] }, mark, { moves: [move] })
  t.ok(statSync(`${file}.wal`).size > 0)
  await store.maintain({ aggregate: true })
  t.equal(statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0, 0, 'it is soon no more to be replayed')
  await store.close()
  const again = await openStoreAt(file)
  t.teardown(() => again.close())
  const changed = {
    session_id: 'f'.repeat(16),
    session_start: to.session_start,
    ...arrival,
    referrer: 'https://x.example/\ufffd',
  }
  const after = await again.query(sql`select * from events order by timestamp`)
  t.strictSame(
    after.slice(0, 4),
    before.map((one, i) => (i < 3 ? { ...one, ...changed } : one)),
  )
  t.equal(after.length, 5)
})

t.test('a start knows from when on its sessions are complete', async (t) => {
  const store = await openStore(t)
  const at = new Date('2026-11-21T08:00:00.000Z')
  t.strictSame(await readActiveSessions(store, at), { sessions: [], since: at.getTime() - HALF_HOUR })
})

t.test(
  'after kill -9 at any moment every acknowledged hit is stored once, in the session of in-order arrival',
  { timeout: 300_000 },
  async (t) => {
    const file = join(directory(t), 'events.duckdb')
    const acks = `${file}.acks`
    let moved = 0
    for (let round = 0; round < Number(process.env.KILLS ?? 3); round++) {
      const writer = await startWriter(t, 'late-writer-process', [file, String(round), acks])
      const lines = () => readFileSync(acks, 'utf8').split('\n').length
      for (const from = lines(); lines() < from + 60; ) await new Promise((resolve) => setTimeout(resolve, 20))
      await new Promise((resolve) => setTimeout(resolve, (round * 137) % 400))
      writer.kill('SIGKILL')
      await once(writer, 'exit')
      const store = await openStoreAt(file)
      t.strictSame(store.losses, [])
      const rows = await rowsOf(store, 0)
      await store.close()
      const found = new Set(rows.map(({ pathname }) => pathname))
      const acked = readFileSync(acks, 'utf8').split('\n').slice(0, -1)
      t.equal(found.size, rows.length, 'nothing twice')
      t.strictSame(
        acked.filter((path) => !found.has(path)),
        [],
        `${acked.length} acknowledged`,
      )
      t.strictSame(misplaced(rows), [], `round ${round}`)
      moved += rows.filter(({ pathname, entry_page }) => pathname !== entry_page).length
    }
    t.ok(moved > 100, `${moved} rows after the first of their sessions`)
  },
)

/** Rows whose session differs from the one that the timestamps of their visitor's rows give. */
function misplaced(rows: readonly z.infer<typeof Row>[]): string[] {
  const wrong: string[] = []
  const sorted = [...rows].sort((a, b) => a.timestamp.getTime() - b.timestamp.getTime())
  for (const visitor of new Set(rows.map(({ visitor_id }) => visitor_id))) {
    let [start, last] = [0, Number.NEGATIVE_INFINITY]
    let id = ''
    const firsts = new Set<string>()
    for (const row of sorted.filter(({ visitor_id }) => visitor_id === visitor)) {
      const at = row.timestamp.getTime()
      if (at - last >= HALF_HOUR) {
        start = at
        id = startSession(BigInt(`0x${visitor}`), at, blank)
          .id.toString(16)
          .padStart(16, '0')
        firsts.clear()
      }
      // Either of two simultaneous hits may have come first.
      if (at === start) firsts.add(row.pathname)
      last = at
      if (row.session_start.getTime() !== start || row.session_id !== id) wrong.push(`${row.pathname}: its session`)
      else if (at > start && !firsts.has(row.entry_page)) wrong.push(`${row.pathname}: its entry ${row.entry_page}`)
    }
  }
  return wrong
}

const blank = {
  entry_page: null,
  referrer: null,
  source: null,
  channel: '',
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_content: null,
  utm_term: null,
}
