import { VITAL_COLUMNS } from '../columns.js'
import type { LateVerdict, Placement, SessionMove } from '../event-store.js'
import { type Addition, ARRIVAL_COLUMNS, BROWSER_COLUMNS, SERVER_COLUMNS } from '../rows.js'
import { join, raw, type Sql, sql } from '../sql.js'
import { rowsAsTable } from './query.js'

/* Statements that change stored rows. Each takes many changes as one parameter. */

/** Gives the rows of `moves`, at least one, their new sessions. */
export function buildSessionMoves(moves: readonly SessionMove[]): Sql {
  const { first, last } = spanOf([...moves.map((move) => move.first), ...moves.map((move) => move.last)])
  const rows = moves.flatMap(({ session_ids, to }) => {
    const now = { now_id: String(to.session_id), now_start: to.session_start.getTime(), ...to.arrival }
    return session_ids.map((id) => ({ was_id: String(id), ...now }))
  })
  const types = { was_id: 'UBIGINT', now_id: 'UBIGINT', now_start: 'BIGINT', ...textTypes(ARRIVAL_COLUMNS) }
  const sets = ARRIVAL_COLUMNS.map((column) => raw(`${column} = now.${column}`))
  return sql`update events set session_id = now.now_id, session_start = make_timestamp(now.now_start * 1000),
    ${join(sets, ', ')}
    from ${rowsAsTable(rows, types)} as now
    where events.timestamp between ${first} and ${last} and events.session_id = now.was_id`
}

/** Moves reports, at least one, to their places. */
export function buildPlacements(placements: readonly Placement[]): Sql[] {
  const { first, last } = spanOf(placements.map(({ key }) => key.reported_at))
  const rows = placements.map(({ key, to }) => ({
    ...{ at_site: key.site_id, at_visitor: String(key.visitor_id), at_ms: key.reported_at.getTime() },
    ...{ at_kind: key.kind, at_host: key.hostname, at_path: key.pathname, at_engaged: key.engaged_ms },
    ...{ new_session_id: String(to.session_id), new_session_start: to.session_start.getTime() },
    ...{ new_timestamp: to.timestamp.getTime(), new_visitor_id: String(to.visitor_id), new_pathname: to.pathname },
    new_reported_at: to.reported_at?.getTime() ?? null,
    ...Object.fromEntries(ARRIVAL_COLUMNS.map((column) => [`new_${column}`, to.arrival[column]])),
  }))
  const types = {
    ...{ at_site: 'INTEGER', at_visitor: 'UBIGINT', at_ms: 'BIGINT', at_kind: 'VARCHAR', at_host: 'VARCHAR' },
    ...{ at_path: 'VARCHAR', at_engaged: 'BIGINT', new_session_id: 'UBIGINT', new_session_start: 'BIGINT' },
    ...{ new_timestamp: 'BIGINT', new_visitor_id: 'UBIGINT', new_pathname: 'VARCHAR', new_reported_at: 'BIGINT' },
    ...textTypes(ARRIVAL_COLUMNS.map((column) => `new_${column}`)),
  }
  const values = [
    ...['session_start', 'timestamp', 'reported_at'].map((c) => [c, `make_timestamp(now.new_${c} * 1000)`] as const),
    ...['session_id', 'visitor_id', 'pathname', ...ARRIVAL_COLUMNS].map((c) => [c, `now.new_${c}`] as const),
  ]
  const now = rowsAsTable(rows, types)
  const isOf = (table: string): Sql => sql`${raw(table)}.reported_at between ${first} and ${last}
    and ${raw(`${table}.reported_at = make_timestamp(now.at_ms * 1000) and ${table}.site_id = now.at_site
      and ${table}.visitor_id = now.at_visitor and ${table}.kind = now.at_kind and ${table}.hostname = now.at_host
      and ${table}.pathname = now.at_path and coalesce(${table}.engaged_ms, 0) = now.at_engaged`)}`
  const sets = raw(values.map(([column, value]) => `${column} = ${value}`).join(', '))
  const replaced = raw(values.map(([column, value]) => `${value} as ${column}`).join(', '))
  return [
    sql`update events set ${sets} from ${now} as now where ${isOf('events')}`,
    sql`insert into events select l.* replace (${replaced}) from loose_reports l join ${now} as now on ${isOf('l')}`,
    sql`delete from loose_reports using ${now} as now where ${isOf('loose_reports')}`,
  ]
}

const ADDED_COLUMNS = [
  ...[...BROWSER_COLUMNS, ...SERVER_COLUMNS].filter((column) => column !== 'vitals'),
  ...VITAL_COLUMNS,
]

