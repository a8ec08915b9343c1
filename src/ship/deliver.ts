import { type Outcome, outcomeOf } from './answer.js'
import { type Batch, bodyOf } from './batch.js'
import type { List } from './item.js'
import type { Key } from './key.js'
import type { Row } from './line.js'
import type { Progress } from './progress.js'
import type { Queue } from './queue.js'
import type { Send } from './send.js'
import { signature } from './sign.js'
import { backOff, type Sleep } from './wait.js'

export interface DeliveryOptions {
  site: number
  key: Key
  send: Send
  queue: Queue
  /** As the last process left it; undefined for a spool that nobody used. */
  found: Progress | undefined
  save(progress: Progress): Promise<void>
  /** Puts a row aside that the collector will not have. */
  refuse(row: Row, why: string): Promise<void>
  shipped(list: List, rows: number): void
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

export interface Delivery {
  readonly attempts: Readonly<Partial<Record<Outcome['kind'], number>>>
  /** Why the collector takes no rows at present. */
  readonly trouble: string | undefined
  /** Resolves when all is delivered, or is not to be for now; within `bound` milliseconds. */
  finish(bound: number): Promise<void>
}

/** Between two requests: the collector takes 600 a minute of one address (spec 8). */
const SPACING = 105
/** A fleet may have one address: who is told that it sends too often doubles its spacing, up to this. */
const WIDEST = 10_000
/** It narrows by this much with each delivery: being told so again costs a minute. */
const NARROWING = 0.9999
/** A collector that is started again is found within this: asking where nobody is costs nobody anything. */
const GONE = 10_000
/** Where the operator has to change something, one attempt a minute or so shows when it is done. */
const SLOW = 30_000
/** So many rows refused one after another, and it is hardly the rows: what comes must not be thrown after them at once. */
const SUSPICIOUS = 100

/**
 * Delivers what is in the queue, in order, one request at a time, for as long as it takes. A delivery is known to the
 * collector by its sender and the number of its last row; that is on disk before it is tried. While it is not known how it
 * ended, here or in the process before, the same rows go again under the same number, and are never stored twice. A
 * sender lives as long as its process: a copy of the spool, or one from a backup, makes no numbers that were used.
 */
export function startDelivery(options: DeliveryOptions): Delivery {
  const { site, key, send, queue, found, save, refuse, now, clock, random, sleep, log } = options
  const attempts: Partial<Record<Outcome['kind'], number>> = {}
  const stop = new AbortController()
  let settled = found?.settled ?? 0
  /** The delivery of which nobody knows how it ended. */
  let open = found !== undefined && found.sending > settled ? found.sending : undefined
  let inherited = open !== undefined
  let sender = found !== undefined && inherited ? found.sender : options.id()
  let most = Number.POSITIVE_INFINITY
  let failures = 0
  let refusals = 0
  let earliest = Number.NEGATIVE_INFINITY
  let spacing = SPACING
  let trouble: string | undefined
  let finishing = false

  const settle = async (number: number) => {
    settled = number
    open = undefined
    if (inherited) sender = options.id()
    inherited = false
    await queue.settle(number)
  }

  const fails = (why: string, level: 'warn' | 'error', hint = '') => {
    if (why !== trouble)
      log[level]({ waiting: queue.waiting }, `the collector does not take rows, which wait: ${why}${hint}`)
    trouble = why
  }

  const attempt = async (batch: Batch): Promise<Outcome> => {
    const body = bodyOf(batch, { site, sender })
    try {
      return outcomeOf(await send(body, signature(key.current(), now(), body), stop.signal), now())
    } catch (error) {
      return { kind: 'later', why: reasonOf(error), gone: !isLate(error) }
    }
  }

  /** Does what an outcome asks for; answers how many milliseconds to wait. */
  const heed = async (outcome: Outcome, batch: Batch): Promise<number> => {
    attempts[outcome.kind] = (attempts[outcome.kind] ?? 0) + 1
    switch (outcome.kind) {
      case 'accepted': {
        for (const { list } of batch.rows) options.shipped(list, 1)
        if (trouble !== undefined) log.info({ waiting: queue.waiting }, 'the collector takes rows again')
        trouble = undefined
        failures = 0
        refusals = 0
        most *= 2
        spacing = Math.max(SPACING, spacing * NARROWING)
        await settle(batch.number)
        return 0
      }
      case 'refused': {
        const [row, ...others] = batch.rows
        if (row === undefined || others.length > 0) {
          // As one it cannot go: in halves, until what is wrong stands alone.
          most = Math.ceil(batch.rows.length / 2)
          open = undefined
          if (row === undefined) await settle(batch.number)
          return 0
        }
        if (refusals === 0)
          log.warn({ list: row.list }, `the collector refuses a row, which is set aside: ${outcome.why}`)
        refusals += 1
        most = 1
        await refuse(row, outcome.why)
        await settle(batch.number)
        if (refusals < SUSPICIOUS) return 0
        fails(`${refusals} rows one after another: ${outcome.why}`, 'error')
        return backOff(refusals - SUSPICIOUS, random)
      }
      case 'denied': {
        open = batch.number
        fails(outcome.why, 'error', outcome.hint)
        return outcome.key && key.renew() ? 0 : SLOW + random() * SLOW
      }
      case 'later': {
        open = batch.number
        fails(outcome.why, 'warn')
        failures += 1
        if (outcome.often) spacing = Math.min(WIDEST, spacing * 2)
        return (outcome.after ?? 0) + backOff(failures, random, outcome.gone ? GONE : undefined)
      }
    }
  }

  /** One step; answers how many milliseconds to wait for the next, and nothing at the end. */
  const step = async (): Promise<number | undefined> => {
    const batch = open === undefined ? await queue.next(most) : await queue.again(open)
    if (batch === undefined) {
      if (finishing || stop.signal.aborted) return undefined
      await queue.more()
      return 0
    }
    // Its rows are gone from the disk: it was settled, and the process ended before it could write that down.
    if (batch.rows.length === 0) {
      await settle(batch.number)
      return 0
    }
    await save({ sender, settled, sending: batch.number })
    open = batch.number
    await sleep(earliest - clock(), stop.signal)
    if (stop.signal.aborted) return undefined
    earliest = clock() + spacing
    const wait = await heed(await attempt(batch), batch)
    return finishing && trouble !== undefined ? undefined : wait
  }

  const running = (async () => {
    while (!stop.signal.aborted) {
      let wait: number | undefined
      try {
        wait = await step()
      } catch (error) {
        fails(error instanceof Error ? error.message : String(error), 'error')
        failures += 1
        wait = finishing ? undefined : backOff(failures, random)
      }
      if (wait === undefined) return
      if (wait > 0) await sleep(wait, stop.signal)
    }
  })()

  return {
    attempts,
    get trouble() {
      return trouble
    },
    async finish(bound) {
      finishing = true
      stop.signal.addEventListener('abort', () => queue.wake())
      queue.wake()
      // While it is in trouble nothing is gained by waiting: what there is, is on disk.
      if (trouble !== undefined) stop.abort()
      const late = setTimeout(() => stop.abort(), bound)
      await running
      clearTimeout(late)
      if (open === undefined) await save({ sender, settled, sending: settled }).catch(() => {})
    },
  }
}

/** Somebody took the request, and was too slow. */
const isLate = (error: unknown): boolean => error instanceof Error && /^(Headers|Body)?TimeoutError$/.test(error.name)

/** In a few words, which stay the same for the same fault. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (isLate(error)) return 'it did not answer in time'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return `it cannot be reached (${code})`
}
