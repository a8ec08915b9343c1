import { VITAL_COLUMNS } from '../columns.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import type { LateVerdict, Placement, SessionMove } from '../event-store.js'
import { type Addition, ARRIVAL_COLUMNS, BROWSER_COLUMNS, SERVER_COLUMNS } from '../rows.js'
import { join, raw, type Sql, sql, type ValueType } from '../sql.js'

/* Statements that change stored rows. Each takes many changes as one parameter. */

/** Gives the rows of `moves`, at least one, their new sessions. */
export function buildSessionMoves(moves: readonly SessionMove[]): Sql {
  const { first, last } = spanOf([...moves.map((move) => move.first), ...moves.map((move) => move.last)])
  const rows = moves.flatMap(({ session_ids, to }) => {
    const now = { now_id: to.session_id, now_start: to.session_start, ...to.arrival }
    return session_ids.map((id) => ({ was_id: id, ...now }))
  })
  const ids = ofType('ubigint', ['was_id', 'now_id'])
  const now = duckdbDialect.rows(rows, { ...ids, now_start: 'timestamp', ...ofType('varchar', ARRIVAL_COLUMNS) })
  const sets = ARRIVAL_COLUMNS.map((column) => raw(`${column} = now.${column}`))
  return sql`update events set session_id = now.now_id, session_start = now.now_start, ${join(sets, ', ')} from ${now} as now
    where events.timestamp between ${first} and ${last} and events.session_id = now.was_id`
}

/** Moves reports, at least one, to their places. */
export function buildPlacements(placements: readonly Placement[]): Sql[] {
  const { first, last } = spanOf(placements.map(({ key }) => key.reported_at))
  const rows = placements.map(({ key, to }) => ({
    ...{ at_site: key.site_id, at_visitor: key.visitor_id, at_time: key.reported_at, at_kind: key.kind },
    ...{ at_host: key.hostname, at_path: key.pathname, at_engaged: key.engaged_ms },
    ...Object.fromEntries(Object.entries({ ...to, ...to.arrival }).map(([column, value]) => [`new_${column}`, value])),
  }))
  const types = {
    ...ofType('bigint', ['at_site', 'at_engaged']),
    ...ofType('ubigint', ['at_visitor', 'new_visitor_id', 'new_session_id']),
    ...ofType('timestamp', ['at_time', 'new_timestamp', 'new_session_start', 'new_reported_at']),
    ...ofType('varchar', ['at_kind', 'at_host', 'at_path', 'new_pathname']),
    ...ofType(
      'varchar',
      ARRIVAL_COLUMNS.map((column) => `new_${column}`),
    ),
  }
  const columns = Object.keys(types).flatMap((name) => (name.startsWith('new_') ? [name.slice('new_'.length)] : []))
  const now = duckdbDialect.rows(rows, types)
  const isOf = (table: string): Sql => sql`${raw(table)}.reported_at between ${first} and ${last}
    and ${raw(`${table}.reported_at = now.at_time and ${table}.site_id = now.at_site
      and ${table}.visitor_id = now.at_visitor and ${table}.kind = now.at_kind and ${table}.hostname = now.at_host
      and ${table}.pathname = now.at_path and coalesce(${table}.engaged_ms, 0) = now.at_engaged`)}`
  const sets = raw(columns.map((column) => `${column} = now.new_${column}`).join(', '))
  const replaced = raw(columns.map((column) => `now.new_${column} as ${column}`).join(', '))
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
      at_visitor: to.visitor_id,
      at_time: to.timestamp,
      at_host: to.hostname,
      at_path: to.pathname,
      // The server's half is added to a row of the browser, and the other way round.
      at_browser: values.status !== null,
    }
    const name = JSON.stringify({ ...key, at_visitor: String(to.visitor_id) })
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
    ...ofType('integer', ['at_site', 'nth']),
    ...ofType('ubigint', ['at_visitor']),
    ...ofType('timestamp', ['at_time']),
    ...ofType('varchar', ['at_host', 'at_path']),
    ...ofType('boolean', ['at_browser']),
    ...Object.fromEntries(columns.map((name) => [`new_${name}`, columnType(name)])),
  }
  const sets = columns.map((column) => raw(`${column} = coalesce(now.new_${column}, events.${column})`))
  // Several views in one millisecond get one addition each: rows keep their number within a transaction.
  return sql`update events set ${join([raw("recorded_by = 'browser'"), ...sets], ', ')}
    from (
      select e.rowid as id, a.* from events e
      join ${duckdbDialect.rows(rows, types)} a
        on e.site_id = a.at_site and e.visitor_id = a.at_visitor and e.timestamp = a.at_time
          and e.hostname = a.at_host and e.pathname = a.at_path and (e.recorded_by = 'browser') = a.at_browser
      where e.timestamp between ${first} and ${last} and e.kind = 'pageview'
        and (e.recorded_by in ('server', 'edge') or (e.status is null and e.duration_ms is null))
      qualify dense_rank() over (partition by at_site, at_visitor, at_time, at_host, at_path, at_browser order by e.rowid) = nth
    ) as now
    where events.timestamp between ${first} and ${last} and events.rowid = now.id
    returning events.site_id, events.session_id, events.session_start`
}

const columnType = (column: string): ValueType =>
  VITAL_COLUMNS.some((name) => name === column)
    ? 'double'
    : SERVER_COLUMNS.some((name) => name === column)
      ? 'integer'
      : 'varchar'

const ofType = (type: ValueType, columns: readonly string[]): Record<string, ValueType> =>
  Object.fromEntries(columns.map((column) => [column, type]))

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
