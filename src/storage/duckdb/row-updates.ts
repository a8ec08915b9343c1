import { duckdbDialect } from '../dialects/duckdb.js'
import type { ImportPart, LateVerdict, Placement, SessionMove } from '../event-store.js'
import {
  type ChangeTable,
  listPlacements,
  listSessionMoves,
  listSessionSplits,
  listVerdicts,
  listViewAdditions,
} from '../row-changes.js'
import type { Addition } from '../rows.js'
import { raw, type Sql, sql } from '../sql.js'

/* Statements that change stored rows, at least one. Each takes many changes as one parameter. */

const asTable = ({ rows, types }: ChangeTable): Sql => duckdbDialect.rows(rows, types)
const setNew = ({ columns }: ChangeTable): Sql =>
  raw(columns.map((column) => `${column} = now.new_${column}`).join(', '))

/** Gives the rows of `moves` their new sessions. */
export function buildSessionMoves(moves: readonly SessionMove[]): Sql {
  const table = listSessionMoves(moves)
  return sql`update events set ${setNew(table)} from ${asTable(table)} as now
    where events.timestamp between ${table.first} and ${table.last} and events.session_id = now.was_id`
}

/** Gives the rows that stay when those of an import leave their sessions. */
export function buildSessionSplits({ site, import: id, splits }: ImportPart): Sql {
  const table = listSessionSplits(splits)
  return sql`update events set ${setNew(table)} from ${asTable(table)} as now
    where events.timestamp between ${table.first} and ${table.last} and events.site_id = ${site}
      and events.session_id = now.was_id and events.import_id is distinct from ${id}
      and events.timestamp >= now.at_from and events.timestamp < now.at_until`
}

/** Moves reports to their places. */
export function buildPlacements(placements: readonly Placement[]): Sql[] {
  const table = listPlacements(placements)
  const now = asTable(table)
  const isOf = (name: string): Sql => sql`${raw(name)}.reported_at between ${table.first} and ${table.last}
    and ${raw(`${name}.reported_at = now.at_time and ${name}.site_id = now.at_site
      and ${name}.visitor_id = now.at_visitor and ${name}.kind = now.at_kind and ${name}.hostname = now.at_host
      and ${name}.pathname = now.at_path and coalesce(${name}.engaged_ms, 0) = now.at_engaged`)}`
  const replaced = raw(table.columns.map((column) => `now.new_${column} as ${column}`).join(', '))
  return [
    sql`update events set ${setNew(table)} from ${now} as now where ${isOf('events')}`,
    sql`insert into events select l.* replace (${replaced}) from loose_reports l join ${now} as now on ${isOf('l')}`,
    sql`delete from loose_reports using ${now} as now where ${isOf('loose_reports')}`,
  ]
}

/**
 * Adds to stored views what the other half reported. A row that has both halves is not changed again, so repeating this is
 * harmless. Returns the sessions of the changed rows.
 */
export function buildViewAdditions(additions: readonly Addition[]): Sql {
  const table = listViewAdditions(additions)
  const { first, last, columns } = table
  const sets = ["recorded_by = 'browser'", ...columns.map((one) => `${one} = coalesce(now.new_${one}, events.${one})`)]
  // Several views in one millisecond get one addition each: rows keep their number within a transaction.
  return sql`update events set ${raw(sets.join(', '))}
    from (
      select e.rowid as id, a.* from events e
      join ${asTable(table)} a
        on e.site_id = a.at_site and e.visitor_id = a.at_visitor and e.timestamp = a.at_time
          and e.hostname = a.at_host and e.pathname = a.at_path and (e.recorded_by = 'browser') = a.at_browser
      where e.timestamp between ${first} and ${last} and e.kind = 'pageview'
        and (e.recorded_by in ('server', 'edge') or (e.status is null and e.duration_ms is null))
      qualify dense_rank() over (partition by at_site, at_visitor, at_time, at_host, at_path, at_browser order by e.rowid) = nth
    ) as now
    where events.timestamp between ${first} and ${last} and events.rowid = now.id
    returning events.site_id, events.session_id, events.session_start`
}

/** Gives rows that are still `indeterminate` their verdicts; repeating this changes nothing. */
export function buildVerdictUpdate(verdicts: readonly LateVerdict[]): Sql {
  const table = listVerdicts(verdicts)
  return sql`update agent_events set ${setNew(table)} from ${asTable(table)} as now
    where agent_events.verification = 'indeterminate'
      and agent_events.timestamp between ${table.first} and ${table.last}
      and agent_events.site_id = now.at_site and agent_events.timestamp = now.at_time
      and agent_events.agent_id = now.at_agent and agent_events.ip_hash = now.at_ip`
}
