import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { copyStore } from '../../../src/storage/migrate/copy.js'
import { openFileTarget } from '../../../src/storage/migrate/file-target.js'
import { listDays, listFingerprints, parseLine, streamLines } from '../../../src/storage/migrate/read-events.js'
import { readOrigin, readRecords } from '../../../src/storage/migrate/read-records.js'
import type { Source } from '../../../src/storage/migrate/source.js'
import { COPIED_TABLES } from '../../../src/storage/migrate/tables.js'
import { sql } from '../../../src/storage/sql.js'
import { assertEqual } from '../../fixtures/assert-equal.js'
import { command } from '../../fixtures/command.js'
import {
  change,
  fillStores,
  openFilesAt,
  openPairAt,
  readAllRecords,
  readEvents,
  SALTS,
} from '../../fixtures/copied-store.js'
import { directory } from '../../fixtures/files.js'
import { eventRow } from '../../fixtures/rows.js'

/*
 * Copies the files of one data directory to another, through the command. The tests with ClickHouse and PostgreSQL are in
 * test/contract/migrate.test.ts.
 */

const migrate = (from: string, to: string) => command('migrate', '--to', `duckdb:${to}`, '--data', from)

async function readFiles(data: string) {
  const { events, records, close } = await openFilesAt(data)
  const found = { events: await readEvents(events), records: await readAllRecords(records) }
  await close()
  return found
}

/** A source over open stores, which a test can let fail. */
const sourceOf = async ({ events, records }: Awaited<ReturnType<typeof openPairAt>>): Promise<Source> => ({
  origin: await readOrigin(records),
  listDays: (table) => listDays(events, table),
  listFingerprints: (table, first, last) => listFingerprints(events, table, first, last),
  async *streamRows(unit) {
    for await (const lines of streamLines(events, unit)) yield lines.map(parseLine)
  },
  readRecords: (table) => readRecords(records, table),
  readSalts: async () => undefined,
  isInUse: () => false,
  close: async () => {},
})

const openTarget = (data: string) => openFileTarget(data, { memory_limit: '256MB', threads: 1, log() {} })

t.test('a copy has every row and record, and follows what changes', async (t) => {
  const [from, to] = [directory(t), join(directory(t), 'copy')]
  await fillStores(from)
  const first = await migrate(from, to)
  t.match(first, { code: 0, stderr: '', stdout: /Complete: source and target are equal \([\d,]+ rows\)/ })
  assertEqual(t, await readFiles(to), await readFiles(from), 'rows and records')
  t.equal(readFileSync(join(to, 'salts.json'), 'utf8'), SALTS)

  await change(from, async ({ events, records }) => {
    const late = eventRow({ timestamp: new Date('2026-11-20T13:00:00Z'), visitor_id: 77n, session_id: 78n })
    await events.append({ events: [late, late], agent_events: [] })
    await events.remove({ site: 1, visitor: 2n ** 64n - 1n })
    await events.remove({ site: 2, hostnames: [] })
    await records.write(sql`update goals set name = 'changed'`, sql`delete from alerts`)
  })
  const stores = await openPairAt(from)
  const source = await sourceOf(stores)
  const target = await openTarget(to)
  const second = await copyStore(source, target, { onProgress() {} })
  t.match(second, { isComplete: true, changed: 0 })
  t.ok(second.copied.units > 0 && second.copied.units < 8, `${second.copied.units} units differed`)
  const expected = { events: await readEvents(stores.events), records: await readAllRecords(stores.records) }
  const found = { events: await readEvents(target.events), records: await readAllRecords(target.records) }
  assertEqual(t, found, expected, 'rows and records after the changes')
  const third = await copyStore(source, target, { onProgress() {} })
  t.same(third.copied, { units: 0, rows: 0 }, 'what is equal is not copied again')
  await target.close()

  await change(to, async () => {})
  const used = await openTarget(to)
  await t.rejects(copyStore(source, used, { onProgress() {} }), { message: /readership has used since/ })
  await used.close()
  await stores.events.close()
  await stores.records.close()
})

t.test('an erasure between the rows and the records is in both', async (t) => {
  const [from, to] = [directory(t), directory(t)]
  await fillStores(from)
  const stores = await openPairAt(from)
  const source = await sourceOf(stores)
  const target = await openTarget(to)
  await copyStore(source, target, { onProgress() {} })
  let isErased = false
  const erasing: Source = {
    ...source,
    async readRecords(table) {
      if (!isErased) await stores.events.remove({ site: 1, visitor: 2n ** 64n - 1n })
      isErased = true
      return source.readRecords(table)
    },
  }
  t.match(await copyStore(erasing, target, { onProgress() {} }), { isComplete: true, changed: 0 })
  assertEqual(t, await readEvents(target.events), await readEvents(stores.events), 'rows')
  await target.close()
  await stores.events.close()
  await stores.records.close()
})

