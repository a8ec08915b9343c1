import type { Catalog } from '../agents/catalog.js'
import type { EventStore, FetchJudgement, UnjudgedFetch } from '../event-store.js'
import type { PolicyMonitor } from '../policy/policy-monitor.js'
import type { Log } from '../store.js'
import type { Writer } from './writer.js'

interface LateJudgementsDeps {
  store: Pick<EventStore, 'judgeFetches'>
  writer: Pick<Writer, 'runExclusive'>
  policies: Pick<PolicyMonitor, 'judge' | 'takeFirstAnswers'>
  catalog: Catalog
  /** Milliseconds since 1970, and of a monotonic clock. */
  now: () => number
  clock: () => number
  log: Log
}

/** Rows of this time before the first response are judged by it: a robots.txt seldom changes within ten minutes. */
const MAX_ROW_AGE_MS = 600_000
/** Bounds a step: the newest rows of all hostnames that were answered within a second. */
const MAX_ROWS = 10_000
const MAX_JUDGING_MS = 1_000
/** Other work of the process may run after this many rows. */
const ROWS_PER_TURN = 200

/**
 * Judges stored fetches that came before the first response of their origin. The rows are found in the store, so that a
 * worker that was started again completes those of the one before.
 */
export function createLateJudgements({ store, writer, policies, catalog, now, clock, log }: LateJudgementsDeps) {
  const judge = async (fetches: readonly UnjudgedFetch[]): Promise<FetchJudgement[]> => {
    const until = clock() + MAX_JUDGING_MS
    const judgements: FetchJudgement[] = []
    for (const { hostname, agent_id, pathname, timestamp } of fetches) {
      if (clock() > until) break
      if (judgements.length % ROWS_PER_TURN === ROWS_PER_TURN - 1) await new Promise((resolve) => setImmediate(resolve))
      const fetch = { hostname, agent_id, pathname, agent: catalog.get(agent_id), at: timestamp.getTime() }
      judgements.push(policies.judge.judgeStored(fetch))
    }
    return judgements
  }

  const complete = (hostnames: readonly string[]) =>
    store.judgeFetches({ hostnames, since: new Date(now() - MAX_ROW_AGE_MS), limit: MAX_ROWS }, judge)

  return {
    /**
     * Judges the rows of hostnames that were answered since the last call, between two batches, so that no row that was
     * classified before the response is missed. Never rejects: if the store fails, the rows stay without a judgement.
     */
    async flush(): Promise<void> {
      const hostnames = policies.takeFirstAnswers()
      if (hostnames.length === 0) return
      try {
        await writer.runExclusive(() => complete(hostnames))
      } catch (error) {
        log('warn', `fetches of ${hostnames.length} hostnames stay unjudged: the store could not be changed`, error)
      }
    },
  }
}
