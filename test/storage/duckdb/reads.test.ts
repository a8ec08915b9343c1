import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createSlots } from '../../../src/base/slots.js'
import { createReopeningDatabase } from '../../../src/storage/duckdb/database.js'
import type { EventStoreOptions } from '../../../src/storage/duckdb/event-store.js'
import { openDatabaseFile, READ_CONNECTIONS, STREAM_CONNECTIONS } from '../../../src/storage/duckdb/open.js'
import { raw, sql } from '../../../src/storage/sql.js'
import type { ResultRow } from '../../../src/storage/store.js'
import { directory } from '../../fixtures/files.js'
import { eventRow } from '../../fixtures/rows.js'
import { openStoreAt, SETTINGS, storeOptions } from '../../fixtures/store.js'

/** Hours of work unless it is interrupted. */
const endless = (n = 0) =>
  sql`select count(*) as n from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = ${n}`

async function storeFor(t: Test, given: Partial<EventStoreOptions> = {}) {
  const { options, lines } = storeOptions(join(directory(t), 'events.duckdb'), given)
  const store = await openStoreAt(options.file, options)
  t.teardown(() => store.close())
  return { store, lines, file: options.file }
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

t.test('slots run a bounded number of tasks at once, and the others in order', async (t) => {
  const slots = createSlots(2)
  const log: string[] = []
  const ends = new Map<string, () => void>()
  const start = (name: string, signal?: AbortSignal) =>
    slots(
      async (slot) => {
        log.push(`${name}@${slot}`)
        await new Promise<void>((resolve) => ends.set(name, resolve))
        if (name === 'b') throw new Error('b fails')
      },
      { signal },
    ).catch((error: unknown) => log.push(`${name}: ${error instanceof Error ? error.message : String(error)}`))
  const settle = () => sleep(5)
  const leaving = new AbortController()
  const all = [start('a'), start('b'), start('c'), start('d', leaving.signal), start('e')]
  await settle()
  t.strictSame(log, ['a@0', 'b@1'], 'two')
  ends.get('b')?.()
  await settle()
  t.strictSame(log, ['a@0', 'b@1', 'c@1', 'b: b fails'], 'the first that waited, on the slot that is free')
  leaving.abort(new Error('left'))
  await settle()
  t.strictSame(log.slice(4), ['d: left'], 'one that leaves the line')
  ends.get('a')?.()
  await settle()
  t.strictSame(log.slice(5), ['e@0'], 'which never starts')
  ends.get('c')?.()
  ends.get('e')?.()
  await Promise.all(all)
  await t.rejects(
    slots(async () => t.fail('it started'), { signal: AbortSignal.abort(new Error('never')) }),
    { message: 'never' },
  )
  const held = [0, 1].map((n) =>
    slots(async () => {
      await new Promise<void>((resolve) => ends.set(String(n), resolve))
    }),
  )
  await t.rejects(
    slots(async () => t.fail('it started'), { wait_ms: 10, late: () => new Error('full') }),
    {
      message: 'full',
    },
  )
  ends.get('0')?.()
  ends.get('1')?.()
  await Promise.all(held)
  const free = await Promise.all([0, 1].map(() => slots(async (slot) => slot)))
  t.strictSame(free.toSorted(), [0, 1], 'and all are free')
})

t.test(
  'a read is interrupted after its timeout with a clear error, and its connection serves the next read',
  async (t) => {
    const { store } = await storeFor(t, { limits: { timeout_ms: 300 } })
    const ms = await elapsed(() =>
      t.rejects(Promise.all([endless(1), endless(2)].map((query) => store.query(query))), {
        code: 'database_error',
        message: 'The query took longer than 0.3 s: ask for a shorter window or fewer values.',
      }),
    )
    t.ok(ms >= 300 && ms < 5_000, `${Math.round(ms)} ms`)
    for (let n = 0; n < 2 * READ_CONNECTIONS; n++) t.strictSame(await store.query(sql`select ${n} as n`), [{ n }])
  },
)

t.test('cancelling a running read does not affect others', async (t) => {
  const { store } = await storeFor(t)
  const leaving = new AbortController()
  const cancelled = t.rejects(store.query(endless(), leaving.signal), {
    code: 'database_error',
    message: 'The query was cancelled.',
  })
  // One after it on the same connection, and one at the same time on the other.
  const count = sql`select count(*) as n from range(3000) a, range(3000) b where (a.range + b.range) % 7 = 3`
  const others = Array.from({ length: 6 }, () => store.query(count))
  await sleep(100)
  leaving.abort()
  t.ok((await elapsed(() => cancelled)) < 10_000)
  const answers = await Promise.all(others)
  t.equal(new Set(answers.map((rows) => rows[0]?.n)).size, 1, 'every other is answered')
  await t.rejects(store.query(sql`select 1`, AbortSignal.abort()), { code: 'database_error' }, 'or never started')
})

t.test('a read that is cancelled at any moment does not affect others', async (t) => {
  const { store } = await storeFor(t)
  let cancelled = 0
  for (let n = 0; n < 120; n++) {
    const leaving = new AbortController()
    const first = store.query(sql`select count(*) as n from range(${(n % 7) * 4_000}) a`, leaving.signal).catch(() => {
      cancelled += 1
    })
    const behind = Promise.all([1, 2, 3].map((m) => store.query(sql`select ${m} as n`)))
    if (n % 3 > 0) await sleep(n % 3 === 1 ? 0 : 1)
    else if (n % 2 > 0) await Promise.resolve()
    leaving.abort()
    t.strictSame(await behind, [[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]], String(n))
    await first
  }
  t.ok(cancelled > 0, `${cancelled} were`)
  // An interrupt before the statement has begun must not be lost.
  for (const moment of [0, 0, 1, 1, 2, 3, 5, 8]) {
    const leaving = new AbortController()
    const ended = t.rejects(store.query(endless(moment), leaving.signal), { message: 'The query was cancelled.' })
    if (moment > 0) await sleep(moment - 1)
    leaving.abort()
    t.ok((await elapsed(() => ended)) < 3_000, `cancelled ${moment} in`)
  }
})

t.test('reads at once are bounded; a waiting read that is cancelled or waits too long never runs', async (t) => {
  const { store } = await storeFor(t, { limits: { timeout_ms: 1_500, wait_ms: 300 } })
  const running = Array.from({ length: READ_CONNECTIONS }, (_, n) => store.query(endless(n)))
  const ended = running.map((one) => t.rejects(one, { message: /took longer/ }))
  const leaving = new AbortController()
  const left = t.rejects(store.query(sql`select 1`, leaving.signal), { message: 'The query was cancelled.' })
  const waited = elapsed(() =>
    t.rejects(store.query(sql`select 1`), {
      code: 'database_error',
      message: /^No query slot became free within 0.3 s/,
    }),
  )
  leaving.abort()
  await left
  const ms = await waited
  t.ok(ms >= 250, `it waited ${Math.round(ms)} ms`)
  await Promise.all(ended)
  t.strictSame(await store.query(sql`select 1 as n`), [{ n: 1 }])
})

t.test('rows are stored while every reading connection is busy', async (t) => {
  const { store } = await storeFor(t)
  const leaving = new AbortController()
  const busy = Array.from({ length: READ_CONNECTIONS + 2 }, (_, n) =>
    t.rejects(store.query(endless(n), leaving.signal), { code: 'database_error' }),
  )
  await sleep(50)
  for (let n = 0; n < 5; n++) await store.append({ events: [eventRow()], agent_events: [] })
  leaving.abort()
  await Promise.all(busy)
  t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 5 }])
})

