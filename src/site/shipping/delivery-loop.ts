import type { Log } from '../../base/log.js'
import { signBody } from '../../base/signature.js'
import { backOff, type Sleep } from './back-off.js'
import type { SendBody } from './collector-client.js'
import { type Batch, formatBody } from './delivery-body.js'
import type { KeySource } from './ingest-key.js'
import type { Progress } from './progress-file.js'
import { classifyResponse, type DeliveryOutcome } from './response-outcome.js'
import type { RowList } from './row-list.js'
import type { RowQueue } from './row-queue.js'
import type { SpooledRow } from './spool-line.js'

export interface DeliveryOptions {
  site: number
  key: KeySource
  send: SendBody
  queue: RowQueue
  /** The progress that the previous process stored; undefined for a new spool. */
  resume: Progress | undefined
  save(progress: Progress): Promise<void>
  /** Stores a refused row for the operator. */
  setAside(row: SpooledRow, why: string): Promise<void>
  shipped(list: RowList, rows: number): void
  now(): number
  clock(): number
  random(): number
  id(): string
  sleep: Sleep
  log: Log
}

/** Milliseconds between requests, because the collector accepts 600 a minute from one address. */
const MIN_SPACING_MS = 105
/** Servers may share one address: each 429 doubles the spacing, up to this bound. */
const MAX_SPACING_MS = 10_000
/** Each delivery shrinks the spacing by this factor: slowly, because another 429 costs a minute. */
const SPACING_DECAY = 0.9999
/** Longest wait for an unreachable collector, so that a restarted one is found soon. */
const MAX_UNREACHABLE_WAIT_MS = 10_000
/** Wait after a denial, plus up to as much again at random: about one attempt a minute until the operator acts. */
const DENIED_WAIT_MS = 30_000
/** Refused rows in a row after which the loop slows down, because the fault is hardly in the rows. */
const MAX_CONSECUTIVE_REFUSALS = 100

/**
 * Delivers the queue in order, one request at a time. The collector recognises a delivery by its sender and the number of
 * its last row, and both are on disk before the first attempt. While the outcome is unknown, here or in the previous
 * process, the same rows are sent under the same number, so they are never stored twice. A sender id lives as long as its
 * process, so a spool copied or restored from a backup reuses no number.
 */
export function startDelivery(options: DeliveryOptions) {
  const { site, key, send, queue, now, clock, sleep } = options
  const stop = new AbortController()
  const position = createPosition(options)
  const pace = createPace(options, position)
  let earliest = Number.NEGATIVE_INFINITY
  let finishing = false

  const attempt = async (batch: Batch): Promise<DeliveryOutcome> => {
    const body = formatBody(batch, { site, sender: position.sender })
    try {
      return classifyResponse(await send(body, signBody(key.current(), now(), body), stop.signal), now())
    } catch (error) {
      return { kind: 'later', why: describeError(error), gone: !isTimeout(error) }
    }
  }

  /** Makes one step and returns the milliseconds until the next, or undefined at the end. */
  const step = async (): Promise<number | undefined> => {
    const batch = await position.nextBatch(pace.maxRows)
    if (batch === undefined) {
      if (finishing || stop.signal.aborted) return undefined
      await queue.waitForMore()
      return 0
    }
    // Its rows are gone from the disk: they were delivered, and the process ended before it stored that.
    if (batch.rows.length === 0) {
      await position.settle(batch.number)
      return 0
    }
    await position.begin(batch.number)
    await sleep(earliest - clock(), stop.signal)
    if (stop.signal.aborted) return undefined
    earliest = clock() + pace.spacing
    const wait = await pace.applyOutcome(await attempt(batch), batch)
    return finishing && pace.problem !== undefined ? undefined : wait
  }

  const run = async () => {
    while (!stop.signal.aborted) {
      const wait = await step().catch((error) => {
        const retry = pace.applyFault(error)
        return finishing ? undefined : retry
      })
      if (wait === undefined) return
      if (wait > 0) await sleep(wait, stop.signal)
    }
  }
  const running = run()

  return {
    attempts: pace.attempts,
    /** The reason why the collector accepts no rows at present. */
    get problem() {
      return pace.problem
    },
    /** Resolves when all rows are delivered or the collector accepts none, after at most `bound` milliseconds. */
    async finish(bound: number): Promise<void> {
      finishing = true
      stop.signal.addEventListener('abort', () => queue.wake())
      queue.wake()
      // While the collector accepts no rows there is nothing to wait for: the rows are on disk.
      if (pace.problem !== undefined) stop.abort()
      const late = setTimeout(() => stop.abort(), bound)
      await running
      clearTimeout(late)
      await position.end()
    },
  }
}

