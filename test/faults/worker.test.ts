import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packBatch } from '../../src/capture/packed-batch.js'
import { createRecorder } from '../../src/capture/recorder.js'
import { sql } from '../../src/storage/sql.js'
import { directory } from '../fixtures/files.js'
import { observation } from '../fixtures/observations.js'
import { FAILING_WORKER, ROW_COUNTS, startTestEngine, waitFor } from '../fixtures/worker-client.js'

/*
 * The attacks on the worker's process: batches that kill it (an exception, an exit, a full heap), SIGKILL and other signals
 * during commits, queries and streams, a disk without space, and clocks that jump. The site's process must notice nothing
 * but rejected queries. The attack succeeds if a batch is lost or stored twice, if a batch that kills workers stops the
 * others for ever, if a promise of a query never settles, or if the engine's status hides the fault.
 */

/** By each signal. */
const KILLS = 3

const people = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => observation({ pathname: `/${from + n}` }))

const endless = sql`select count(*) as n from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3`

for (const [way, why] of [
  ['/throw', 'an error in the classifier'],
  ['/exit', 'process.exit'],
  ['/oom', 'a full heap'],
] as const) {
  t.test(`the worker dies of ${why}, each time it sees one batch`, async (t) => {
    const { engine, data } = await startTestEngine(t, { entry: FAILING_WORKER, heap_mb: 64 })
    await engine.record(packBatch(people(10)))
    // Good batches before, with and after the deadly one, all at once.
    const before = [1, 2, 3].map((n) => engine.record(packBatch(people(100, 1_000 * n))))
    const deadly = t.rejects(engine.record(packBatch([...people(1, 9_000), observation({ pathname: way })])), {
      code: 'internal_error',
    })
    const behind = [4, 5].map((n) => engine.record(packBatch(people(100, 1_000 * n))))
    await Promise.all([...before, ...behind, deadly])
    t.equal(engine.status().restarts, 3, 'it had three chances, two of them alone')
    const found = await engine.events.query(sql`select count(*) as n, count(distinct pathname) as paths from events`)
    t.strictSame(found, [{ n: 510, paths: 510 }], 'every other row is there, once')
    t.equal(engine.status().rows.human, 510, 'and counted once')
    await engine.close()
    const again = await startTestEngine(t, { data })
    t.strictSame(await again.engine.events.query(ROW_COUNTS), [{ human: 510, agent: 0 }], 'also after a restart')
  })
}

t.test(
  'a worker that is killed six times during batches, a query and a stream loses and doubles nothing',
  async (t) => {
    const killed = async (signal: 'SIGSEGV' | 'SIGKILL') => {
      const { engine } = await startTestEngine(t)
      let over = false
      let handed = 0
      let stored = 0
      const lane = async () => {
        while (!over) {
          const from = handed
          handed += 100
          await engine.record(packBatch(people(100, from)))
          stored += 100
        }
      }
      const lanes = [lane(), lane(), lane()]
      for (let kill = 1; kill <= KILLS; kill++) {
        const before = stored
        await waitFor(() => engine.status().restarts === kill - 1 && stored >= before + 500, `going on before ${kill}`)
        const { pid } = engine.status().worker ?? { pid: 0 }
        const long = t.rejects(engine.events.query(endless), { code: 'database_error' })
        const pieces = engine.events.stream(sql`select range as n from range(300000)`)[Symbol.asyncIterator]()
        await pieces.next()
        const rest = t.rejects(
          (async () => {
            while (!(await pieces.next()).done);
          })(),
          { code: 'database_error' },
        )
        await new Promise((resolve) => setTimeout(resolve, 3 * kill))
        process.kill(pid, signal)
        await Promise.all([long, rest])
        t.match(engine.status().reason, signal, 'the reason is reported')
      }
      await waitFor(() => engine.status().restarts === KILLS && engine.status().state === 'ready', 'ready again')
      over = true
      await Promise.all(lanes)
      t.equal(stored, handed, 'no batch was given up')
      const found = await engine.events.query(sql`select count(*) as n, count(distinct pathname) as paths from events`)
      t.strictSame(found, [{ n: stored, paths: stored }], 'every row is there, once')
      t.equal(engine.status().rows.human, stored, 'and counted once')
    }
    await Promise.all([killed('SIGSEGV'), killed('SIGKILL')])
  },
)

