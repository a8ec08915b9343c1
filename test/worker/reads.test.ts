import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type RequestOptions, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createApp } from '../../src/api/app.js'
import { readRoutes } from '../../src/api/reads.js'
import { listenControl } from '../../src/api/server.js'
import { packBatch } from '../../src/capture/packed-batch.js'
import { toNodeHandler } from '../../src/site/proxy/node-handler.js'
import { raw, type Sql, sql } from '../../src/storage/sql.js'
import type { ResultRow } from '../../src/storage/store.js'
import { defaultMemoryLimit, usableCores } from '../../src/worker-client/machine.js'
import { MAX_UNACKNOWLEDGED_CHUNKS } from '../../src/worker-client/protocol.js'
import type { WorkerClient } from '../../src/worker-client/worker-client.js'
import { directory } from '../fixtures/files.js'
import { observation } from '../fixtures/observations.js'
import { FAILING_WORKER, startTestEngine, waitFor } from '../fixtures/worker-client.js'

const endless = sql`select count(*) as n from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3`

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

const count = async (stream: AsyncIterable<ResultRow[]>): Promise<number> => {
  let rows = 0
  for await (const piece of stream) rows += piece.length
  return rows
}

/** Checks that all reading connections are free: the maximum of concurrent queries, and a stream. */
async function isFree(t: Test, engine: WorkerClient, why: string) {
  const queries = [1, 2, 3, 4].map((n) => engine.events.query(sql`select ${n} as n`))
  const answers = await Promise.all(queries)
  t.strictSame(answers, [[{ n: 1 }], [{ n: 2 }], [{ n: 3 }], [{ n: 4 }]], `free ${why}`)
  t.equal(await count(engine.events.stream(sql`select * from range(5000)`)), 5_000, `and for a stream, ${why}`)
}

/** Priority and CPU time of the threads of a process beside its first one, by their numbers, as Linux counts both. */
const listThreads = (pid: number) =>
  new Map(
    readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      // The name, in brackets, is the second of the fields and may have spaces.
      const fields = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
      const ticks = Number(fields[11]) + Number(fields[12])
      return thread === String(pid) ? [] : [[thread, { nice: Number(fields[16]), ticks }] as const]
    }),
  )

t.test('statements run on threads of low priority', { skip: process.platform !== 'linux' }, async (t) => {
  const { engine } = await startTestEngine(t, { limits: { timeout_ms: 1_000, wait_ms: 60_000 } })
  await waitFor(() => engine.status().worker !== undefined, 'the worker says its number')
  const pid = engine.status().worker?.pid ?? 0
  // Threads of V8 compile and collect garbage at a start, which is not part of the statement.
  const before = listThreads(pid)
  await t.rejects(engine.events.query(endless), { message: /took longer/ })
  const threads = [...listThreads(pid)].map(([thread, { nice, ticks }]) => {
    return { nice, ticks: ticks - (before.get(thread)?.ticks ?? 0) }
  })
  const sum = (of: typeof threads) => of.reduce((all, { ticks }) => all + ticks, 0)
  const low = sum(threads.filter(({ nice }) => nice === 10))
  t.ok(low > 0, 'the statement took CPU')
  // V8 still compiles and collects garbage a little.
  t.ok(low > sum(threads) * 0.75, `${low} of ${sum(threads)} ticks at low priority`)
})

t.test('a query in the worker times out, and is interrupted when its caller leaves', async (t) => {
  const { engine } = await startTestEngine(t, { limits: { timeout_ms: 1_000, wait_ms: 60_000 } })
  await t.rejects(engine.events.query(endless), { code: 'database_error', message: /^The query took longer than 1 s/ })
  await isFree(t, engine, 'after its time')
  const leaving = new AbortController()
  // More than run at once, so that some wait and never start.
  const all = Array.from({ length: 6 }, () =>
    t.rejects(engine.events.query(endless, leaving.signal), { message: 'The query was cancelled.' }),
  )
  await sleep(100)
  t.strictSame(await engine.records.query(sql`select count(*) as n from sites`), [{ n: 1 }], 'records do not wait')
  leaving.abort()
  t.ok((await elapsed(() => Promise.all(all))) < 900, 'sooner than the time of one')
  await isFree(t, engine, 'after they left')
  await t.rejects(engine.events.query(sql`select 1`, leaving.signal), { message: 'The query was cancelled.' })
})

