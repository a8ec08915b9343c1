import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { z } from 'zod'
import { socketPath } from '../../src/api/server.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import { command } from '../fixtures/command.js'
import { cli, dataDir, eventually, freePort, GPTBOT, startInstance, startOrigin } from '../fixtures/instance.js'
import { agentRow } from '../fixtures/rows.js'
import { openStoreAt, storeOptions } from '../fixtures/store.js'

/*
 * Faults against a real process in front of a real origin: the origin dies, the process is killed with -9 at random moments,
 * its log is damaged, its database becomes garbage, its disk fills. The attack succeeds if the site is served wrongly, if a
 * row is stored twice, if more than the last second of rows is lost, if damage goes unreported, or if a file is deleted.
 */

const crawl = (site: string, path: string) => fetch(`${site}${path}`, { headers: { 'user-agent': GPTBOT } })
const crawlMany = async (site: string, count: number, prefix: string) => {
  for (let i = 0; i < count; i++) await (await crawl(site, `/${prefix}/${i}`)).text()
}

t.test('a dead origin gives 502 at once, and service returns with the origin', async (t) => {
  const port = await freePort()
  const app = await startInstance(`http://127.0.0.1:${port}`, dataDir(t))
  t.teardown(() => app.stop())
  const down = await crawl(app.site, '/x')
  t.equal(down.status, 502, 'at once: a timeout would be 504')
  t.notMatch(await down.text(), /\bat .*\.js|ECONN|127\.0\.0\.1/, 'a plain page: no stack, no address')
  const origin = await startOrigin(port)
  t.teardown(() => origin.close())
  t.equal((await crawl(app.site, '/y')).status, 200)
  await eventually('both rows', async () => (await app.fetches()) === 2)
  const { data } = await app.ask('/api/agents/breakdown?site=1&range=24h&dimension=status')
  t.match(data, [{ fetches: 1 }, { fetches: 1 }], 'the failed fetch is a row of its own')

  await t.test('a start that cannot work prints one line with the reason', async (t) => {
    const other = dataDir(t)
    const free = async () => ['--port', `${await freePort()}`, '--admin-port', `${await freePort()}`]
    const file = join(other, '..', 'a-file')
    writeFileSync(file, '')
    const rows = [
      [
        [origin.url, '--data', other, '--port', new URL(app.site).port, '--admin-port', `${await freePort()}`],
        1,
        new RegExp(new URL(app.site).port),
        'port in use: names it',
      ],
      [
        [origin.url, '--data', other, '--port', `${await freePort()}`, '--admin-port', new URL(app.admin).port],
        1,
        new RegExp(new URL(app.admin).port),
        'admin port in use: names it',
      ],
      [[origin.url, '--data', '/proc/none', ...(await free())], 1, /\/proc\/none/, 'a directory that nobody can make'],
      [['not a url', '--data', other, ...(await free())], 2, /origin/i, 'origin malformed'],
      [['ftp://example.com', '--data', other, ...(await free())], 2, /origin/i, 'origin of another scheme'],
      [[origin.url, '--data', join(file, 'sub'), ...(await free())], 1, /a-file/, 'data directory not writable'],
      [[origin.url, '--data', other, '--no-such-flag', ...(await free())], 2, /no-such-flag/, 'unknown flag'],
      [[origin.url, '--data', other, '--trust-proxy', 'martians', ...(await free())], 2, /martians/, 'bad trust-proxy'],
    ] as const
    // One of them as a process, the others in this one: each start of a process takes a second of CPU.
    for (const [n, [args, code, says, why]] of rows.entries()) {
      const result = await (n === 0 ? cli : command)('proxy', ...args)
      t.equal(result.code, code, `${why}: exit code`)
      t.match(result.stderr, says, why)
      t.equal(result.stderr.trim().split('\n').length, 1, `${why}: one line, got ${JSON.stringify(result.stderr)}`)
    }
  })
})

