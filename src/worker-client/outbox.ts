import { ApiError } from '../base/errors.js'
import type { PackedBatch } from '../capture/packed-batch.js'
import type { EdgeDelivery } from '../storage/edge-delivery.js'
import type { ToWorker } from './protocol.js'

interface QueuedBatch {
  sequence: number
  batch: PackedBatch
  delivery: EdgeDelivery | undefined
  sent: boolean
  /** Whether a worker died with it and others. It is then sent alone, so that the next death shows the cause. */
  isSuspect: boolean
  /** Whether it was sent alone and the worker has said that it works on it. */
  isBegun: boolean
  /** How many workers died by themselves while they worked on this batch alone. */
  deaths: number
  resolve: () => void
  reject: (error: ApiError) => void
}

/** Batches sent and not yet committed; the others wait here, where they must be kept until the commit anyway. */
const MAX_BATCHES_IN_FLIGHT = 8
/** Workers that die of a batch, one after the other, before it is rejected. */
const MAX_DEATHS = 2

/** Whether another server delivers it: rows of site 0 are this process's own. */
const isFromOther = (delivery: EdgeDelivery | undefined): boolean => delivery !== undefined && delivery.site_id !== 0

/** Batches in order. */
function createBatchQueue() {
  const queue: QueuedBatch[] = []
  const emptyListeners: (() => void)[] = []
  const notifyIfEmpty = (): void => {
    if (queue.length === 0) for (const resolve of emptyListeners.splice(0)) resolve()
  }
  return {
    queue,
    acknowledge(sequence: number): void {
      while (queue[0] && queue[0].sequence <= sequence) queue.shift()?.resolve()
      notifyIfEmpty()
    },
    giveUp(queued: QueuedBatch, error: ApiError): void {
      queue.splice(queue.indexOf(queued), 1)
      queued.reject(error)
      notifyIfEmpty()
    },
    whenEmpty: (): Promise<void> =>
      queue.length === 0 ? Promise.resolve() : new Promise((resolve) => emptyListeners.push(resolve)),
  }
}

/**
 * Keeps batches in order, each until it is committed: what a worker died with is sent to the next one.
 */
export function createOutbox({ post }: { post: (message: ToWorker) => void }) {
  const { queue, giveUp, acknowledge, whenEmpty } = createBatchQueue()
  let workerReady = false
  let refusal: ApiError | undefined
  let lastSequence = 0

  const sendNext = (): void => {
    while (workerReady) {
      const alone = queue[0]?.isSuspect === true
      const window = alone ? 1 : MAX_BATCHES_IN_FLIGHT
      const next = queue.slice(0, window).find((queued) => !queued.sent)
      if (!next) return
      try {
        const { sequence, batch, delivery } = next
        post({ type: 'batch', sequence, batch, ...(delivery && { delivery }), ...(alone && { alone }) })
        next.sent = true
      } catch (cause) {
        // The batch cannot be serialised (it has a value that is not data), and never will be.
        giveUp(next, new ApiError('internal_error', 'The batch cannot be sent to the worker.', undefined, { cause }))
      }
    }
  }

  return {
    /** Resolves when the whole batch is committed. */
    add: (batch: PackedBatch, delivery?: EdgeDelivery): Promise<void> =>
      new Promise((resolve, reject) => {
        if (refusal && isFromOther(delivery)) return reject(refusal)
        lastSequence += 1
        const state = { sent: false, isSuspect: false, isBegun: false, deaths: 0 }
        queue.push({ sequence: lastSequence, batch, delivery, ...state, resolve, reject })
        sendNext()
      }),
    /** Every batch up to this number is committed. */
    acknowledge(sequence: number): void {
      acknowledge(sequence)
      sendNext()
    },
    /** A worker takes batches from now on. */
    resume(): void {
      workerReady = true
      refusal = undefined
      sendNext()
    },
    /** The worker works on a batch that was sent alone. */
    begin(sequence: number): void {
      if (queue[0]?.sequence === sequence) queue[0].isBegun = true
    },
    /** The batch that the worker has had for the longest time. */
    oldestSent: (): number | undefined => (queue[0]?.sent ? queue[0].sequence : undefined),
    /** The worker died, by itself or ended from outside: what it had not committed waits for the next one. */
    pause(isCrash: boolean): void {
      workerReady = false
      const [first] = queue
      if (first?.isBegun && isCrash) first.deaths += 1
      for (const queued of queue) {
        const isSuspect = queued.isSuspect || queued.sent
        Object.assign(queued, { isSuspect, sent: false, isBegun: false })
      }
      if (first && first.deaths >= MAX_DEATHS)
        giveUp(first, new ApiError('internal_error', 'The worker crashed repeatedly on this batch.'))
    },
    whenEmpty,
    /**
     * Gives up deliveries of other servers, now and until `resume`: another process stores rows now, and their senders send
     * them there again. What this process has observed itself waits.
     */
    refuseDeliveries(error: ApiError): void {
      refusal = error
      for (const queued of queue.filter(({ delivery }) => isFromOther(delivery))) giveUp(queued, error)
    },
    /** Gives up every batch that waits. */
    rejectAll(error: ApiError): void {
      for (const queued of [...queue]) giveUp(queued, error)
    },
  }
}
