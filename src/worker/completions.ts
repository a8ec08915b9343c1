import type { Completion } from '../duckdb/complete.js'
import type { Log } from '../duckdb/datafile.js'
import type { Open } from '../ingest/classifier.js'

export interface Completions {
  /** These rows are stored now; what comes of them is written soon after. */
  add(late: readonly Open[]): void
  /** To be called each second. Never rejects. */
  flush(): Promise<void>
}

/** Verdicts in one statement. */
const AT_ONCE = 500

/** Late verdicts to stored rows, a few at a time. One that cannot be written is lost: its row stays indeterminate. */
export function createCompletions(deps: {
  store: { complete(all: readonly Completion[]): Promise<void> }
  log: Log
}): Completions {
  const ready: Completion[] = []
  let flushing: Promise<void> | undefined

  const write = async () => {
    while (ready.length > 0) {
      const some = ready.splice(0, AT_ONCE)
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
