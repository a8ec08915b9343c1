import { compareBytes } from './site-rows.js'

/** One row of an answer. */
export type AnswerRow = Readonly<Record<string, unknown>>

/** The two sum in another order, so twelve digits have to agree, and below 1 twelve decimals. */
export function roundNumbers(value: unknown): unknown {
  if (typeof value === 'number') return Number(Math.abs(value) < 1 ? value.toFixed(12) : value.toPrecision(12)) + 0
  if (Array.isArray(value)) return value.map(roundNumbers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, roundNumbers(each)]))
}

/** Metrics that are 0, not absent, if there is nothing to count. */
const COUNT_METRICS = new Set([
  ...['visitors', 'sessions', 'pageviews', 'events', 'entries', 'exits', 'conversions', 'count'],
  ...['fetches', 'agents', 'verified_fetches', 'spoofed', 'indeterminate', 'unverifiable', 'bytes', 'samples'],
])

/** Adds to rows the same rows of the other window; undefined: nothing is compared. */
export function withComparison(
  now: readonly AnswerRow[],
  then: readonly AnswerRow[] | undefined,
  keys: readonly string[],
  metrics: readonly string[],
): AnswerRow[] {
  if (then === undefined) return [...now]
  const nameOf = (row: AnswerRow) => JSON.stringify(keys.map((key) => row[key] ?? null))
  const others = new Map(then.map((row) => [nameOf(row), row]))
  return now.map((row) => {
    const other = others.get(nameOf(row)) ?? {}
    const comparison = Object.fromEntries(
      metrics.flatMap((name) => {
        const value = other[name] ?? (COUNT_METRICS.has(name) ? 0 : undefined)
        return value === undefined ? [] : [[name, value]]
      }),
    )
    const change = Object.entries(comparison).flatMap(([name, base]) => {
      const value = row[name]
      return typeof value === 'number' && typeof base === 'number' && base !== 0 ? [[name, (value - base) / base]] : []
    })
    return { ...row, comparison, change: Object.fromEntries(change) }
  })
}

/** Sorts by the numbers, greatest first, then by the names: text by its bytes, undefined last. */
export const rank = <R>(
  rows: readonly R[],
  numbers: (row: R) => readonly number[],
  names: (row: R) => readonly unknown[],
): R[] =>
  rows.toSorted((a, b) => {
    const [x, y] = [numbers(a), numbers(b)]
    const i = x.findIndex((n, i) => n !== y[i])
    if (i >= 0) return (y[i] ?? 0) - (x[i] ?? 0)
    const [s, u] = [names(a), names(b)]
    const j = s.findIndex((name, j) => name !== u[j])
    if (j < 0) return 0
    if (s[j] === undefined || u[j] === undefined) return s[j] === undefined ? 1 : -1
    const [x0, y0] = [s[j], u[j]]
    if (typeof x0 === 'bigint' && typeof y0 === 'bigint') return x0 < y0 ? -1 : 1
    return typeof s[j] === 'string' ? compareBytes(String(s[j]), String(u[j])) : Number(s[j]) - Number(u[j])
  })

export const pickFrom = <V>(list: readonly [V, ...V[]] | readonly V[], pick: number): V | undefined =>
  list[pick % list.length]

/** A page of a list, of a size that leaves further pages. */
export function pageOf<R>(rows: readonly R[], pick: number) {
  const [limit, page] = [pickFrom([1000, 7, 50], pick) ?? 1, 1 + (pick % 4 === 3 ? 1 : 0)]
  const data = rows.slice(limit * (page - 1), limit * page)
  return { params: `limit=${limit}&page=${page}`, data, total: rows.length }
}
