import { join, raw, type Sql } from '../../storage/sql.js'
import { filterCondition, storedColumn } from './conditions.js'
import type { Dimension } from './dimensions.js'
import { replaceConditions } from './filters.js'
import type { Grouping } from './grouping.js'
import type { Plan } from './plan.js'
import { SECTION, sectionColumn } from './sections.js'

/** A dimension's value in a row, stored there or computed from its path. */
export const dimensionColumn = (dimension: Dimension, plan: Plan): Sql =>
  dimension.name === SECTION ? sectionOf('pathname', plan) : storedColumn(dimension, plan.dialect)

/** The section of the path in a column; null: it is in none. */
export const sectionOf = (column: 'pathname' | 'entry_page' | 'exit_page', plan: Plan): Sql => {
  const { sections = [], dialect } = plan
  return sectionColumn(sections, raw(column), dialect, (filter) =>
    filterCondition(plan, [replaceConditions(filter, (c) => ({ ...c, dimension: column }))]),
  )
}

/** Groups rows by the value of a dimension. */
export const groupByDimension = (dimension: Dimension, plan: Plan): Grouping => {
  const columns = dimension.parts?.map((part) => dimensionColumn(part, plan))
  return {
    value: () => dimensionColumn(dimension, plan),
    ...(columns ? { columns: join(columns, ', ') } : {}),
    dimension,
  }
}
