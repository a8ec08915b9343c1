import { z } from 'zod'
import { duckdbDialect } from '../dialects/duckdb.js'
import type { AgentChange, Device, EventStore, FetchGroup } from '../event-store.js'
import { type Sql, sql } from '../sql.js'
import type { EventFile } from './event-file.js'

/** Rows in one transaction: a quarter of a row group, so that appends run between transactions. */
const SLICE_ROWS = 30_720
/** Also the most groups in a slice: each is read, compared and sent to the store. A slice with more becomes this short. */
const CROWDED_SLICE_ROWS = 3_840

const Remaining = z.object({ remaining: z.number(), first: z.number().nullable() })
const Group = z.object({
  user_agent: z.string(),
  agent_id: z.string(),
  operator: z.string(),
  purpose: z.string(),
  signed: z.boolean(),
  rows: z.number(),
})

/** As `EventStore.reclassify`. */
export async function reclassifyFetches(
  store: Pick<EventFile, 'query' | 'updateRows'>,
  version: string,
  describe: Parameters<EventStore['reclassify']>[1],
): Promise<{ remaining: number }> {
  const isOther = sql`catalog_version is distinct from ${version}`
  const [row] = await store.query(
    sql`select count(*) as remaining, min(rowid) as first from agent_events where ${isOther}`,
  )
  const { remaining, first } = Remaining.parse(row)
  if (first === null) return { remaining }
  const rangeOf = (rows: number) => sql`rowid >= ${first} and rowid < ${first + rows} and ${isOther}`
  let rows = 0
  await store.updateRows(async (query) => {
    const selectGroups = async (range: Sql): Promise<FetchGroup[]> =>
      (
        await query(sql`select user_agent, agent_id, operator, purpose, verification = 'web_bot_auth' as signed,
          count(*) as rows from agent_events where ${range} group by all limit ${CROWDED_SLICE_ROWS + 1}`)
      ).map((group) => Group.parse(group))
    let range = rangeOf(SLICE_ROWS)
    let groups = await selectGroups(range)
    if (groups.length > CROWDED_SLICE_ROWS) {
      range = rangeOf(CROWDED_SLICE_ROWS)
      groups = await selectGroups(range)
    }
    const changes = await describe(groups)
    rows = groups.reduce((sum, group) => sum + group.rows, 0)
    return [
      ...(changes.length > 0 ? [markDays(range), updateAgents(range, changes)] : []),
      sql`update agent_events set catalog_version = ${version} where ${range}`,
    ]
  })
  return { remaining: remaining - rows }
}

/** Has the counted days of these fetches counted again. */
export const markDays = (where: Sql): Sql => sql`
  insert into daily_changed select distinct site_id, date_trunc('day', timestamp) from agent_events
  where timestamp < (select max(day) from daily_aggregated_until) and (${where})`

/** Gives the rows of `range` their new agents. */
const updateAgents = (range: Sql, changes: readonly AgentChange[]): Sql => sql`
  update agent_events set agent_id = m.now_id, operator = m.now_operator, purpose = m.now_purpose,
    verified = case when m.moved then null else verified end,
    verification = case when m.moved then m.now_verification else verification end,
    proof = case when m.moved then null else proof end,
    proof_at = case when m.moved then null else proof_at end,
    robots_allowed = case when m.moved then null else robots_allowed end,
    robots_rule = case when m.moved then null else robots_rule end,
    robots_line = case when m.moved then null else robots_line end,
    robots_grace = case when m.moved then null else robots_grace end
  from ${duckdbDialect.rows(
    changes.map((one) => ({
      of_user_agent: one.user_agent,
      of_agent: one.agent_id,
      of_signed: one.signed,
      now_id: one.to,
      now_operator: one.operator,
      now_purpose: one.purpose,
      now_verification: one.verification,
      moved: one.to !== one.agent_id,
    })),
    {
      of_user_agent: 'varchar',
      of_agent: 'varchar',
      of_signed: 'boolean',
      now_id: 'varchar',
      now_operator: 'varchar',
      now_purpose: 'varchar',
      now_verification: 'varchar',
      moved: 'boolean',
    },
  )} as m
  where ${range} and user_agent = m.of_user_agent and agent_id = m.of_agent
    and (verification = 'web_bot_auth') = m.of_signed`

const Slice = z.object({ last: z.number().nullable(), rows: z.number() })

/** As `EventStore.renameDevice`. */
export async function renameDevice(
  store: Pick<EventFile, 'updateRows'>,
  { os, device_type }: Device,
  to: Device,
): Promise<number> {
  const same = sql`os is not distinct from ${os} and device_type is not distinct from ${device_type}`
  let rows = 0
  await store.updateRows(async (query) => {
    const ids = sql`select rowid as id from events where ${same} order by rowid limit ${SLICE_ROWS}`
    const [found] = await query(sql`select max(id) as last, count(*) as rows from (${ids}) slice`)
    const { last, ...counted } = Slice.parse(found)
    rows = counted.rows
    if (last === null) return []
    const slice = sql`${same} and rowid <= ${last}`
    return [
      // The aggregates of these sessions are computed again; until then reads count their hits.
      sql`insert into stale_sessions select site_id, session_id, min(session_start) from events where ${slice} group by all`,
      sql`update events set os = ${to.os}, device_type = ${to.device_type} where ${slice}`,
    ]
  })
  return rows
}
