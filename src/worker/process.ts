import { existsSync, statfsSync, writeFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import type { FromWorker, ToWorker, WorkerOptions } from '../engine/protocol.js'
import { type CreateParts, type ParentPort, serve } from './serve.js'

/** An orphan's last commit may take so long: the next process waits for its files. */
const ORPHAN_COMMIT_MS = 2_000
/** What was said last may take so long to reach the process that serves the site. */
const OUTPUT_DRAIN_MS = 1_000

/** Runs this process as the worker of `startEngine`, which sends `WorkerOptions` as its first message. */
export async function runWorkerProcess(compose: CreateParts): Promise<void> {
  // They reach every process of a terminal or a unit: the one that serves the site drains first, and then says `close`.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  // A warning to a log that nobody reads any more is no reason to end.
  process.stderr.on('error', () => {})
  preferAsOomVictim()
  // The write-ahead log is made anew behind every checkpoint, and a data directory may be open to others.
  process.umask(0o077)
  const { port, options, exit } = openPort()
  const given = await options
  try {
    await serve(port, given, compose, {
      now: () => new Date(),
      clock: () => performance.now(),
      freeDisk: () => {
        // What is written to a file that was deleted is lost: the next worker makes a new one.
        if (!existsSync(`${given.data}/events.duckdb`)) throw new Error(`events.duckdb is gone from ${given.data}`)
        const { bavail, bsize } = statfsSync(given.data)
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
      vanish: killSelf,
    })
  } catch (error) {
    port.post({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
    exit(1)
  }
}

/** Nothing is run at the end, so nothing can hold it up: what is committed is in the log, and the locks are gone. */
const killSelf = (): void => void process.kill(process.pid, 'SIGKILL')

/** Linux: where memory runs out, this process is ended and not the one that serves the site. */
function preferAsOomVictim(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500')
  } catch {
    // Another system, or a container without /proc: it is chosen by its size.
  }
}

function openPort(): { port: ParentPort; options: Promise<WorkerOptions>; exit: (code: number) => void } {
  if (!process.send) throw new Error('this file is started as a worker process')
  let unsent = 0
  let leaving: number | undefined
  let listener: ((message: ToWorker) => void) | undefined
  // Until it serves, nothing was handed to it.
  let gone = killSelf
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
  const leave = () => {
    setTimeout(killSelf, ORPHAN_COMMIT_MS)
    gone()
  }
  process.on('disconnect', leave)
  if (!process.connected) killSelf()

  const port: ParentPort = {
    post(message: FromWorker) {
      unsent += 1
      // With a callback an error is no event: where nobody is there to be told, `gone` says it.
      process.send?.(message, undefined, undefined, () => {
        unsent -= 1
        if (unsent === 0 && leaving !== undefined) process.exit(leaving)
      })
    },
    listen(given) {
      listener = given
      for (const message of early.splice(0)) given(message)
    },
    onDisconnect(given) {
      gone = given
    },
  }
  return {
    port,
    options,
    exit(code) {
      leaving = code
      if (unsent === 0) process.exit(code)
      setTimeout(() => process.exit(code), OUTPUT_DRAIN_MS)
    },
  }
}
