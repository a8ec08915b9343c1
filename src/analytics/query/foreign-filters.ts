import { lookUpDimension } from './dimensions.js'
import { findOperator } from './operators.js'

/** A filter to copy. */
export const EXAMPLE = '[{"dimension":"country","op":"is","value":["DE","AT"]}]'

/** Keys under which other tools have the parts of a filter. */
const DIMENSION_KEYS = ['dimension', 'name', 'property', 'field', 'fieldName', 'column', 'key', 'type']
const OPERATOR_KEYS = ['op', 'operator', 'comparator', 'matchType', 'condition']
const VALUE_KEYS = ['value', 'values', 'filter', 'clauses']

/** Says how to write a list or a plain value that stands where a filter has to be, such as Plausible's `["is", "visit:country", ["DE"]]`. */
export function describeNode(node: unknown, where: string): string {
  if (!Array.isArray(node)) return `${where} must be a filter object, such as ${EXAMPLE.slice(1, -1)}.`
  const [word, dimension, value] = node
  if (word === 'and' || word === 'or' || word === 'not')
    return `${where} must be a group object: write {"${word}": …} and not ["${word}", …].`
  return `${where} must be a filter object: write ${writeFilter(dimension, word, value)}.`
}

/** Says how to write an object that is not a filter, such as Umami's `{"name": "url", "operator": "eq", "value": "/"}`. */
export function describeFilter(node: object, where: string): string {
  const entries = Object.entries(node)
  const find = (keys: readonly string[]) => keys.flatMap((key) => entries.filter(([name]) => name === key))[0]
  const dimension = find(DIMENSION_KEYS)
  const [op, value] = [find(OPERATOR_KEYS)?.[1], find(VALUE_KEYS)?.[1]]
  const named = entries.find(([name]) => lookUpDimension(name) !== undefined)
  const example =
    dimension === undefined && named ? writeFilter(named[0], 'is', named[1]) : writeFilter(dimension?.[1], op, value)
  return `${where} must have dimension, op and, unless op is is_set, value; write ${example}.`
}

/** Writes a filter from another tool's words, as far as they are known here. */
function writeFilter(dimension: unknown, op: unknown, value: unknown): string {
  const dimensionName =
    typeof dimension === 'string' ? (lookUpDimension(dimension) ?? dimension.slice(0, 60)) : 'pathname'
  const operator = typeof op === 'string' ? (findOperator(op)?.name ?? 'is') : 'is'
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
  const isList = Array.isArray(value) && value.length > 0 && JSON.stringify(value).length < 100
  const given = isList || (isPlain && String(value).length < 100) ? value : '/pricing'
  return JSON.stringify({
    dimension: dimensionName,
    op: operator,
    ...(operator.includes('is_') && operator.endsWith('set') ? {} : { value: given }),
  })
}
