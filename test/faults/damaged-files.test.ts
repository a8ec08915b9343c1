import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { isSetAside } from '../../src/app/cli/set-aside.js'
import { openDataFile } from '../../src/storage/duckdb/datafile.js'
import { examineFiles } from '../../src/storage/duckdb/examine.js'
import { runQuery } from '../../src/storage/duckdb/query.js'
import { sql } from '../../src/storage/sql.js'
import { DAMAGES, damageFile } from '../fixtures/file-damage.js'
import { directory } from '../fixtures/files.js'
import { openInProcessEngine } from '../fixtures/in-process-worker.js'
import { cli, freePort, startInstance, startOrigin, startService } from '../fixtures/instance.js'
import { seeded } from '../fixtures/random.js'
import { eventRow } from '../fixtures/rows.js'
import { openStoreAt, storeOptions } from '../fixtures/store.js'
import { openPair } from '../fixtures/store-pairs.js'

/*
 * The attack: one of the two files is damaged while readership is stopped. It succeeds if a start ends in another way than the
 * table says, if the file is deleted or changed, if no message names it with the command that helps, or if a new tenant
 * reads rows of another.
 */

const FILES = [
  ['events.duckdb', 'events_lost'],
  ['control.duckdb', 'records_lost'],
] as const
const random = seeded(27)
/** `DAMAGES=all` starts both commands with every kind of damage to either file: each start takes seconds of CPU. */
const isAll = process.env.DAMAGES === 'all'
const STARTED = new Set(['cut at half', 'zeroed middle', 'a directory', 'a later schema'])
const HELP = /readership (restore BACKUP --data NEW|store status)/

/** A data directory with rows of two tenants, as a stop leaves it. */
async function createData(t: Test): Promise<string> {
  const data = join(directory(t), 'data')
  mkdirSync(data)
  const pair = await openPair(data, { whole: true })
  await pair.newTenant('Bowner')
  for (const { id, name } of await pair.sites()) await pair.record(id, name)
  await pair.close()
  return data
}

const copyOf = (t: Test, data: string): string => {
  const copy = join(directory(t), 'data')
  cpSync(data, copy, { recursive: true })
  return copy
}

/** The content of a path: its bytes, or that it is a directory. */
const contentOf = (path: string): string =>
  statSync(path).isDirectory() ? `directory of ${readdirSync(path)}` : readFileSync(path, 'base64')

t.test('a start ends as the table says, whatever the damage', async (t) => {
  const base = await createData(t)
  for (const [what, change, ending] of DAMAGES)
    for (const [name, kind] of FILES)
      await t.test(`${name}: ${what}`, async (t) => {
        const data = copyOf(t, base)
        const file = join(data, name)
        await damageFile(data, name, change, random)
        const damaged = contentOf(file)
        const found = (await examineFiles(data)).find((each) => each.name === name)
        t.equal(found?.fault?.kind, ending === 'refused' ? 'later' : 'damaged', 'found without a start')
        t.equal(contentOf(file), damaged, 'which changes nothing')
        if (ending === 'refused') {
          await t.rejects(openInProcessEngine(data), {
            name: 'StoreOpenError',
            message: new RegExp(`^[^\n]*${name}[^\n]*readership restore BACKUP --data NEW[^\n]*$`),
          })
          t.equal(contentOf(file), damaged, 'nothing is changed')
          return
        }
        const pair = await openPair(data, { whole: false })
        t.teardown(() => pair.close())
        const aside = readdirSync(data).filter(isSetAside)
        t.equal(aside.length, 1, 'one file is set aside')
        t.equal(contentOf(join(data, aside[0] ?? '')), damaged, 'as it was')
        const Store = z.object({ losses: z.array(z.object({ kind: z.string(), backup: z.string() })) })
        const { losses } = await pair.dataOf(Store, 'GET', '/control/store')
        t.strictSame(losses, [{ kind, backup: join(data, aside[0] ?? '') }], 'the operator has to decide about it')
        const { id } = await pair.newSite('Cowner')
        t.ok(id > 2, `site ${id}: the numbers of the two sites are not given again`)
        const query = `site=${id}&start=2026-11-20T00:00:00Z&end=2026-11-23T00:00:00Z&dimension=path`
        const read = await pair.ask('operator', 'GET', `/api/stats/breakdown?${query}`)
        t.equal(read.status, 200)
        t.notMatch(read.text, /own-/, 'no row of another tenant')
      })
})

