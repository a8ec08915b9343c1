import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { type Dimension, findDimension, quote } from './dimensions.js'
import { describeFilter, describeNode, EXAMPLE } from './foreign-filters.js'
import {
  findOperator,
  isComparison,
  type Operator,
  type OperatorName,
  suggestOperator,
  supportsOperator,
} from './operators.js'

export type FilterValue = string | number | boolean

/** One condition in canonical names. `value` has the type of the dimension. */
export interface Condition {
  dimension: string
  op: OperatorName
  /**
   * Absent for is_set and is_not_set. A list matches any of its values, under a negative operator none. Two bounds for
   * between.
   */
  value?: FilterValue | readonly FilterValue[]
  /** Only ever false; absent means case-sensitive. */
  case_sensitive?: false
  /** The text that is compared in place of the row's value. Only plans have it (see `resolveSections`). */
  literal?: string
}
/** A tree of conditions. */
export type Filter =
  | Condition
  | { and: readonly Filter[] }
  | { or: readonly Filter[] }
  | { not: Filter }
  | { has_done: Filter }
  | { has_not_done: Filter }
  | ResolvedGoal
  | UnsuspectedSessions

/** A condition on `goal` and the goal's own conditions. Only plans have it (see `resolveGoals`), requests never do. */
interface ResolvedGoal {
  reached: Condition
  by: Filter
}

/** Whole sessions of people without a suspected row. Only plans have it (`suspected=exclude`), requests never do. */
interface UnsuspectedSessions {
  sessions: 'unsuspected'
}
export const UNSUSPECTED_SESSIONS: Filter = { sessions: 'unsuspected' }

const MAX_DEPTH = 5
const MAX_FILTERS = 50
const MAX_PATTERN_LENGTH = 500
const MAX_VALUES = 1000

const invalidFilters = (message: string): ApiError => new ApiError('validation_error', message, 'filters')

const Condition = z.strictObject({
  dimension: z.string(),
  op: z.string(),
  value: z.unknown().optional(),
  case_sensitive: z.boolean().optional(),
})

/**
 * Parses the `filters` parameter: a JSON array is AND; a single group or filter is a list of one. Accepts other tools'
 * names and returns ours. Throws `validation_error` with field `filters`.
 */
export function parseFiltersJson(json: string): Filter[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(json)
  } catch {
    throw invalidFilters(`filters must be JSON, such as ${EXAMPLE}.`)
  }
  return parseFilters(parsed)
}

/** The same for parsed JSON, such as a saved segment's filters. */
export function parseFilters(parsed: unknown): Filter[] {
  let conditions = 0
  const read = (node: unknown, where: string, depth: number): Filter => {
    if (typeof node !== 'object' || node === null || Array.isArray(node))
      throw invalidFilters(describeNode(node, where))
    const [word, ...others] = Object.keys(node)
    const [body] = Object.values(node)
    if (word === 'and' || word === 'or' || word === 'not' || word === 'has_done' || word === 'has_not_done') {
      if (others.length > 0)
        throw invalidFilters(`${where} has ${quote(others[0] ?? '')} beside ${word}: a group has one key.`)
      if (depth === MAX_DEPTH) throw invalidFilters(`${where} is nested more than ${MAX_DEPTH} levels deep.`)
      if (word === 'not') return { not: read(body, `${where}.not`, depth + 1) }
      if (word === 'has_done') return { has_done: read(body, `${where}.has_done`, depth + 1) }
      if (word === 'has_not_done') return { has_not_done: read(body, `${where}.has_not_done`, depth + 1) }
      if (!Array.isArray(body) || body.length === 0)
        throw invalidFilters(`${where}.${word} must be a list of filters, such as {"${word}":${EXAMPLE}}.`)
      const parts = body.map((part, i) => read(part, `${where}.${word}[${i}]`, depth + 1))
      return word === 'and' ? { and: parts } : { or: parts }
    }
    conditions += 1
    if (conditions > MAX_FILTERS) throw invalidFilters(`At most ${MAX_FILTERS} filters are allowed.`)
    return parseCondition(node, where)
  }
  if (Array.isArray(parsed) && typeof parsed[0] === 'string') throw invalidFilters(describeNode(parsed, 'filters'))
  return (Array.isArray(parsed) ? parsed : [parsed]).map((node, i) => read(node, `filters[${i}]`, 0))
}

/** Parses one condition; messages name it by `where`. Throws as `parseFiltersJson` does. */
export function parseCondition(node: object, where: string): Condition {
  const shape = Condition.safeParse(node)
  if (!shape.success) throw invalidFilters(describeFilter(node, where))
  const dimension = findDimension(shape.data.dimension, 'filters')
  const operator = findOperator(shape.data.op)
  if (!operator)
    throw invalidFilters(`${where}.op: unknown operator ${quote(shape.data.op)}${suggestOperator(shape.data.op)}`)
  const value = parseValue(shape.data.value, dimension, operator, where)
  return {
    dimension: dimension.name,
    op: operator.name,
    ...(value === undefined ? {} : { value }),
    ...(shape.data.case_sensitive === false ? { case_sensitive: false } : {}),
  }
}

