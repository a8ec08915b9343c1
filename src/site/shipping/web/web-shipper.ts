import type { Agent } from '../../../agents/agent.js'
import type { Observation } from '../../../capture/observation.js'
import { formatBody } from '../delivery-body.js'
import { createRowBuilder, createRowCounts } from '../outgoing-row.js'
import type { DeliveryOutcome } from '../response-outcome.js'
import { createRowBuffer, type WebBatch } from './row-buffer.js'
import type { SendBody } from './web-client.js'
import type { WebLossReason, WebReadership, WebShipperStats } from './web-readership.js'

/** Collects the rows of concurrent requests in one delivery, because the collector accepts 600 a minute. */
const BATCH_WINDOW_MS = 1_000
const MAX_ATTEMPTS = 4
/** Workers allow thirty seconds after a response, and an attempt may take ten of them. */
const LAST_ATTEMPT_MS = 15_000
const FIRST_WAIT_MS = 500
/** Pause of all flushes after one failed. */
const PAUSE_MS = 10_000
/** Bounds of the buffer; a Workers isolate has 128 MB in all. */
const MEMORY_LIMIT = { rows: 5_000, characters: 8 << 20 }

interface WebShipperDeps {
  site: number
  agents: readonly Agent[]
  send: SendBody
  /** Milliseconds since 1970. */
  now(): number
  random(): number
  id(): string
  sleep(ms: number): Promise<void>
  log(message: string): void
}

/**
 * Ships rows from platforms without a disk and without a process that outlives its requests. Rows wait in memory, and each
 * flush finishes its own deliveries, because a request must not await the work of another.
 */
export function createWebShipper(deps: WebShipperDeps): WebReadership {
  const { site, send, now, random, sleep, log } = deps
  const items = createRowBuilder({ agents: deps.agents })
  const { shipped, losses, lose, add } = createRowCounts<WebLossReason>()
  const waiting = createRowBuffer({ most: MEMORY_LIMIT, id: deps.id, lost: (rows) => lose('memory_full', rows) })
  let trouble: string | undefined
  let paused = Number.NEGATIVE_INFINITY

  const fails = (why: string) => {
    if (trouble !== why) log(`the collector accepts no rows, so they wait in memory: ${why}`)
    trouble = why
  }
  const accepted = ({ rows }: WebBatch) => {
    for (const { list } of rows) shipped[list] += 1
    trouble = undefined
    paused = Number.NEGATIVE_INFINITY
  }
  /** Sends halves of a refused batch until the invalid row is alone. */
  const refused = ({ rows }: WebBatch, why: string) => {
    if (rows.length > 1) {
      const half = Math.ceil(rows.length / 2)
      waiting.giveBack({ sender: deps.id(), rows: rows.slice(half) })
      waiting.giveBack({ sender: deps.id(), rows: rows.slice(0, half) })
      return
    }
    if (losses.refused === undefined) log(`the collector refused a row, which is lost: ${why}`)
    lose('refused', rows.length)
  }

  /** Sends a batch until its outcome is known or its time is over. */
  const deliver = async (batch: WebBatch, end: number): Promise<void> => {
    const body = formatBody({ number: 1, rows: batch.rows }, { site, sender: batch.sender })
    for (let tries = 1; ; tries++) {
      const outcome: DeliveryOutcome = await send(body)
      if (outcome.kind === 'accepted') return accepted(batch)
      if (outcome.kind === 'refused') return refused(batch, outcome.why)
      fails(outcome.why)
      const after = outcome.kind === 'later' ? outcome.after : PAUSE_MS
      const wait = FIRST_WAIT_MS * 2 ** tries * (0.5 + random() / 2)
      if (after !== undefined || tries === MAX_ATTEMPTS || now() + wait > end) {
        paused = now() + (after ?? PAUSE_MS) * (1 + random() / 4)
        return waiting.giveBack(batch)
      }
      await sleep(wait)
    }
  }

  return {
    record: (observation: Observation): void => add(() => items.of(observation), waiting.add),
    async flush(): Promise<void> {
      const end = now() + LAST_ATTEMPT_MS
      await sleep(BATCH_WINDOW_MS)
      while (now() >= paused && now() < end) {
        const batch = waiting.take()
        if (batch === undefined) return
        await deliver(batch, end)
      }
    },
    stats: (): WebShipperStats => ({
      shipped: { ...shipped },
      waiting: waiting.rows,
      losses: { ...losses },
      ...(trouble === undefined ? {} : { trouble }),
    }),
  }
}
