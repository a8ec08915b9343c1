import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ApiError } from '../../src/base/errors.js'
import { packBatch } from '../../src/capture/packed-batch.js'
import type { CommitPosition } from '../../src/storage/commit-position.js'
import type { EdgeDelivery } from '../../src/storage/edge-delivery.js'
import { raw, sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import { readActiveSessions } from '../../src/worker/stored-sessions.js'
import { createOutbox } from '../../src/worker-client/outbox.js'
import type { TailRow, WorkerOptions } from '../../src/worker-client/protocol.js'
import { startWorkerClient } from '../../src/worker-client/worker-client.js'
import { directory } from '../fixtures/files.js'
import { agentObservation, observation } from '../fixtures/observations.js'
import { eventRow } from '../fixtures/rows.js'
import { openStoreAt } from '../fixtures/store.js'
import { ROW_COUNTS, startTestEngine, waitFor } from '../fixtures/worker-client.js'

const people = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => observation({ pathname: `/${from + n}` }))

t.test('observations are rows, counted and durable, when record resolves', async (t) => {
  const { engine, data } = await startTestEngine(t)
  t.equal(engine.status().state, 'ready')
  await engine.record(
    packBatch([
      observation({ pathname: '/a' }),
      agentObservation({ pathname: '/a' }),
      observation({ pathname: '/style.css', content_type: 'text/css' }),
    ]),
  )
  t.match(engine.status(), { rows: { human: 1, agent: 1 }, drops: { not_a_page: 1 }, restarts: 0 })
  t.strictSame(await engine.events.query(ROW_COUNTS), [{ human: 1, agent: 1 }])
  t.equal(engine.status().flush_ms.length, 1)
  await Promise.all(Array.from({ length: 12 }, (_, n) => engine.record(packBatch(people(1_500, n * 1_500)))))
  t.strictSame(await engine.events.query(sql`select count(*) as n, count(distinct pathname) as paths from events`), [
    { n: 18_001, paths: 18_001 },
  ])
  t.ok(engine.status().flush_ms.length < 13, 'batches that wait are committed together')
  await engine.record(packBatch([]))
  await t.rejects(engine.events.query(sql`select nothing from nowhere`), { code: 'database_error' })
  await t.rejects(engine.records.query(raw('selec')), { code: 'database_error' })
  await engine.close()
  t.equal(engine.status().state, 'closed')
  await (await openStoreAt(join(data, 'events.duckdb'))).close()
  await t.rejects(engine.record(packBatch(people(1))), { code: 'database_error' })
  await t.rejects(engine.events.query(ROW_COUNTS), { code: 'database_error' })
})

t.test('a restart of the process splits no session and doubles no row', async (t) => {
  const first = await startTestEngine(t)
  await first.engine.record(packBatch([observation({ pathname: '/in', referrer: 'https://news.example/' })]))
  await first.engine.close()
  const second = await startTestEngine(t, { data: first.data })
  await second.engine.record(packBatch([observation({ pathname: '/on' })]))
  const rows = await second.engine.events.query(
    sql`select pathname, session_id, visitor_id, entry_page, referrer from events order by timestamp`,
  )
  t.equal(rows.length, 2)
  t.equal(rows[0]?.session_id, rows[1]?.session_id)
  t.equal(rows[0]?.visitor_id, rows[1]?.visitor_id)
  t.match(rows[1], { pathname: '/on', entry_page: '/in', referrer: rows[0]?.referrer })
})

t.test('tail reports rows as they are committed, and costs nothing without listeners', async (t) => {
  const { engine } = await startTestEngine(t)
  const seen: TailRow[] = []
  await engine.record(packBatch([observation({ pathname: '/before' })]))
  const stop = engine.tail((row) => seen.push(row))
  await engine.record(packBatch([observation({ pathname: '/x' }), agentObservation({ pathname: '/y' })]))
  await waitFor(() => seen.length === 2, 'two rows')
  t.strictSame(
    seen.map((row) => [row.audience, row.pathname]),
    [
      ['human', '/x'],
      ['agent', '/y'],
    ],
  )
  t.match(seen[0], { visitor_id: /^[0-9a-f]{16}$/, timestamp: Date })
  stop()
  stop()
  await engine.record(packBatch([observation({ pathname: '/after' })]))
  t.equal(seen.length, 2)

  await t.test('sites are known right after a write, also by hostname', async (t) => {
    const { human } = engine.status().rows
    await engine.record(packBatch([observation({ hostname: 'shop.example' })]))
    await engine.records.write(sql`update sites set domains = '["example.com"]' where id = 1`)
    await engine.record(
      packBatch([observation({ hostname: 'shop.example' }), observation({ hostname: 'example.com' })]),
    )
    t.match(engine.status(), { rows: { human: human + 2 }, drops: { unknown_host: 1 } })
  })
})