t.test('serve and proxy end in the same way, and name the file and the command that helps', async (t) => {
  const base = await createData(t)
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  for (const [n, [what, change, ending]] of DAMAGES.entries())
    for (const [f, [name]] of FILES.entries())
      for (const [c, program] of (['serve', 'proxy'] as const).entries()) {
        if (!isAll && (!STARTED.has(what) || (n + f + c) % 2 === 0)) continue
        await t.test(`${program}, ${name}: ${what}`, async (t) => {
          const data = copyOf(t, base)
          await damageFile(data, name, change, random)
          const named = new RegExp(`${name}.*${HELP.source}`)
          if (program === 'serve' && ending === 'refused') {
            const { code, stderr } = await cli('serve', '--data', data, '--port', `${await freePort()}`, '--offline')
            t.equal(code, 1)
            t.match(stderr, named)
            t.equal(stderr.trim().split('\n').length, 1, `one line: ${stderr}`)
            return
          }
          const app =
            program === 'serve'
              ? await startService({ data, port: await freePort() })
              : await startInstance(origin.url, data)
          t.teardown(() => app.stop())
          const { status, body } = await app.ready()
          t.equal(status, 503)
          t.match(body, /"degraded"/)
          if (ending === 'set aside') t.match(body, named, 'readyz says it')
          t.match(app.output(), named, 'the log says it')
          if (program === 'proxy') t.equal((await fetch(app.site)).status, 200, 'the site is served')
        })
      }
})

t.test('both files damaged are two losses', async (t) => {
  const data = await createData(t)
  for (const [name] of FILES) await damageFile(data, name, 'directory', random)
  const { workerClient } = await openInProcessEngine(data)
  t.teardown(() => workerClient.close())
  const rows = await workerClient.records.query(sql`select kind from losses order by kind`)
  t.strictSame(rows, [{ kind: 'events_lost' }, { kind: 'records_lost' }])
})

t.test('a damaged block of rows fails the reads of it, and the log says what to do', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  const store = await openStoreAt(file)
  // More than a start reads.
  const paths = Array.from({ length: 20_000 }, (_, n) => eventRow({ pathname: `/${(n * 2654435761) % 4294967296}` }))
  await store.append({ events: paths, agent_events: [] })
  await store.close()
  damageBlocks(file)
  const { options, lines } = storeOptions(file)
  const damaged = await openStoreAt(file, options)
  t.teardown(() => damaged.close())
  t.strictSame([damaged.losses, lines], [[], []], 'it opens')
  for (let n = 0; n < 2; n++)
    await t.rejects(damaged.query(sql`select max(pathname) as last from events`), {
      code: 'database_error',
      message: 'Stored rows cannot be read, because the store is damaged: its log says what the operator can do.',
    })
  t.equal(lines.length, 1, 'logged once')
  t.match(lines[0], new RegExp(`events\\.duckdb has a block that cannot be read.*${HELP.source}`))
})

/** Damages a place in every block. */
function damageBlocks(file: string): void {
  const bytes = readFileSync(file)
  for (let at = 12_288 + 100_000; at < bytes.length; at += 262_144) bytes.fill(7, at, at + 64)
  writeFileSync(file, bytes)
}

t.test('damage that fails the checkpoints has the file set aside while it is open', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  const rows = "insert into numbers select i, 'text ' || hash(i) from range(300000) numbers(i)"
  const migrations = [['create table numbers (n integer, words varchar)', rows]]
  const whole = await openDataFile({ ...storeOptions(file).options, migrations })
  await whole.close()
  damageBlocks(file)
  let repaired = 0
  const { options, lines } = storeOptions(file, { onRepaired: () => repaired++ })
  const damaged = await openDataFile({ ...options, migrations: [...migrations] })
  t.teardown(() => damaged.close())
  t.strictSame([damaged.repairs, lines], [[], []], 'it opens')
  await damaged.write((writer) => writer.run('delete from numbers where rowid % 10 > 0'))
  await t.rejects(
    damaged.write((writer) => writer.run('checkpoint')),
    /FATAL/,
    'which has the rest written again',
  )
  const tables = sql`select count(*) as n from duckdb_tables()`
  t.strictSame(await damaged.read((reader) => runQuery(reader, tables)), [{ n: 0 }], 'an empty file took its place')
  t.match(lines.join('\n'), new RegExp(`events\\.duckdb: file set aside.*${HELP.source}`))
  t.equal(repaired, 1, 'the worker starts again, and finds the loss')
  t.equal(readdirSync(join(file, '..')).filter(isSetAside).length, 1)
})