t.test('too little memory has its own error, different from a broken store', async (t) => {
  const { store } = await storeFor(t, { settings: { ...SETTINGS, memory_limit: '50MB', temp_limit: '1MB' } })
  const large = sql`select count(*) as n from
    (select md5(range::varchar) as m, max(range) as r from range(800000) group by m) where r >= 0`
  await t.rejects(store.query(large), { code: 'database_error', message: /needs more memory.*raise --memory-limit/ })
  await t.rejects(take(store.stream(large)), { code: 'database_error', message: /needs more memory/ })
  for (const text of ['select nothing from nowhere', 'selec']) {
    const failed = await store.query(raw(text)).catch((error: unknown) => error)
    t.match(failed, { code: 'database_error', message: 'The query failed.' }, 'no SQL and no word of the engine')
  }
  t.strictSame(await store.query(sql`select 1 as n`), [{ n: 1 }])
})

/** All rows of a stream, and the sizes of its chunks. */
async function take(stream: AsyncIterable<ResultRow[]>) {
  const rows: ResultRow[] = []
  const sizes: number[] = []
  for await (const piece of stream) {
    rows.push(...piece)
    sizes.push(piece.length)
  }
  return { rows, sizes }
}

t.test('a stream returns every row once, in order, as a query does', async (t) => {
  const { store } = await storeFor(t)
  const events = Array.from({ length: 9_001 }, (_, n) => eventRow({ visitor_id: BigInt(n), asn: (n * 7919) % 9_001 }))
  await store.append({ events, agent_events: [] })
  const asked = sql`/* named */ select asn, visitor_id, timestamp, lcp, referrer, sum(asn) over () as total
    from events where site_id = ${1} and hostname = ${'example.com'} order by asn desc`
  const { rows, sizes } = await take(store.stream(asked))
  t.strictSame(sizes, [2_000, 2_000, 2_000, 2_000, 1_001])
  t.strictSame(
    rows.map((row) => row.asn),
    Array.from({ length: 9_001 }, (_, n) => 9_000 - n),
  )
  t.strictSame(rows, await store.query(asked), 'in the same form')
  t.strictSame((await take(store.stream(sql`select 1 as n where false`))).sizes, [], 'none')
  t.strictSame((await take(store.stream(sql`select * from range(4000)`))).sizes, [2_000, 2_000], 'whole pieces')
  await t.rejects(take(store.stream(raw('select 1 as n; delete from events'))), { code: 'database_error' })
  await t.rejects(take(store.stream(raw('selec'))), { message: 'The query failed.' })
  t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 9_001 }])
})

