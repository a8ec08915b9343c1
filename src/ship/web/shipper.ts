import type { Agent } from '../../agents/agent.js'
import type { Observation } from '../../capture/observation.js'
import type { Outcome } from '../answer.js'
import { bodyOf } from '../batch.js'
import { createItems, type List, type Unshipped } from '../item.js'
import type { Send } from './send.js'
import { type Batch, createWaiting } from './waiting.js'

/** Why something is not at the collector and never will be: closed, counted by name. */
export type WebLoss =
  | Unshipped
  /** More waited than may: the oldest rows went. */
  | 'memory_full'
  /** The collector would not have the row. */
  | 'refused'

export interface WebShipperStats {
  /** Rows that the collector has committed. */
  shipped: Readonly<Record<List, number>>
  waiting: number
  losses: Readonly<Partial<Record<WebLoss, number>>>
  /** Why the collector took no rows the last time. */
  trouble?: string
}

export interface WebShipper {
  /** Never throws, never waits. */
  record(observation: Observation): void
  /**
   * Sends what waits, in half a minute at most: for `waitUntil`. What could not be sent waits for the next one. Never
   * rejects.
   */
  flush(): Promise<void>
  stats(): WebShipperStats
}

/** Rows of requests at the same time go together; and the collector takes 600 deliveries a minute (spec 8). */
const WINDOW = 1_000
const TRIES = 4
/** Workers give what a response leaves behind thirty seconds; an attempt has ten of them. */
const LAST_TRY = 15_000
const FIRST_WAIT = 500
/** How long others do not try after somebody did in vain. */
const PAUSE = 10_000
/** An isolate has 128 MB for everything. */
const MOST = { rows: 5_000, characters: 8 << 20 }

/**
 * Ships rows from where there is no disk, and no process that outlives its requests: they wait in memory, and each flush
 * brings its own deliveries to their end, since one request may not wait for what another one began.
 */
export function createWebShipper(deps: {
  site: number
  agents: readonly Agent[]
  send: Send
  /** Milliseconds since 1970. */
  now(): number
  random(): number
  id(): string
  sleep(ms: number): Promise<void>
  log(message: string): void
}): WebShipper {
  const { site, send, now, random, sleep, log } = deps
  const items = createItems({ agents: deps.agents })
  const shipped: Record<List, number> = { agent_events: 0, events: 0, hits: 0 }
  const losses: Partial<Record<WebLoss, number>> = {}
  const lost = (why: WebLoss, rows = 1) => {
    losses[why] = (losses[why] ?? 0) + rows
  }
  const waiting = createWaiting({ most: MOST, id: deps.id, lost: (rows) => lost('memory_full', rows) })
  let trouble: string | undefined
  let paused = Number.NEGATIVE_INFINITY

  const fails = (why: string) => {
    if (trouble !== why) log(`the collector does not take rows, which wait in memory: ${why}`)
    trouble = why
  }
  const accepted = ({ rows }: Batch) => {
    for (const { list } of rows) shipped[list] += 1
    trouble = undefined
    paused = Number.NEGATIVE_INFINITY
  }
  /** As one it cannot go: in halves, until what is wrong stands alone. */
  const refused = ({ rows }: Batch, why: string) => {
    if (rows.length > 1) {
      const half = Math.ceil(rows.length / 2)
      waiting.giveBack({ sender: deps.id(), rows: rows.slice(half) })
      waiting.giveBack({ sender: deps.id(), rows: rows.slice(0, half) })
      return
    }
    if (losses.refused === undefined) log(`the collector refuses a row, which is lost: ${why}`)
    lost('refused', rows.length)
  }

  /** Tries until it is known how it ended, or it is not to be for now. */
  const deliver = async (batch: Batch, end: number): Promise<void> => {
    const body = bodyOf({ number: 1, rows: batch.rows }, { site, sender: batch.sender })
    for (let tries = 1; ; tries++) {
      const outcome: Outcome = await send(body)
      if (outcome.kind === 'accepted') return accepted(batch)
      if (outcome.kind === 'refused') return refused(batch, outcome.why)
      fails(outcome.why)
      const after = outcome.kind === 'later' ? outcome.after : PAUSE
      const wait = FIRST_WAIT * 2 ** tries * (0.5 + random() / 2)
      if (after !== undefined || tries === TRIES || now() + wait > end) {
        paused = now() + (after ?? PAUSE) * (1 + random() / 4)
        return waiting.giveBack(batch)
      }
      await sleep(wait)
    }
  }

  return {
    record(observation) {
      try {
        const item = items.of(observation)
        if (typeof item === 'string') lost(item)
        else waiting.add(item)
      } catch {
        // A caller may hand over what is no observation.
        lost('fault')
      }
    },
    async flush() {
      const end = now() + LAST_TRY
      await sleep(WINDOW)
      while (now() >= paused && now() < end) {
        const batch = waiting.take()
        if (batch === undefined) return
        await deliver(batch, end)
      }
    },
    stats: () => ({
      shipped: { ...shipped },
      waiting: waiting.rows,
      losses: { ...losses },
      ...(trouble === undefined ? {} : { trouble }),
    }),
  }
}
