import type { ClickHouseClient } from '@clickhouse/client'
import {
  COLUMN_TYPES,
  COLUMN_VALUES,
  type ColumnType,
  RowError,
  type RowTable,
  replaceLoneSurrogates,
  VITAL_COLUMNS,
} from '../columns.js'
import type { EdgeDelivery } from '../edge-delivery.js'
import type { AggregateMarks } from './aggregate-marks.js'
import { buildPlacements, buildSessionMoves, buildViewAdditions } from './changes.js'
import type { Commit, JournalEntry } from './journal.js'
import { DELIVERY_COLUMNS, listColumns } from './schema.js'
import { type Insert, insertRows, runWrite } from './statements.js'

/** The rows of a commit as they are inserted, without their ids and versions. */
interface PreparedRows {
  readonly inserts: readonly Insert[]
  readonly count: number
}

/** Throws `RowError` if a column cannot hold a value. */
export function prepareRows({ rows, changes: { loose = [], deliveries = [] } }: Commit): PreparedRows {
  const inserts = [
    prepareTable('events', rows.events),
    prepareTable('loose_reports', loose),
    prepareTable('agent_events', rows.agent_events),
    { table: 'deliveries', columns: DELIVERY_COLUMNS.map(({ name }) => name), values: deliveries.map(toDelivery) },
  ]
  return { inserts, count: inserts.reduce((sum, { values }) => sum + values.length, 0) }
}

/**
 * Makes the changes of a commit in ClickHouse: those of stored rows, then the new rows. Applying it again, in whole or in
 * part, changes nothing, and neither does a writer that was taken over meanwhile: see the README.
 */
export async function applyCommit(
  client: ClickHouseClient,
  marks: AggregateMarks,
  entry: JournalEntry,
  { inserts }: PreparedRows = prepareRows(entry),
): Promise<void> {
  const { number, firstRow, rows, changes } = entry
  const { moves = [], additions = [], placements = [] } = changes
  const [moved, added, placed, inserted] = [number, number + 1n, number + 2n, number + 3n]
  await marks.ofCommit(rows.events, rows.agent_events, changes, number)
  if (moves.length > 0) await runWrite(client, buildSessionMoves(moves, moved))
  if (additions.length > 0) await runWrite(client, buildViewAdditions(additions, { number: added, firstRow }))
  if (placements.length > 0)
    for (const statement of buildPlacements(placements, placed)) await runWrite(client, statement)
  let id = firstRow
  for (const { table, columns, values } of inserts) {
    const rows = values.map((cells) => [...cells, id++, String(inserted), 0])
    await insertRows(client, { table, columns, values: rows })
  }
}

/** Columns that a report without a session does not store. */
const OF_SESSIONS = new Set([
  'session_id',
  'session_start',
  'entry_page',
  'referrer',
  'source',
  'channel',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_content',
  'utm_term',
])

function prepareTable(table: RowTable, rows: readonly object[]): Insert {
  const columns: [string, ColumnType][] = Object.entries(COLUMN_TYPES[table])
  const values = rows.map((row, index) =>
    columns.flatMap(([column, type]) => {
      const value: unknown =
        table === 'loose_reports' && OF_SESSIONS.has(column) ? null : (Reflect.get(row, column) ?? null)
      const cells = toCells(type, value)
      if (!cells) throw new RowError(table, index, column, value)
      return cells
    }),
  )
  return { table, columns: listColumns(table).map(({ name }) => name), values }
}

/** The value as JSON of the insert has it, in the columns of the table; undefined if these cannot hold it. */
function toCells(type: ColumnType, value: unknown): unknown[] | undefined {
  if (type === 'vitals') {
    const vitals = value === null ? undefined : COLUMN_VALUES.vitals(value)
    return vitals || value === null ? VITAL_COLUMNS.map((vital) => vitals?.[vital] ?? null) : undefined
  }
  const stored = value === null ? null : COLUMN_VALUES[type](value)
  if (stored === undefined) return undefined
  return [typeof stored === 'bigint' ? String(stored) : replaceLoneSurrogates('', stored)]
}

const toDelivery = ({ site_id, signature, sender, number, accepted_at }: EdgeDelivery): unknown[] => [
  site_id,
  signature,
  sender,
  number,
  new Date(accepted_at),
]
