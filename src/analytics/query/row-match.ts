import { ApiError } from '../../base/errors.js'
import { foldCase, NUMERAL } from '../../storage/sql.js'
import { findDimension, propKey } from './dimensions.js'
import { type Condition, type Filter, type FilterValue, isBehavioural, listConditions } from './filters.js'
import { operatorNamed } from './operators.js'
import { fitsParts } from './section-pattern.js'

const IS_NUMERAL = new RegExp(NUMERAL)

/** A row as the worker reports it after a commit, by the names of its columns. */
type Row = Readonly<Record<string, unknown>>

/**
 * Throws `validation_error` for filters that one row cannot decide: what a visitor did elsewhere, values of a whole
 * session, and patterns, which only the engine evaluates in bounded time. Those of sections are decided in one pass.
 */
export function requireRowFilters(filters: readonly Filter[], field = 'filters'): void {
  const refuse = (what: string) => {
    throw new ApiError('validation_error', `${what} cannot filter rows as they arrive.`, field)
  }
  if (filters.some(isBehavioural)) refuse('has_done and has_not_done')
  for (const { dimension, op, value } of listConditions(filters)) {
    if (dimension === 'exit_page' || dimension === 'duration') refuse(dimension)
    const { base } = operatorNamed(op)
    if (base === 'matches' || (base === 'matches_wildcard' && !isCrossing(value))) refuse(op)
  }
}

/** Whether all stars of wildcards cross segments, as those of sections do. */
const isCrossing = (value: Condition['value']): boolean =>
  [value].flat().every((pattern) => !String(pattern).replaceAll('**', '').includes('*'))

/** Whether a row passes all filters, as the SQL of `filterCondition` decides it. Only for filters that `requireRowFilters` accepts. */
export const rowMatches = (filters: readonly Filter[], row: Row): boolean => filters.every((f) => matches(f, row))

function matches(f: Filter, row: Row): boolean {
  if ('and' in f) return f.and.every((part) => matches(part, row))
  if ('or' in f) return f.or.some((part) => matches(part, row))
  if ('not' in f) return !matches(f.not, row)
  if ('reached' in f) return matches(f.by, row)
  // Decides by this row alone what SQL decides by all rows of its session: later rows are not known yet.
  if ('sessions' in f) return row.suspected !== true
  if (!('dimension' in f)) return false
  const { base, negative } = operatorNamed(f.op)
  return conditionHolds(f, base, row) !== negative
}

function conditionHolds(c: Condition, base: ReturnType<typeof operatorNamed>['base'], row: Row): boolean {
  const actual = c.literal ?? dimensionValue(c.dimension, row)
  if (actual === undefined || actual === null) return false
  if (base === 'is_set') return actual !== ''
  const fold = (value: unknown) => (c.case_sensitive === false ? foldCase(String(value)) : String(value))
  const text = fold(actual)
  const values: readonly FilterValue[] = c.value === undefined ? [] : typeof c.value === 'object' ? c.value : [c.value]
  const n = typeof actual === 'number' ? actual : IS_NUMERAL.test(String(actual)) ? Number(actual) : Number.NaN
  const [low = 0, high = 0] = values.map(Number)
  switch (base) {
    case 'is':
      return values.some((value) => fold(value) === text)
    case 'contains':
      return values.some((value) => text.includes(fold(value)))
    case 'starts_with':
      return values.some((value) => text.startsWith(fold(value)))
    case 'ends_with':
      return values.some((value) => text.endsWith(fold(value)))
    case 'matches_wildcard':
      return values.some((value) => fitsParts(fold(value).split('**'), text))
    case 'gt':
      return n > low
    case 'gte':
      return n >= low
    case 'lt':
      return n < low
    case 'lte':
      return n <= low
    case 'between':
      return n >= low && n <= high
    default:
      return false
  }
}

/** The value of a dimension that is a column of the row or made of its columns. */
function dimensionValue(name: string, row: Row): unknown {
  if (name === 'referrer_spam') return 'source' in row ? row.source === null && row.referrer !== null : undefined
  const key = propKey(findDimension(name, 'filters'))
  if (key === undefined) return row[name]
  const props: unknown = typeof row.props === 'string' ? JSON.parse(row.props) : undefined
  const value =
    typeof props === 'object' && props !== null ? Object.entries(props).find(([own]) => own === key) : undefined
  const found = value?.[1] ?? undefined
  return typeof found === 'object' ? JSON.stringify(found) : found
}
