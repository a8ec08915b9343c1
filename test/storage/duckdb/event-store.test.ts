import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { COLUMN_TYPES } from '../../../src/storage/columns.js'
import { createCheckpoints } from '../../../src/storage/duckdb/checkpoints.js'
import { openDataFile } from '../../../src/storage/duckdb/datafile.js'
import { isOpenHere, openDatabaseFile } from '../../../src/storage/duckdb/open.js'
import { runQuery } from '../../../src/storage/duckdb/query.js'
import { openRecords } from '../../../src/storage/duckdb/records.js'
import type { AgentEventRow } from '../../../src/storage/rows.js'
import { raw, sql } from '../../../src/storage/sql.js'
import { createAddition } from '../../../src/worker/ingest/classified-batch.js'
import { storeContract } from '../../contract/store-contract.js'
import { directory } from '../../fixtures/files.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { openStoreAt, SETTINGS, storeOptions } from '../../fixtures/store.js'
import { findWrongDailyCounts } from '../../fixtures/wrong-daily-counts.js'

const opened = async (t: Test, given: Parameters<typeof openStoreAt>[1] = {}) => {
  const store = await openStoreAt(join(directory(t), 'events.duckdb'), given)
  t.teardown(() => store.close())
  return store
}

storeContract(t, opened)

t.test('a report whose view is gone is said to be lost', async (t) => {
  const { options, lines } = storeOptions(join(directory(t), 'events.duckdb'))
  const store = await openStoreAt(options.file, options)
  t.teardown(() => store.close())
  const view = eventRow({ recorded_by: 'server' })
  await store.append({ events: [view], agent_events: [] })
  const report = (pathname: string) => createAddition({ ...view, pathname }, { language: 'de' })
  const additions = [report(view.pathname), report('/gone')]
  await store.append({ events: [], agent_events: [] }, undefined, { additions })
  t.strictSame(await store.query(sql`select language from events`), [{ language: 'de' }])
  t.strictSame(lines, [`warn ${options.file}: 1 of 2 reports was not stored, because its view was removed`])
})

const WIDE: Readonly<Record<string, (name: string) => [column: string, type: string][]>> = {
  vitals: () => ['lcp', 'cls', 'inp', 'fcp', 'ttfb'].map((vital) => [vital, 'double']),
  json: (name) => [[name, 'varchar']],
}
t.test('the appended columns are those of the tables, in the same order', async (t) => {
  const store = await opened(t)
  for (const [table, columns] of Object.entries(COLUMN_TYPES)) {
    const found = await store.query(sql`select column_name, data_type from duckdb_columns()
      where table_name = ${table} order by column_index`)
    t.strictSame(
      found.map((column) => [column.column_name, String(column.data_type).toLowerCase()]),
      Object.entries(columns).flatMap(([name, type]) => WIDE[type]?.(name) ?? [[name, type]]),
      table,
    )
  }
  t.strictSame(Object.keys(eventRow()), Object.keys(COLUMN_TYPES.events), 'and the fields of a row')
  t.strictSame(Object.keys(agentRow()), Object.keys(COLUMN_TYPES.agent_events))
  t.strictSame(await store.query(sql`select * from duckdb_indexes()`), [], 'no index, which a replay could trip over')
  t.strictSame(await store.query(sql`select * from duckdb_constraints()`), [], 'no key')
})

