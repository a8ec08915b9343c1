import { signBody } from '../../base/signature.js'
import { backOff, type Sleep } from './back-off.js'
import type { SendBody } from './collector-client.js'
import { type Batch, formatBody } from './delivery-body.js'
import type { KeySource } from './ingest-key.js'
import type { RowList } from './outgoing-row.js'
import type { Progress } from './progress-file.js'
import { classifyResponse, type DeliveryOutcome } from './response-outcome.js'
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
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
    error(details: object, message: string): void
  }
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
 * process, so a spool copied or restored from a backup reuses no number. Long because one attempt follows from the last:
 * the steps share the state of the delivery.
 */
export function startDelivery(options: DeliveryOptions) {
  const { site, key, send, queue, resume: found, save, setAside: refuse, now, clock, random, sleep, log } = options
  const attempts: Partial<Record<DeliveryOutcome['kind'], number>> = {}
  const stop = new AbortController()
  let settled = found?.settled ?? 0
  /** The number of the delivery whose outcome is unknown. */
  let unresolved = found !== undefined && found.sending > settled ? found.sending : undefined
  let inherited = unresolved !== undefined
  let sender = found !== undefined && inherited ? found.sender : options.id()
  let maxRows = Number.POSITIVE_INFINITY
  let failures = 0
  let refusals = 0
  let earliest = Number.NEGATIVE_INFINITY
  let spacing = MIN_SPACING_MS
  let problem: string | undefined
  let finishing = false

  const settle = async (number: number) => {
    settled = number
    unresolved = undefined
    if (inherited) sender = options.id()
    inherited = false
    await queue.settle(number)
  }

  const reportProblem = (why: string, level: 'warn' | 'error', hint = '') => {
    if (why !== problem)
      log[level]({ waiting: queue.waiting }, `the collector accepts no rows, so they wait: ${why}${hint}`)
    problem = why
  }

  const attempt = async (batch: Batch): Promise<DeliveryOutcome> => {
    const body = formatBody(batch, { site, sender })
    try {
      return classifyResponse(await send(body, signBody(key.current(), now(), body), stop.signal), now())
    } catch (error) {
      return { kind: 'later', why: describeError(error), gone: !isTimeout(error) }
    }
  }

  /** Applies an outcome and returns the milliseconds to wait. */
  const applyOutcome = async (outcome: DeliveryOutcome, batch: Batch): Promise<number> => {
    attempts[outcome.kind] = (attempts[outcome.kind] ?? 0) + 1
    switch (outcome.kind) {
      case 'accepted': {
        for (const { list } of batch.rows) options.shipped(list, 1)
        if (problem !== undefined) log.info({ waiting: queue.waiting }, 'the collector accepts rows again')
        problem = undefined
        failures = 0
        refusals = 0
        maxRows *= 2
        spacing = Math.max(MIN_SPACING_MS, spacing * SPACING_DECAY)
        await settle(batch.number)
        return 0
      }
      case 'refused': {
        const [row, ...others] = batch.rows
        if (row === undefined || others.length > 0) {
          // Sends halves of the batch until the invalid row is alone.
          maxRows = Math.ceil(batch.rows.length / 2)
          unresolved = undefined
          if (row === undefined) await settle(batch.number)
          return 0
        }
        if (refusals === 0)
          log.warn({ list: row.list }, `the collector refused a row, which is set aside: ${outcome.why}`)
        refusals += 1
        maxRows = 1
        await refuse(row, outcome.why)
        await settle(batch.number)
        if (refusals < MAX_CONSECUTIVE_REFUSALS) return 0
        reportProblem(`it refused ${refusals} consecutive rows: ${outcome.why}`, 'error')
        return backOff(refusals - MAX_CONSECUTIVE_REFUSALS, random)
      }
      case 'denied': {
        unresolved = batch.number
        reportProblem(outcome.why, 'error', outcome.hint)
        return outcome.key && key.reload() ? 0 : DENIED_WAIT_MS + random() * DENIED_WAIT_MS
      }
      case 'later': {
        unresolved = batch.number
        reportProblem(outcome.why, 'warn')
        failures += 1
        if (outcome.often) spacing = Math.min(MAX_SPACING_MS, spacing * 2)
        return (outcome.after ?? 0) + backOff(failures, random, outcome.gone ? MAX_UNREACHABLE_WAIT_MS : undefined)
      }
    }
  }

  /** Makes one step and returns the milliseconds until the next, or undefined at the end. */
  const step = async (): Promise<number | undefined> => {
    const batch = unresolved === undefined ? await queue.next(maxRows) : await queue.repeat(unresolved)
    if (batch === undefined) {
      if (finishing || stop.signal.aborted) return undefined
      await queue.waitForMore()
      return 0
    }
    // Its rows are gone from the disk: they were delivered, and the process ended before it stored that.
    if (batch.rows.length === 0) {
      await settle(batch.number)
      return 0
    }
    await save({ sender, settled, sending: batch.number })
    unresolved = batch.number
    await sleep(earliest - clock(), stop.signal)
    if (stop.signal.aborted) return undefined
    earliest = clock() + spacing
    const wait = await applyOutcome(await attempt(batch), batch)
    return finishing && problem !== undefined ? undefined : wait
  }

  const running = (async () => {
    while (!stop.signal.aborted) {
      let wait: number | undefined
      try {
        wait = await step()
      } catch (error) {
        reportProblem(error instanceof Error ? error.message : String(error), 'error')
        failures += 1
        wait = finishing ? undefined : backOff(failures, random)
      }
      if (wait === undefined) return
      if (wait > 0) await sleep(wait, stop.signal)
    }
  })()

  return {
    attempts,
    /** The reason why the collector accepts no rows at present. */
    get problem() {
      return problem
    },
    /** Resolves when all rows are delivered or the collector accepts none, after at most `bound` milliseconds. */
    async finish(bound: number): Promise<void> {
      finishing = true
      stop.signal.addEventListener('abort', () => queue.wake())
      queue.wake()
      // While the collector accepts no rows there is nothing to wait for: the rows are on disk.
      if (problem !== undefined) stop.abort()
      const late = setTimeout(() => stop.abort(), bound)
      await running
      clearTimeout(late)
      if (unresolved === undefined) await save({ sender, settled, sending: settled }).catch(() => {})
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
