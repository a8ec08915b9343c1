import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { packBatch } from '../../src/capture/packed-batch.js'
import { startWorkerClient } from '../../src/worker-client/worker-client.js'
import { directory } from '../fixtures/files.js'
import { observation } from '../fixtures/observations.js'
import { openStoreAt } from '../fixtures/store.js'
import { ROW_COUNTS, startTestEngine, waitFor } from '../fixtures/worker-client.js'

/* The worker's process ends with the process that started it, and never delays its end. */

/** A process that its parent has not collected yet (state Z) has ended. */
const isRunning = (pid: number): boolean => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** A process in its own group with an engine that has recorded some rows. */
async function startEngineProcess(t: Test, data: string) {
  const parent: ChildProcess = fork(new URL('../fixtures/worker-client-process.js', import.meta.url), [data], {
    detached: true,
  })
  t.teardown(() => parent.kill('SIGKILL'))
  const progress = { pid: 0, sent: 0, stored: 0 }
  parent.on('message', (message: object) => Object.assign(progress, message))
  await waitFor(() => progress.stored > 50, 'rows are stored')
  return { parent, progress }
}

const ways: [string, (parent: ChildProcess) => void, string][] = [
  ['killed', (parent) => void parent.kill('SIGKILL'), 'what is being committed ends, and no more'],
  ['exit', (parent) => void parent.send('exit'), 'an application that does not close leaves no orphan'],
  ['close', (parent) => void parent.send('close'), 'and nothing keeps a closed one alive'],
  ['SIGINT', (parent) => void process.kill(-(parent.pid ?? 0), 'SIGINT'), 'which reaches both, and only one heeds it'],
]
for (const [way, end, why] of ways) {
  t.test(`the process that has the worker ends (${way}): ${why}`, async (t) => {
    const data = directory(t)
    const { parent, progress } = await startEngineProcess(t, data)
    t.ok(isRunning(progress.pid))
    const ended = once(parent, 'exit')
    const from = performance.now()
    end(parent)
    const [code] = await ended
    t.equal(code, way === 'killed' ? null : 0)
    t.ok(performance.now() - from < 3_000, `it ended after ${Math.round(performance.now() - from)} ms`)
    // At once, while an orphaned worker may have the files open.
    const next = await startTestEngine(t, { data })
    t.notOk(isRunning(progress.pid), 'the worker ended too')
    const [found] = await next.engine.events.query(ROW_COUNTS)
    const rows = Number(found?.human)
    t.ok(
      rows >= progress.stored && rows <= progress.sent,
      `${progress.stored} acknowledged <= ${rows} <= ${progress.sent} sent`,
    )
    if (way === 'close' || way === 'SIGINT') t.equal(rows, progress.sent, 'drained')
    t.notOk(next.engine.status().losses)
  })
}

t.test('a worker that does not end is killed, and nothing is lost', async (t) => {
  const { engine, data } = await startTestEngine(t, { close_ms: 200 })
  await engine.record(packBatch([observation()]))
  process.kill(engine.status().worker?.pid ?? 0, 'SIGSTOP')
  const from = performance.now()
  await engine.close()
  t.ok(performance.now() - from < 10_000)
  const store = await openStoreAt(join(data, 'events.duckdb'))
  t.teardown(() => store.close())
  t.strictSame(await store.query(ROW_COUNTS), [{ human: 1, agent: 0 }])
})

t.test('a data directory has one engine, also within one process', async (t) => {
  const { engine, options } = await startTestEngine(t)
  const { pid = 0 } = engine.status().worker ?? {}
  await t.rejects(startWorkerClient({ ...options, lock_ms: 100 }), {
    message: new RegExp(`in use by another process \\(PID ${pid}, \\S+, started by ${process.pid}\\)$`),
  })
  await engine.record(packBatch([observation()]))
  t.match(engine.status(), { restarts: 0, rows: { human: 1 } })

  await t.test('a failed start reports why, and a message that cannot be serialised only fails itself', async (t) => {
    await t.rejects(
      startWorkerClient({ ...options, data: directory(t), entry: new URL('data:text/javascript,') }),
      Error,
    )
    await t.rejects(
      engine.call('policy', () => {}),
      Error,
      'a function is not a message',
    )
    await engine.record(packBatch([observation()]))
    t.match(engine.status(), { rows: { human: 2 }, restarts: 0 })
  })

  await t.test('a stopped worker gets no more than the batches in flight, and continues', async (t) => {
    process.kill(pid, 'SIGSTOP')
    const recorded = Array.from({ length: 40 }, () =>
      engine.record(packBatch(Array.from({ length: 500 }, () => observation({ query: 'x'.repeat(500) })))),
    )
    const query = engine.events.query(ROW_COUNTS)
    await sleep(100)
    t.equal(engine.status().rows.human, 2)
    process.kill(pid, 'SIGCONT')
    await Promise.all([...recorded, query])
    t.match(engine.status(), { rows: { human: 20_002 }, restarts: 0 })
  })
})
