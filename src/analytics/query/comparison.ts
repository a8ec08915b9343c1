import { join, raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { isCount } from './metrics.js'

const COMPARISON_PREFIX = 'comparison_'

/** Selects every row with the metrics of the same row in the other window, in one statement. */
export function joinComparison(rows: Sql, others: Sql, keys: readonly string[], metrics: readonly string[]): Sql {
  const columns = metrics.map((metric) => raw(`, b.${metric} as ${COMPARISON_PREFIX}${metric}`))
  const same = keys.map((key) => raw(`a.${key} is not distinct from b.${key}`))
  return sql`select a.* ${join(columns, '')} from (${rows}) a left join (${others}) b on ${join(same, ' and ')}`
}

/** Takes a row of `joinComparison` apart: the row of the window, and the metrics of the other. */
export function splitComparison(row: ResultRow, metrics: readonly string[]): [ResultRow, ResultRow] {
  const own = Object.entries(row).filter(([name]) => !name.startsWith(COMPARISON_PREFIX))
  const other = metrics.map((metric) => [metric, row[`${COMPARISON_PREFIX}${metric}`]] as const)
  return [Object.fromEntries(own), Object.fromEntries(other)]
}

/**
 * Removes null columns; a count among `metrics` is 0 instead, but absent if nothing was recorded. What cannot be computed
 * is absent, never zero.
 */
export function withoutNulls(row: ResultRow, metrics: readonly string[] = [], isRecorded = true): ResultRow {
  // A loop, because it runs for each of up to a million rows.
  const shown: ResultRow = {}
  for (const [name, value] of Object.entries(row)) {
    if (value !== null && !Number.isNaN(value)) shown[name] = value
    else if (metrics.includes(name) && isCount(name)) shown[name] = 0
  }
  for (const name of metrics) {
    if (!isCount(name)) continue
    if (!Object.hasOwn(row, name)) shown[name] = 0
    if (!isRecorded && shown[name] === 0) delete shown[name]
  }
  return shown
}

/** Adds `comparison` (the metrics of the same row in the other window) and `change` (relative to those). */
export function withComparison(
  row: ResultRow,
  other: ResultRow,
  metrics: readonly string[],
  wasRecorded: boolean,
): ResultRow {
  const then = Object.fromEntries(metrics.map((name) => [name, other[name] ?? null]))
  const comparison = withoutNulls(then, metrics, wasRecorded)
  const change = metrics.flatMap((name) => {
    const [a, b] = [row[name], comparison[name]]
    return typeof a === 'number' && typeof b === 'number' && b !== 0 ? [[name, (a - b) / b] as const] : []
  })
  return { ...row, comparison, change: Object.fromEntries(change) }
}
