import type { Log } from '../duckdb/datafile.js'
import type { LateVerdict } from '../duckdb/verdict-update.js'
import type { PendingVerification } from '../ingest/classified-batch.js'

export interface LateVerdicts {
  /** These rows are stored now; what comes of them is written soon after. */
  add(late: readonly PendingVerification[]): void
  /** To be called each second. Never rejects. */
  flush(): Promise<void>
}

/** Verdicts in one statement. */
const VERDICTS_PER_STATEMENT = 500

/** Late verdicts to stored rows, a few at a time. One that cannot be written is lost: its row stays indeterminate. */
export function createLateVerdicts(deps: {
  store: { complete(all: readonly LateVerdict[]): Promise<void> }
  log: Log
}): LateVerdicts {
  const ready: LateVerdict[] = []
  let flushing: Promise<void> | undefined

  const write = async () => {
    while (ready.length > 0) {
      const some = ready.splice(0, VERDICTS_PER_STATEMENT)
      try {
        await deps.store.complete(some)
      } catch (error) {
        deps.log('warn', `${some.length} rows stay unverified: their late answers could not be stored`, error)
      }
    }
  }

  return {
    add(late) {
      for (const { row, later } of late) {
        const { site_id, timestamp, agent_id, ip_hash } = row
        void later.then((verdict) => {
          if (verdict.verification !== 'indeterminate')
            ready.push({ site_id, timestamp, agent_id, ip_hash, ...verdict })
        })
      }
    },
    flush() {
      flushing ??= write().finally(() => {
        flushing = undefined
      })
      return flushing
    },
  }
}
