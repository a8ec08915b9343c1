import { existsSync, statfsSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import type { FromWorker, WorkerOptions } from './protocol.js'
import { type Compose, serve } from './serve.js'

/** Runs this thread as the worker of `startEngine`. */
export async function runThread(compose: Compose): Promise<void> {
  const port = parentPort
  if (!port) throw new Error('this file is started as a worker thread')
  const options: WorkerOptions = workerData
  try {
    await serve(port, options, compose, {
      now: () => new Date(),
      clock: () => performance.now(),
      freeDisk: () => {
        // What is written to a file that was deleted is lost: the next worker makes a new one.
        if (!existsSync(`${options.data}/events.duckdb`)) throw new Error(`events.duckdb is gone from ${options.data}`)
        const { bavail, bsize } = statfsSync(options.data)
        return bavail * bsize
      },
      heapUsed: () => {
        const { used_heap_size, heap_size_limit } = getHeapStatistics()
        return used_heap_size / heap_size_limit
      },
      exit: (code) => process.exit(code),
    })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    port.postMessage({ type: 'failed', message } satisfies FromWorker)
    process.exit(1)
  }
}
