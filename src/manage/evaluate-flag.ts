import { hash } from 'node:crypto'
import type { Condition, Filter } from '../query/filters.js'
import { operatorNamed } from '../query/operators.js'
import { type Flag, type FlagDimension, isFlagDimension } from './flags.js'

/** What a flag is to one visitor. */
export interface FlagResult {
  readonly enabled: boolean
  /** Of an enabled flag that has some. */
  readonly variant?: string
}

/** A dimension's value of one visitor; null where it has none. */
export type DimensionReader = (dimension: FlagDimension) => string | null

/**
 * The same answer for the same key, site and id, whenever and wherever it is asked. Who is in at one rollout is in at
 * every larger one, and which variant it is does not depend on the rollout.
 */
export function evaluateFlag(
  { site, name, enabled, rollout, variants, filters }: Flag,
  id: string,
  of: DimensionReader,
): FlagResult {
  const isIn =
    enabled && hashToFraction('rollout', site, name, id) < rollout && (filters ?? []).every((f) => matchesFilter(f, of))
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
 * From 0 to below 1: the first 48 bits of SHA-256 over the JSON list of purpose, site, key and id, which no other four
 * have in common.
 */
export const hashToFraction = (purpose: 'rollout' | 'variant', site: number, key: string, id: string): number =>
  hash('sha256', JSON.stringify([purpose, site, key, id]), 'buffer').readUIntBE(0, 6) / 2 ** 48

/** As the store would have it (query/where.ts): what is absent passes no condition but a negative one. */
function matchesFilter(f: Filter, of: DimensionReader): boolean {
  if ('and' in f) return f.and.every((part) => matchesFilter(part, of))
  if ('or' in f) return f.or.some((part) => matchesFilter(part, of))
  if ('not' in f) return !matchesFilter(f.not, of)
  return 'dimension' in f && operatorNamed(f.op).negative !== matchesCondition(f, of)
}

function matchesCondition({ dimension, op, value, case_sensitive }: Condition, of: DimensionReader): boolean {
  const known = isFlagDimension(dimension) ? of(dimension) : null
  const { base } = operatorNamed(op)
  if (known === null) return false
  if (base === 'is_set') return known !== ''
  const folded = (text: string) => (case_sensitive === false ? text.toLowerCase() : text)
  const own = folded(known)
  const values = (Array.isArray(value) ? value : [value]).map((one) => folded(String(one)))
  if (base === 'is') return values.includes(own)
  if (base === 'contains') return values.some((one) => own.includes(one))
  return values.some((one) => (base === 'starts_with' ? own.startsWith(one) : own.endsWith(one)))
}
