import type { ClickHouseClient } from '@clickhouse/client'
import { z } from 'zod'
import type { Device, EventStore, FetchGroup, UnjudgedSelection } from '../event-store.js'
import { isIn, raw, type Sql, sql } from '../sql.js'
import type { AggregateMarks } from './aggregate-marks.js'
import { buildJudgements, buildReclassification, insertVersions } from './changes.js'
import { readRows } from './query.js'
import { isOneOf, runWrite } from './statements.js'

interface ChangeDeps {
  client: ClickHouseClient
  marks: AggregateMarks
  number: bigint
}

/** Rows of one slice: each slice reads a column of the whole table to find its rows. */
const SLICE_ROWS = 200_000
/** Also the most groups in a slice: each is read, compared and sent to the store. A slice with more becomes this short. */
const CROWDED_SLICE_ROWS = 3_840

const UnjudgedRow = z.object({
  row_id: z.number(),
  hostname: z.string(),
  agent_id: z.string(),
  pathname: z.string(),
  timestamp: z.date(),
})

/** As `EventStore.judgeFetches`. */
export async function judgeFetches(
  { client, marks, number }: ChangeDeps,
  { hostnames, since, until, limit }: UnjudgedSelection,
  judge: Parameters<EventStore['judgeFetches']>[1],
): Promise<void> {
  const rows = await readRows(
    client,
    sql`select row_id, hostname, agent_id, pathname, timestamp from agent_events
      where timestamp >= ${since} and timestamp < ${until} and ${isIn(raw('hostname'), hostnames)}
        and (robots_allowed is null or llms_listed is null)
      order by timestamp desc, row_id desc limit ${limit}`,
  )
  const found = rows.map((row) => UnjudgedRow.parse(row))
  const judgements = await judge(found)
  const judged = found.flatMap(({ row_id }, n) => {
    const judgement = judgements[n]
    return judgement && (judgement.robots_allowed !== null || judgement.llms_listed !== null)
      ? [{ row_id, ...judgement }]
      : []
  })
  if (judged.length === 0) return
  // Daily counts have judgements by robots.txt, and not those by llms.txt.
  const ids = judged.flatMap(({ row_id, robots_allowed }) => (robots_allowed === null ? [] : [BigInt(row_id)]))
  await marks.ofFetches(
    sql`e.timestamp >= ${since} and e.robots_allowed is null and ${isOneOf(raw('e.row_id'), ids)}`,
    number,
  )
  await runWrite(client, buildJudgements(judged, since, number))
}

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
  { client, marks, number }: ChangeDeps,
  version: string,
  describe: Parameters<EventStore['reclassify']>[1],
): Promise<{ remaining: number }> {
  const isOther = sql`(catalog_version is null or catalog_version <> ${version})`
  const countRemaining = async () => {
    const [row] = await readRows(client, sql`select count(*) as n from agent_events where ${isOther}`)
    return Number(row?.n)
  }
  const remaining = await countRemaining()
  if (remaining === 0) return { remaining }
  const selectSlice = async (rows: number): Promise<{ where: Sql; groups: FetchGroup[] }> => {
    const ids = sql`select row_id from agent_events where ${isOther} order by row_id limit ${rows}`
    const [row] = await readRows(client, sql`select max(row_id) as last from (${ids}) slice`)
    const where = sql`row_id <= ${z.number().parse(row?.last)} and ${isOther}`
    const groups = await readRows(
      client,
      sql`select user_agent, agent_id, operator, purpose, cast(verification = 'web_bot_auth' as Bool) as signed,
        count(*) as rows from agent_events where ${where}
        group by user_agent, agent_id, operator, purpose, signed limit ${CROWDED_SLICE_ROWS + 1}`,
    )
    return { where, groups: groups.map((group) => Group.parse(group)) }
  }
  let slice = await selectSlice(SLICE_ROWS)
  if (slice.groups.length > CROWDED_SLICE_ROWS) slice = await selectSlice(CROWDED_SLICE_ROWS)
  const { where, groups } = slice
  const changes = await describe(groups)
  if (changes.length > 0) await marks.ofFetches(where, number)
  await runWrite(client, buildReclassification(changes, { version, where, number }))
  return { remaining: remaining - groups.reduce((sum, { rows }) => sum + rows, 0) }
}

const Slice = z.object({ last: z.number().nullable(), rows: z.number() })

/** As `EventStore.renameDevice`. */
export async function renameDevice({ client, marks, number }: ChangeDeps, from: Device, to: Device): Promise<number> {
  const isValue = (column: string, value: string | null) =>
    value === null ? sql`${raw(column)} is null` : sql`${raw(column)} = ${value}`
  const same = sql`${isValue('os', from.os)} and ${isValue('device_type', from.device_type)}`
  const ids = sql`select row_id from events where ${same} order by row_id limit ${SLICE_ROWS}`
  const [found] = await readRows(client, sql`select max(row_id) as last, count(*) as rows from (${ids}) slice`)
  const { last, rows } = Slice.parse(found)
  if (last === null) return 0
  const where = sql`${same} and row_id <= ${last}`
  await marks.ofEvents(where, number)
  const values = { os: sql`${to.os}`, device_type: sql`${to.device_type}` }
  await runWrite(client, insertVersions('events', values, number, sql`events e where ${where}`))
  return rows
}
