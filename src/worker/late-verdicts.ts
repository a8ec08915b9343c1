import type { EventStore, LateVerdict } from '../storage/event-store.js'
import type { Log } from '../storage/store.js'
import type { PendingVerification } from './ingest/classified-batch.js'

const VERDICTS_PER_STATEMENT = 500

/**
 * Writes verdicts to rows that were stored before their verification ended. A verdict that cannot be written is lost: its
 * row stays indeterminate.
 */
export function createLateVerdicts(deps: {
  store: Pick<EventStore, 'updateVerdicts'>
  /** Called with verdicts that were written. */
  onStored: (verdicts: readonly LateVerdict[]) => void
  log: Log
}) {
  const verdicts: LateVerdict[] = []
  let flushing: Promise<void> | undefined

  const write = async (): Promise<void> => {
    while (verdicts.length > 0) {
      const batch = verdicts.splice(0, VERDICTS_PER_STATEMENT)
      try {
        await deps.store.updateVerdicts(batch)
        deps.onStored(batch)
      } catch (error) {
        deps.log('warn', `${batch.length} rows stay unverified: their late verdicts could not be stored`, error)
      }
    }
  }

  return {
    /** Collects the verdicts of stored rows as they arrive. */
    add(pending: readonly PendingVerification[]): void {
      for (const { row, verdict } of pending) {
        const { site_id, timestamp, agent_id, ip_hash } = row
        void verdict.then((result) => {
          if (result.verification !== 'indeterminate')
            verdicts.push({ site_id, timestamp, agent_id, ip_hash, ...result })
        })
      }
    },
    /** Writes what was collected. Never rejects. */
    flush(): Promise<void> {
      flushing ??= write().finally(() => {
        flushing = undefined
      })
      return flushing
    },
  }
}
