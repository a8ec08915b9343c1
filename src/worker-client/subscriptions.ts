import type { PolicyChange } from '../agents/policy/change.js'
import type { ClaimVerdict } from '../capture/decision.js'
import type { EndpointDrop } from '../storage/drops.js'
import type { FromWorker, TailRow, ToWorker } from './protocol.js'

/** Passes the worker's messages on to other parts of the site's process. */
export function createSubscriptions(worker: { postIfRunning: (message: ToWorker) => void }) {
  const tail = createListeners<TailRow>()
  const verdicts = createListeners<readonly ClaimVerdict[]>()
  const policyChanges = createListeners<PolicyChange>()
  const endpointDrops = createListeners<EndpointDrop>()
  const restarts = createListeners<void>()
  const recordChanges = createListeners<void>()

  return {
    receive(message: FromWorker): void {
      if (message.type === 'ready' && tail.count() > 0) worker.postIfRunning({ type: 'tail', on: true })
      if (message.type === 'ready' && verdicts.count() > 0) worker.postIfRunning({ type: 'verdicts', on: true })
      if (message.type === 'claim_verdicts') verdicts.emit(message.verdicts)
      if (message.type === 'committed') for (const drop of message.drops) endpointDrops.emit(drop)
      if (message.type === 'tail_rows') for (const row of message.rows) tail.emit(row)
      if (message.type === 'records_changed') recordChanges.emit()
      if (message.type === 'policy') policyChanges.emit(message.change)
    },
    restarted: () => restarts.emit(),
    subscribe: {
      /** Calls `listener` with every row as it is committed, until the returned function is called. */
      tail(listener: (row: TailRow) => void): () => void {
        const remove = tail.add(listener)
        if (tail.count() === 1) worker.postIfRunning({ type: 'tail', on: true })
        return () => {
          if (remove() && tail.count() === 0) worker.postIfRunning({ type: 'tail', on: false })
        }
      },
      /** Calls `listener` with verdicts on claims as they are known, until the returned function is called. */
      onVerdicts(listener: (verdicts: readonly ClaimVerdict[]) => void): () => void {
        const remove = verdicts.add(listener)
        if (verdicts.count() === 1) worker.postIfRunning({ type: 'verdicts', on: true })
        return () => {
          if (remove() && verdicts.count() === 0) worker.postIfRunning({ type: 'verdicts', on: false })
        }
      },
      /** Whether a listener of `tail` is there. */
      isTailed: (): boolean => tail.count() > 0,
      /** Calls `listener` with every change of a robots.txt or llms.txt, until the returned function is called. */
      onPolicyChange: (listener: (change: PolicyChange) => void): (() => void) => policyChanges.add(listener),
      /**
       * Calls `listener` once for each hit that arrived at an endpoint and was dropped, before `record` resolves, until
       * the returned function is called. If the worker dies between a commit and its message, the drop is in `status`
       * alone.
       */
      onDrop: (listener: (drop: EndpointDrop) => void): (() => void) => endpointDrops.add(listener),
      /**
       * Calls `listener` when a new worker is ready after a crash, until the returned function is called. Its files may
       * contain less than was read from them before.
       */
      onRestart: (listener: () => void): (() => void) => restarts.add(listener),
      /** Calls `listener` when another process has written records, until the returned function is called. */
      onRecordsChange: (listener: () => void): (() => void) => recordChanges.add(listener),
    },
  }
}

function createListeners<T>() {
  const listeners = new Set<(value: T) => void>()
  return {
    /** Returns a function that removes the listener and returns whether it was still there. */
    add(listener: (value: T) => void): () => boolean {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    emit(value: T): void {
      for (const listener of listeners) listener(value)
    },
    count: () => listeners.size,
  }
}
