import { createHash } from 'node:crypto'
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
import type { Rows } from '../rows.js'
import { isNetworkError } from './query-errors.js'
import { listColumns } from './schema.js'
import { INSERT_SETTINGS } from './settings.js'

/** Names a batch of rows. */
export interface BatchName {
  /** The same each time the same rows are appended, and never for others. */
  readonly batch: string
  /** The epoch of the writer's lease. If two writers append one batch, the rows of the higher epoch count. */
  readonly epoch: number
}

/** Bits of a row id that number the rows of a batch. */
const NUMBER_BITS = 20n
const MAX_ROWS = 1 << Number(NUMBER_BITS)
const ATTEMPTS = 3

/**
 * Stores a batch of rows. A row id follows from the batch and the row's number in it, so that a repeated insert writes the
 * same keys and adds nothing. Throws `RowError` before anything is stored; an append that fails otherwise may be stored in
 * part, and is complete after it is repeated under the same name.
 */
export async function appendBatch(client: ClickHouseClient, rows: Rows, name: BatchName): Promise<void> {
  const inserts = (['events', 'agent_events'] as const).map(
    (table) => [table, toValues(table, rows[table], name)] as const,
  )
  for (const [table, values] of inserts) if (values.length > 0) await insert(client, table, values)
}

async function insert(client: ClickHouseClient, table: RowTable, values: unknown[][]): Promise<void> {
  const [first = '', ...rest] = listColumns(table).map(({ name }) => name)
  for (let attempt = 1; ; attempt++) {
    try {
      await client.insert({
        ...{ table, values, columns: [first, ...rest] },
        format: 'JSONCompactEachRow',
        clickhouse_settings: INSERT_SETTINGS,
      })
      return
    } catch (error) {
      if (attempt === ATTEMPTS || !isNetworkError(error)) throw error
    }
  }
}

/** The rows as arrays in the order of the table's columns. Throws `RowError`. */
function toValues(table: 'events' | 'agent_events', rows: Rows['events'] | Rows['agent_events'], name: BatchName) {
  if (rows.length > MAX_ROWS) throw new Error(`A batch has at most ${MAX_ROWS} rows.`)
  const first = firstRowId(name.batch)
  const columns: [string, ColumnType][] = Object.entries(COLUMN_TYPES[table])
  return rows.map((row, index) => {
    const given = new Map<string, unknown>(Object.entries(row))
    const cells = columns.flatMap(([column, type]) => {
      const value = given.get(column) ?? null
      const stored = toCells(type, value)
      if (!stored) throw new RowError(table, index, column, value)
      return stored
    })
    return [...cells, String(first + BigInt(index)), name.epoch]
  })
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

/** The id of a batch's first row: two batches share it with a chance of 2^-44, and matter only for one site and moment. */
const firstRowId = (batch: string): bigint =>
  (createHash('sha256').update(batch).digest().readBigUInt64BE() >> NUMBER_BITS) << NUMBER_BITS
