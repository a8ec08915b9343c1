import { hash } from 'node:crypto'
import type { Condition, Filter } from '../analytics/query/filters.js'
import { operatorNamed } from '../analytics/query/operators.js'
import { type Flag, type FlagDimension, isFlagDimension } from './flags.js'

/** A flag's value for one visitor. */
export interface FlagResult {
  readonly enabled: boolean
  /** Set for an enabled flag that has variants. */
  readonly variant?: string
}

/** Returns the visitor's value of a dimension; null if it is unknown. */
export type DimensionReader = (dimension: FlagDimension) => string | null

/**
 * Evaluates a flag for one visitor: always the same for the same key, site and id. A visitor who is in at one rollout is in
 * at every larger one, and the variant does not depend on the rollout.
 */
export function evaluateFlag(
  { site, name, enabled, rollout, variants, filters }: Flag,
  id: string,
  read: DimensionReader,
): FlagResult {
  const isIn =
    enabled &&
    hashToFraction('rollout', site, name, id) < rollout &&
    (filters ?? []).every((filter) => matchesFilter(filter, read))
  if (!isIn || !variants) return { enabled: isIn }
  const total = variants.reduce((sum, { weight }) => sum + weight, 0)
  let left = hashToFraction('variant', site, name, id) * total
  const chosen = variants.find(({ weight }) => {
    left -= weight
    return left < 0
  })
  // Sums of fractions may fall short of their total.
  const variant = (chosen ?? variants.at(-1))?.key
  return { enabled: true, ...(variant === undefined ? {} : { variant }) }
}

/**
 * Returns a fraction from 0 to below 1: the first 48 bits of SHA-256 over the JSON list of purpose, site, key and id. JSON
 * keeps different combinations from becoming the same text.
 */
export const hashToFraction = (purpose: 'rollout' | 'variant', site: number, key: string, id: string): number =>
  hash('sha256', JSON.stringify([purpose, site, key, id]), 'buffer').readUIntBE(0, 6) / 2 ** 48

/** Filters as the store does (analytics/query/conditions.ts): an absent value passes only negative conditions. */
function matchesFilter(filter: Filter, read: DimensionReader): boolean {
  if ('and' in filter) return filter.and.every((part) => matchesFilter(part, read))
  if ('or' in filter) return filter.or.some((part) => matchesFilter(part, read))
  if ('not' in filter) return !matchesFilter(filter.not, read)
  return 'dimension' in filter && operatorNamed(filter.op).negative !== matchesCondition(filter, read)
}

function matchesCondition({ dimension, op, value, case_sensitive }: Condition, read: DimensionReader): boolean {
  const given = isFlagDimension(dimension) ? read(dimension) : null
  const { base } = operatorNamed(op)
  if (given === null) return false
  if (base === 'is_set') return given !== ''
  const foldCase = (text: string) => (case_sensitive === false ? text.toLowerCase() : text)
  const actual = foldCase(given)
  const values = (Array.isArray(value) ? value : [value]).map((one) => foldCase(String(one)))
  if (base === 'is') return values.includes(actual)
  if (base === 'contains') return values.some((one) => actual.includes(one))
  return values.some((one) => (base === 'starts_with' ? actual.startsWith(one) : actual.endsWith(one)))
}
