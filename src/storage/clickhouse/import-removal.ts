import type { ImportPart } from '../event-store.js'
import { type Sql, sql } from '../sql.js'
import { buildSessionSplits, insertDeletions } from './changes.js'
import { readRows } from './query.js'
import { eraseDeleted, type RemovalDeps, waitForDisk } from './removal.js'
import { runWrite } from './statements.js'

/**
 * Removes a part of an import. Every statement selects the import's rows, which leave last, so a step that is repeated finds
 * what is left to do. The last step erases the rows from the disk; their outdated aggregates leave it when parts are merged.
 */
export async function removeImportStep(deps: RemovalDeps, part: ImportPart): Promise<{ rows: number; more: boolean }> {
  const { client, marks, number } = deps
  const { site, import: id, before, splits } = part
  const imported = sql`e.site_id = ${site} and e.import_id = ${id}`
  const leaving = {
    events: sql`events e where ${imported} and e.session_start < ${before}`,
    agent_events: sql`agent_events e where ${imported} and e.timestamp < ${before}`,
  }
  const count = async (tables: { events: Sql; agent_events: Sql }) => {
    const [row] = await readRows(
      client,
      sql`select (select count(*) from ${tables.events}) + (select count(*) from ${tables.agent_events}) as n`,
    )
    return Number(row?.n)
  }
  const rows = await count(leaving)
  if (rows > 0) {
    await marks.removeImport(part, leaving.events, number)
    if (splits.length > 0) await runWrite(client, buildSessionSplits(part, number))
    for (const table of ['events', 'agent_events'] as const)
      await runWrite(client, insertDeletions(table, number, leaving[table]))
  }
  const left = { events: sql`events e where ${imported}`, agent_events: sql`agent_events e where ${imported}` }
  if ((await count(left)) > 0) return { rows, more: true }
  for (const table of ['events', 'agent_events']) await eraseDeleted(client, table, site)
  return { rows, more: !(await waitForDisk(deps)) }
}
