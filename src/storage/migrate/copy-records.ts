import { join, type Param, raw, type Sql, sql } from '../sql.js'
import type { ResultRow } from '../store.js'
import { formatRecord, RECORD_TABLES, readRecords } from './read-records.js'
import type { Source } from './source.js'
import type { Target } from './target.js'

/** Rows of one statement. */
const ROWS_PER_INSERT = 100

/** Replaces all records of the target in one transaction, reads them back and compares; and copies the salts. */
export async function copyRecords(source: Source, target: Target): Promise<void> {
  const tables = new Map<string, ResultRow[]>()
  for (const name of RECORD_TABLES) tables.set(name, await source.readRecords(name))
  const statements: Sql[] = []
  for (const [name, rows] of tables) {
    statements.push(sql`delete from ${raw(name)}`)
    for (let from = 0; from < rows.length; from += ROWS_PER_INSERT)
      statements.push(buildInsert(name, rows.slice(from, from + ROWS_PER_INSERT)))
  }
  await target.records.write(...statements)
  for (const [name, rows] of tables) {
    const targetRows = await readRecords(target.records, name)
    const expected = rows.map((row) => formatSorted(storable(row, target)))
    if (expected.toSorted().join('\n') !== targetRows.map(formatSorted).toSorted().join('\n'))
      throw new Error(
        `${name}: the ${targetRows.length} records in the target are not equal to the ${rows.length} of the source.`,
      )
  }
  const salts = await source.readSalts()
  if (salts !== undefined) await target.writeSalts(salts)
}

function buildInsert(table: string, rows: readonly ResultRow[]): Sql {
  const names = Object.keys(rows[0] ?? {})
  const lists = rows.map(
    (row) =>
      sql`(${join(
        names.map((name) => sql`${toParam(row[name])}`),
        ', ',
      )})`,
  )
  return sql`insert into ${raw(table)} (${raw(names.join(', '))}) values ${join(lists, ', ')}`
}

function toParam(value: unknown): Param {
  if (value === null || value instanceof Date) return value
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  throw new TypeError(`a record has a value of type ${typeof value}`)
}

/** Formats a row whatever the order of its columns. */
const formatSorted = (row: ResultRow): string =>
  formatRecord(Object.fromEntries(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1))))

const storable = (row: ResultRow, target: Target): ResultRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? target.storable(value) : value]),
  )
