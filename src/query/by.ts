import { type Dialect, join, raw, type Sql } from '../sql.js'
import type { Dimension } from './dimensions.js'
import { column } from './where.js'

/** Where a row falls: its key in the answer, made of a column of its own time or of a dimension. */
export interface By {
  /** `moment` is the column that holds when it counts: `timestamp`, or `session_start` for sessions. */
  value(moment: Sql): Sql
  /** What the value is made of, where sealed sessions are grouped by that faster than by the value. */
  parts?: Sql
  dimension?: Dimension
  /** Cut so fine that many sessions lie in several: each hit is looked at. */
  fine?: boolean
}
/** All in one. */
export const TOTAL: By = { value: () => raw('0') }
export const byDimension = (dimension: Dimension, dialect: Dialect): By => ({
  value: () => column(dimension, dialect),
  ...(dimension.of
    ? {
        parts: join(
          dimension.of.map((d) => column(d, dialect)),
          ', ',
        ),
      }
    : {}),
  dimension,
})
export const groupOf = ({ parts = raw('value') }: By): Sql => parts