/** Keeps which rows are delivered, and which delivery has an unknown outcome. */
function createPosition({ resume, id, queue, save }: DeliveryOptions) {
  let settled = resume?.settled ?? 0
  /** The number of the delivery whose outcome is unknown. */
  let unresolved = resume !== undefined && resume.sending > settled ? resume.sending : undefined
  let inherited = unresolved !== undefined
  let sender = resume !== undefined && inherited ? resume.sender : id()
  return {
    get sender() {
      return sender
    },
    /** Returns the delivery whose outcome is unknown, or else the next of at most `most` rows. */
    nextBatch: (most: number) => (unresolved === undefined ? queue.next(most) : queue.repeat(unresolved)),
    /** Stores that a delivery is about to be sent. */
    async begin(number: number): Promise<void> {
      await save({ sender, settled, sending: number })
      unresolved = number
    },
    /** Lets the rows of a refused delivery be sent in others. */
    split(): void {
      unresolved = undefined
    },
    async settle(number: number): Promise<void> {
      settled = number
      unresolved = undefined
      if (inherited) sender = id()
      inherited = false
      await queue.settle(number)
    },
    async end(): Promise<void> {
      if (unresolved === undefined) await save({ sender, settled, sending: settled }).catch(() => {})
    },
  }
}

/** Decides by the outcomes of attempts how much is sent at once, and when. */
function createPace(options: DeliveryOptions, position: ReturnType<typeof createPosition>) {
  const { key, queue, random, log } = options
  const attempts: Partial<Record<DeliveryOutcome['kind'], number>> = {}
  let maxRows = Number.POSITIVE_INFINITY
  let failures = 0
  let refusals = 0
  let spacing = MIN_SPACING_MS
  let problem: string | undefined

  const reportProblem = (why: string, level: 'warn' | 'error', hint = '') => {
    if (why !== problem)
      log[level]({ waiting: queue.waiting }, `the collector accepts no rows, so they wait: ${why}${hint}`)
    problem = why
  }
  const refuse = async ({ number, rows }: Batch, why: string): Promise<number> => {
    const [row, ...others] = rows
    if (row === undefined || others.length > 0) {
      // Sends halves of the batch until the invalid row is alone.
      maxRows = Math.ceil(rows.length / 2)
      position.split()
      return 0
    }
    if (refusals === 0) log.warn({ list: row.list }, `the collector refused a row, which is set aside: ${why}`)
    refusals += 1
    maxRows = 1
    await options.setAside(row, why)
    await position.settle(number)
    if (refusals < MAX_CONSECUTIVE_REFUSALS) return 0
    reportProblem(`it refused ${refusals} consecutive rows: ${why}`, 'error')
    return backOff(refusals - MAX_CONSECUTIVE_REFUSALS, random)
  }
  return {
    attempts,
    get maxRows() {
      return maxRows
    },
    /** Milliseconds between two requests. */
    get spacing() {
      return spacing
    },
    /** The reason why the collector accepts no rows at present. */
    get problem() {
      return problem
    },
    /** Applies an outcome and returns the milliseconds to wait. */
    async applyOutcome(outcome: DeliveryOutcome, batch: Batch): Promise<number> {
      attempts[outcome.kind] = (attempts[outcome.kind] ?? 0) + 1
      switch (outcome.kind) {
        case 'accepted':
          for (const { list } of batch.rows) options.shipped(list, 1)
          if (problem !== undefined) log.info({ waiting: queue.waiting }, 'the collector accepts rows again')
          problem = undefined
          failures = 0
          refusals = 0
          maxRows *= 2
          spacing = Math.max(MIN_SPACING_MS, spacing * SPACING_DECAY)
          await position.settle(batch.number)
          return 0
        case 'refused':
          return refuse(batch, outcome.why)
        case 'denied':
          reportProblem(outcome.why, 'error', outcome.hint)
          return outcome.key && key.reload() ? 0 : DENIED_WAIT_MS + random() * DENIED_WAIT_MS
        case 'later':
          reportProblem(outcome.why, 'warn')
          failures += 1
          if (outcome.often) spacing = Math.min(MAX_SPACING_MS, spacing * 2)
          return (outcome.after ?? 0) + backOff(failures, random, outcome.gone ? MAX_UNREACHABLE_WAIT_MS : undefined)
      }
    },
    /** Notes a fault of this process and returns the milliseconds to wait. */
    applyFault(error: unknown): number {
      reportProblem(error instanceof Error ? error.message : String(error), 'error')
      failures += 1
      return backOff(failures, random)
    },
  }
}

/** Tells whether the collector received the request and was too slow. */
const isTimeout = (error: unknown): boolean =>
  error instanceof Error && /^(Headers|Body)?TimeoutError$/.test(error.name)

/** Describes an error in a few words that are the same each time for the same fault. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (isTimeout(error)) return 'it did not respond in time'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return `it cannot be reached (${code})`
}