t.test('a stream that fails half-way throws', async (t) => {
  const { store } = await storeFor(t)
  // After more rows than the engine computes ahead.
  const failing = sql`select cast(if(range = 1500000, 'x', '1') as integer) as v from range(2000000)`
  await t.rejects(take(store.stream(failing)), { code: 'database_error' })
})

t.test('an open stream blocks neither appends nor checkpoints', async (t) => {
  const { store, lines, file } = await storeFor(t, { wal_bytes: 1 })
  const events = Array.from({ length: 5_000 }, (_, n) => eventRow({ asn: n }))
  await store.append({ events, agent_events: [] })
  const stream = store.stream(sql`select asn from events order by asn`)[Symbol.asyncIterator]()
  const first = await stream.next()
  t.equal(first.value?.length, 2_000)
  await store.updateRows(async () => [sql`update events set asn = asn + 1`])
  await store.append({ events: [eventRow()], agent_events: [] })
  t.notOk(existsSync(`${file}.wal`) && readdirSync(join(file, '..')).includes('events.duckdb.wal'), 'checkpointed')
  t.strictSame(lines, [])
  const second = await stream.next()
  t.strictSame(second.value?.[0], { asn: 2_000 }, 'and it shows what was when it was asked')
  await stream.return?.()
})

t.test('the connection of a stream is released however the stream ends', async (t) => {
  const limits = { timeout_ms: 500, idle_ms: 200, longest_ms: 60_000 }
  const { store } = await storeFor(t, { limits })
  const many = sql`select * from range(20000)`
  const free = async (why: string) => {
    // As many as there are connections: one that was not released would keep the last from its first rows.
    const all = Array.from({ length: STREAM_CONNECTIONS }, () => store.stream(many)[Symbol.asyncIterator]())
    const first = await Promise.all(all.map((one) => one.next()))
    t.ok(
      first.every(({ value }) => value?.length === 2_000),
      `free ${why}`,
    )
    await Promise.all(all.map((one) => one.return?.()))
  }
  for await (const piece of store.stream(many)) {
    t.equal(piece.length, 2_000)
    break
  }
  await free('when the asker has enough')

  const leaving = new AbortController()
  const left = store.stream(many, leaving.signal)[Symbol.asyncIterator]()
  await left.next()
  leaving.abort()
  await free('when it is cancelled between two pieces, which nobody asks for')
  await t.rejects(left.next(), { message: 'The query was cancelled.' })

  const gone = new AbortController()
  const long = t.rejects(take(store.stream(endless(), gone.signal)), { message: 'The query was cancelled.' })
  await sleep(50)
  gone.abort()
  await long
  await free('when it is cancelled before its first row')

  await t.rejects(take(store.stream(endless())), { message: /^The query took longer than 0.5 s/ })
  await free('when it takes too long')

  const stalled = store.stream(many)[Symbol.asyncIterator]()
  await stalled.next()
  await free('when the asker stalls')
  await t.rejects(stalled.next(), { code: 'database_error', message: /read the rows too slowly/ }, 'who is told')
  await t.rejects(
    store.stream(many, AbortSignal.abort())[Symbol.asyncIterator]().next(),
    { message: 'The query was cancelled.' },
    'or never started',
  )
})

