import { ARRIVAL_COLUMNS, type Arrival } from '../rows.js'
import { join, raw, type Sql, sql } from '../sql.js'

/** Stored sessions that a late hit made part of another, or gave an earlier start: all their rows are of `to` now. */
export interface SessionMove {
  site_id: number
  /** Of stored rows; no row has one of these ids afterwards. */
  session_ids: readonly bigint[]
  to: { session_id: bigint; session_start: Date; arrival: Arrival }
  /** No stored row of those sessions lies before or after. */
  first: Date
  last: Date
}

/** Changes the rows of `moves`, at least one. They travel as one parameter, however many they are. */
export function buildSessionMoves(moves: readonly SessionMove[]): Sql {
  // The bounds let old blocks be skipped.
  const first = moves.map((move) => move.first.getTime()).reduce((a, b) => Math.min(a, b))
  const last = moves.map((move) => move.last.getTime()).reduce((a, b) => Math.max(a, b))
  const all = moves.flatMap(({ session_ids, to }) => {
    const now = { now_id: String(to.session_id), now_start: to.session_start.getTime(), ...textsOf(to.arrival) }
    return session_ids.map((id) => ({ was_id: String(id), ...now }))
  })
  const shape = { was_id: 'UBIGINT', now_id: 'UBIGINT', now_start: 'BIGINT' }
  const texts = Object.fromEntries(ARRIVAL_COLUMNS.map((column) => [column, 'VARCHAR']))
  const columns = ARRIVAL_COLUMNS.map((column) => raw(`${column} = now.${column}`))
  return sql`update events set session_id = now.now_id, session_start = make_timestamp(now.now_start * 1000),
    ${join(columns, ', ')}
    from (select unnest(from_json(${JSON.stringify(all)}, ${JSON.stringify([{ ...shape, ...texts }])}),
      recursive := true)) as now
    where events.timestamp between ${new Date(first)} and ${new Date(last)} and events.session_id = now.was_id`
}

const textsOf = (arrival: Arrival): Record<string, string | null> =>
  Object.fromEntries(ARRIVAL_COLUMNS.map((column) => [column, wellFormed(arrival[column])]))

/** Half a character pair cannot stand in JSON; an appender makes the same of it. */
const wellFormed = (text: string | null) => (text === null ? null : Buffer.from(text).toString())