/**
 * Adds to stored views, at least one addition, what the other half reported. A row that has both halves is not changed
 * again, so repeating this is harmless. Returns the sessions of the changed rows.
 */
export function buildViewAdditions(additions: readonly Addition[]): Sql {
  const { first, last } = spanOf(additions.map(({ to }) => to.timestamp))
  const earlier = new Map<string, number>()
  const rows = additions.map(({ to, vitals, ...values }) => {
    const key = {
      at_site: to.site_id,
      at_visitor: String(to.visitor_id),
      at_ms: to.timestamp.getTime(),
      at_host: to.hostname,
      at_path: to.pathname,
      // The server's half is added to a row of the browser, and the other way round.
      at_browser: values.status !== null,
    }
    const name = JSON.stringify(key)
    const nth = (earlier.get(name) ?? 0) + 1
    earlier.set(name, nth)
    return {
      ...key,
      nth,
      ...Object.fromEntries(Object.entries(values).map(([column, value]) => [`new_${column}`, value])),
      ...Object.fromEntries(VITAL_COLUMNS.map((name) => [`new_${name}`, vitals?.[name] ?? null])),
    }
  })
  // A column without a new value in any row costs nothing.
  const columns = ADDED_COLUMNS.filter((column) => rows.some((row) => Reflect.get(row, `new_${column}`) !== null))
  const types = {
    at_site: 'INTEGER',
    at_visitor: 'UBIGINT',
    at_ms: 'BIGINT',
    at_host: 'VARCHAR',
    at_path: 'VARCHAR',
    at_browser: 'BOOLEAN',
    nth: 'INTEGER',
    ...Object.fromEntries(columns.map((name) => [`new_${name}`, columnType(name)])),
  }
  const sets = columns.map((column) => raw(`${column} = coalesce(now.new_${column}, events.${column})`))
  // Several views in one millisecond get one addition each: rows keep their number within a transaction.
  return sql`update events set ${join([raw("recorded_by = 'browser'"), ...sets], ', ')}
    from (
      select e.rowid as id, a.* from events e
      join ${rowsAsTable(rows, types)} a
        on e.site_id = a.at_site and e.visitor_id = a.at_visitor and e.timestamp = make_timestamp(a.at_ms * 1000)
          and e.hostname = a.at_host and e.pathname = a.at_path and (e.recorded_by = 'browser') = a.at_browser
      where e.timestamp between ${first} and ${last} and e.kind = 'pageview'
        and (e.recorded_by in ('server', 'edge') or (e.status is null and e.duration_ms is null))
      qualify dense_rank() over (partition by at_site, at_visitor, at_ms, at_host, at_path, at_browser order by e.rowid) = nth
    ) as now
    where events.timestamp between ${first} and ${last} and events.rowid = now.id
    returning events.site_id, events.session_id, events.session_start`
}

const columnType = (column: string): string =>
  VITAL_COLUMNS.some((name) => name === column)
    ? 'DOUBLE'
    : SERVER_COLUMNS.some((name) => name === column)
      ? 'INTEGER'
      : 'VARCHAR'

const textTypes = (columns: readonly string[]): Record<string, string> =>
  Object.fromEntries(columns.map((column) => [column, 'VARCHAR']))

/** Gives rows that are still `indeterminate` their verdicts; repeating this changes nothing. */
export function buildVerdictUpdate(verdicts: readonly LateVerdict[]): Sql {
  const { first, last } = spanOf(verdicts.map(({ timestamp }) => timestamp))
  const rows = verdicts.map(
    (one) =>
      sql`(${one.site_id}::integer, ${one.timestamp}::timestamp, ${one.agent_id}::varchar,
        ${one.ip_hash.toString()}::ubigint, ${one.verified}::boolean, ${one.verification}::varchar)`,
  )
  return sql`update agent_events set verified = late.verified, verification = late.verification
    from (values ${join(rows, ', ')}) late(site_id, timestamp, agent_id, ip_hash, verified, verification)
    where agent_events.verification = 'indeterminate' and agent_events.timestamp between ${first} and ${last}
      and agent_events.site_id = late.site_id and agent_events.timestamp = late.timestamp
      and agent_events.agent_id = late.agent_id and agent_events.ip_hash = late.ip_hash`
}

/** Earliest and latest of `times`, at least one: with these bounds DuckDB skips old blocks. */
function spanOf(times: readonly Date[]): { first: Date; last: Date } {
  // Not `Math.min(...times)`: there may be more of them than a call takes arguments.
  const ms = times.map((time) => time.getTime())
  return { first: new Date(ms.reduce((a, b) => Math.min(a, b))), last: new Date(ms.reduce((a, b) => Math.max(a, b))) }
}
