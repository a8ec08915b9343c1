import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import type { PolicyMonitor } from '../agents/policy/policy-monitor.js'
import { MAX_BACKDATING_MS } from '../agents/policy/version.js'
import type { EventStore, FetchJudgement, UnjudgedFetch } from '../storage/event-store.js'
import { sql } from '../storage/sql.js'
import type { Log } from '../storage/store.js'
import type { Writer } from './writer.js'

interface LateJudgementsDeps {
  store: Pick<EventStore, 'judgeFetches'>
  writer: Pick<Writer, 'runExclusive'>
  policies: Pick<PolicyMonitor, 'judge' | 'takeUnjudged'>
  catalog: Catalog
  /** Milliseconds of a monotonic clock. */
  clock: () => number
  log: Log
}

/** Bound a step, during which no batch is stored: the newest rows that remain, and the time of judging them. */
const MAX_ROWS = 10_000
const MAX_STEP_MS = 1_000
/** Other work of the process may run after this many rows. */
const ROWS_PER_TURN = 200

/** Rows that remain to be judged: all before `until`, since a step begins with the newest. */
interface Remaining {
  hostnames: readonly string[]
  since: number
  until: number
}

/**
 * Judges stored fetches whose robots.txt or llms.txt became known after they were stored. The rows are found in the store, so
 * that a worker that was started again completes those of the one before.
 */
export function createLateJudgements({ store, writer, policies, catalog, clock, log }: LateJudgementsDeps) {
  const queue: Remaining[] = []
  let flushing: Promise<void> | undefined
  let isFailing = false

  /** Judges rows until the step has lasted long enough, but all that arrived in the same millisecond. */
  const judge = async (fetches: readonly UnjudgedFetch[]): Promise<FetchJudgement[]> => {
    const end = clock() + MAX_STEP_MS
    const judgements: FetchJudgement[] = []
    let last = Number.NaN
    for (const { hostname, agent_id, pathname, timestamp } of fetches) {
      const at = timestamp.getTime()
      if (at !== last && judgements.length > 0 && clock() > end) break
      if (judgements.length % ROWS_PER_TURN === ROWS_PER_TURN - 1) await new Promise((resolve) => setImmediate(resolve))
      judgements.push(policies.judge.judgeStored({ hostname, agent_id, pathname, agent: catalog.get(agent_id), at }))
      last = at
    }
    return judgements
  }

  /** Completes the newest rows; returns what remains. */
  const runStep = async ({ hostnames, since, until }: Remaining): Promise<Remaining | undefined> => {
    let remaining: Remaining | undefined
    const selection = { hostnames, since: new Date(since), until: new Date(until), limit: MAX_ROWS }
    await store.judgeFetches(selection, async (fetches) => {
      const whole = fetches.length < MAX_ROWS ? fetches : withoutLastMillisecond(fetches)
      const judgements = await judge(whole)
      const last = whole[judgements.length - 1]
      if (last && judgements.length < fetches.length) remaining = { hostnames, since, until: last.timestamp.getTime() }
      return judgements
    })
    return remaining
  }

  const run = async (): Promise<void> => {
    const unjudged = policies.takeUnjudged()
    if (unjudged.length > 0)
      queue.push({
        hostnames: unjudged.map(({ hostname }) => hostname),
        since: Math.min(...unjudged.map(({ since }) => since)),
        until: Math.max(...unjudged.map(({ until }) => until)),
      })
    for (let [first] = queue; first !== undefined; [first] = queue) {
      const step = first
      // Between two batches, so that no row is missed that was classified before the response.
      const remaining = await writer.runExclusive(() => runStep(step))
      queue.splice(0, 1, ...(remaining ? [remaining] : []))
    }
    isFailing = false
  }

  return {
    /**
     * Judges the rows of files that have become known, in steps between which batches are stored. Never rejects: if the store
     * fails, the next call goes on.
     */
    flush(): Promise<void> {
      flushing ??= run()
        .catch((error: unknown) => {
          if (!isFailing) log('warn', 'judgements of stored fetches wait: the store could not be changed', error)
          isFailing = true
        })
        .finally(() => {
          flushing = undefined
        })
      return flushing
    },
  }
}

/** The limit may have cut off rows of the last millisecond. */
function withoutLastMillisecond(fetches: readonly UnjudgedFetch[]): readonly UnjudgedFetch[] {
  const last = fetches.at(-1)?.timestamp.getTime()
  const whole = fetches.filter(({ timestamp }) => timestamp.getTime() !== last)
  return whole.length > 0 ? whole : fetches
}

/** Hostnames of the last rows without a judgement are few: more are not fetched anyway. */
const MAX_HOSTNAMES = 64

/**
 * Finds the hostnames of stored rows that a robots.txt could still judge. A worker that was started again learns of them
 * here, and not only from their next request.
 */
export async function findUnjudgedHostnames(store: Pick<EventStore, 'query'>, now: number): Promise<string[]> {
  const rows = await store.query(sql`
    select hostname, count(*) as fetches from agent_events
    where timestamp >= ${new Date(now - MAX_BACKDATING_MS)} and robots_allowed is null
    group by hostname order by fetches desc, hostname limit ${MAX_HOSTNAMES}`)
  return rows.map(({ hostname }) => z.string().parse(hostname))
}
