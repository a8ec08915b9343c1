import { RECORDS_SCHEMA } from '../records/records-schema.js'
import { raw, sql } from '../sql.js'
import type { Records, ResultRow } from '../store.js'
import { COPIED_TABLES } from './tables.js'

/** Tables that belong to one process or engine, or to the copying; salts are copied apart. */
const NOT_COPIED = new Set(['writers', 'journal', 'commits', 'openings', 'salts', 'copying', 'copied'])

/** The tables of records that are copied. */
export const RECORD_TABLES: readonly string[] = RECORDS_SCHEMA.flat()
  .flatMap((statement) => /^\s*create table (\w+)/.exec(statement)?.[1] ?? [])
  .filter((name) => !NOT_COPIED.has(name))

/** Names what is copied: programs with another text cannot copy to one another. */
export const copyFormat = (): string =>
  JSON.stringify([RECORDS_SCHEMA.length, COPIED_TABLES.map(({ columns }) => columns.map(({ name }) => name).join())])

/** Reads all rows of a table of records. */
export const readRecords = ({ query }: Pick<Records, 'query'>, table: string): Promise<ResultRow[]> =>
  query(sql`select * from ${raw(table)}`)

/** Reads when the records were created, to the microsecond, which tells them apart from all others. */
export async function readOrigin({ query }: Pick<Records, 'query'>): Promise<string> {
  const [row] = await query(sql`select cast(min(applied_at) as varchar) as born from schema_versions`)
  return String(row?.born)
}

/** Formats a row of records as JSON: each text has a letter before it, `s` for text, `d` for an instant. */
export const formatRecord = (row: ResultRow): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        value instanceof Date ? `d${value.getTime()}` : typeof value === 'string' ? `s${value}` : value,
      ]),
    ),
  )
