import { type Dialect, raw, sql } from '../sql.js'

/** DuckDB's words. Instants are TIMESTAMP columns in UTC, ids UBIGINT. */
export const duckdb: Dialect = {
  placeholder: (position, value) => {
    if (value instanceof Date) return `$${position}::TIMESTAMP`
    if (typeof value === 'bigint') return `$${position}::UBIGINT`
    if (typeof value === 'number') return `$${position}${Number.isSafeInteger(value) ? '::BIGINT' : '::DOUBLE'}`
    return `$${position}`
  },
  startsWith: (column, prefix) => sql`starts_with(${column}, ${prefix})`,
  matches: (column, pattern) => sql`regexp_matches(${column}, ${pattern})`,
  first: (value, by) => sql`arg_min(${value}, ${by})`,
  last: (value, by) => sql`arg_max(${value}, ${by})`,
  epochMs: (column) => sql`epoch_ms(${column})`,
  quantile: (column, p) => sql`quantile_cont(${column}, ${raw(String(p))})`,
}
