import { existsSync, statfsSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import type { FromWorker, ToWorker, WorkerOptions, WorkerUsage } from '../worker-client/protocol.js'

/** The last commit after the parent's death may take this long: the next process waits for the files. */
const ORPHAN_COMMIT_MS = 2_000
/** The last messages may take this long to reach the site's process. */
const OUTPUT_DRAIN_MS = 1_000

export type ParentPort = ReturnType<typeof openParentPort>

/** Opens the channel to the site's process, which sends `WorkerOptions` first. */
export function openParentPort() {
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

  return {
    options,
    /** Throws if the message cannot be serialised. */
    post(message: FromWorker): void {
      unsent += 1
      // With a callback, a failed send emits no `error` event; `disconnect` reports a dead parent.
      process.send?.(message, undefined, undefined, () => {
        unsent -= 1
        if (unsent === 0 && exitCode !== undefined) process.exit(exitCode)
      })
    },
    /** Call it once: earlier messages are delivered then. */
    listen(handle: (message: ToWorker) => void): void {
      listener = handle
      for (const message of early.splice(0)) handle(message)
    },
    /** Calls `handle` when the site's process is gone. */
    onDisconnect(handle: () => void): void {
      onDisconnect = handle
    },
    /** Ends the process when all posted messages are sent. */
    exit(code: number): void {
      exitCode = code
      if (unsent === 0) process.exit(code)
      setTimeout(() => process.exit(code), OUTPUT_DRAIN_MS)
    },
  }
}

/** Ends at once, so that nothing can delay it: what is committed is in the log, and the locks are released. */
export const killSelf = (): void => void process.kill(process.pid, 'SIGKILL')

/** Bytes that can still be written to the data directory. Throws if the event store's file was deleted. */
export function freeDisk(data: string): number {
  // Rows written to a deleted file are lost: the next worker creates a new file.
  if (!existsSync(`${data}/events.duckdb`)) throw new Error(`events.duckdb is gone from ${data}`)
  const { bavail, bsize } = statfsSync(data)
  return bavail * bsize
}

/** Used share of this process's JavaScript heap, 0 to 1. */
export function heapShare(): number {
  const { used_heap_size, heap_size_limit } = getHeapStatistics()
  return used_heap_size / heap_size_limit
}

function processUsage(): WorkerUsage {
  const { user, system } = process.cpuUsage()
  return { pid: process.pid, resident_bytes: process.memoryUsage.rss(), cpu_seconds: (user + system) / 1e6 }
}

/** Sends the usage where it has changed by more than that of a resting process in minutes: each message wakes the parent. */
export function createUsageReport(post: ParentPort['post']): () => void {
  let sent: WorkerUsage | undefined
  return () => {
    const usage = processUsage()
    const isSame =
      sent !== undefined &&
      usage.cpu_seconds - sent.cpu_seconds < 0.05 &&
      Math.abs(usage.resident_bytes - sent.resident_bytes) < 1 << 20
    if (isSame) return
    sent = usage
    post({ type: 'usage', usage })
  }
}
