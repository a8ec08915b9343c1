/** Pages of which the one is cited by at most this factor more often for its reads are cited about as often. */
const ALIKE = 1.25

/** How often a page is cited for its reads, against the median page: as often, or by a factor more or less often. */
export function citedAgainst(ratio: number, median: number): { kind: 'alike' | 'more' | 'less'; factor: number } {
  const factor = median / ratio
  if (factor > ALIKE) return { kind: 'more', factor }
  return 1 / factor > ALIKE ? { kind: 'less', factor: 1 / factor } : { kind: 'alike', factor: 1 }
}
