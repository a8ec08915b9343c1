import { VITAL_COLUMNS } from './columns.js'
import type { LateVerdict, Placement, SessionMove, SessionSplit } from './event-store.js'
import { type Addition, ARRIVAL_COLUMNS, BROWSER_COLUMNS, SERVER_COLUMNS } from './rows.js'
import type { ValueType } from './sql.js'

/*
 * Changes of stored rows as tables, for `Dialect.rows`: columns that find the rows, and for each column `x` that changes
 * `new_x`. The statements are each engine's.
 */

export interface ChangeTable {
  readonly rows: readonly object[]
  readonly types: Readonly<Record<string, ValueType>>
  /** The columns that change. */
  readonly columns: readonly string[]
  /** No row that changes, or of a placement no key, is earlier or later: with these bounds engines skip most rows. */
  readonly first: Date
  readonly last: Date
}

/** `was_id` is a session that a row has. */
export const listSessionMoves = (moves: readonly SessionMove[]): ChangeTable =>
  createTable(
    moves.flatMap(({ session_ids, to: { arrival, ...to } }) =>
      session_ids.map((was_id) => ({ was_id, ...toNew({ ...arrival, ...to }) })),
    ),
    { was_id: 'ubigint', ...SESSION_TYPES },
    [...moves.map(({ first }) => first), ...moves.map(({ last }) => last)],
  )

/** `was_id` is a session that a row has, `at_from` and `at_until` the span that its time is in. */
export const listSessionSplits = (splits: readonly SessionSplit[]): ChangeTable =>
  createTable(
    splits.map(({ session_id, from, until, to: { arrival, ...to } }) => ({
      was_id: session_id,
      at_from: from,
      at_until: until,
      ...toNew({ ...arrival, ...to }),
    })),
    { was_id: 'ubigint', ...ofType('timestamp', ['at_from', 'at_until']), ...SESSION_TYPES },
    splits.flatMap(({ from, until }) => [from, until]),
  )

/** The columns `at_…` are the key of a report. */
export const listPlacements = (placements: readonly Placement[]): ChangeTable =>
  createTable(
    placements.map(({ key, to: { arrival, ...to } }) => ({
      at_site: key.site_id,
      at_visitor: key.visitor_id,
      at_time: key.reported_at,
      at_kind: key.kind,
      at_host: key.hostname,
      at_path: key.pathname,
      at_engaged: key.engaged_ms,
      ...toNew({ ...arrival, ...to }),
    })),
    {
      ...ofType('bigint', ['at_site', 'at_engaged']),
      ...ofType('ubigint', ['at_visitor', 'new_visitor_id']),
      ...ofType('timestamp', ['at_time', 'new_timestamp', 'new_reported_at']),
      ...ofType('varchar', ['at_kind', 'at_host', 'at_path', 'new_pathname']),
      ...SESSION_TYPES,
    },
    placements.map(({ key }) => key.reported_at),
  )

const ADDED_COLUMNS = [
  ...[...BROWSER_COLUMNS, ...SERVER_COLUMNS].filter((column) => column !== 'vitals'),
  ...VITAL_COLUMNS,
]

/** The columns `at_…` are the key of a view and whether its browser reported it; of several with one key each has its `nth`. */
export function listViewAdditions(additions: readonly Addition[]): ChangeTable {
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
    const vital = Object.fromEntries(VITAL_COLUMNS.map((one) => [one, vitals?.[one] ?? null]))
    return { ...key, nth, ...toNew({ ...values, ...vital }) }
  })
  // A column without a new value in any row costs nothing.
  const added = ADDED_COLUMNS.filter((column) => rows.some((row) => Reflect.get(row, `new_${column}`) !== null))
  return createTable(
    rows,
    {
      ...ofType('integer', ['at_site', 'nth']),
      ...ofType('ubigint', ['at_visitor']),
      ...ofType('timestamp', ['at_time']),
      ...ofType('varchar', ['at_host', 'at_path']),
      ...ofType('boolean', ['at_browser']),
      ...Object.fromEntries(added.map((column) => [`new_${column}`, typeOf(column)])),
    },
    additions.map(({ to }) => to.timestamp),
  )
}

/** The columns `at_…` are those of the claim. */
export const listVerdicts = (verdicts: readonly LateVerdict[]): ChangeTable =>
  createTable(
    verdicts.map(({ site_id, timestamp, agent_id, ip_hash, ...verdict }) => ({
      at_site: site_id,
      at_time: timestamp,
      at_agent: agent_id,
      at_ip: ip_hash,
      ...toNew(verdict),
    })),
    {
      at_site: 'integer',
      at_time: 'timestamp',
      at_agent: 'varchar',
      at_ip: 'ubigint',
      new_verified: 'boolean',
      new_verification: 'varchar',
      new_proof: 'varchar',
      new_proof_at: 'timestamp',
    },
    verdicts.map(({ timestamp }) => timestamp),
  )

/** A table of at least one change. */
function createTable(rows: readonly object[], types: Record<string, ValueType>, times: readonly Date[]): ChangeTable {
  // Not `Math.min(...times)`: there may be more of them than a call takes arguments.
  const ms = times.map((time) => time.getTime())
  return {
    rows,
    types,
    columns: Object.keys(types).flatMap((name) => (name.startsWith('new_') ? [name.slice('new_'.length)] : [])),
    first: new Date(ms.reduce((a, b) => Math.min(a, b))),
    last: new Date(ms.reduce((a, b) => Math.max(a, b))),
  }
}

const toNew = (values: object): object =>
  Object.fromEntries(Object.entries(values).map(([column, value]) => [`new_${column}`, value]))

const typeOf = (column: string): ValueType =>
  VITAL_COLUMNS.some((name) => name === column)
    ? 'double'
    : SERVER_COLUMNS.some((name) => name === column)
      ? 'integer'
      : 'varchar'

const ofType = (type: ValueType, columns: readonly string[]): Record<string, ValueType> =>
  Object.fromEntries(columns.map((column) => [column, type]))

const SESSION_TYPES: Readonly<Record<string, ValueType>> = {
  new_session_id: 'ubigint',
  new_session_start: 'timestamp',
  ...ofType(
    'varchar',
    ARRIVAL_COLUMNS.map((column) => `new_${column}`),
  ),
}
