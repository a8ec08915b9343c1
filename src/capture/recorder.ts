import type { DropCounts, DropReason } from './drops.js'
import type { Evidence } from './hit.js'
import { createPacker, type PackedBatch } from './packed-batch.js'

export interface RecorderOptions {
  /** Hands a batch on; resolves when it is stored. May reject or throw: the batch is then dropped as `fault`. */
  send: (batchSize: PackedBatch) => Promise<void>
  /** Milliseconds; only differences count, and one that is negative or absurd does no harm. */
  now: () => number
  log: { warn(details: object, message: string): void }
  /** Observations that may wait, from `record` until they are stored. */
  maxWaiting?: number
  /** And their bytes: 64,000 observations as browsers make them, far fewer of somebody who pads them. */
  maxWaitingBytes?: number
  /** A batch goes out at this size or at `batchWeight` bytes (a message is read at once), or `interval` milliseconds after its first observation. */
  batch?: number
  batchBytes?: number
  flushIntervalMs?: number
  /** This many faults within a minute switch it off for `pause` milliseconds. */
  maxFaultsPerMinute?: number
  pauseMs?: number
}

export interface Recorder {
  /** Never throws, never waits, parses nothing: a copy, and once in `batch` calls a message. */
  record(evidence: Evidence): void
  stats(): { waiting: number; drops: DropCounts; on: boolean }
  /** Hands on what waits; resolves when it is stored or given up. */
  flush(): Promise<void>
  /** As `settle`, for good. What comes later is dropped as `recorder_off`. */
  close(): Promise<void>
}

const MINUTE_MS = 60_000

/** Between the website and everything that is ours: bounded, caught and counted (contract 3, issue 2 `Recording`). */
export function createRecorder(options: RecorderOptions): Recorder {
  const {
    send,
    now,
    log,
    maxWaiting: limit = 64_000,
    batch = 1_000,
    flushIntervalMs: interval = 200,
    maxFaultsPerMinute: faults = 10,
    pauseMs: pause = MINUTE_MS,
  } = options
  const { maxWaitingBytes: weight = 64 << 20, batchBytes: batchWeight = 1 << 20 } = options
  const drops: DropCounts = {}
  const pending = new Set<Promise<void>>()
  const packer = createPacker()
  let sent = 0
  let sentWeight = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let off = false
  let faulted: number[] = []

  const drop = (reason: DropReason, count: number) => {
    drops[reason] = (drops[reason] ?? 0) + count
  }

  const say = (details: object, message: string) => {
    try {
      log.warn(details, message)
    } catch {
      // A log that fails must not become a fault of the site.
    }
  }

  const fault = (error: unknown) => {
    const at = now()
    faulted = faulted.filter((other) => Math.abs(at - other) < MINUTE_MS)
    faulted.push(at)
    if (off || faulted.length < faults) return
    off = true
    faulted = []
    if (packer.count > 0) drop('recorder_off', packer.take().count)
    say({ err: error }, `recording is off after ${faults} faults in a minute; it is tried again in ${pause} ms`)
    setTimeout(() => {
      off = false
      say({}, 'recording is tried again')
    }, pause).unref()
  }

  const hand = async (parcel: PackedBatch): Promise<void> => {
    try {
      await send(parcel)
    } catch (error) {
      drop('fault', parcel.count)
      fault(error)
    } finally {
      sent -= parcel.count
      sentWeight -= parcel.bytes.length
    }
  }

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (packer.count === 0) return
    const parcel = packer.take()
    sent += parcel.count
    sentWeight += parcel.bytes.length
    const handed = hand(parcel)
    pending.add(handed)
    void handed.finally(() => pending.delete(handed))
  }

  return {
    record(evidence) {
      if (off || closed) return drop('recorder_off', 1)
      if (sent + packer.count >= limit || sentWeight + packer.byteLength >= weight) return drop('queue_full', 1)
      try {
        packer.add(evidence)
      } catch {
        // An adapter's caller may hand over what is no observation.
        return drop('fault', 1)
      }
      if (packer.count >= batch || packer.byteLength >= batchWeight) flush()
      else timer ??= setTimeout(flush, interval).unref()
    },
    stats: () => ({ waiting: sent + packer.count, drops: { ...drops }, on: !off && !closed }),
    async flush() {
      flush()
      await Promise.all(pending)
    },
    async close() {
      closed = true
      flush()
      while (pending.size > 0) await Promise.all(pending)
    },
  }
}
