import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { CommitPosition } from '../../src/storage/commit-position.js'
import { examineFiles } from '../../src/storage/duckdb/examine.js'
import { inspectWal } from '../../src/storage/duckdb/wal.js'
import { sql } from '../../src/storage/sql.js'
import { directory } from '../fixtures/files.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { openStoreAt, storeOptions } from '../fixtures/store.js'
import { startWriter } from '../fixtures/writer-process.js'

/*
 * The attacks on the files of the store: bits of the log are flipped, zeroed or cut at every kind of place, files are
 * replaced by garbage, blocks of data are damaged, other processes open the files, writers are killed with -9, and the disk
 * fills up. DuckDB alone refuses to open in some of these cases and loses rows silently in others. The attack succeeds if
 * the store does not open, if commits before the damage are lost, if a loss is not reported, if a file is deleted, or if a
 * row that was acknowledged after the last checkpoint is missing or doubled.
 */

const counted = sql`select (select count(*) from events) as events, (select count(*) from agent_events) as agents`
const RUN = '00000000000000aa'
/** The position after the `n`-th commit, each with rows of three people and two agents. */
const mark = (n: number): CommitPosition => ({ run: RUN, sequence: n, human: 3 * n, agent: 2 * n, drops: {} })
const rows = {
  events: [eventRow(), eventRow(), eventRow()],
  agent_events: [agentRow(), agentRow()],
}

/** A file with `checkpointed` commits and a log with `logged` more, as a killed process leaves them. */
async function killed(t: Test, checkpointed: number, logged: number) {
  const at = directory(t)
  const live = join(at, 'live', 'events.duckdb')
  const store = await openStoreAt(live)
  for (let n = 1; n <= checkpointed; n++) await store.append(rows, mark(n))
  await store.close()
  const again = await openStoreAt(live)
  for (let n = checkpointed + 1; n <= checkpointed + logged; n++) await again.append(rows, mark(n))
  // Another process copies it, because this one must not open the file.
  execFileSync('cp', existsSync(`${live}.wal`) ? [live, `${live}.wal`, at] : [live, at])
  await again.close()
  rmSync(join(at, 'live'), { recursive: true })
  return join(at, 'events.duckdb')
}

t.test('a damaged log is cut or set aside, and the loss is counted and reported', async (t) => {
  const file = await killed(t, 4, 40)
  const whole = readFileSync(`${file}.wal`)
  const report = inspectWal(whole)
  t.strictSame([report.end, report.damaged], [whole.length, false], 'whole')
  t.strictSame([...report.committed_rows], [[RUN, 220]], '44 commits of 5 rows')

  const flipped = (at: number) => {
    const copy = Buffer.from(whole)
    copy[at] = (copy[at] ?? 0) ^ 0x40
    return copy
  }
  // The place of the twentieth commit in the log, found by the text of its position.
  const twentieth = whole.indexOf('"sequence":24')
  const lengthOfSome = lengthField(whole, twentieth)
  type Case = [why: string, log: Buffer, commits: number, message: RegExp | undefined]
  const cases: Case[] = [
    ['whole', whole, 44, undefined],
    ['torn in the last commit', whole.subarray(0, whole.length - 30), 43, undefined],
    ['zeros behind the end (power loss)', Buffer.concat([whole, Buffer.alloc(4096)]), 44, /wal cut: 4096 bytes/],
    ['the last 100 bytes zeroed', Buffer.concat([whole.subarray(0, -100), Buffer.alloc(100)]), 43, /wal cut/],
    ['a flipped bit in the twentieth commit', flipped(twentieth), 23, /wal cut.*checksum/],
    ['a flipped bit in a length, which DuckDB passes over', flipped(lengthOfSome + 2), 23, /wal cut/],
    ['a flipped bit in the header', flipped(5), 4, /wal set aside/],
    // The first of the database's 16 numbers; a later byte may be a number's second, whose bits above 8 DuckDB ignores.
    ['the header of another database', flipped(9), 4, /wal set aside/],
    ['no log at all but text', Buffer.from('garbage '.repeat(1000)), 4, /wal set aside: 8000 bytes/],
    ['empty', Buffer.alloc(0), 4, undefined],
  ]
  for (const [why, log, commits, message] of cases) {
    t.test(why, async (t) => {
      const at = join(directory(t), 'events.duckdb')
      copyFileSync(file, at)
      writeFileSync(`${at}.wal`, log)
      const { options, lines } = storeOptions(at)
      const from = performance.now()
      const store = await openStoreAt(at, options)
      t.ok(performance.now() - from < 5_000, 'opens within 5 s')
      t.strictSame(await store.query(counted), [{ events: 3 * commits, agents: 2 * commits }], 'whole commits only')
      t.strictSame(await store.lastCommit(RUN), mark(commits))
      if (message) {
        t.match(lines.join('\n'), message)
        t.equal(store.losses.length, 1)
        const [loss] = store.losses
        t.strictSame(loss && readFileSync(loss.backup), log, 'the log as it was lies beside')
        const lost = lastIn(log) > 0 ? (lastIn(log) - commits) * 5 : undefined
        t.equal(loss?.rows, lost, 'and the loss is reported in rows')
      } else {
        t.strictSame(lines, [])
        t.strictSame(store.losses, [])
      }
      // Later rows are stored and survive the next kill.
      await store.append(rows, mark(commits + 1))
      const copy = directory(t)
      execFileSync('cp', [at, `${at}.wal`, copy])
      await store.close()
      const next = await openStoreAt(join(copy, 'events.duckdb'))
      t.strictSame(await next.query(counted), [{ events: 3 * (commits + 1), agents: 2 * (commits + 1) }])
      t.strictSame(next.losses, [], 'mended once')
      await next.close()
    })
  }
})