t.test('values are stored as they are, whatever form their vector keeps them in', async (t) => {
  const store = await opened(t)
  const texts: [stored: string, why: string, given?: string][] = [
    ['', 'no characters'],
    ['twelve chars', 'the most that a vector holds itself'],
    ['thirteen char', 'one more'],
    ['a\0b', 'a zero, short'],
    ['a zero in the \0 middle', 'a zero, long'],
    ['grüße', 'short, and not ASCII'],
    ['twelve chär', 'its last characters are not ASCII'],
    ['日本語の長いページの名前です', 'long, and not ASCII'],
    ['half \ufffd', 'half a surrogate pair', 'half \ud800'],
    ['a longer text with half \ufffd a pair', 'the same, long', 'a longer text with half \ud800 a pair'],
  ]
  const times = [
    '1969-12-31T23:59:59.999Z',
    '1970-01-01T00:00:00.000Z',
    '2026-11-21T08:00:00.001Z',
    '9999-12-31T00:00:00.000Z',
  ]
  // More rows than a vector has, and no value where a text was: each is NULL in one row of three.
  const rows = Array.from({ length: 5_000 }, (_, n) => ({
    n,
    text: texts[n % texts.length],
    at: times[n % times.length],
  }))
  const has = (n: number) => n % 3 !== 0
  await store.append({
    events: rows.map(({ n, text, at = '' }) =>
      eventRow({
        duration_ms: n - 2_500,
        pathname: text?.[2] ?? text?.[0] ?? '',
        utm_term: has(n) ? (text?.[2] ?? text?.[0] ?? '') : null,
        visitor_id: n === 1 ? 2n ** 64n - 1n : BigInt(n),
        timestamp: new Date(at),
        asn: has(n) ? 4_294_967_295 - n : null,
        suspected: n % 2 === 0,
        vitals: n % 7 === 0 ? { lcp: n + 0.5, cls: null, inp: 0, fcp: null, ttfb: 1 } : null,
      }),
    ),
    agent_events: rows.map(({ n }) =>
      agentRow({ status: n, bytes: n * 2 ** 33, verified: has(n) ? n % 2 === 0 : null }),
    ),
  })
  const found = await store.query(sql`select * from events order by duration_ms`)
  for (const { n, text, at = '' } of rows) {
    const { pathname, utm_term, visitor_id, timestamp, asn, suspected, lcp, cls, inp, fcp, ttfb } = found[n] ?? {}
    const id = (n === 1 ? 2n ** 64n - 1n : BigInt(n)).toString(16).padStart(16, '0')
    const vitals = n % 7 === 0 ? [n + 0.5, null, 0, null, 1] : [null, null, null, null, null]
    const expected = [text?.[0], has(n) ? text?.[0] : null, id, at, has(n) ? 4_294_967_295 - n : null, n % 2 === 0]
    const is = [pathname, utm_term, visitor_id, timestamp instanceof Date && timestamp.toISOString(), asn, suspected]
    if (JSON.stringify([is, lcp, cls, inp, fcp, ttfb]) !== JSON.stringify([expected, ...vitals]))
      t.strictSame([is, lcp, cls, inp, fcp, ttfb], [expected, ...vitals], `row ${n}: ${text?.[1]}`)
  }
  t.equal(found.length, 5_000)
  t.strictSame(
    await store.query(sql`select count(*) as n, count(verified) as verified, bool_and(bytes = status * 2::bigint ** 33) as bytes,
      count(*) filter (verified = (status % 2 = 0)) as right from agent_events`),
    [{ n: 5_000, verified: 3_333, bytes: true, right: 3_333 }],
  )
})

t.test('SQL reaches no file, extension or setting', async (t) => {
  const at = directory(t)
  const store = await openStoreAt(join(at, 'events.duckdb'))
  t.teardown(() => store.close())
  for (const text of [
    "select * from read_text('/etc/hostname')",
    `copy events to '${at}/out.csv'`,
    `attach '${at}/other.duckdb'`,
    'install httpfs',
    'load httpfs',
    'set enable_external_access = true',
    "set temp_directory = '/tmp'",
    "pragma memory_limit = '8GB'",
    "set global memory_limit = '8GB'",
    "set max_memory = '8GB'",
    'reset memory_limit',
    `export database '${at}/all'`,
  ]) {
    await t.rejects(store.query(raw(text)), { code: 'database_error' }, text)
  }
  t.notOk(existsSync(join(at, 'out.csv')) || existsSync(join(at, 'other.duckdb')))
})