t.test('a failed start reports the reason in one line', async (t) => {
  const at = directory(t)
  const held = await openStoreAt(join(at, 'events.duckdb'))
  const log = { info() {}, warn() {}, error() {} }
  await t.rejects(startWorkerClient({ data: at, offline: true, log, lock_ms: 200 }), {
    message: new RegExp(
      `^\\S+events\\.duckdb is in use by another process \\(PID ${process.pid}, \\S+, started by \\d+\\)$`,
    ),
  })
  await held.close()
  await t.rejects(startWorkerClient({ data: at, offline: true, log, geoip: join(at, 'none.mmdb') }), {
    message: /none\.mmdb/,
  })
  const engine = await startWorkerClient({ data: at, offline: true, log })
  t.equal(engine.status().state, 'ready', 'and the file is free again')
  await engine.close()
})

t.test('a new worker reports how far the one before had committed', async (t) => {
  const data = directory(t)
  const run = '00000000000000aa'
  const store = await openStoreAt(join(data, 'events.duckdb'))
  const mark = { run, sequence: 3, human: 7, agent: 2, drops: { fault: 1 } }
  await store.append({ events: [eventRow()], agent_events: [] }, mark)
  await store.close()
  const cases: [CommitPosition, CommitPosition, string][] = [
    [{ run, sequence: 2, human: 5, agent: 2, drops: {} }, mark, 'it was committed and not acknowledged'],
    [
      { run, sequence: 4, human: 7, agent: 2, drops: { fault: 2 } },
      { run, sequence: 4, human: 7, agent: 2, drops: { fault: 2 } },
      'a batch without rows leaves no mark',
    ],
    [
      { run: '00000000000000bb', sequence: 0, human: 0, agent: 0, drops: {} },
      { run: '00000000000000bb', sequence: 0, human: 0, agent: 0, drops: {} },
      'another run begins at nothing',
    ],
  ]
  for (const [from, expected, why] of cases) {
    const options: WorkerOptions = {
      data,
      memory_limit: '256MB',
      threads: 1,
      min_free_disk: 0,
      ranges: [],
      spam_referrers: [],
      trusted_referrers: [],
      offline: true,
      domain: [],
      in_application: false,
      version: '0',
      ...{ role: 'both', instance: 'a', address: '' },
      from,
    }
    const worker = fork(new URL('../../src/worker/entry.js', import.meta.url), {
      execArgv: [],
      serialization: 'advanced',
    })
    worker.send(options)
    const [ready] = await once(worker, 'message')
    t.strictSame(ready, { type: 'ready', position: expected, losses: [], writer: true }, why)
    worker.send({ type: 'close' })
    t.strictSame(await once(worker, 'exit'), [0, null])
  }
})

t.test('the outbox sends batches in order, a few at a time, and keeps each until it is committed', async (t) => {
  const posted: number[] = []
  const outbox = createOutbox({
    post: (message) => {
      if (message.type === 'batch') posted.push(message.sequence)
    },
  })
  const done: number[] = []
  const add = (n: number) =>
    outbox.add(packBatch([observation()])).then(
      () => done.push(n),
      (error: ApiError) => done.push(-n, error.code === 'internal_error' ? 0 : 1),
    )
  for (let n = 1; n <= 12; n++) void add(n)
  t.strictSame(posted, [], 'no worker runs yet')
  outbox.resume()
  t.strictSame(posted, [1, 2, 3, 4, 5, 6, 7, 8])
  outbox.acknowledge(2)
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(
    [posted.slice(8), done],
    [
      [9, 10],
      [1, 2],
    ],
  )
  outbox.pause(true)
  posted.length = 0
  outbox.resume()
  t.strictSame(posted, [3], 'the first batch that a worker died with is sent alone')
  outbox.acknowledge(3)
  outbox.acknowledge(10)
  t.strictSame(posted, [3, 4, 11, 12], 'batches of the dead worker one by one, then as many as may be in flight')
  posted.length = 0
  /** Whether the worker said that it works on batch 11, whether it died by itself, and whether the batch is given up then. */
  const deaths: [begun: boolean, isCrash: boolean, isRejected: boolean, why: string][] = [
    [false, true, false, 'it was sent with others'],
    [true, false, false, 'another process killed the worker'],
    [false, true, false, 'the worker died before it worked on it'],
    [true, false, false, 'another process killed the worker again'],
    [true, true, false, 'it was the first worker to die of it alone'],
    [true, true, true, 'two workers died of it alone'],
  ]
  for (const [begun, isCrash, isRejected, why] of deaths) {
    if (begun) outbox.begin(11)
    outbox.pause(isCrash)
    outbox.resume()
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(done.includes(-11), isRejected, why)
  }
  t.strictSame(posted, [11, 11, 11, 11, 11, 12], 'the next batch follows alone')
  t.strictSame(done.slice(-2), [-11, 0])
  outbox.acknowledge(12)
  await outbox.whenEmpty()
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(done.at(-1), 12)
})