t.test(
  'a stream from the worker is in order, no faster than its reader, and is released however it ends',
  async (t) => {
    const { engine } = await startTestEngine(t, { limits: { idle_ms: 400 } })
    const { events } = engine
    const many = sql`select range as n from range(100001) order by n`
    let next = 0
    for await (const piece of events.stream(many)) for (const row of piece) if (row.n === next) next += 1
    t.equal(next, 100_001)

    const early = events.stream(many)
    for await (const piece of early) {
      t.equal(piece.length, 2_000)
      break
    }
    await isFree(t, engine, 'when the asker has enough')

    const leaving = new AbortController()
    const left = t.rejects(count(events.stream(endless, leaving.signal)), { message: 'The query was cancelled.' })
    await sleep(50)
    leaving.abort()
    await left
    await isFree(t, engine, 'when it leaves')

    await t.rejects(count(events.stream(raw('select nothing'))), {
      code: 'database_error',
      message: 'The query failed.',
    })

    const stalled = events.stream(many)[Symbol.asyncIterator]()
    await stalled.next()
    await sleep(900)
    await isFree(t, engine, 'when it stalls')
    let came = 1
    const rest = async () => {
      for (let piece = await stalled.next(); !piece.done; piece = await stalled.next()) came += 1
    }
    await t.rejects(rest(), { code: 'database_error', message: /read the rows too slowly/ }, 'with an error')
    t.ok(came <= 1 + MAX_UNACKNOWLEDGED_CHUNKS, `${came} pieces were on the way, never more`)
  },
)

t.test('a stream and queries fail when the worker dies', async (t) => {
  const { engine } = await startTestEngine(t, { entry: FAILING_WORKER })
  const stream = engine.events.stream(sql`select * from range(1000000)`)[Symbol.asyncIterator]()
  await stream.next()
  const query = t.rejects(engine.events.query(endless), { code: 'database_error' })
  await sleep(50)
  await engine.record(packBatch([observation({ pathname: '/uncaught' })])).catch(() => {})
  const rest = async () => {
    for (let piece = await stream.next(); !piece.done; piece = await stream.next());
  }
  await t.rejects(rest(), { code: 'database_error' }, 'the caller gets an error')
  await query
  await waitFor(() => engine.status().state === 'ready' && engine.status().restarts > 0, 'ready again')
  await isFree(t, engine, 'in the next worker')
})

t.test('a stream of a million rows needs little memory', async (t) => {
  const { engine } = await startTestEngine(t, { memory_limit: '256MB' })
  await isFree(t, engine, 'at first')
  const heap = () => process.memoryUsage().heapUsed / 2 ** 20
  const before = heap()
  let highest = 0
  let rows = 0
  for await (const piece of engine.events.stream(
    sql`select range as n, '/a/path/of/some/length/' || range as pathname from range(1000000)`,
  )) {
    rows += piece.length
    highest = Math.max(highest, heap())
  }
  t.equal(rows, 1_000_000)
  t.ok(highest - before < 100, `this heap grew by ${Math.round(highest - before)} MB at most, of about 150 MB of rows`)

  await t.test('a client that disconnects stops its query, on either listener', async (t) => {
    const now = new Date('2026-11-21T12:00:00Z')
    let started = 0
    let stopped = 0
    /** The read's own statement, joined with work that never ends. */
    const slowly = async (query: Sql, signal?: AbortSignal) => {
      started += 1
      try {
        return await engine.events.query(sql`select r.* from (${query}) r, (${endless}) e`, signal)
      } finally {
        stopped += 1
      }
    }
    const site = {
      id: 1,
      version: 1,
      org: 1,
      name: 'Site',
      domains: [],
      timezone: 'UTC',
      currency: 'EUR',
      excluded_paths: [],
      sections: [],
      respect_gpc: false,
      visitor_salt: 'month' as const,
    }
    const logged: unknown[] = []
    const app = createApp({
      routes: readRoutes({
        store: { dialect: engine.events.dialect, query: slowly },
        now: () => now,
        catalog: [],
        sites: { get: async () => site, list: async () => [site] },
      }),
      credentials: {
        keys: { authenticate: () => Promise.reject(new Error('no key is needed')), isActive: async () => false },
      },
      version: '0',
      log: (error) => logged.push(error),
    })
    const operator = (incoming: Request) => app(incoming, { ip: '', operator: true })
    const at = join(directory(t), 'control.sock')
    const control = await listenControl((incoming) => operator(incoming), at)
    t.teardown(() => control.close())
    const bridged = createServer((req, res) => void toNodeHandler({ fetch: operator }, { basePath: '/x' })(req, res))
    bridged.listen(0, '127.0.0.1')
    await once(bridged, 'listening')
    t.teardown(() => bridged.close())
    const { port } = bridged.address() as AddressInfo

    const path = '/api/stats/pages?site=1&range=24h'
    const ways: [string, RequestOptions][] = [
      ['the control socket', { socketPath: at, path }],
      ['the bridge', { host: '127.0.0.1', port, path: `/x${path}` }],
    ]
    for (const [why, options] of ways) {
      const before = stopped
      const expected = started + 1
      const client = request(options).end()
      client.on('error', () => {})
      await waitFor(() => started === expected, 'the query runs')
      await sleep(100)
      t.equal(stopped, before, 'and goes on while the client is there')
      const from = performance.now()
      client.destroy()
      await waitFor(() => stopped === before + 1, 'it stopped')
      t.ok(performance.now() - from < 3_000, `${why}: within ${Math.round(performance.now() - from)} ms`)
      await isFree(t, engine, `behind ${why}`)
    }
    t.strictSame(logged, [], 'which is nobody’s news')
  })
})