t.test('a query larger than memory spills to disk next to the file', async (t) => {
  const at = directory(t)
  const store = await openStoreAt(join(at, 'events.duckdb'), { settings: { ...SETTINGS, memory_limit: '50MB' } })
  t.teardown(() => store.close())
  const spilling = sql`select count(*) as n from
    (select md5(range::varchar) as m, max(range) as r from range(800000) group by m) where r >= 0`
  t.strictSame(await store.query(spilling), [{ n: 800_000 }])
  const settings = { ...SETTINGS, memory_limit: '50MB', temp_limit: '1MB' }
  const narrow = await openStoreAt(join(at, 'narrow.duckdb'), { settings })
  t.teardown(() => narrow.close())
  await t.rejects(narrow.query(spilling), { code: 'database_error' }, 'and not past its limit on disk')
  t.strictSame(await narrow.query(sql`select 1 as n`), [{ n: 1 }], 'which harms that query alone')
})

t.test('a flood of rows leaves memory again when nothing is read', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  let time = 0
  const { options } = storeOptions(file, { clock: () => time, wal_bytes: 0 })
  const settings = { ...SETTINGS, memory_limit: '1GB' }
  const data = await openDataFile({ ...options, settings, migrations: [] })
  t.teardown(() => data.close())
  const checkpoints = createCheckpoints(data, options)
  const cached = async () => {
    const query = sql`select sum(memory_usage_bytes) / 1e6 as mb from duckdb_memory() where tag = 'BASE_TABLE'`
    const [row] = await data.write((writer) => runQuery(writer, query))
    return Number(row?.mb)
  }
  const columns = [...'abcdefgh'].map((name) => `random() as ${name}`)
  await data.write((writer) => writer.run(`create table flood as select ${columns} from range(1600000)`))
  await checkpoints.run()
  const full = await cached()
  t.ok(full > 80, `DuckDB caches what it writes: ${full} MB`)
  const count = () => data.read((reader) => runQuery(reader, sql`select count(*) as n from flood where a + b + c < 9`))
  await count()
  await checkpoints.afterAppend({ deliveries: 0, changed: false })
  t.ok((await cached()) > 80, 'kept for a dashboard that is open')
  time += 29_000
  const running = count()
  await checkpoints.afterAppend({ deliveries: 0, changed: false })
  await running
  time += 29_000
  await checkpoints.afterAppend({ deliveries: 0, changed: false })
  t.ok((await cached()) > 80, 'kept for 30 s after the last read')
  time += 2_000
  await checkpoints.afterAppend({ deliveries: 0, changed: false })
  t.ok((await cached()) <= 64, 'freed after that')
  t.strictSame(await count(), [{ n: 1_600_000 }], 'and read again on demand')
  const limit = sql`select current_setting('memory_limit') as size`
  t.strictSame(await data.read((reader) => runQuery(reader, limit)), [{ size: '953.6 MiB' }], 'the limit is as before')
})

t.test('rows whose commit position is stored are not stored again', async (t) => {
  const at = join(directory(t), 'events.duckdb')
  const rows = { events: [eventRow()], agent_events: [agentRow()] }
  const run = '00000000000000aa'
  const mark = (sequence: number) => ({ run, sequence, human: sequence, agent: sequence, drops: { fault: 1 } })
  const store = await openStoreAt(at)
  t.equal(await store.lastCommit(run), undefined)
  await store.append(rows, mark(1))
  await store.append(rows, mark(2))
  t.strictSame(await store.lastCommit(run), mark(2))
  t.equal(await store.lastCommit('00000000000000bb'), undefined, 'of another run')
  await store.close()
  t.notOk(isOpenHere(at), 'closed: nothing of the instance is left')
  t.notOk(existsSync(`${at}.wal`), 'and the log was checkpointed')
  const again = await openStoreAt(at)
  t.strictSame(await again.lastCommit(run), mark(2))
  t.strictSame(await again.query(sql`select count(*) as n from events`), [{ n: 2 }])
  await again.close()
})

t.test('an append that is repeated after an unknown outcome stores nothing twice', async (t) => {
  const store = await opened(t)
  const mark = (sequence: number) => ({ run: '00000000000000aa', sequence, human: sequence, agent: 0, drops: {} })
  const one = { events: [eventRow()], agent_events: [] }
  await store.append(one, mark(1))
  await t.rejects(store.append({ events: [eventRow({ status: Number.NaN })], agent_events: [] }, mark(2)), {
    name: 'RowError',
    message: 'events.status cannot hold null',
  })
  await store.append(one, mark(1))
  t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 1 }], 'that mark is stored')
  await store.append(one, mark(2))
  t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 2 }], 'that one was not')
})