t.test('the outbox gives deliveries up while another process writes', async (t) => {
  const posted: number[] = []
  const outbox = createOutbox({ post: (message) => message.type === 'batch' && void posted.push(message.sequence) })
  const fates: string[] = []
  const add = (name: string, delivery?: EdgeDelivery) =>
    void outbox.add(packBatch([observation()]), delivery).then(
      () => fates.push(`${name} stored`),
      ({ code }: ApiError) => fates.push(`${name} ${code}`),
    )
  const delivery = { site_id: 1, signature: null, sender: 'a', number: 1, accepted_at: 0 }
  outbox.resume()
  add('own')
  add('delivered', delivery)
  outbox.pause(true)
  outbox.refuseDeliveries(new ApiError('database_error', 'Another process writes.'))
  add('late', delivery)
  add('own on disk', { ...delivery, site_id: 0 })
  await new Promise((resolve) => setImmediate(resolve))
  t.same(fates, ['delivered database_error', 'late database_error'], 'their sender sends them to that process')
  posted.length = 0
  outbox.resume()
  add('again', delivery)
  t.same(posted, [1], 'what this process has seen itself waited, and goes first')
  outbox.acknowledge(9)
  await new Promise((resolve) => setImmediate(resolve))
  t.same(fates.slice(2), ['own stored', 'own on disk stored', 'again stored'])
})

t.test('after its data directory is deleted the engine reports it and records into new files', async (t) => {
  const prepare = async (records: Records) => {
    if ((await records.query(sql`select id from sites`)).length > 0) return
    await records.write(sql`insert into sites (id, org, name, domains, timezone, excluded_paths, respect_gpc,
      visitor_salt, created_at) values (1, 1, 'Site', '[]', 'UTC', '[]', false, 'month', ${new Date()})`)
  }
  const { engine, data, lines } = await startTestEngine(t, { prepare })
  await engine.record(packBatch(people(3)))
  rmSync(data, { recursive: true })
  await engine.record(packBatch(people(5)))
  t.match(lines.join('\n'), /events\.duckdb is gone/)
  t.strictSame(await engine.events.query(ROW_COUNTS), [{ human: 5, agent: 0 }], 'none has an unknown host')
  t.match(engine.status(), { state: 'ready', rows: { human: 8 }, drops: {}, restarts: 1 })
})

t.test('a start reports that records cannot be prepared', async (t) => {
  const prepare = () => Promise.reject(new Error('no room for a site'))
  const log = { info() {}, warn() {}, error() {} }
  await t.rejects(startWorkerClient({ data: directory(t), offline: true, log, min_free_disk: 0, prepare }), {
    message: 'the records cannot be prepared: no room for a site',
  })
})

t.test('after a flood of sessions with long texts a start reads only the latest back', async (t) => {
  const { engine, data } = await startTestEngine(t)
  await engine.record(
    packBatch(
      Array.from({ length: 6_000 }, (_, n) =>
        observation({
          timestamp: new Date(Date.now() - 600_000 + n).toISOString(),
          user_agent: `Mozilla/5.0 Chrome/137.0.0.0 ${n}`,
          pathname: `/${n}/`.padEnd(2_000, 'x'),
          referrer: 'https://news.example/'.padEnd(2_000, 'x'),
        }),
      ),
    ),
  )
  await engine.close()
  const store = await openStoreAt(join(data, 'events.duckdb'))
  const { sessions, since } = await readActiveSessions(store, new Date())
  await store.close()
  t.ok(sessions.length > 3_500 && sessions.length < 4_200, `${sessions.length}: 16 MB at 4,100 characters`)
  t.match(sessions.at(-1)?.arrival.entry_page, /^\/5999\//, 'in the order of their last hit')
  const [oldest] = sessions
  t.equal(oldest && oldest.last_seen.getTime() - since, 1, 'and says since when these are all')

  await t.test('a records file that is garbage is set aside, replaced and reported', async (t) => {
    writeFileSync(join(data, 'control.duckdb'), 'garbage '.repeat(5_000))
    const next = await startTestEngine(t, { data })
    t.match(next.engine.status(), {
      state: 'ready',
      losses: [/^records: file set aside: 40000 bytes, kept in .*sites, accounts or keys/],
    })
    await next.engine.record(packBatch(people(2)))
    t.match(next.engine.status(), { rows: { human: 2 }, drops: {} })
  })
})
