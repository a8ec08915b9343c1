import { execFileSync } from 'node:child_process'
import { closeSync, constants, cpSync, existsSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createWaitingRows } from '../../../src/app/instance/waiting-rows.js'
import { packBatch } from '../../../src/capture/packed-batch.js'
import { sql } from '../../../src/storage/sql.js'
import { CHROME, dataDir, eventually, startInstance, startOrigin } from '../../fixtures/instance.js'
import { observation } from '../../fixtures/observations.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow } from '../../fixtures/rows.js'
import { openStoreAt } from '../../fixtures/store.js'

/*
 * The attack: kill -9 while the store is still being opened. The attack succeeds if a page that was seen more than a second
 * before is lost, or if one is stored twice because its file outlived its commit.
 */

t.test('pages that were seen while the store opened survive kill -9, once', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const waiting = join(data, 'waiting')
  const rowsOnDisk = () =>
    (existsSync(waiting) ? readdirSync(waiting) : [])
      .map((name) => /-(\d+)\.rows$/.exec(name)?.[1])
      .reduce((sum, count) => sum + Number(count ?? 0), 0)
  mkdirSync(data)
  const held = await openStoreAt(join(data, 'events.duckdb'))
  const opening = await startInstance(origin.url, data)
  t.teardown(() => opening.stop('SIGKILL'))
  for (let n = 0; n < 5; n++) {
    const response = await fetch(`${opening.site}/${n}`, { headers: { 'user-agent': CHROME } })
    await response.text()
  }
  await eventually('all pages are on disk', () => rowsOnDisk() === 5)
  await opening.stop('SIGKILL')
  await held.close()
  cpSync(waiting, `${data}.copy`, { recursive: true })

  for (const why of ['after the kill', 'with the files of rows that are stored already'] as const) {
    cpSync(`${data}.copy`, waiting, { recursive: true })
    const next = await startInstance(origin.url, data)
    t.teardown(() => next.stop('SIGKILL'))
    await eventually('the files are gone', () => !existsSync(waiting))
    t.equal(await next.pageviews(), 5, why)
    await next.stop()
  }
})

/** Rows that wait in a directory for a store, which stores one fetch for each row. */
async function setUp(t: Test) {
  const data = dataDir(t)
  const events = await openStore(t)
  const log = { info() {}, warn() {}, error() {} }
  const engine: Parameters<ReturnType<typeof createWaitingRows>['recover']>[0] = {
    events,
    isWriter: () => true,
    record: ({ count }, delivery) =>
      events.append({ events: [], agent_events: Array.from({ length: count }, () => agentRow()) }, undefined, {
        deliveries: delivery ? [delivery] : [],
      }),
  }
  let open = () => {}
  const opened = new Promise<typeof engine>((resolve) => {
    open = () => resolve(engine)
  })
  return {
    ...{ engine, opened, open, waiting: join(data, 'waiting') },
    process: (sender: string) => createWaitingRows({ data, sender: sender.repeat(16), now: () => 0, log }),
    countRows: async () => (await events.query(sql`select count(*) as n from agent_events`))[0]?.n,
  }
}
const batch = (rows: number) => packBatch(Array.from({ length: rows }, () => observation()))
const files = (directory: string) => (existsSync(directory) ? readdirSync(directory) : [])

t.test('of two processes that start with one data directory, one stores each row', async (t) => {
  for (const [isKilled, why] of [
    [false, 'the other has stored the files'],
    [true, 'the other was killed before it deleted them'],
  ] as const) {
    const { process, waiting, engine, opened, open, countRows } = await setUp(t)
    const late = process('a')
    const storing = [late.store(batch(2), opened), late.store(batch(3), opened)]
    await eventually('both files are there', () => files(waiting).filter((name) => name.endsWith('.rows')).length === 2)
    if (isKilled) cpSync(waiting, `${waiting}.copy`, { recursive: true })
    await process('b').recover(engine)
    if (isKilled) cpSync(`${waiting}.copy`, waiting, { recursive: true })
    t.equal(await countRows(), 5, 'the other opens the store')
    storing.push(late.store(batch(4), opened))
    open()
    await Promise.all(storing)
    t.equal(await countRows(), 9, why)
    await eventually('the files are gone', () => !existsSync(waiting))
  }
})

t.test('files are recovered one after the other, however often that is asked', async (t) => {
  const { process, waiting, engine, opened, open, countRows } = await setUp(t)
  void process('a').store(batch(2), opened)
  await eventually('the file is there', () => files(waiting).some((name) => name.endsWith('.rows')))
  const next = process('b')
  await next.recover({ ...engine, isWriter: () => false })
  t.equal(await countRows(), 0, 'a process that only reads leaves them')
  await Promise.all([next.recover(engine), next.recover(engine)])
  t.equal(await countRows(), 2, 'one that has become the writer stores them')
  open()
})

t.test('a disk that hangs holds one thread of the process, and no row', async (t) => {
  const { process, waiting, opened, open, countRows } = await setUp(t)
  mkdirSync(waiting, { recursive: true })
  // To open a pipe without a reader for writing waits, as on such a disk.
  const pipes = [1, 2, 3, 4, 5].map((number) => join(waiting, `1-${'a'.repeat(16)}-${number}-1.rows.tmp`))
  for (const pipe of pipes) execFileSync('mkfifo', [pipe])
  const late = process('a')
  const storing = pipes.map(() => late.store(batch(1), opened))
  // More often than a write has steps before its file is opened.
  for (let n = 0; n < 20; n++) await stat(waiting)
  t.pass('other files can be used')
  open()
  await Promise.all(storing)
  t.equal(await countRows(), 5, 'the rows were in memory')
  for (const pipe of pipes) closeSync(openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK))
})
