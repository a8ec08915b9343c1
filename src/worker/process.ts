import { existsSync, statfsSync, writeFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import type { FromWorker, ToWorker, WorkerOptions } from '../engine/protocol.js'
import { type CreateParts, type ParentPort, serve } from './serve.js'

/** The last commit after the parent's death may take this long: the next process waits for the files. */
const ORPHAN_COMMIT_MS = 2_000
/** The last messages may take this long to reach the site's process. */
const OUTPUT_DRAIN_MS = 1_000

/** Runs this process as the worker of `startEngine`, which sends `WorkerOptions` as its first message. */
export async function runWorkerProcess(createParts: CreateParts): Promise<void> {
  // Signals reach every process of a terminal or a unit: the site's process drains first, and then sends `close`.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  // A warning to a log that is not read any more is no reason to end.
  process.stderr.on('error', () => {})
  preferAsOomVictim()
  // DuckDB creates a new log after every checkpoint, and the data directory may be open to other users.
  process.umask(0o077)
  const { port, options: firstMessage, exit } = openPort()
  const options = await firstMessage
  try {
    await serve(port, options, createParts, {
      now: () => new Date(),
      clock: () => performance.now(),
      freeDisk: () => {
        // Rows written to a deleted file are lost: the next worker creates a new file.
        if (!existsSync(`${options.data}/events.duckdb`)) throw new Error(`events.duckdb is gone from ${options.data}`)
        const { bavail, bsize } = statfsSync(options.data)
        return bavail * bsize
      },
      heapUsed: () => {
        const { used_heap_size, heap_size_limit } = getHeapStatistics()
        return used_heap_size / heap_size_limit
      },
      usage: () => {
        const { user, system } = process.cpuUsage()
        return { pid: process.pid, resident_bytes: process.memoryUsage.rss(), cpu_seconds: (user + system) / 1e6 }
      },
      exit,
      kill: killSelf,
    })
  } catch (error) {
    port.post({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
    exit(1)
  }
}

/** Ends at once, so that nothing can delay it: what is committed is in the log, and the locks are released. */
const killSelf = (): void => void process.kill(process.pid, 'SIGKILL')

/** On Linux: if memory runs out, the kernel ends this process and not the one that serves the site. */
function preferAsOomVictim(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500')
  } catch {
    // Another system, or a container without /proc: the kernel chooses by size.
  }
}

function openPort(): { port: ParentPort; options: Promise<WorkerOptions>; exit: (code: number) => void } {
  if (!process.send) throw new Error('this file is started as a worker process')
  let unsent = 0
  let exitCode: number | undefined
  let listener: ((message: ToWorker) => void) | undefined
  // Until `serve` sets it, no batch has arrived.
  let onDisconnect = killSelf
  const early: ToWorker[] = []

  const options = new Promise<WorkerOptions>((resolve) => {
    process.once('message', (first: WorkerOptions) => {
      process.on('message', (message: ToWorker) => {
        if (listener) listener(message)
        else early.push(message)
      })
      resolve(first)
    })
  })
  process.on('disconnect', () => {
    setTimeout(killSelf, ORPHAN_COMMIT_MS)
    onDisconnect()
  })
  if (!process.connected) killSelf()

  const port: ParentPort = {
    post(message: FromWorker) {
      unsent += 1
      // With a callback, a failed send emits no `error` event; `disconnect` reports a dead parent.
      process.send?.(message, undefined, undefined, () => {
        unsent -= 1
        if (unsent === 0 && exitCode !== undefined) process.exit(exitCode)
      })
    },
    listen(handle) {
      listener = handle
      for (const message of early.splice(0)) handle(message)
    },
    onDisconnect(handle) {
      onDisconnect = handle
    },
  }
  return {
    port,
    options,
    exit(code) {
      exitCode = code
      if (unsent === 0) process.exit(code)
      setTimeout(() => process.exit(code), OUTPUT_DRAIN_MS)
    },
  }
}
