import { type Named, ranked } from './beside.js'
import { label, timeline } from './calendar.js'
import { absent, distinct, group, type Key, type Row, type Scene } from './site.js'

const VITALS = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const
/** Good up to the first, poor beyond the second. */
const BOUNDS = { lcp: [2500, 4000], cls: [0.1, 0.25], inp: [200, 500], fcp: [1800, 3000], ttfb: [800, 1800] } as const

/** Between the two nearest, in proportion. */
function quantile(sorted: readonly number[], p: number): number | undefined {
  const at = p * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return low === undefined || high === undefined ? undefined : low + (high - low) * (at - Math.floor(at))
}

/** `stats/performance`: what browsers measured of the pages that were opened, in all or by a dimension. */
export function performance({ hits, keyOf }: Scene, dimension?: string): { key: Key; metrics: Named }[] {
  const measured = hits.filter((row) => row.vitals !== null)
  const by = dimension === undefined ? () => undefined : keyOf(dimension)
  return [...group(measured, (row: Row) => by(row))].map(([key, rows]) => ({
    key,
    metrics: Object.fromEntries(
      VITALS.map((name) => {
        const sorted = rows.flatMap((row) => row.vitals?.[name] ?? []).toSorted((a, b) => a - b)
        const p75 = quantile(sorted, 0.75)
        const [good, poor] = BOUNDS[name]
        const rating = p75 === undefined ? undefined : p75 <= good ? 'good' : p75 <= poor ? 'needs_improvement' : 'poor'
        const shares = absent({ p50: quantile(sorted, 0.5), p75, p95: quantile(sorted, 0.95) })
        return [name, { ...shares, ...absent({ rating }), samples: sorted.length }]
      }),
    ),
  }))
}

/** `stats/errors`: one row of each fingerprint. */
export function errors({ hits, q }: Scene, unit: string): Named[] {
  const seen = hits.filter((row) => row.kind === 'error' && row.error !== null)
  const buckets = timeline(q.window[0], q.window[1], q.tz, unit)
  const rows = [...group(seen, (row) => row.error?.fingerprint)].map(([fingerprint, rows]) => {
    const times = rows.map((row) => row.timestamp.getTime())
    const at = group(rows, (row) => label(row.timestamp.getTime(), q.tz, unit))
    return {
      fingerprint,
      rows,
      count: rows.length,
      visitors: distinct(rows, (row) => row.visitor_id),
      sessions: distinct(rows, (row) => row.session_id),
      first_seen: new Date(Math.min(...times)).toISOString(),
      last_seen: new Date(Math.max(...times)).toISOString(),
      sparkline: buckets.map((bucket) => at.get(bucket.label)?.length ?? 0),
    }
  })
  return ranked(
    rows,
    (row) => [row.count],
    (row) => [row.fingerprint],
  )
}
