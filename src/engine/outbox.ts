import type { Delivery } from '../capture/delivery.js'
import type { Parcel } from '../capture/parcel.js'
import { ApiError } from '../errors.js'
import type { ToWorker } from './protocol.js'

export interface Outbox {
  /** Resolves when the whole batch is committed. */
  add(parcel: Parcel, delivery?: Delivery): Promise<void>
  /** Every batch up to this number is stored. */
  committed(sequence: number): void
  /** A worker takes batches from now on. */
  open(): void
  /** It died: what it had not committed waits for the next. */
  close(): void
  /** Resolves when nothing waits. */
  drained(): Promise<void>
  giveUp(error: ApiError): void
}

interface Item {
  sequence: number
  parcel: Parcel
  delivery: Delivery | undefined
  sent: boolean
  /** Workers that died with it on their hands. */
  deaths: number
  resolve: () => void
  reject: (error: ApiError) => void
}

/** Batches on the worker's hands; the rest waits here, where it is kept for the next worker anyway. */
const WINDOW = 8
/** A batch on hand at this many deaths goes alone, and at the second of those it is given up as the cause. */
const SUSPECT = 1

/** Batches in order, each kept until it is committed: what a worker dies with is handed to the next. */
export function createOutbox({ post }: { post: (message: ToWorker) => void }): Outbox {
  const items: Item[] = []
  const whenEmpty: (() => void)[] = []
  let taking = false
  let last = 0

  const pump = () => {
    while (taking) {
      const window = (items[0]?.deaths ?? 0) >= SUSPECT ? 1 : WINDOW
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
    committed(sequence) {
      while (items[0] && items[0].sequence <= sequence) items.shift()?.resolve()
      rest()
      pump()
    },
    open() {
      taking = true
      pump()
    },
    close() {
      taking = false
      for (const item of items) {
        if (item.sent) item.deaths += 1
        item.sent = false
      }
      const first = items[0]
      if (first && first.deaths > SUSPECT + 1) {
        items.shift()
        first.reject(new ApiError('internal_error', 'The worker died of this batch again and again.'))
        rest()
      }
    },
    drained: () => (items.length === 0 ? Promise.resolve() : new Promise((resolve) => whenEmpty.push(resolve))),
    giveUp(error) {
      for (const item of items.splice(0)) item.reject(error)
      rest()
    },
  }
}
