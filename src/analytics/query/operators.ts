import { suggestName } from '../../base/nearest-name.js'
import type { Dimension } from './dimensions.js'
import { FOREIGN_OPERATORS, foreignName } from './foreign-names.js'

/** The comparison of an operator, before negation. */
type BaseOperator =
  | 'is'
  | 'contains'
  | 'starts_with'
  | 'ends_with'
  | 'matches'
  | 'matches_wildcard'
  | 'is_set'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'between'

/** The operators of filters, each with the names that other tools use for it. */
const OPERATOR_TABLE = {
  is: { base: 'is', negative: false, aliases: ['equals', 'eq', '=', '==', 'in'] },
  is_not: { base: 'is', negative: true, aliases: ['not_equals', 'neq', 'ne', '!=', 'isNot', 'not_in'] },
  contains: { base: 'contains', negative: false, aliases: ['c', '=@'] },
  contains_not: {
    base: 'contains',
    negative: true,
    aliases: ['not_contains', 'does_not_contain', 'doesNotContain', 'dnc', '!@'],
  },
  starts_with: { base: 'starts_with', negative: false, aliases: ['startsWith', '=^'] },
  starts_with_not: {
    base: 'starts_with',
    negative: true,
    aliases: ['not_starts_with', 'does_not_start_with', 'doesNotStartWith'],
  },
  ends_with: { base: 'ends_with', negative: false, aliases: ['endsWith', '=$'] },
  ends_with_not: {
    base: 'ends_with',
    negative: true,
    aliases: ['not_ends_with', 'does_not_end_with', 'doesNotEndWith'],
  },
  matches: { base: 'matches', negative: false, aliases: ['regex', 're'] },
  matches_not: { base: 'matches', negative: true, aliases: ['not_regex', 'nre', 'not_matches', 'does_not_match'] },
  matches_wildcard: { base: 'matches_wildcard', negative: false, aliases: ['wildcard'] },
  matches_wildcard_not: { base: 'matches_wildcard', negative: true, aliases: ['not_wildcard'] },
  is_set: { base: 'is_set', negative: false, aliases: ['is_not_null', 'isSet', 'set', 's'] },
  is_not_set: { base: 'is_set', negative: true, aliases: ['is_null', 'isNotSet', 'not_set', 'ns'] },
  gt: { base: 'gt', negative: false, aliases: ['greater_than', '>'] },
  gte: { base: 'gte', negative: false, aliases: ['greater_than_or_equal', '>='] },
  lt: { base: 'lt', negative: false, aliases: ['less_than', '<'] },
  lte: { base: 'lte', negative: false, aliases: ['less_than_or_equal', '<='] },
  between: { base: 'between', negative: false, aliases: [] },
} as const satisfies Record<string, { base: BaseOperator; negative: boolean; aliases: readonly string[] }>

export type OperatorName = keyof typeof OPERATOR_TABLE
export interface Operator {
  readonly name: OperatorName
  readonly base: BaseOperator
  readonly negative: boolean
  readonly aliases: readonly string[]
}

const isName = (word: string): word is OperatorName => Object.hasOwn(OPERATOR_TABLE, word)
export const OPERATORS: readonly Operator[] = Object.keys(OPERATOR_TABLE)
  .filter(isName)
  .map((name) => ({ name, ...OPERATOR_TABLE[name] }))

const byName = new Map(OPERATORS.flatMap((o) => [o.name, ...o.aliases].map((word) => [word, o] as const)))

/** Finds an operator by its name or an alias. */
export const findOperator = (word: string): Operator | undefined => byName.get(word)
/** The end of a sentence about a word that is not an operator. */
export const suggestOperator = (word: string): string => {
  const ours = foreignName(word, FOREIGN_OPERATORS)
  const names = OPERATORS.map(({ name }) => name).join(', ')
  return ours === undefined
    ? suggestName(word, [...byName.keys()], `; the operators are ${names}.`)
    : `; write ${ours}.`
}
/** The operator with a canonical name. */
export const operatorNamed = (name: OperatorName): Operator => ({ name, ...OPERATOR_TABLE[name] })

const COMPARISONS: readonly BaseOperator[] = ['gt', 'gte', 'lt', 'lte', 'between']
export const isComparison = ({ base }: Operator): boolean => COMPARISONS.includes(base)

/**
 * Returns true if an operator applies to a dimension: comparisons to numbers and to properties, which may hold numbers;
 * text operators to text and numbers. Patterns do not apply to goals, whose names are compared here: only the engine
 * evaluates patterns safely.
 */
export function supportsOperator(o: Operator, d: Dimension): boolean {
  if (d.name === 'goal' && (o.base === 'matches' || o.base === 'matches_wildcard')) return false
  if (isComparison(o)) return d.type === 'number' || d.name.startsWith('prop:')
  return d.type === 'text' || d.type === 'number' || o.base === 'is' || o.base === 'is_set'
}
