import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { StoreOpenError } from '../../src/base/errors.js'
import { openPostgresRecords } from '../../src/storage/postgres/records.js'
import { RECORDS_SCHEMA } from '../../src/storage/records/records-schema.js'
import { sql } from '../../src/storage/sql.js'
import { createDatabase, type PostgresServer } from '../fixtures/postgres.js'

const MINUTE = 60_000
const READ = sql`select count(*) as n from goals`
const WRITE = sql`insert into goals (id, name) values (1, 'a')`

interface Opening {
  instance?: string
  now?: () => Date
}

/** Opens the records of one process; `changes` has the times at which it heard of others, `lines` its log. */
async function open(t: Test, url: string, { instance = 'a', now = () => new Date() }: Opening = {}) {
  const changes: number[] = []
  const lines: string[] = []
  const records = await openPostgresRecords({
    ...{ url, now, instance },
    onChange: () => changes.push(performance.now()),
    log: (level, message, error) => lines.push(`${level} ${message} ${error}`),
  })
  t.teardown(() => records.close())
  return { ...records, changes, lines }
}

/** Runs statements that are not ours. */
async function run(url: string, ...statements: string[]) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let rows: unknown[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}

/** Waits until `check` is true; a rejection counts as false. */
async function until(check: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 180_000
  while (
    !(await Promise.resolve()
      .then(check, () => false)
      .catch(() => false))
  ) {
    if (performance.now() > deadline) throw new Error('this did not come true in three minutes')
    await sleep(20)
  }
}

/** Passes connections on to a port; `mute` has those of this moment stay open, and transport nothing any more. */
async function startRelay(t: Test, to: number) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const target = connect(to, '127.0.0.1')
    for (const [from, into] of [
      [socket, target],
      [target, socket],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => into.destroy())
      from.pipe(into)
    }
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    mute() {
      for (const socket of sockets) {
        socket.unpipe()
        socket.removeAllListeners('close')
        socket.resume()
      }
    },
  }
}

/** Tests of a start that fails, of several processes, and of a server that goes away. */
export function postgresFaults(t: Test, server: PostgresServer): void {
  const { url, password } = server
  const place = url.replace(/.*@/, '')

  t.test('a start that fails says why in one line, without the password', async (t) => {
    const newer = await createDatabase(url, 'newer')
    await (await open(t, newer)).close()
    await run(newer, `insert into schema_versions values (${RECORDS_SCHEMA.length + 1}, now())`)
    const weak = await createDatabase(url, 'weak')
    await run(weak, `create role weak login password '${password}'`)
    const off = (minutes: number) => ({ now: () => new Date(Date.now() + minutes * MINUTE) })
    const rows: [url: string, opening: Opening, expected: string][] = [
      [
        `${url.replace(password, `${password}x`)}/weak`,
        {},
        `${place}/weak cannot be used: the user or the password is wrong`,
      ],
      [`${url}/none`, {}, `${place}/none cannot be used: there is no such database`],
      [`postgres://x:${password}@127.0.0.1:1/db`, {}, '127.0.0.1:1/db cannot be used: nothing listens there'],
      [
        weak.replace('readership:', 'weak:'),
        {},
        `${place}/weak cannot be used: the user lacks a right: permission denied for schema public`,
      ],
      [
        newer,
        {},
        `${place}/newer has schema version ${RECORDS_SCHEMA.length + 1}, and this readership knows versions up to ${RECORDS_SCHEMA.length}`,
      ],
      [weak, off(10), `the clocks of this machine and of postgres://${place}/weak differ by 10 minutes`],
      [weak, off(-10), `the clocks of this machine and of postgres://${place}/weak differ by 10 minutes`],
    ]
    for (const [address, opening, expected] of rows) {
      const error = await open(t, address, opening).catch((error: unknown) => error)
      t.type(error, StoreOpenError)
      const { message, cause } = error instanceof Error ? error : new Error('it opened')
      t.equal(message.replace(/^postgres:\/\//, ''), expected)
      t.notMatch(`${message} ${cause}`, password, 'the password is neither in it nor in its cause')
    }
    t.same((await run(weak, "select 1 from pg_tables where schemaname = 'public'")).length, 0, 'nothing was created')
    await (await open(t, weak, off(4))).close()
  })

  t.test('a text with U+0000 is stored', async (t) => {
    const records = await open(t, await createDatabase(url, 'texts'))
    await records.write(sql`insert into policies (body) values (${'Disallow: /\0x'})`)
    t.same(await records.query(sql`select body from policies`), [{ body: 'Disallow: /\ufffdx' }])
  })

  t.test('of several that open a new database at once, one migrates it', async (t) => {
    const database = await createDatabase(url, 'at_once')
    await Promise.all(['a', 'b', 'c', 'd'].map((instance) => open(t, database, { instance })))
    t.same(
      await run(database, 'select version from schema_versions order by version'),
      RECORDS_SCHEMA.map((_, i) => ({ version: i + 1 })),
    )
  })

  t.test('a write is heard by the other processes within a second', async (t) => {
    const database = await createDatabase(url, 'heard')
    const [a, b] = [await open(t, database, { instance: 'a' }), await open(t, database, { instance: 'b' })]
    const began = performance.now()
    await a.write(WRITE)
    await until(() => b.changes.length > 0)
    t.ok((b.changes[0] ?? 0) - began < 1_000, `after ${Math.round((b.changes[0] ?? 0) - began)} ms`)
    await t.rejects(a.write(WRITE, sql`insert into no_such_table values (1)`))
    await b.write(WRITE)
    await until(() => a.changes.length > 0)
    t.same([a.changes.length, b.changes.length], [1, 1], 'not by the writer, and not if it was undone')
  })

  t.test('changes are heard again after a connection was lost without a word', async (t) => {
    const database = await createDatabase(url, 'silent')
    const { port, mute } = await startRelay(t, Number(new URL(url).port))
    const through = new URL(database)
    through.port = `${port}`
    const [a, b] = [await open(t, database, { instance: 'a' }), await open(t, through.href, { instance: 'b' })]
    mute()
    const began = performance.now()
    await a.write(WRITE)
    await until(() => b.changes.length > 0)
    t.ok(performance.now() - began < 15_000, `after ${Math.round(performance.now() - began)} ms`)
    await a.write(WRITE)
    await until(() => b.changes.length > 1)
  })

  t.test('a server that goes away and comes back is used again, without a restart', async (t) => {
    const database = await createDatabase(url, 'away')
    const [a, b] = [await open(t, database, { instance: 'a' }), await open(t, database, { instance: 'b' })]
    const running = b.write(WRITE, sql`select pg_sleep(20)`)
    await sleep(100)
    await Promise.all([
      server.stop(),
      t.rejects(running, { code: 'database_error' }, 'a statement that is interrupted'),
    ])
    for (const { query, write } of [a, b]) {
      await t.rejects(query(READ), { code: 'database_error' })
      await t.rejects(write(WRITE), { code: 'database_error' })
    }
    await server.start()
    await until(async () => (await a.query(READ)).length === 1)
    await a.write(WRITE)
    t.same(await b.query(READ), [{ n: 1 }])
    await until(() => b.changes.length > 0)
    t.pass('what was missed is as good as a change')
    await sleep(100)
    const before = b.changes.length
    await a.write(WRITE)
    await until(() => b.changes.length > before)
    t.pass('changes are heard again')
    t.notMatch([...a.lines, ...b.lines].join('\n'), password)
    t.match(b.lines.join('\n'), 'changes of other processes are not heard', 'the log says that they were not')
  })
}
