import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { socketPath } from '../../src/api/server.js'
import { openStores } from '../../src/storage/duckdb/open-files.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { raw, sql } from '../../src/storage/sql.js'
import { directory } from '../fixtures/files.js'
import { dataDir, eventually, freePort } from '../fixtures/instance.js'
import { seeded } from '../fixtures/random.js'
import { openStoreAt, storeOptions } from '../fixtures/store.js'

/*
 * The attack: kill -9 of the instance and its worker while people are erased. An erasure is recorded in one file
 * (control.duckdb) and done in the other (events.duckdb), in several steps, so a kill can hit before, between and after
 * the transactions of both. The next start must finish it. The attack succeeds if a row of an erased person stays, if
 * the person's aggregates stay, if the reported number of rows is too low or too high, if rows of another person are
 * removed, or if a person who returns afterwards is connected with the erased one.
 */

/** `ERASURE_KILLS=60` kills at every place several times. */
const KILLS = Number(process.env.ERASURE_KILLS ?? 3)
const PERSONS = KILLS * 2
/** Rows of the first person. Each further person has one row more, so that a number of rows identifies a person. */
const ROWS = 3_000
const rowsOf = (person: number) => ROWS + person
const idOf = (person: number) => (person * 2).toString(16).padStart(16, '0')

async function ask(data: string, method: string, path: string): Promise<{ status: number; data: unknown } | undefined> {
  const sent = request({ socketPath: socketPath(data), method, path })
  sent.end()
  try {
    const [response] = await once(sent, 'response')
    const body = await text(response)
    return { status: response.statusCode, data: body.startsWith('{') ? JSON.parse(body).data : undefined }
  } catch {
    return undefined
  }
}

const Status = z.object({ store: z.object({ state: z.string(), worker: z.object({ pid: z.int() }).optional() }) })
const storeOf = async (data: string) => Status.parse((await ask(data, 'GET', '/control/status'))?.data).store

/** A real instance with its worker, in a process group of its own. */
async function begin(t: Test, data: string): Promise<ChildProcess> {
  const args = ['serve', '--host', '127.0.0.1', '--port', `${await freePort()}`, '--data', data, '--offline']
  const child = spawn(process.execPath, ['dist/bin/readership.js', ...args], { detached: true, stdio: 'ignore' })
  t.teardown(() => kill(child, 'both'))
  await eventually('the instance answers', async () => (await ask(data, 'GET', '/healthz'))?.status === 200)
  return child
}

async function kill(child: ChildProcess, which: 'both' | 'main'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  process.kill(which === 'both' ? -child.pid : child.pid, 'SIGKILL')
  await exited
}

/** Stores the rows of all people, in visits of ten views each, and aggregates them. The files belong to each other. */
async function fill(data: string): Promise<void> {
  mkdirSync(data, { recursive: true })
  const { settings, ...common } = storeOptions('').options
  const { events: store, records } = await openStores({
    ...{ ...common, data, random: randomBytes },
    settings: { events: settings, records: settings },
  })
  const at = (seconds: string) => `make_timestamp((1797408000 + ${seconds})::bigint * 1000000)`
  await store.updateRows(async () => [
    raw(`insert into events (site_id, timestamp, kind, visitor_id, session_id, session_start, hostname, pathname,
        entry_page, channel, recorded_by)
      select 1, ${at('n * 60')}, 'pageview', person * 2, person * 100000 + n // 10, ${at('n // 10 * 600')}, 'example.com',
        '/' || n % 10, '/0', 'Direct', 'server'
      from range(1, ${PERSONS + 1}) p (person), range(${ROWS + PERSONS}) r (n) where n < ${ROWS} + person`),
  ])
  await store.aggregate(new Date('2027-06-01'))
  await store.close()
  await records.close()
}

/** How far a person's erasure had come at the kill, read from copies that the next start does not see. */
async function reached(t: Test, data: string, person: number): Promise<string> {
  const copy = directory(t)
  for (const name of ['events.duckdb', 'events.duckdb.wal', 'control.duckdb', 'control.duckdb.wal'])
    if (existsSync(join(data, name))) copyFileSync(join(data, name), join(copy, name))
  const records = await openRecords(storeOptions(join(copy, 'control.duckdb')).options)
  const store = await openStoreAt(join(copy, 'events.duckdb'))
  try {
    const [open] = await records.query(sql`select id from removals where visitor = ${idOf(person)}`)
    const [left] = await store.query(sql`select count(*) as n from events where visitor_id = ${person * 2}`)
    if (open) return left?.n === 0 ? 'removed, not counted' : 'written down, not removed'
    return left?.n === 0 ? 'done' : 'not written down'
  } finally {
    await store.close()
    await records.close()
  }
}

