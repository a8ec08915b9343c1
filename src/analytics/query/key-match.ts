import { join, raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'

/**
 * Selects the rows that have the key of a row of `page`. A key column that is absent in some rows of the page is not
 * compared, so a few more rows may match; the caller matches them exactly.
 */
export function keyMatches(keys: readonly string[], page: readonly ResultRow[]): Sql {
  const [only] = keys
  if (keys.length === 1 && only !== undefined) {
    const values = page.flatMap((row) => toParameter(row[only]))
    const listed = values.length > 0 ? sql`${raw(only)} in (${join(values, ', ')})` : raw('false')
    return sql`(${listed} or ${values.length < page.length ? sql`${raw(only)} is null` : raw('false')})`
  }
  const present = keys.filter((column) => page.every((row) => toParameter(row[column]).length > 0))
  return columnsMatch(present, page)
}

/**
 * Selects the rows whose columns equal those of one of `others`, none of which lacks a column. Each column is compared by
 * itself first, because engines are fast at that; tuples are compared only if that narrows the rows further.
 */
export function columnsMatch(columns: readonly string[], others: readonly ResultRow[]): Sql {
  if (others.length === 0 || columns.length === 0) return raw(others.length === 0 ? 'false' : 'true')
  const values = columns.map(
    (column) => new Map(others.map((row) => [JSON.stringify(row[column]), toParameter(row[column])])),
  )
  const each = join(
    columns.map((column, i) => sql`${raw(column)} in (${join([...(values[i]?.values() ?? [])].flat(), ', ')})`),
    ' and ',
  )
  if (values.filter(({ size }) => size > 1).length <= 1) return sql`(${each})`
  const tuple = (row: ResultRow) => {
    const cells = columns.flatMap((column) => toParameter(row[column]))
    return sql`(${join(cells, ', ')})`
  }
  return sql`(${each} and (${raw(columns.join(', '))}) in (${join(others.map(tuple), ', ')}))`
}

const toParameter = (value: unknown): Sql[] =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value instanceof Date
    ? [sql`${value}`]
    : []