t.test('a stream whose caller reads too slowly is ended', async (t) => {
  const { store } = await storeFor(t, { limits: { idle_ms: 10_000, longest_ms: 150 } })
  const slow = async () => {
    for await (const _ of store.stream(sql`select * from range(200000)`)) await sleep(20)
  }
  await t.rejects(slow(), { message: /read the rows too slowly/ })
})

t.test('reads continue while a stream is open, and its next chunk waits in their queue', async (t) => {
  const { store } = await storeFor(t)
  const open = store.stream(sql`select * from range(9000)`)[Symbol.asyncIterator]()
  await open.next()
  t.strictSame(await store.query(sql`select 1 as n`), [{ n: 1 }])
  const leaving = new AbortController()
  const busy = Array.from({ length: READ_CONNECTIONS }, (_, n) =>
    t.rejects(store.query(endless(n), leaving.signal), { code: 'database_error' }),
  )
  let came = false
  const next = open.next().finally(() => {
    came = true
  })
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.notOk(came, 'every reader is busy')
  leaving.abort()
  t.equal((await next).value?.length, 2_000)
  await Promise.all(busy)
  await open.return?.()
})

t.test('a fatal error opens every connection again, once', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  const open = () => openDatabaseFile(file, SETTINGS)
  const causes: unknown[] = []
  const database = createReopeningDatabase(await open(), open, {
    clock: () => performance.now(),
    memory_limit: SETTINGS.memory_limit,
    threads: 1,
    first_retry_ms: 1,
    max_retry_ms: 10,
    onReopen: (cause) => causes.push(cause),
    limits: { timeout_ms: 60_000, wait_ms: 60_000 },
  })
  t.teardown(() => database.close())
  await database.write((writer) => writer.run('create table kept as select 1 as n'))
  const { text } = endless()
  const endlessly = database.read((reader) => reader.run(text.join('3')))
  const stopped = t.rejects(endlessly, { code: 'database_error' }, 'the read that runs meanwhile')
  const held = database.hold(async (run) => {
    await run((connection) => connection.run('create temp table mine as select 1'))
    await t.rejects(
      database.read(async () => {
        throw new Error('FATAL Error: made up')
      }),
      { message: /made up/ },
    )
    await Promise.all(
      [1, 2, 3].map(async () => {
        const reader = await database.read((connection) => connection.runAndReadAll('select n from kept'))
        t.strictSame(reader.getRowsJS(), [[1]])
      }),
    )
    await run((connection) => connection.run('from mine'))
  })
  await t.rejects(held, { code: 'database_error' }, 'what was held is gone, and said')
  await stopped
  t.equal(causes.length, 1)
  await database.hold((run) => run((connection) => connection.run('from kept')))
})

t.test('close ends the open stream and those that wait', async (t) => {
  const { store } = await storeFor(t)
  const open = store.stream(sql`select * from range(9000)`)[Symbol.asyncIterator]()
  await open.next()
  const waiting = t.rejects(take(store.stream(sql`select 1`)), { code: 'database_error' })
  const running = Array.from({ length: READ_CONNECTIONS + 2 }, (_, n) =>
    t.rejects(store.query(endless(n)), { code: 'database_error' }),
  )
  await sleep(50)
  t.ok((await elapsed(() => store.close())) < 3_000)
  await Promise.all(running)
  await t.rejects(open.next(), { code: 'database_error' })
  await waiting
})

t.test('a stream that its caller leaves keeps no temporary table', async (t) => {
  const { store } = await storeFor(t)
  const held = async () => {
    const [row] = await store.query(
      sql`select sum(memory_usage_bytes + temporary_storage_bytes) as bytes from duckdb_memory() where tag = 'IN_MEMORY_TABLE'`,
    )
    return Number(row?.bytes)
  }
  const before = await held()
  const left = new AbortController()
  const rows = store
    .stream(sql`select range as n, hash(range) as h from range(500000)`, left.signal)
    [Symbol.asyncIterator]()
  await rows.next()
  t.ok((await held()) > before, 'its rows are there while it goes on')
  left.abort()
  await t.rejects(rows.next())
  t.equal(await held(), before)
})
