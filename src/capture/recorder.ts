import { MINUTE_MS } from '../base/time-units.js'
import type { DropCounts, DropReason } from '../storage/drops.js'
import type { Evidence } from './hit.js'
import { createPacker, type PackedBatch } from './packed-batch.js'

export interface RecorderOptions {
  /** Sends a batch; resolves when it is stored. May reject or throw: the batch is then dropped as `fault`. */
  send: (batch: PackedBatch) => Promise<void>
  /** Milliseconds. Only differences count, and a clock that jumps does no harm. */
  now: () => number
  log: { warn(details: object, message: string): void }
  /** Observations that may wait, from `record` until they are stored. */
  maxWaiting?: number
  /** Their bytes: enough for 64,000 observations of ordinary browsers, far fewer of a client that pads them. */
  maxWaitingBytes?: number
  /** A batch is sent at this size, at `batchBytes`, or when its first observation has waited long enough. */
  batchSize?: number
  /** The worker reads a message at once, so this bounds how long that takes. */
  batchBytes?: number
  /** A batch waits this long after a rest, and while its rows are watched. */
  flushIntervalMs?: number
  /** Time between batches otherwise: each batch is a commit, and a commit costs as much as dozens of rows. */
  unwatchedIntervalMs?: number
  /** Whether a client follows the rows as they are stored. */
  isFollowed?: () => boolean
  /** Number of faults within a minute that switches the recorder off for `pauseMs`. */
  maxFaultsPerMinute?: number
  pauseMs?: number
}

export type Recorder = ReturnType<typeof createRecorder>

/** State of a recorder: rows that wait to be stored, drops by reason, and whether it is on. */
export interface RecorderStats {
  waiting: number
  drops: DropCounts
  on: boolean
}

/** Rows are watched for this long after a read. */
const WATCH_MS = 5_000

/**
 * Creates the recorder, which stands between the website and everything that is ours: it holds a bounded number of rows,
 * catches every error, and counts what it drops. Long because every function shares the counters.
 */
export function createRecorder({
  send,
  now,
  log,
  maxWaiting = 64_000,
  maxWaitingBytes = 64 << 20,
  batchSize = 1_000,
  batchBytes = 1 << 20,
  flushIntervalMs = 200,
  unwatchedIntervalMs = 1_000,
  isFollowed = () => false,
  maxFaultsPerMinute = 10,
  pauseMs = MINUTE_MS,
}: RecorderOptions) {
  const drops: DropCounts = {}
  const pending = new Set<Promise<void>>()
  const packer = createPacker()
  let sent = 0
  let sentBytes = 0
  let timer: NodeJS.Timeout | undefined
  let lastSent = Number.NEGATIVE_INFINITY
  let lastRead = Number.NEGATIVE_INFINITY
  let isClosed = false
  let isOff = false
  let faultTimes: number[] = []

  const drop = (reason: DropReason, count: number) => {
    drops[reason] = (drops[reason] ?? 0) + count
  }

  const warn = (details: object, message: string) => {
    try {
      log.warn(details, message)
    } catch {
      // A log that fails must not become a fault of the site.
    }
  }

  const countFault = (error: unknown) => {
    const at = now()
    faultTimes = faultTimes.filter((other) => Math.abs(at - other) < MINUTE_MS)
    faultTimes.push(at)
    if (isOff || faultTimes.length < maxFaultsPerMinute) return
    isOff = true
    faultTimes = []
    if (packer.count > 0) drop('recorder_off', packer.take().count)
    warn({ err: error }, `recording is off after ${maxFaultsPerMinute} faults in a minute; next try in ${pauseMs} ms`)
    setTimeout(() => {
      isOff = false
      warn({}, 'recording is on again')
    }, pauseMs).unref()
  }

  const sendAndCount = async (batch: PackedBatch): Promise<void> => {
    try {
      await send(batch)
    } catch (error) {
      drop('fault', batch.count)
      countFault(error)
    } finally {
      sent -= batch.count
      sentBytes -= batch.bytes.length
    }
  }

  const sendWaiting = () => {
    clearTimeout(timer)
    timer = undefined
    if (packer.count === 0) return
    lastSent = now()
    const batch = packer.take()
    sent += batch.count
    sentBytes += batch.bytes.length
    const sending = sendAndCount(batch)
    pending.add(sending)
    void sending.finally(() => pending.delete(sending))
  }

  const isWatched = () => isFollowed() || isWithin(now() - lastRead, WATCH_MS)
  const sendLater = () => {
    const passed = now() - lastSent
    const rest = isWithin(passed, unwatchedIntervalMs) && !isWatched() ? unwatchedIntervalMs - passed : 0
    timer = setTimeout(sendWaiting, Math.max(flushIntervalMs, rest)).unref()
  }

  return {
    /** Records evidence. Never throws, never waits, parses nothing: a copy, and once per batch a message. */
    record(evidence: Evidence) {
      if (isOff || isClosed) return drop('recorder_off', 1)
      if (sent + packer.count >= maxWaiting || sentBytes + packer.byteLength >= maxWaitingBytes)
        return drop('queue_full', 1)
      try {
        packer.add(evidence)
      } catch {
        // An adapter's caller may pass something that is not an observation.
        return drop('fault', 1)
      }
      if (packer.count >= batchSize || packer.byteLength >= batchBytes) sendWaiting()
      else if (timer === undefined) sendLater()
    },
    /** Hastens the rows that wait and those of the next seconds, because a client reads. */
    noteRead() {
      const isNew = !isWatched()
      lastRead = now()
      if (!isNew || timer === undefined) return
      clearTimeout(timer)
      sendLater()
    },
    stats: (): RecorderStats => ({
      waiting: sent + packer.count,
      drops: { ...drops },
      on: !isOff && !isClosed,
    }),
    /** Sends what waits; resolves when it is stored or dropped. */
    async flush(): Promise<void> {
      sendWaiting()
      await Promise.all(pending)
    },
    /** Flushes for good. Later observations are dropped as `recorder_off`. */
    async close(): Promise<void> {
      isClosed = true
      sendWaiting()
      while (pending.size > 0) await Promise.all(pending)
    },
  }
}

/** Tells whether a time in milliseconds lies in the last `most`; a clock that was set back is not the past. */
const isWithin = (passed: number, most: number): boolean => passed >= 0 && passed < most
