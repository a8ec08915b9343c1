import { compile, type Dialect, join, raw, type Sql, sql } from '../../storage/sql.js'
import type { Dimension } from './dimensions.js'

/** Assigns each row to a result row: by a bucket of its time, by a dimension, or all rows to one. */
export interface Grouping {
  /** The group's value. `moment` is the column with the row's time: `timestamp`, or `session_start` for sessions. */
  value(moment: Sql): Sql
  /** The columns that the value is made of, if grouping aggregated sessions by them is faster than by the value. */
  columns?: Sql
  dimension?: Dimension
  /** True for buckets so short that many sessions span several: every hit is read. */
  perHit?: boolean
}

/** Puts all rows into one group. */
export const TOTAL: Grouping = { value: () => raw('0') }

export const groupColumns = ({ columns = raw('value') }: Grouping): Sql => columns

/** Combines several dimensions into one whose value is a tuple, so that each combination is a row. */
export function combineDimensions(dimensions: readonly Dimension[], dialect: Dialect): Dimension {
  const [first] = dimensions
  const columns = dimensions.map((d) => raw(d.value ?? d.name))
  return {
    name: dimensions.map((d) => d.name).join(', '),
    type: 'text',
    tables: first?.tables.filter((table) => dimensions.every((d) => d.tables.includes(table))) ?? [],
    level: dimensions.every((d) => d.level === 'session') ? 'session' : 'row',
    value: compile(dialect.tuple(columns), dialect.placeholder).text,
    optional: false,
    parts: dimensions,
    aliases: [],
  }
}

/** The members of a combined dimension's `value`, as columns named after its dimensions. */
export const selectParts = (dimensions: readonly Dimension[], dialect: Dialect): Sql =>
  join(
    dimensions.map((d, i) => sql`${dialect.tupleMember(raw('value'), i + 1)} as ${raw(d.name)}`),
    ', ',
  )