t.test('rows of a failed append are not stored when its appender is collected', async (t) => {
  const store = await opened(t)
  // The first column of a row fails: an appender in the middle of a row writes nothing anyway.
  const bad = eventRow({ site_id: Number.NaN })
  for (let n = 0; n < 5; n++) {
    await t.rejects(store.append({ events: [eventRow(), eventRow(), bad], agent_events: [] }))
  }
  setFlagsFromString('--expose_gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') throw new Error('no gc')
  for (let n = 0; n < 5; n++) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 0 }])
})

t.test('a late verdict changes its own rows and no others', async (t) => {
  const store = await openStoreAt(join(directory(t), 'events.duckdb'))
  t.teardown(() => store.close())
  const open = {
    verification: 'indeterminate',
    ip_hash: 2n ** 63n + 1n,
    timestamp: new Date('2026-11-21T08:00:00.123Z'),
  }
  const cases: [Partial<AgentEventRow>, string, string][] = [
    [{}, 'rdns', 'the row'],
    [{ pathname: '/again' }, 'rdns', 'the same claim in the same millisecond'],
    [{ site_id: 2 }, 'indeterminate', 'another site'],
    [{ agent_id: 'bingbot' }, 'indeterminate', 'another agent from there'],
    [{ ip_hash: 2n ** 63n }, 'indeterminate', 'another address'],
    [{ timestamp: new Date('2026-11-21T08:00:00.124Z') }, 'indeterminate', 'another moment'],
    [{ verification: 'spoofed', verified: false }, 'spoofed', 'settled already'],
  ]
  await store.append({ events: [], agent_events: cases.map(([given]) => agentRow({ ...open, ...given })) })
  await store.aggregate(new Date('2026-12-01T00:00:00Z'))
  const { timestamp, ip_hash } = open
  const verdict = { site_id: 1, agent_id: 'gptbot', timestamp, ip_hash, verified: true, verification: 'rdns' }
  const other = { ...verdict, timestamp: new Date(0), verification: 'ranges' }
  for (let n = 0; n < 2; n++) await store.updateVerdicts([verdict, other])
  const rows = await store.query(sql`select verification from agent_events order by rowid`)
  cases.forEach(([, expected, why], n) => {
    t.equal(rows[n]?.verification, expected, why)
  })
  t.strictSame(await findWrongDailyCounts(store), [], 'no read takes outdated counts of its day')
  await store.aggregate(new Date('2026-12-01T00:00:00Z'))
  t.strictSame(await store.query(sql`select * from daily_changed`), [])
  t.strictSame(await findWrongDailyCounts(store), [], 'counted again')
})

t.test('checkpoints keep the log short, under load and when idle', async (t) => {
  const at = join(directory(t), 'events.duckdb')
  let clock = 0
  const now = () => new Date('2026-11-21T08:10:00Z')
  const { options } = storeOptions(at, {
    ...{ clock: () => clock, now, wal_bytes: 200_000, idle_bytes: 20_000, idle_ms: 5_000 },
  })
  const store = await openStoreAt(at, options)
  t.teardown(() => store.close())
  const log = () => (existsSync(`${at}.wal`) ? statSync(`${at}.wal`).size : 0)
  const rows = { events: Array.from({ length: 200 }, () => eventRow()), agent_events: [] }
  let longest = 0
  for (let n = 0; n < 30; n++) {
    await store.append(rows)
    longest = Math.max(longest, log())
  }
  t.ok(longest > 20_000 && longest < 300_000, `log at most ${longest} bytes`)
  await store.append(rows)
  await store.append(rows)
  const before = log()
  t.ok(before >= 20_000, `${before} bytes wait`)
  await store.maintain({ aggregate: true })
  t.equal(log(), before, 'not while rows come in')
  await store.updateRows(async () => [])
  t.equal(log(), before, 'nor without a change')
  clock += 5_000
  await store.maintain({ aggregate: true })
  t.equal(log(), 0, 'once they stop')
  t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 6_400 }])
})

