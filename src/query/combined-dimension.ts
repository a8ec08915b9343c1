import { compile, type Dialect, join, raw, type Sql, sql } from '../sql.js'
import type { Dimension } from './dimensions.js'

/** Several dimensions as one, so that rows are of each combination that there is: its value is a tuple. */
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

/** The tuple `value` of a combination as columns by the names of its parts. */
export const selectParts = (dimensions: readonly Dimension[], dialect: Dialect): Sql =>
  join(
    dimensions.map((d, i) => sql`${dialect.tupleMember(raw('value'), i + 1)} as ${raw(d.name)}`),
    ', ',
  )