t.test('the default memory limit follows control groups and the machine', async (t) => {
  const machine = 16e9
  const none = '9223372036854771712\n'
  const cases: [files: Record<string, string>, total: number, expected: string, why: string][] = [
    [{}, 16e9, '2000MB', 'no groups: half of the machine, at most 2 GB'],
    [{}, 1e9, '500MB', 'a small machine'],
    [{}, 100e6, '128MB', 'a very small one'],
    [
      { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': '1073741824\n' },
      machine,
      '536MB',
      'version 2 in a container, which is its own root',
    ],
    [
      { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': '8000000000\n' },
      machine,
      '4000MB',
      'a large container: half of it',
    ],
    [
      {
        '/proc/self/cgroup': '0::/system.slice/readership.service\n',
        '/sys/fs/cgroup/system.slice/readership.service/memory.max': 'max\n',
        '/sys/fs/cgroup/system.slice/memory.max': '600000000\n',
      },
      machine,
      '300MB',
      'a service without a limit in a slice with one',
    ],
    [
      {
        '/proc/self/cgroup': '0::/a/b\n',
        '/sys/fs/cgroup/a/b/memory.max': '900000000',
        '/sys/fs/cgroup/a/memory.max': '800000000',
      },
      machine,
      '400MB',
      'the least of those around it',
    ],
    [
      { '/proc/self/cgroup': '0::/a\n', '/sys/fs/cgroup/a/memory.max': 'max\n' },
      machine,
      '2000MB',
      'version 2 without a limit',
    ],
    [
      {
        '/proc/self/cgroup': '9:name=systemd:/x\n4:cpu,memory:/docker/ab:c\n0::/\n',
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': '400000000\n',
      },
      machine,
      '200MB',
      'version 1, whose path is the host’s and is not there',
    ],
    [
      {
        '/proc/self/cgroup': '4:memory:/docker/ab\n',
        '/sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes': '700000000\n',
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': none,
      },
      machine,
      '350MB',
      'version 1 seen from the host',
    ],
    [
      { '/proc/self/cgroup': '4:memory:/\n', '/sys/fs/cgroup/memory/memory.limit_in_bytes': none },
      machine,
      '2000MB',
      'version 1 without a limit',
    ],
    [{ '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': '64000000' }, machine, '128MB', 'a tiny container'],
    [{ '/proc/self/cgroup': 'garbage\n::\n0:\n', '/sys/fs/cgroup/memory.max': '0' }, machine, '2000MB', 'garbage'],
    [{ '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': 'x1' }, machine, '2000MB', 'no number'],
    [
      { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': '32000000000' },
      machine,
      '2000MB',
      'more than the machine has is no limit',
    ],
  ]
  for (const [files, total, expected, why] of cases)
    t.equal(defaultMemoryLimit({ total_bytes: total, cores: 1, readText: (path) => files[path] }), expected, why)
})

t.test('usable cores follow the control groups’ quotas', async (t) => {
  const own = { '/proc/self/cgroup': '0::/a/b\n' }
  const cases: [files: Record<string, string>, cores: number, expected: number, why: string][] = [
    [{}, 8, 8, 'no groups'],
    [{ ...own, '/sys/fs/cgroup/a/b/cpu.max': 'max 100000\n' }, 8, 8, 'no limit'],
    [{ ...own, '/sys/fs/cgroup/a/b/cpu.max': '200000 100000\n' }, 8, 2, 'two'],
    [
      { ...own, '/sys/fs/cgroup/a/b/cpu.max': 'max 100000', '/sys/fs/cgroup/a/cpu.max': '350000 100000' },
      8,
      3,
      'around it',
    ],
    [{ ...own, '/sys/fs/cgroup/a/b/cpu.max': '50000 100000' }, 8, 1, 'half a core is one'],
    [{ ...own, '/sys/fs/cgroup/a/b/cpu.max': '900000 100000' }, 2, 2, 'more than there are'],
    [{ ...own, '/sys/fs/cgroup/a/b/cpu.max': 'x' }, 2, 2, 'garbage'],
  ]
  for (const [files, cores, expected, why] of cases)
    t.equal(usableCores({ total_bytes: 1, cores, readText: (path) => files[path] }), expected, why)
})
