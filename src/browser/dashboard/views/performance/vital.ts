/** A Web Vital with web.dev's bounds: at most `good` is good, above `poor` is poor. */
export interface Vital {
  name: 'lcp' | 'inp' | 'cls' | 'fcp' | 'ttfb'
  good: number
  poor: number
}

/** Google's thresholds for the 75th percentile, in milliseconds; CLS has no unit. */
export const VITALS: readonly Vital[] = [
  { name: 'lcp', good: 2_500, poor: 4_000 },
  { name: 'inp', good: 200, poor: 500 },
  { name: 'cls', good: 0.1, poor: 0.25 },
  { name: 'fcp', good: 1_800, poor: 3_000 },
  { name: 'ttfb', good: 800, poor: 1_800 },
]

export interface Figures {
  p50: number
  p75: number
  p95: number
  samples: number
  rating: 'good' | 'needs-improvement' | 'poor'
}

export const PERCENTILES = ['p50', 'p75', 'p95'] as const
export type Percentile = (typeof PERCENTILES)[number]

export const rate = ({ good, poor }: Vital, value: number): Figures['rating'] =>
  value <= good ? 'good' : value <= poor ? 'needs-improvement' : 'poor'

/** Returns where a value lies on a scale of three zones of equal width, 0 to 1. The last zone ends at three times `poor`. */
export function onScale({ good, poor }: Vital, value: number): number {
  if (value <= good) return value / good / 3
  if (value <= poor) return (1 + (value - good) / (poor - good)) / 3
  return Math.min(1, (2 + (value - poor) / (2 * poor)) / 3)
}