/** The number of the last commit whose position can be read in a log; 0 if there is no such commit. */
const lastIn = (log: Buffer): number =>
  Math.max(0, ...[...log.toString('latin1').matchAll(/"sequence":(\d+)/g)].map((match) => Number(match[1])))

/** The offset of the length of the entry around `at`. */
function lengthField(log: Buffer, at: number): number {
  for (let from = at; from > 0; from--) {
    const length = log.readUInt32LE(from)
    const around = from + 16 + length > at && from + 16 < at && log.readUInt32LE(from + 4) === 0
    if (around && log[from + 16] === 100 && log[from + 17] === 0) return from
  }
  throw new Error('no entry around it')
}

t.test('a file that is not a database is set aside, never deleted', async (t) => {
  const good = await killed(t, 2, 0)
  const bytes = readFileSync(good)
  const overwritten = Buffer.from(bytes)
  overwritten.fill(7, 0, 64)
  const cases: [string, Buffer][] = [
    ['garbage', Buffer.from('x'.repeat(9000))],
    ['empty', Buffer.alloc(0)],
    ['four bytes', Buffer.from('DUCK')],
    ['truncated', bytes.subarray(0, 5000)],
    ['its first header gone', overwritten],
  ]
  for (const [why, content] of cases) {
    t.test(why, async (t) => {
      const at = join(directory(t), 'events.duckdb')
      writeFileSync(at, content)
      t.match((await examineFiles(dirname(at)))[1], { fault: { kind: 'damaged', why: /./ } }, 'found before a start')
      t.ok(readFileSync(at).equals(content), 'which changes nothing')
      const { options, lines } = storeOptions(at)
      const store = await openStoreAt(at, options)
      t.strictSame(await store.query(counted), [{ events: 0, agents: 0 }], 'an empty store')
      t.match(lines.join('\n'), /error .*events\.duckdb: file set aside: \d+ bytes/)
      await store.append(rows)
      await store.close()
      const backup = store.losses[0]?.backup ?? ''
      t.match(backup, /events\.duckdb\.\d{4}-\d\d-\d\dT/)
      t.ok(readFileSync(backup).equals(content), 'byte for byte')
    })
  }
  const logged = await killed(t, 1, 1)
  const [file, log] = [readFileSync(logged), readFileSync(`${logged}.wal`)]
  t.match((await examineFiles(dirname(logged)))[1], { exists: true, fault: undefined }, 'a file with a log is whole')
  t.ok(readFileSync(logged).equals(file) && readFileSync(`${logged}.wal`).equals(log), 'and stays as it was')
})

t.test('with a damaged block only reads of it fail', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  const store = await openStoreAt(file)
  const paths = Array.from({ length: 20_000 }, (_, n) => eventRow({ pathname: `/${(n * 2654435761) % 4294967296}` }))
  await store.append({ events: paths, agent_events: [agentRow()] })
  await store.close()
  const bytes = readFileSync(file)
  // After the three headers of 4 KB, in the middle of the first blocks of data.
  for (let at = 12_288 + 100_000; at < bytes.length; at += 262_144) bytes.fill(7, at, at + 64)
  writeFileSync(file, bytes)
  const damaged = await openStoreAt(file)
  t.strictSame(damaged.losses, [], 'it opens')
  await t.rejects(damaged.query(sql`select max(pathname) as last from events`), { code: 'database_error' })
  await damaged.append(rows)
  t.strictSame(await damaged.query(sql`select count(*) as n from agent_events where site_id = 1`), [{ n: 3 }])
  await damaged.close()
})

t.test('a fault for the operator is reported in one line, and no file is changed', async (t) => {
  const at = directory(t)
  writeFileSync(join(at, 'file'), '')
  await t.rejects(openStoreAt(join(at, 'file', 'events.duckdb')), { message: /file/ }, 'its directory is a file')
})

