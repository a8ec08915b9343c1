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
 * catches every error, and counts what it drops.
 */
export function createRecorder(options: RecorderOptions) {
  const { now, maxWaiting = 64_000, maxWaitingBytes = 64 << 20, batchSize = 1_000, batchBytes = 1 << 20 } = options
  const { flushIntervalMs = 200, unwatchedIntervalMs = 1_000, isFollowed = () => false } = options
  const drops: DropCounts = {}
  const packer = createPacker()
  let timer: NodeJS.Timeout | undefined
  let lastSent = Number.NEGATIVE_INFINITY
  let lastRead = Number.NEGATIVE_INFINITY
  let isClosed = false

  const drop = (reason: DropReason, count: number) => {
    drops[reason] = (drops[reason] ?? 0) + count
  }

  const power = createPowerSwitch(options, () => {
    if (packer.count > 0) drop('recorder_off', packer.take().count)
  })
  const sender = createSender(options.send, (count, error) => {
    drop('fault', count)
    power.countFault(error)
  })

  const sendWaiting = () => {
    clearTimeout(timer)
    timer = undefined
    if (packer.count === 0) return
    lastSent = now()
    sender.add(packer.take())
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
      if (power.isOff || isClosed) return drop('recorder_off', 1)
      if (sender.count + packer.count >= maxWaiting || sender.bytes + packer.byteLength >= maxWaitingBytes)
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
      waiting: sender.count + packer.count,
      drops: { ...drops },
      on: !power.isOff && !isClosed,
    }),
    /** Sends what waits; resolves when it is stored or dropped. */
    async flush(): Promise<void> {
      sendWaiting()
      await Promise.all(sender.pending)
    },
    /** Flushes for good. Later observations are dropped as `recorder_off`. */
    async close(): Promise<void> {
      isClosed = true
      sendWaiting()
      while (sender.pending.size > 0) await Promise.all(sender.pending)
    },
  }
}

/** Sends batches and keeps the sums of those that are not stored yet. */
function createSender(send: RecorderOptions['send'], onFault: (rows: number, error: unknown) => void) {
  const sender = { pending: new Set<Promise<void>>(), count: 0, bytes: 0, add }
  const sendAndCount = async (batch: PackedBatch): Promise<void> => {
    try {
      await send(batch)
    } catch (error) {
      onFault(batch.count, error)
    } finally {
      sender.count -= batch.count
      sender.bytes -= batch.bytes.length
    }
  }
  function add(batch: PackedBatch): void {
    sender.count += batch.count
    sender.bytes += batch.bytes.length
    const sending = sendAndCount(batch)
    sender.pending.add(sending)
    void sending.finally(() => sender.pending.delete(sending))
  }
  return sender
}

/** Switches recording off for `pauseMs` after many faults within a minute, and calls `onOff`. */
function createPowerSwitch(
  { now, log, maxFaultsPerMinute = 10, pauseMs = MINUTE_MS }: RecorderOptions,
  onOff: () => void,
) {
  let faultTimes: number[] = []
  const warn = (details: object, message: string) => {
    try {
      log.warn(details, message)
    } catch {
      // A log that fails must not become a fault of the site.
    }
  }
  const power = { isOff: false, countFault }
  function countFault(error: unknown): void {
    const at = now()
    faultTimes = faultTimes.filter((other) => Math.abs(at - other) < MINUTE_MS)
    faultTimes.push(at)
    if (power.isOff || faultTimes.length < maxFaultsPerMinute) return
    power.isOff = true
    faultTimes = []
    onOff()
    warn({ err: error }, `recording is off after ${maxFaultsPerMinute} faults in a minute; next try in ${pauseMs} ms`)
    setTimeout(() => {
      power.isOff = false
      warn({}, 'recording is on again')
    }, pauseMs).unref()
  }
  return power
}

/** Tells whether a time in milliseconds lies in the last `most`; a clock that was set back is not the past. */
const isWithin = (passed: number, most: number): boolean => passed >= 0 && passed < most