function parseValue(value: unknown, d: Dimension, o: Operator, where: string): Condition['value'] {
  const { base, name } = o
  const at = `${where}.value`
  if (base === 'is_set') return undefined
  if (!supportsOperator(o, d)) throw invalidFilters(`${where}.op: ${name} does not apply to ${d.name}, a ${d.type}.`)
  const numeric = isComparison(o)
  const type = numeric ? 'number' : base === 'is' ? d.type : 'text'
  const typed = (one: unknown): FilterValue => {
    const result = convertValue(one, type)
    if (result === undefined) throw invalidFilters(`${at}: ${d.name} ${name} takes ${EXPECTED[type]}.`)
    if ((base === 'matches' || base === 'matches_wildcard') && String(result).length > MAX_PATTERN_LENGTH) {
      throw invalidFilters(`${at}: a pattern has at most ${MAX_PATTERN_LENGTH} characters.`)
    }
    return result
  }
  if (base === 'between') {
    if (!Array.isArray(value) || value.length !== 2) throw invalidFilters(`${at}: between takes two numbers.`)
    return value.map(typed)
  }
  if (!Array.isArray(value)) return typed(value)
  if (numeric) throw invalidFilters(`${at}: ${name} takes one number.`)
  if (value.length === 0 || value.length > MAX_VALUES)
    throw invalidFilters(`${at}: a list has 1 to ${MAX_VALUES} values.`)
  return value.map(typed)
}

const EXPECTED = {
  text: 'a string, or a list of them',
  number: 'a number',
  boolean: 'true or false',
  flag: '0 or 1',
} as const

function convertValue(value: unknown, type: Dimension['type']): FilterValue | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  if (type === 'text') return String(value)
  const truth = { true: true, '1': true, false: false, '0': false }[String(value)]
  if (type === 'boolean') return truth
  if (type === 'flag') return truth === undefined ? undefined : Number(truth)
  if (typeof value === 'boolean' || (typeof value === 'string' && value.trim() === '')) return undefined
  return Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER ? Number(value) : undefined
}

/** Lists every condition in the trees, those in behavioural groups included. */
export const listConditions = (filters: readonly Filter[]): Condition[] =>
  filters.flatMap((f) => {
    if ('and' in f) return listConditions(f.and)
    if ('or' in f) return listConditions(f.or)
    if ('not' in f) return listConditions([f.not])
    if ('has_done' in f) return listConditions([f.has_done])
    if ('has_not_done' in f) return listConditions([f.has_not_done])
    if ('reached' in f) return listConditions([f.by])
    return 'dimension' in f ? [f] : []
  })

/**
 * Keeps the conditions of a tree that `keep` returns (unchanged or replaced) and drops the others. A condition can be
 * dropped only if the remaining tree lets at least the same rows through; otherwise the whole tree is dropped
 * (undefined).
 */
export function keepConditions(
  f: Filter,
  keep: (c: Condition) => Condition | undefined,
  negated = false,
): Filter | undefined {
  if ('not' in f) {
    const part = keepConditions(f.not, keep, !negated)
    return part && { not: part }
  }
  if ('and' in f || 'or' in f) {
    const whole = 'and' in f ? f.and : f.or
    const parts = whole.flatMap((part) => keepConditions(part, keep, negated) ?? [])
    const droppable = 'and' in f !== negated
    if (parts.length === 0 || (parts.length < whole.length && !droppable)) return undefined
    return 'and' in f ? { and: parts } : { or: parts }
  }
  // A condition on a goal is kept or dropped as a whole: the request never named the goal's own conditions.
  if ('reached' in f) return keep(f.reached) && f
  return 'dimension' in f ? keep(f) : undefined
}

/** Replaces each condition on the hit itself. Goals and behavioural groups stay: they name conditions of their own. */
export function replaceConditions(f: Filter, replace: (c: Condition) => Condition): Filter {
  if ('not' in f) return { not: replaceConditions(f.not, replace) }
  if ('and' in f) return { and: f.and.map((part) => replaceConditions(part, replace)) }
  if ('or' in f) return { or: f.or.map((part) => replaceConditions(part, replace)) }
  return 'dimension' in f ? replace(f) : f
}

/** Returns true if the filters leave out whole sessions: what counts visitors or pages of all sessions cannot apply them. */
export const leavesOutSessions = (filters: readonly Filter[]): boolean => filters.some((f) => 'sessions' in f)

/** Returns true if all filters leave out whole sessions. */
export const onlyLeavesOutSessions = (filters: readonly Filter[]): boolean => filters.every((f) => 'sessions' in f)

/** Returns true if a tree uses `has_done` or `has_not_done`. Agents are not visitors, so only people have these. */
export const isBehavioural = (f: Filter): boolean => {
  if ('has_done' in f || 'has_not_done' in f) return true
  if ('and' in f) return f.and.some(isBehavioural)
  if ('or' in f) return f.or.some(isBehavioural)
  return 'not' in f && isBehavioural(f.not)
}
