/** How long ids of people last. */
export type SaltPeriod = 'day' | 'week' | 'month' | 'never'

/**
 * Returns the first and the last instant (exclusive) at which a visitor has the id of this instant: ids change by the UTC
 * calendar, weekly ones on Mondays. Undefined if they never change.
 */
export function idPeriod(salt: SaltPeriod, at: number): { start: number; end: number } | undefined {
  if (salt === 'never') return undefined
  const day = new Date(at)
  const [year, month, date] = [day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate()]
  if (salt === 'month') return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) }
  const first = salt === 'day' ? date : date - ((day.getUTCDay() + 6) % 7)
  return { start: Date.UTC(year, month, first), end: Date.UTC(year, month, first + (salt === 'day' ? 1 : 7)) }
}