t.test(
  'after kill -9 at any moment the files open soon, no row is doubled, and at most the last second is lost',
  async (t) => {
    const origin = await startOrigin()
    t.teardown(() => origin.close())
    const data = dataDir(t)
    let sure = 0
    let sent = 0
    const open = async () => {
      const began = Date.now()
      const app = await startInstance(origin.url, data)
      return { app, ms: Date.now() - began }
    }
    /** Milliseconds in which this machine, as busy as it is, opens an empty directory. */
    let empty = 0
    // On a machine that does nothing else, 5 s are the promise.
    const isSoon = (ms: number) => ms < 20_000 + 3 * empty
    for (const round of [0, 1, 2]) {
      const { app, ms } = await open()
      if (round === 0) empty = ms
      t.ok(isSoon(ms), `round ${round} opens in ${ms} ms`)
      const stored = await app.fetches()
      t.ok(stored >= sure && stored <= sent, `round ${round}: ${sure} <= ${stored} stored <= ${sent} sent`)
      sure = sent = stored
      await crawlMany(app.site, 200, `round${round}`)
      sent += 200
      await sleep(1_000)
      sure = sent
      await crawlMany(app.site, 50, `late${round}`)
      sent += 50
      await app.stop('SIGKILL')
    }
    const first = await startInstance(origin.url, data)
    const stored = await first.fetches()
    t.ok(stored >= sure && stored <= sent, `${sure} <= ${stored} stored <= ${sent} sent`)

    await t.test(
      'a log with a damaged tail opens, keeps earlier rows, reports the loss and keeps a copy',
      async (t) => {
        const wal = join(data, 'events.duckdb.wal')
        const hasLog = () => existsSync(wal) && statSync(wal).size > 0
        let sure = stored
        // Five seconds after a start a checkpoint folds what was repaired into the file, and with it the rows of then.
        await sleep(7_000)
        // At least two commits: the damage is in the last one. A checkpoint may fold either into the file.
        for (let batch = 1; batch <= 2 || (!hasLog() && batch < 10); batch++) {
          sure = stored + 25 * (batch - 1)
          await crawlMany(first.site, 25, `batch${batch}`)
          await eventually('25 rows more', async () => (await first.fetches()) === sure + 25)
        }
        await first.stop('SIGKILL')
        t.ok(hasLog(), 'there is a WAL to damage')
        const size = statSync(wal).size
        const file = openSync(wal, 'r+')
        writeSync(file, Buffer.alloc(64, 0xff), 0, 64, size - 64)
        const { app: second, ms } = await open()
        t.ok(isSoon(ms), `opens in ${ms} ms`)
        const kept = await second.fetches()
        t.ok(kept >= sure && kept < sure + 25, `${kept - sure} of the last 25 rows kept`)
        t.match(second.output(), /wal/i, 'the log says so')
        t.ok(
          readdirSync(data).some((name) => /\.wal\..+/.test(name)),
          'the damaged WAL is kept beside',
        )
        await crawlMany(second.site, 5, 'after')
        await eventually('recording goes on', async () => (await second.fetches()) === kept + 5)
        await second.stop()
      },
    )
  },
)

t.test('the time after kill -9 is a gap without values, unless the restart is short', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const killed = await startInstance(origin.url, data)
  await crawlMany(killed.site, 3, 'before')
  await eventually('3 rows', async () => (await killed.fetches()) === 3)
  await killed.stop('SIGKILL')
  const ended = Date.now()
  // The same as a process that was killed three hours ago, on a site whose first row is eight hours old.
  const HOURS = 3_600_000
  // The worker's process ends a moment after the killed one.
  const open = () => openStoreAt(join(data, 'events.duckdb')).catch(() => undefined)
  let events = await open()
  for (; !events; events = await open()) await sleep(100)
  await events.append({ events: [], agent_events: [agentRow({ timestamp: new Date(ended - 8 * HOURS) })] })
  await events.close()
  const records = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
  const earlier = sql`began = began - interval 3 hours, ended = ended - interval 3 hours`
  await records.write(sql`update recorded set ${earlier}`)
  t.equal((await records.query(sql`select * from recorded`)).length, 1, 'a sign of life right after the start')
  await records.close()

  const started = Date.now()
  const Series = z.object({
    data: z.object({ buckets: z.array(z.object({ t: z.string(), value: z.number().optional() })) }),
    meta: z.object({ recorded: z.object({ gaps: z.array(z.looseObject({ start: z.string(), end: z.string() })) }) }),
  })
  const query = 'site=1&range=24h&granularity=minute&audience=agent'
  const second = await startInstance(origin.url, data)
  const { data: shown, meta } = Series.parse(await second.ask(`/api/stats/timeseries?${query}`))
  const [gap, ...more] = meta.recorded.gaps.map(({ start, end }) => [Date.parse(start), Date.parse(end)] as const)
  t.strictSame(more, [])
  t.match(meta.recorded.gaps, [{ reason: 'not_running' }])
  const [start = 0, end = 0] = gap ?? []
  t.ok(start <= ended - 3 * HOURS && start > ended - 3 * HOURS - 60_000, 'from the last sign of life, within a minute')
  t.ok(end >= started && end <= Date.now(), 'until it started again')
  const first = ended - 8 * HOURS
  for (const { t: at, value } of shown.buckets) {
    const [from, to] = [Date.parse(at), Date.parse(at) + 60_000]
    const isUnknown = to <= first || (from >= start && to <= end)
    // The three rows of the killed process are in the gap here, because only its span was moved.
    if (value !== 3 && (value === undefined) !== isUnknown) t.fail(`${at}: ${value}`)
  }
  const absent = shown.buckets.filter(({ value }) => value === undefined).length
  t.ok(absent > 19 * 60 - 5 && absent < 19 * 60 + 5, `${absent} minutes without a value`)

  await second.stop('SIGKILL')
  const third = await startInstance(origin.url, data)
  const again = Series.parse(await third.ask(`/api/stats/timeseries?${query}`))
  t.equal(again.meta.recorded.gaps.length, 1, 'a restart within seconds is no gap')
  await third.stop()
})

