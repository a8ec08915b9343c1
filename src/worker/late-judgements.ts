import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import type { Log } from '../duckdb/datafile.js'
import type { EventStore } from '../duckdb/event-store.js'
import { rowsAsTable } from '../duckdb/query.js'
import type { PolicyMonitor } from '../policy/policy-monitor.js'
import { join, type Sql, sql } from '../sql.js'
import type { Writer } from './writer.js'

interface LateJudgementsDeps {
  store: Pick<EventStore, 'updateRows'>
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

const StoredRow = z.object({
  id: z.number(),
  hostname: z.string(),
  agent_id: z.string(),
  pathname: z.string(),
  timestamp: z.date(),
})

/**
 * Judges stored fetches that came before the first response of their origin. The rows are found in the store, so that a
 * worker that was started again completes those of the one before.
 */
export function createLateJudgements({ store, writer, policies, catalog, now, clock, log }: LateJudgementsDeps) {
  const judge = async (rows: readonly z.infer<typeof StoredRow>[]) => {
    const until = clock() + MAX_JUDGING_MS
    const judged = []
    for (const [n, { id, timestamp, ...row }] of rows.entries()) {
      if (clock() > until) break
      if (n % ROWS_PER_TURN === ROWS_PER_TURN - 1) await new Promise((resolve) => setImmediate(resolve))
      const fetch = { ...row, agent: catalog.get(row.agent_id), at: timestamp.getTime() }
      const judgement = policies.judge.judgeStored(fetch)
      if (judgement.robots_allowed !== null || judgement.llms_listed !== null) judged.push({ id, ...judgement })
    }
    return judged
  }

  const complete = (hostnames: readonly string[]) =>
    store.updateRows(async (query) => {
      const found = await query(selectUnjudged(hostnames, new Date(now() - MAX_ROW_AGE_MS)))
      const judged = await judge(found.map((row) => StoredRow.parse(row)))
      return judged.length > 0 ? [updateJudged(judged)] : []
    })

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

const selectUnjudged = (hostnames: readonly string[], since: Date): Sql => {
  const listed = join(
    hostnames.map((hostname) => sql`${hostname}`),
    ', ',
  )
  return sql`select rowid as id, hostname, agent_id, pathname, timestamp from agent_events
    where timestamp >= ${since} and hostname in (${listed}) and (robots_allowed is null or llms_listed is null)
    order by timestamp desc limit ${MAX_ROWS}`
}

/** Fills in what the rows lack; a row that has a judgement keeps it. */
const updateJudged = (judged: readonly { id: number }[]): Sql => sql`
  update agent_events set
    robots_rule = case when agent_events.robots_allowed is null then j.robots_rule else agent_events.robots_rule end,
    robots_line = case when agent_events.robots_allowed is null then j.robots_line else agent_events.robots_line end,
    robots_grace = case when agent_events.robots_allowed is null then j.robots_grace else agent_events.robots_grace end,
    robots_allowed = coalesce(agent_events.robots_allowed, j.robots_allowed),
    llms_listed = coalesce(agent_events.llms_listed, j.llms_listed)
  from ${rowsAsTable(judged, {
    id: 'BIGINT',
    robots_allowed: 'BOOLEAN',
    robots_rule: 'VARCHAR',
    robots_line: 'INTEGER',
    robots_grace: 'BOOLEAN',
    llms_listed: 'INTEGER',
  })} as j
  where agent_events.rowid = j.id`