t.test('an uncaught error in the worker, between commits and during a query, loses nothing', async (t) => {
  const { engine } = await startTestEngine(t, { entry: FAILING_WORKER })
  const long = engine.events.query(endless)
  const ended = t.rejects(long, { code: 'database_error' }, 'the query fails, the process continues')
  await new Promise((resolve) => setTimeout(resolve, 100))
  const recorded = [
    engine.record(packBatch(people(50))),
    engine.record(packBatch([observation({ pathname: '/uncaught' })])).catch(() => {}),
    engine.record(packBatch(people(50, 100))),
  ]
  await ended
  await Promise.all(recorded)
  await waitFor(() => engine.status().state === 'ready' && engine.status().restarts > 0, 'ready again')
  await engine.record(packBatch(people(1, 500)))
  const found = await engine.events.query(
    sql`select count(*) as n, count(distinct pathname) as paths from events where pathname <> '/uncaught'`,
  )
  t.strictSame(found, [{ n: 101, paths: 101 }])
})

t.test('with too little disk space rows wait up to the limit, and storing resumes by itself', async (t) => {
  const at = directory(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=60m', 'tmpfs', at], { stdio: 'pipe' })
  } catch {
    t.comment('skipped: this user may not mount a tmpfs')
    t.pass('skipped')
    return
  }
  t.teardown(() => execFileSync('umount', [at]))
  const { engine, lines } = await startTestEngine(t, { data: at, min_free_disk: 20 << 20 })
  const recorder = createRecorder({
    send: (batch) => engine.record(batch),
    now: () => performance.now(),
    log: { warn() {} },
    maxWaiting: 500,
    flushIntervalMs: 20,
  })
  writeFileSync(join(at, 'ballast'), Buffer.alloc(45 << 20))
  for (const one of people(800)) recorder.record(one)
  await waitFor(() => engine.status().state === 'degraded', 'degraded')
  t.match(engine.status().reason, /less than 20971520 bytes are free on disk/)
  t.match(recorder.stats(), { waiting: 500, drops: { queue_full: 300 } }, 'the rest is dropped and counted')
  t.strictSame(await engine.events.query(ROW_COUNTS), [{ human: 0, agent: 0 }], 'questions are answered')
  rmSync(join(at, 'ballast'))
  await waitFor(() => recorder.stats().waiting === 0, 'stored')
  t.equal(engine.status().state, 'ready')
  t.strictSame(await engine.events.query(ROW_COUNTS), [{ human: 500, agent: 0 }])
  t.match(lines.join('\n'), /rows are not stored and wait.*rows are stored again/s)
  await recorder.close()
  await engine.close()
})

t.test('an engine that cannot store rejects the waiting rows when it closes', async (t) => {
  const { engine } = await startTestEngine(t, { min_free_disk: 2 ** 52, drain_ms: 200 })
  const recorded = t.rejects(engine.record(packBatch(people(3))), { code: 'database_error' })
  await engine.close()
  await recorded
})

t.test('clock jumps', async (t) => {
  const { engine } = await startTestEngine(t)
  const at = (ms: number) => new Date(Date.UTC(2026, 10, 21, 8) + ms).toISOString()
  // An hour back and forth, and durations as a wall clock would measure them.
  for (const [n, ms] of [0, 60_000, -3_600_000, 3_600_000, 120_000].entries()) {
    await engine.record(packBatch([observation({ pathname: `/${n}`, timestamp: at(ms), duration_ms: 5 })]))
  }
  t.strictSame(await engine.events.query(ROW_COUNTS), [{ human: 5, agent: 0 }])
  t.strictSame(
    await engine.events.query(sql`select count(*) as n from events where duration_ms < 0 or session_start > timestamp`),
    [{ n: 0 }],
  )
})