t.test('SIGTERM refuses connections, finishes running responses, flushes rows and exits with 0', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const app = await startInstance(origin.url, data)
  await crawlMany(app.site, 20, 'before')
  const slow = crawl(app.site, '/slow?wait=1500').then(async (r) => ({ status: r.status, text: await r.text() }))
  await eventually('it runs', () => origin.requestsOf('/slow') === 1)
  const code = app.stop('SIGTERM')
  // The signal takes a moment to arrive.
  const isRefused = () =>
    crawl(app.site, '/new').then(
      () => false,
      () => true,
    )
  await eventually('no new connection', isRefused)
  t.match(await slow, { status: 200, text: /slow/ }, 'the running answer is whole')
  t.equal(await code, 0)
  const store = await openStoreAt(join(data, 'events.duckdb'))
  t.teardown(() => store.close())
  t.strictSame(
    await store.query(sql`select count(*) as n from agent_events`),
    [{ n: 21 + origin.requestsOf('/new') }],
    'every row is there',
  )
})

t.test('a store that another process has: the site is served, and its rows are stored when it is free', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const first = await startInstance(origin.url, data)
  t.teardown(() => first.stop())
  // As while the first one still starts: it has the files, and no socket yet.
  renameSync(socketPath(data), `${data}/later`)
  const early = command('sites', 'list', '--data', data)
  const starting = startInstance(origin.url, data)
  await sleep(1_000)
  renameSync(`${data}/later`, socketPath(data))
  const second = await starting
  t.teardown(() => second.stop())
  t.match(await early, { code: 0, stderr: '', stdout: /DOMAINS|HOSTNAMES/ }, 'a command waits for the one that starts')
  t.equal((await crawl(second.site, '/waits')).status, 200)
  t.match(await second.ready(), { status: 503, body: /"degraded"/ })
  t.notMatch((await second.ready()).body, /events|PID/, 'what anybody may read names no file and no process')
  t.match(second.output(), /events\.duckdb is in use by another process .*started by \d+/, 'the log says why')
  t.ok(second.output().includes(`${first.child.pid}`), 'and by which')
  t.equal((await fetch(`${second.admin}/healthz`)).status, 200, 'the process serves')
  t.equal((await fetch(`${second.admin}/api/stats/overview?site=1`)).status, 503)
  t.equal((await crawl(first.site, '/stored')).status, 200)
  await eventually('a row', async () => (await first.fetches()) === 1)
  t.equal(await first.stop(), 0)
  await eventually('the second has opened it', async () => (await second.ready()).status === 200)
  await eventually('the row that waited', async () => (await second.fetches()) === 2)
  const third = await startInstance(origin.url, data)
  t.teardown(() => third.stop())
  await crawl(third.site, '/kept')
  t.equal(await third.stop(), 0, 'one that never opened it stops in order')
  t.notMatch(third.output(), /are lost/, 'and loses nothing')
  const kept = readdirSync(`${data}/waiting`).filter((name) => name.endsWith('.rows'))
  t.equal(kept.length, 1, 'its row is on disk')
  t.equal(await second.stop(), 0)
  const fourth = await startInstance(origin.url, data)
  t.teardown(() => fourth.stop())
  await eventually('the next start stores it', async () => (await fourth.fetches()) === 3)
})

t.test('a store that is garbage is set aside, never deleted', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  mkdirSync(data, { recursive: true })
  writeFileSync(join(data, 'events.duckdb'), 'this is not a database\n'.repeat(1000))
  const app = await startInstance(origin.url, data)
  await crawlMany(app.site, 3, 'x')
  await eventually('3 rows', async () => (await app.fetches()) === 3)
  t.ok(
    readdirSync(data).some((name) => /^events\.duckdb\..+/.test(name) && !name.endsWith('.wal')),
    'set aside',
  )
  await app.stop()
})

t.test('with a full disk the site is served, and recording resumes by itself when space returns', async (t) => {
  const dir = join(dataDir(t), '..', 'small')
  mkdirSync(dir)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', dir], { stdio: 'pipe' })
  } catch {
    t.comment('not permitted to mount a tmpfs here: needs root')
    return
  }
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startInstance(origin.url, join(dir, 'data'), '--min-free-disk', '0')
  t.teardown(async () => {
    await app.stop()
    execFileSync('umount', [dir])
  })
  await crawlMany(app.site, 20, 'before')
  await eventually('20 rows', async () => (await app.fetches()) === 20)
  const filler = join(dir, 'filler')
  try {
    writeFileSync(filler, Buffer.alloc(64 << 20))
  } catch {}
  const statuses = new Set<number>()
  for (let i = 0; i < 100; i++) statuses.add((await crawl(app.site, `/full/${i}`)).status)
  t.same([...statuses], [200], 'the site goes on')
  await eventually('readyz says degraded', async () => (await app.ready()).status === 503)
  rmSync(filler)
  await eventually('ready again', async () => (await app.ready()).status === 200)
  await eventually('what waited is stored, once', async () => (await app.fetches()) === 120)
})
