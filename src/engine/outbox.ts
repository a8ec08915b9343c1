import type { EdgeDelivery } from '../capture/edge-delivery.js'
import type { PackedBatch } from '../capture/packed-batch.js'
import { ApiError } from '../errors.js'
import type { ToWorker } from './protocol.js'

export interface Outbox {
  /** Resolves when the whole batch is committed. */
  add(parcel: PackedBatch, delivery?: EdgeDelivery): Promise<void>
  /** Every batch up to this number is stored. */
  acknowledge(sequence: number): void
  /** A worker takes batches from now on. */
  resume(): void
  /** It died: what it had not committed waits for the next. */
  pause(): void
  /** Resolves when nothing waits. */
  whenEmpty(): Promise<void>
  rejectAll(error: ApiError): void
}

interface QueuedBatch {
  sequence: number
  parcel: PackedBatch
  delivery: EdgeDelivery | undefined
  sent: boolean
  /** Workers that died with it on their hands. */
  deaths: number
  resolve: () => void
  reject: (error: ApiError) => void
}

/** Batches on the worker's hands; the rest waits here, where it is kept for the next worker anyway. */
const MAX_BATCHES_IN_FLIGHT = 8
/** A batch on hand at this many deaths goes alone, and at the second of those it is given up as the cause. */
const DEATHS_BEFORE_ISOLATION = 1

/** Batches in order, each kept until it is committed: what a worker dies with is handed to the next. */
export function createOutbox({ post }: { post: (message: ToWorker) => void }): Outbox {
  const items: QueuedBatch[] = []
  const whenEmpty: (() => void)[] = []
  let taking = false
  let last = 0

  const pump = () => {
    while (taking) {
      const window = (items[0]?.deaths ?? 0) >= DEATHS_BEFORE_ISOLATION ? 1 : MAX_BATCHES_IN_FLIGHT
      const next = items.slice(0, window).find((item) => !item.sent)
      if (!next) return
      try {
        const { sequence, parcel, delivery } = next
        post({ type: 'batch', sequence, parcel, ...(delivery && { delivery }) })
        next.sent = true
      } catch (cause) {
        // It cannot be a message (a value that is no data), and never will.
        items.splice(items.indexOf(next), 1)
        next.reject(new ApiError('internal_error', 'The batch cannot be handed on.', undefined, { cause }))
        rest()
      }
    }
  }

  const rest = () => {
    if (items.length === 0) for (const resolve of whenEmpty.splice(0)) resolve()
  }

  return {
    add: (parcel, delivery) =>
      new Promise((resolve, reject) => {
        last += 1
        items.push({ sequence: last, parcel, delivery, sent: false, deaths: 0, resolve, reject })
        pump()
      }),
    acknowledge(sequence) {
      while (items[0] && items[0].sequence <= sequence) items.shift()?.resolve()
      rest()
      pump()
    },
    resume() {
      taking = true
      pump()
    },
    pause() {
      taking = false
      for (const item of items) {
        if (item.sent) item.deaths += 1
        item.sent = false
      }
      const first = items[0]
      if (first && first.deaths > DEATHS_BEFORE_ISOLATION + 1) {
        items.shift()
        first.reject(new ApiError('internal_error', 'The worker died of this batch again and again.'))
        rest()
      }
    },
    whenEmpty: () => (items.length === 0 ? Promise.resolve() : new Promise((resolve) => whenEmpty.push(resolve))),
    rejectAll(error) {
      for (const item of items.splice(0)) item.reject(error)
      rest()
    },
  }
}
