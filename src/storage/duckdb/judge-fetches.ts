import { z } from 'zod'
import { duckdbDialect } from '../dialects/duckdb.js'
import type { EventStore, FetchJudgement, UnjudgedSelection } from '../event-store.js'
import { isIn, raw, type Sql, sql } from '../sql.js'
import type { EventFile } from './event-file.js'
import { markDays } from './reclassification.js'

const UnjudgedRow = z.object({
  id: z.number(),
  hostname: z.string(),
  agent_id: z.string(),
  pathname: z.string(),
  timestamp: z.date(),
})

/** As `EventStore.judgeFetches`. */
export const judgeFetches = (
  store: Pick<EventFile, 'updateRows'>,
  selection: UnjudgedSelection,
  judge: Parameters<EventStore['judgeFetches']>[1],
): Promise<void> =>
  store.updateRows(async (query) => {
    const found = (await query(selectUnjudged(selection))).map((row) => UnjudgedRow.parse(row))
    const judgements = await judge(found)
    const judged = found.flatMap(({ id }, n) => {
      const judgement = judgements[n]
      return judgement && (judgement.robots_allowed !== null || judgement.llms_listed !== null)
        ? [{ id, ...judgement }]
        : []
    })
    return judged.length > 0 ? [markDays(getsRobots(judged)), updateJudged(judged)] : []
  })

const selectUnjudged = ({ hostnames, since, until, limit }: UnjudgedSelection): Sql => sql`
  select rowid as id, hostname, agent_id, pathname, timestamp from agent_events
  where timestamp >= ${since} and timestamp < ${until} and ${isIn(raw('hostname'), hostnames)}
    and (robots_allowed is null or llms_listed is null)
  order by timestamp desc limit ${limit}`

type Judged = readonly (FetchJudgement & { id: number })[]

/** The fetches that had no judgement by robots.txt, which daily counts have, and get one. */
const getsRobots = (judged: Judged): Sql => sql`
  robots_allowed is null and rowid in (
    select id from ${duckdbDialect.rows(judged, { id: 'bigint', robots_allowed: 'boolean' })} as j
    where j.robots_allowed is not null)`

/** Fills in what the rows lack; a row that has a judgement keeps it. */
const updateJudged = (judged: Judged): Sql => sql`
  update agent_events set
    robots_rule = case when agent_events.robots_allowed is null then j.robots_rule else agent_events.robots_rule end,
    robots_line = case when agent_events.robots_allowed is null then j.robots_line else agent_events.robots_line end,
    robots_grace = case when agent_events.robots_allowed is null then j.robots_grace else agent_events.robots_grace end,
    robots_allowed = coalesce(agent_events.robots_allowed, j.robots_allowed),
    llms_listed = coalesce(agent_events.llms_listed, j.llms_listed)
  from ${duckdbDialect.rows(judged, {
    id: 'bigint',
    robots_allowed: 'boolean',
    robots_rule: 'varchar',
    robots_line: 'integer',
    robots_grace: 'boolean',
    llms_listed: 'integer',
  })} as j
  where agent_events.rowid = j.id`
