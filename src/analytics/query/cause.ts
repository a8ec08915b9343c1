import type { ChangeValue } from './contributions.js'

/** Counts of a window, and of the one that it is compared with. */
export interface Totals {
  readonly now: number
  readonly before: number
}
/** One value of a dimension with what it counted. */
export interface ChangedValue extends ChangeValue, Totals {}

/** Ranks dimensions: if values explain about the same, the one of the first dimension is the cause. */
const RANKING: readonly string[] = [
  'source',
  'agent_id',
  'entry_page',
  'pathname',
  'utm_campaign',
  'section',
  'country',
]
/** Dimensions of which having no value can be a cause: a visit without a source came directly. */
const MAY_BE_ABSENT: readonly string[] = ['source']
/** Values whose excess is at least this share of the greatest are about the same. */
const ABOUT_SAME = 0.9
/** The share of the total change that a cause explains at least. */
const MIN_SHARE = 0.3
/** The share of the cause's change that a page, or some days, must hold to be named. */
export const NAMED_SHARE = 0.8

/** Whether a change is as small as chance makes it: within two standard deviations of a difference of two counts. */
export const isWithinChance = ({ now, before }: Totals): boolean =>
  now === before || Math.abs(now - before) < 2 * Math.sqrt(now + before)

/** Computes how much a value changed beyond its change if all values had changed by the same factor. */
const excessOf = (one: Totals, { now, before }: Totals): number =>
  one.now - one.before - (before === 0 ? 0 : (one.before * (now - before)) / before)

/** Returns the value that explains the change best, with its excess; undefined if none explains enough of it. */
export function findCause<V extends ChangedValue>(
  values: readonly V[],
  totals: Totals,
): (V & { excess: number }) | undefined {
  const change = totals.now - totals.before
  const direction = Math.sign(change)
  const named = values
    .filter(({ dimension, value }) => value !== undefined || MAY_BE_ABSENT.includes(dimension))
    .map((one) => ({ ...one, excess: excessOf(one, totals) }))
    .filter(({ excess }) => excess * direction >= MIN_SHARE * Math.abs(change))
  const greatest = Math.max(...named.map(({ excess }) => excess * direction))
  const rank = ({ dimension }: ChangedValue) => RANKING.indexOf(dimension)
  return named
    .filter(({ excess }) => excess * direction >= ABOUT_SAME * greatest)
    .toSorted((a, b) => rank(a) - rank(b) || (b.excess - a.excess) * direction)[0]
}

/**
 * Returns the fewest of these parts, at most `limit`, that together hold most of a change, in their own order; none if it
 * takes more.
 */
export function fewestParts<P extends { readonly difference: number }>(
  parts: readonly P[],
  change: number,
  limit: number,
): P[] {
  const direction = Math.sign(change)
  const largest: P[] = []
  let sum = 0
  for (const part of parts.toSorted((a, b) => (b.difference - a.difference) * direction).slice(0, limit)) {
    largest.push(part)
    sum += part.difference * direction
    if (sum >= NAMED_SHARE * Math.abs(change)) return parts.filter((one) => largest.includes(one))
  }
  return []
}