t.test('a second process learns which process has the file; a second opening in this process is refused', async (t) => {
  const at = join(directory(t), 'events.duckdb')
  const writer = await startWriter(t, 'store-writer-process', [at, '0'])
  await t.rejects(openStoreAt(at), {
    name: 'StoreOpenError',
    message: `${at} is in use by another process (PID ${writer.pid}`,
  })
  t.strictSame(
    readdirSync(join(at, '..')).filter((name) => /\d{4}-/.test(name)),
    [],
    'nothing was moved or copied',
  )
  writer.kill('SIGKILL')
  await once(writer, 'exit')
  const store = await openStoreAt(at)
  await t.rejects(openStoreAt(at), { name: 'StoreOpenError', message: /still open in this process/ })
  await store.append(rows)
  t.strictSame(await store.query(counted), [{ events: 3, agents: 2 }])
  await store.close()
})

t.test('after kill -9 at any moment every acknowledged row is stored once', async (t) => {
  const at = join(directory(t), 'events.duckdb')
  const acks = `${at}.acks`
  let longest = 0
  const rounds = Number(process.env.KILLS ?? 6)
  for (let round = 0; round < rounds; round++) {
    const writer = await startWriter(t, 'store-writer-process', [at, String(round * 100_000), acks])
    // On a busy machine the first acknowledgement may take long.
    while (round === 0 && !(existsSync(acks) && readFileSync(acks).length > 0)) await delay(5)
    await delay(60 + ((round * 137) % 400))
    writer.kill('SIGKILL')
    await once(writer, 'exit')
    const from = performance.now()
    const { options, lines } = storeOptions(at)
    const store = await openStoreAt(at, options)
    longest = Math.max(longest, performance.now() - from)
    t.strictSame(lines, [])
    const acked = readFileSync(acks, 'utf8').split('\n').slice(0, -1).map(Number)
    const found = await store.query(sql`select asn as batch, count(*) as n from events group by asn`)
    const stored = new Map(found.map((row) => [row.batch, row.n]))
    const missing = acked.filter((batch) => stored.get(batch) !== 50)
    const partial = found.filter((row) => row.n !== 50)
    if (missing.length > 0 || partial.length > 0) t.fail('lost or doubled', { missing, partial })
    t.ok(acked.length > 0 && found.length - acked.length <= round + 1, `${acked.length} acknowledged, round ${round}`)
    await store.close()
  }
  t.ok(longest < 5_000, `opens within 5 s: ${Math.round(longest)} ms at most`)
})

t.test('a full disk', async (t) => {
  const at = directory(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', at], { stdio: 'pipe' })
  } catch {
    t.comment('skipped: this user may not mount a tmpfs')
    t.pass('skipped')
    return
  }
  t.teardown(() => execFileSync('umount', [at]))
  const file = join(at, 'events.duckdb')
  const ballast = join(at, 'ballast')
  const { options, lines } = storeOptions(file, { wal_bytes: 3 << 20 })
  const store = await openStoreAt(file, options)
  const batch = {
    events: Array.from({ length: 500 }, (_, n) => eventRow({ pathname: `/${'x'.repeat(200)}${n}` })),
    agent_events: [],
  }
  let stored = 0
  let tried = 0
  /** Appends as the worker does: the same batch at the same position until it is stored. */
  const attempt = async () => {
    tried = stored + 1
    await store.append(batch, { run: RUN, sequence: tried, human: tried * 500, agent: 0, drops: {} })
    stored = tried
  }
  const check = async (why: string) =>
    t.strictSame(await store.query(counted), [{ events: stored * 500, agents: 0 }], `${why}: ${stored} batches`)
  const settle = async () => {
    for (let n = 0; n < 100; n++) {
      try {
        return await attempt()
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    throw new Error('it did not recover')
  }

  for (let round = 0; round < 3; round++) {
    // Fills the disk until an append or its checkpoint fails, then frees it.
    for (let n = 0; n < 3; n++) await attempt()
    writeFileSync(ballast, '')
    try {
      for (;;) appendFileSync(ballast, Buffer.alloc(64 << 10))
    } catch {
      truncateSync(ballast, Math.max(0, readFileSync(ballast).length - (round + 1) * 300_000))
    }
    let failures = 0
    for (let n = 0; n < 40 && failures < 3; n++) await attempt().catch(() => failures++)
    t.ok(failures > 0, `round ${round}: the disk was full`)
    rmSync(ballast)
    await settle()
    await check(`round ${round}`)
  }
  await store.close()
  const again = await openStoreAt(file)
  t.strictSame(await again.query(counted), [{ events: stored * 500, agents: 0 }], 'and after a restart')
  t.strictSame(again.losses, [])
  await again.close()
  t.comment(lines.join('\n'))
  t.ok(existsSync(file))
})