const Erased = z.object({ rows: z.int(), visitor_ids: z.array(z.string()) })

t.test(
  'kill -9 during erasures: each person is removed completely, counted once, and no other row is removed',
  async (t) => {
    const data = dataDir(t)
    const random = seeded(20261122)
    await fill(data)
    let child = await begin(t, data)
    const places: string[] = []
    const sure = new Set<number>()
    // As long as one erasure takes here, so that kills hit its middle on any machine.
    const began = performance.now()
    t.match(await ask(data, 'DELETE', `/api/visitors/${idOf(1)}?site=1`), { status: 200, data: { rows: rowsOf(1) } })
    const took = performance.now() - began
    sure.add(1)
    for (let n = 0; n < KILLS; n++) {
      const person = n + 2
      const which = (['both', 'worker', 'main'] as const)[n % 3] ?? 'both'
      const { worker } = await storeOf(data)
      const answer = ask(data, 'DELETE', `/api/visitors/${idOf(person)}?site=1`)
      await sleep(random() * took)
      if (which === 'worker') {
        if (worker === undefined) throw new Error('no worker')
        process.kill(worker.pid, 'SIGKILL')
        const response = await answer
        if (response?.status === 200) {
          t.strictSame(
            Erased.parse(response.data),
            { visitor_ids: [idOf(person)], rows: rowsOf(person) },
            'a killed worker',
          )
          sure.add(person)
        } else t.match(response, { status: 503 }, 'or the outcome is reported as unknown')
        await eventually('the store is open again', async () => (await storeOf(data)).state === 'ready')
        await eventually('another worker', async () => {
          const now = (await storeOf(data)).worker?.pid
          return now !== undefined && now !== worker.pid
        })
      } else {
        await kill(child, which)
        const response = await answer
        if (response) sure.add(person)
        if (which === 'both') places.push(await reached(t, data, person))
        child = await begin(t, data)
      }
      // Not found, because nothing is stored: known only after the removals before it are done.
      const nobody = `/api/visitors/${'f'.repeat(16)}?site=1`
      await eventually('its turn has come', async () => (await ask(data, 'DELETE', nobody))?.status === 404)
    }
    const stop = async () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    }
    await stop()
    // A start deletes the notes of removals that a kill left in the store; a removal after it waits for that.
    child = await begin(t, data)
    const nobody = `/api/visitors/${'f'.repeat(16)}?site=1`
    await eventually('its turn has come', async () => (await ask(data, 'DELETE', nobody))?.status === 404)
    await stop()
    t.comment(`one takes ${took.toFixed(0)} ms; where everything was killed: ${places.join('; ')}`)

    const records = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
    const store = await openStoreAt(join(data, 'events.duckdb'))
    const removals = await records.query(
      sql`select rows::integer as rows, visitor, done_at is not null as done from removals where rows is distinct from 0`,
    )
    const logged = await records.query(sql`select count(*) as n from audit where object = 'visitor'`)
    const all = await records.query(sql`select count(*) as n from removals`)
    t.strictSame(logged, all, 'the audit log has each recorded erasure, and no other')
    t.ok(
      removals.every(({ visitor, done }) => visitor === null && done === true),
      'each that was written down is done',
    )
    const counted = removals.map(({ rows }) => Number(rows)).sort((a, b) => a - b)
    t.equal(new Set(counted).size, counted.length, 'and counted once')
    for (const person of sure) t.ok(counted.includes(rowsOf(person)), `${person} was acknowledged`)
    for (const table of ['events', 'sessions', 'session_pages']) {
      const found = await store.query(
        sql`select visitor_id, count(*) as n from query_table(${table}) group by 1 order by 1`,
      )
      const each = { events: 1, sessions: 10, session_pages: 1 }[table] ?? 0
      const expected = Array.from({ length: PERSONS }, (_, i) => i + 1)
        .filter((person) => !counted.includes(rowsOf(person)))
        .map((person) => ({ visitor_id: idOf(person), n: Math.ceil(rowsOf(person) / each) }))
      t.strictSame(found, expected, `${table}: nothing of whom the records have erased, all of everybody else`)
    }
    t.strictSame(await store.query(sql`select key from removed`), [], 'nor who they were')
    await store.close()
    await records.close()
  },
)