t.test('a source that lost its rows does not empty its copy', async (t) => {
  const [from, to] = [directory(t), join(directory(t), 'copy')]
  await fillStores(from)
  await migrate(from, to)
  const before = await readFiles(to)
  rmSync(join(from, 'events.duckdb'))
  t.match(await migrate(from, to), { code: 1, stderr: /^error: Stored data was lost here/ })
  assertEqual(t, await readFiles(to), before, 'the copy is as it was')
})

t.test('a copy that is interrupted anywhere is continued', async (t) => {
  const [from, to] = [directory(t), directory(t)]
  await fillStores(from)
  const stores = await openPairAt(from)
  t.teardown(async () => {
    await stores.events.close()
    await stores.records.close()
  })
  const source = await sourceOf(stores)
  for (const units of [0, 1, 3]) {
    let left = units
    const failing: Source = {
      ...source,
      async *streamRows(unit) {
        yield* source.streamRows(unit)
        if (left-- === 0) throw new Error('interrupted')
      },
    }
    const target = await openTarget(to)
    await t.rejects(copyStore(failing, target, { onProgress() {} }), { message: 'interrupted' })
    await target.close()
  }
  await t.rejects(openPairAt(to), { message: /not copied completely/ }, 'no readership starts on a part')
  const target = await openTarget(to)
  const { copied, isComplete } = await copyStore(source, target, { onProgress() {} })
  t.equal(isComplete, true)
  t.ok(copied.units > 2 && copied.units < 8, 'days that were copied before are not copied again')
  assertEqual(t, await readEvents(target.events), await readEvents(stores.events), 'rows')
  await target.close()
  const opened = await openPairAt(to)
  t.same(await opened.records.query(sql`select * from losses`), [], 'both files belong together')
  await opened.events.close()
  await opened.records.close()
})

t.test('a copy that differs is found', async (t) => {
  const [from, to] = [directory(t), directory(t)]
  await fillStores(from)
  const stores = await openPairAt(from)
  const source = await sourceOf(stores)
  const target = await openTarget(to)
  const changed: readonly [string, (rows: readonly (readonly (string | null)[])[]) => typeof rows][] = [
    ['a row is missing', (rows) => rows.slice(1)],
    ['a row is twice', (rows) => [...rows, ...rows.slice(0, 1)]],
    ['a text is empty instead of null', (rows) => rows.map((cells) => cells.map((cell) => cell ?? ''))],
  ]
  for (const [what, alter] of changed)
    await t.rejects(
      copyStore(source, { ...target, insert: (unit, rows) => target.insert(unit, alter(rows)) }, { onProgress() {} }),
      { message: /the \d+ rows in the target are not equal|Conversion/ },
      what,
    )
  t.equal((await copyStore(source, target, { onProgress() {} })).isComplete, true, 'the next run replaces them')
  // A row that is added to a verified day is found by its count.
  for (const table of COPIED_TABLES.slice(-1))
    await target.insert({ table, day: 0 }, [table.columns.map(({ type }) => (type === 'varchar' ? '' : null))])
  t.equal((await copyStore(source, target, { onProgress() {} })).copied.units, 1)
  await target.close()
  await stores.events.close()
  await stores.records.close()
})

const refusals: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no target', [], /^error: --to: give clickhouse/],
  ['an unknown engine', ['--to', 'mysql://x'], /^error: --to: must be clickhouse/],
  [
    'ClickHouse without records',
    ['--to', 'clickhouse://u:secret@h/d'],
    /^error: --to clickhouse:\/\/… needs --control/,
  ],
  [
    'a store that is not copied',
    [
      '--to',
      'clickhouse://u:secret@h/d',
      '--control',
      'postgres://u:secret@h/d',
      '--store',
      'clickhouse://u:secret@h/e',
    ],
    /^error: --to .* copies the directory of --data/,
  ],
  [
    'half of a source',
    ['--to', 'duckdb:/x', '--store', 'clickhouse://u:secret@h/d'],
    /^error: .*--store and --control/,
  ],
  ['the same directory', ['--to', 'duckdb:./d', '--data', 'd'], /^error: --to names the directory of --data/],
  ['no data', ['--to', 'duckdb:/x', '--data', '/does/not/exist'], /^error: No data in/],
]
t.test('wrong usage is one line', async (t: Test) => {
  for (const [what, flags, line] of refusals) {
    const { stderr, stdout } = await command('migrate', ...flags)
    t.match(stderr, line, what)
    t.equal(stderr.trim().split('\n').length, 1, what)
    t.notMatch(stderr + stdout, /secret/, what)
  }
})
