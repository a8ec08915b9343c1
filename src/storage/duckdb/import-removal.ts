import type { DuckDBConnection } from '@duckdb/node-api'
import type { ImportPart } from '../event-store.js'
import { raw, type Sql, sql } from '../sql.js'
import { readAggregatedUntil } from './aggregate-step.js'
import { readCountedUntil } from './daily-step.js'
import { inTransaction, runQuery } from './query.js'
import { buildSessionSplits } from './row-updates.js'

/**
 * Removes a part of an import, as one transaction. Its sessions leave the aggregates; all other sessions of their visitors
 * become stale, because their previous sessions may be others now, and the days of the rows become changed.
 */
export async function removeImportStep(
  writer: DuckDBConnection,
  part: ImportPart,
): Promise<{ rows: number; more: boolean }> {
  const { site, import: id, before, splits } = part
  const aggregatedUntil = await readAggregatedUntil(writer)
  const countedUntil = await readCountedUntil(writer)
  const run = async (query: Sql) => Number((await runQuery(writer, query))[0]?.Count ?? 0)
  const imported = sql`site_id = ${site} and import_id = ${id}`
  const hits = sql`${imported} and session_start < ${before}`
  const fetches = sql`${imported} and timestamp < ${before}`
  const isTouched = sql`site_id = ${site} and session_id in (select session_id from touched)`
  return inTransaction(writer, async () => {
    await run(sql`create or replace temp table touched as select distinct session_id from events where ${hits}`)
    await run(sql`create or replace temp table affected as select distinct visitor_id from events where ${isTouched}`)
    if (countedUntil)
      await run(sql`insert into daily_changed select ${site}, date_trunc('day', timestamp) as day from (
          select timestamp from events where ${isTouched} and kind = 'pageview' and timestamp < ${countedUntil}
          union all select timestamp from agent_events where ${fetches} and timestamp < ${countedUntil}) r group by day`)
    if (splits.length > 0) await run(buildSessionSplits(part))
    const rows =
      (await run(sql`delete from events where ${hits}`)) + (await run(sql`delete from agent_events where ${fetches}`))
    for (const table of ['sessions', 'session_pages', 'stale_sessions'])
      await run(sql`delete from ${raw(table)} where ${isTouched}`)
    if (aggregatedUntil)
      await run(sql`insert into stale_sessions select site_id, session_id, min(session_start) from events
        where site_id = ${site} and session_start < ${aggregatedUntil} and visitor_id in (select visitor_id from affected)
        group by site_id, session_id`)
    for (const table of ['touched', 'affected']) await writer.run(`drop table ${table}`)
    const [left] = await runQuery(
      writer,
      sql`select exists (select 1 from events where ${imported}) or exists (select 1 from agent_events where ${imported}) as more`,
    )
    return { rows, more: left?.more === true }
  })
}
