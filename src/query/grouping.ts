import { type Dialect, join, raw, type Sql } from '../sql.js'
import { dimensionColumn } from './conditions.js'
import type { Dimension } from './dimensions.js'

/** Where a row falls: its key in the answer, made of a column of its own time or of a dimension. */
export interface Grouping {
  /** `moment` is the column that holds when it counts: `timestamp`, or `session_start` for sessions. */
  value(moment: Sql): Sql
  /** What the value is made of, where sealed sessions are grouped by that faster than by the value. */
  columns?: Sql
  dimension?: Dimension
  /** Cut so fine that many sessions lie in several: each hit is looked at. */
  perHit?: boolean
}
/** All in one. */
export const TOTAL: Grouping = { value: () => raw('0') }
export const groupByDimension = (dimension: Dimension, dialect: Dialect): Grouping => ({
  value: () => dimensionColumn(dimension, dialect),
  ...(dimension.parts
    ? {
        columns: join(
          dimension.parts.map((d) => dimensionColumn(d, dialect)),
          ', ',
        ),
      }
    : {}),
  dimension,
})
export const groupColumns = ({ columns: parts = raw('value') }: Grouping): Sql => parts