t.test('a checkpoint succeeds during a running read', async (t) => {
  const { options, lines } = storeOptions(join(directory(t), 'events.duckdb'), { wal_bytes: 1 })
  const store = await openStoreAt(options.file, options)
  t.teardown(() => store.close())
  const read = store.query(
    sql`select count(*) as n from range(3000) a, range(3000) b where (a.range + b.range) % 7 = 3`,
  )
  for (let n = 0; n < 10; n++) await store.append({ events: [eventRow()], agent_events: [] })
  await read
  t.strictSame(lines, [])
})

t.test('close interrupts a long read', async (t) => {
  const at = join(directory(t), 'events.duckdb')
  const store = await openStoreAt(at)
  const long = store.query(
    sql`select count(*) as n from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3`,
  )
  const ended = t.rejects(long, { code: 'database_error' })
  await new Promise((resolve) => setTimeout(resolve, 100))
  const from = performance.now()
  await store.close()
  await ended
  t.ok(performance.now() - from < 10_000)
  t.notOk(isOpenHere(at))
})

t.test('records are written together or not at all, and found after a restart', async (t) => {
  const { options } = storeOptions(join(directory(t), 'control.duckdb'))
  const records = await openRecords(options)
  const add = (id: number, name: string) =>
    sql`insert into organisations (id, name, created_at) values (${id}, ${name}, ${new Date('2026-11-21T08:00:00Z')})`
  await records.write(add(1, "O'Brien; drop table organisations"), add(2, 'Two'))
  await t.rejects(records.write(add(3, 'Three'), raw('insert into nowhere values (1)')), { code: 'database_error' })
  await records.write(sql`update organisations set name = ${'Zwei'} where id = ${2}`)
  await t.rejects(records.write(raw('delete from organisations; delete from sites')), { code: 'database_error' })
  await records.close()
  const again = await openRecords(options)
  t.strictSame(await again.query(sql`select id, name, created_at from organisations order by id`), [
    { id: 1, name: "O'Brien; drop table organisations", created_at: new Date('2026-11-21T08:00:00Z') },
    { id: 2, name: 'Zwei', created_at: new Date('2026-11-21T08:00:00Z') },
  ])
  await again.close()
})

t.test('a file with a later schema is not changed', async (t) => {
  const at = join(directory(t), 'events.duckdb')
  const store = await openStoreAt(at)
  await store.close()
  const later = await openDatabaseFile(at, SETTINGS)
  await later.writer.run('insert into schema_versions values (99, now()::timestamp)')
  later.close()
  await t.rejects(openStoreAt(at), { name: 'StoreOpenError', message: /schema version 99/ })
  t.notOk(isOpenHere(at))
})

t.test('a write runs on one thread unless rows were read lately, and a read on all', async (t) => {
  let now = 0
  const store = await opened(t, { settings: { ...SETTINGS, threads: 3 }, clock: () => now })
  const threads = sql`select current_setting('threads')::integer as n`
  const lowered = () =>
    readdirSync('/proc/self/task').filter((task) => {
      const fields = readFileSync(`/proc/self/task/${task}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
      return fields?.[16] === '10'
    }).length
  const write = () => store.lookUp(threads)
  now += 1_000
  t.strictSame(await write(), [{ n: 1 }], 'no read for a second')
  const before = process.platform === 'linux' ? lowered() : 0
  t.strictSame(await store.query(threads), [{ n: 3 }])
  if (process.platform === 'linux') t.equal(lowered() - before, 2, 'the new threads have a low priority')
  now += 900
  t.strictSame(await write(), [{ n: 3 }], 'a read ran in this second')
  now += 200
  t.strictSame(await write(), [{ n: 1 }])
  const [, ...both] = await Promise.all([write(), store.query(threads), store.query(threads)])
  t.strictSame(both, [[{ n: 3 }], [{ n: 3 }]], 'reads beside a write')
  now += 2_000
  await store.append({ events: [eventRow()], agent_events: [] })
  t.strictSame(await write(), [{ n: 1 }])
  await t.rejects(store.query(raw('set threads = 8')), { code: 'database_error' }, 'no read sets it')
  for await (const rows of store.stream(threads)) t.strictSame(rows, [{ n: 3 }], 'a stream has all of them')
})
