import { hash } from 'node:crypto'
import type { Condition, Filter } from '../query/filters.js'
import { operator } from '../query/operators.js'
import { type Flag, isKnown, type Known } from './flags.js'

/** What a flag is to one visitor. */
export interface Evaluated {
  readonly enabled: boolean
  /** Of an enabled flag that has some. */
  readonly variant?: string
}

/** A dimension's value of one visitor; null where it has none. */
export type KnownOf = (dimension: Known) => string | null

/**
 * The same answer for the same key, site and id, whenever and wherever it is asked. Who is in at one rollout is in at
 * every larger one, and which variant it is does not depend on the rollout.
 */
export function evaluate(
  { site, name, enabled, rollout, variants, filters }: Flag,
  id: string,
  of: KnownOf,
): Evaluated {
  const isIn = enabled && point('rollout', site, name, id) < rollout && (filters ?? []).every((f) => holds(f, of))
  if (!isIn || !variants) return { enabled: isIn }
  const total = variants.reduce((sum, { weight }) => sum + weight, 0)
  let left = point('variant', site, name, id) * total
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
export const point = (purpose: 'rollout' | 'variant', site: number, key: string, id: string): number =>
  hash('sha256', JSON.stringify([purpose, site, key, id]), 'buffer').readUIntBE(0, 6) / 2 ** 48

/** As the store would have it (query/where.ts): what is absent passes no condition but a negative one. */
function holds(f: Filter, of: KnownOf): boolean {
  if ('and' in f) return f.and.every((part) => holds(part, of))
  if ('or' in f) return f.or.some((part) => holds(part, of))
  if ('not' in f) return !holds(f.not, of)
  return 'dimension' in f && operator(f.op).negative !== passes(f, of)
}

function passes({ dimension, op, value, case_sensitive }: Condition, of: KnownOf): boolean {
  const known = isKnown(dimension) ? of(dimension) : null
  const { base } = operator(op)
  if (known === null) return false
  if (base === 'is_set') return known !== ''
  const folded = (text: string) => (case_sensitive === false ? text.toLowerCase() : text)
  const own = folded(known)
  const values = (Array.isArray(value) ? value : [value]).map((one) => folded(String(one)))
  if (base === 'is') return values.includes(own)
  if (base === 'contains') return values.some((one) => own.includes(one))
  return values.some((one) => (base === 'starts_with' ? own.startsWith(one) : own.endsWith(one)))
}
