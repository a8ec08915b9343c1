import type { EventRow } from '../../src/storage/rows.js'
import { bucketLabel, timeline } from './calendar.js'
import { type AnswerRow, pageOf, pickFrom, rank, withComparison } from './compare.js'
import type { ExpectedRead } from './expected-reads.js'
import type { Part } from './recorded.js'
import {
  compareBytes,
  countDistinct,
  groupBy,
  groupByMany,
  type Key,
  NO_SESSION,
  type Question,
  type SiteView,
  siteView,
  withoutAbsent,
} from './site-rows.js'

const VITALS = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const
/** The upper bound of good, and the bound beyond which it is poor. */
const RATING_BOUNDS = {
  lcp: [2500, 4000],
  cls: [0.1, 0.25],
  inp: [200, 500],
  fcp: [1800, 3000],
  ttfb: [800, 1800],
} as const

/** Interpolates between the two nearest values, to six decimals. */
function quantile(sorted: readonly number[], p: number): number {
  const at = p * (sorted.length - 1)
  const [low = 0, high = 0] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return Math.round((low + (high - low) * (at - Math.floor(at))) * 1e6) / 1e6
}

/** `stats/performance`: what browsers measured, in total or by a dimension. */
function vitalHits({ hitsInWindow: hits, keyOf }: SiteView, dimension?: string): Map<Key, EventRow[]> {
  const measured = hits.filter(({ vitals }) => vitals !== null && Object.values(vitals).some((value) => value !== null))
  return dimension === undefined ? new Map([[undefined, measured]]) : groupByMany(measured, keyOf(dimension))
}

/** The figures of these rows, compared with those of the other window. */
function figures(rows: readonly EventRow[], then: readonly EventRow[] | undefined): AnswerRow {
  const own = vitalsOf(rows)
  const rated = Object.entries(own).map(([name, figures]) => [name, { ...figures, rating: rating(name, figures.p75) }])
  if (then === undefined) return Object.fromEntries(rated)
  const comparison = vitalsOf(then)
  // A vital without samples in either window has no change.
  const change = Object.entries(comparison).flatMap(([name, base]) => {
    const [row] = own[name] ? withComparison([own[name]], [base], [], Object.keys(base)) : []
    return row ? [[name, row.change]] : []
  })
  return { ...Object.fromEntries(rated), comparison, change: Object.fromEntries(change) }
}

function vitalsOf(rows: readonly EventRow[]): Record<string, Record<string, number>> {
  return Object.fromEntries(
    VITALS.flatMap((name) => {
      const sorted = rows.flatMap((row) => row.vitals?.[name] ?? []).toSorted((a, b) => a - b)
      if (sorted.length === 0) return []
      const [p50, p75, p95] = [0.5, 0.75, 0.95].map((p) => quantile(sorted, p))
      return [[name, { ...withoutAbsent({ p50, p75, p95 }), samples: sorted.length }]]
    }),
  )
}

function rating(name: string, p75 = 0): string {
  const bounds = VITALS.find((vital) => vital === name)
  const [good, poor] = bounds ? RATING_BOUNDS[bounds] : [0, 0]
  return p75 <= good ? 'good' : p75 <= poor ? 'needs-improvement' : 'poor'
}

/** Points of a sparkline. */
const MAX_SPARKLINE_POINTS = 31
/** `stats/errors`: one row per fingerprint, with the latest message and the page where it occurred most. */
export function errors({ hitsInWindow: hits, q }: SiteView, unit: string, parts: readonly Part[]): AnswerRow[] {
  const seen = hits.filter((row) => row.kind === 'error' && row.error !== null)
  const buckets = timeline(q.window[0], q.window[1], q.tz, unit)
  const together = Math.ceil(buckets.length / MAX_SPARKLINE_POINTS)
  const rows = [...groupBy(seen, (row) => row.error?.fingerprint)].map(([fingerprint, rows]) => {
    const times = rows.map((row) => row.timestamp.getTime())
    const at = groupBy(rows, (row) => bucketLabel(row.timestamp.getTime(), q.tz, unit))
    const counts = buckets.map((bucket) => at.get(bucket.label)?.length ?? 0)
    const [last] = rank(
      rows.toSorted((a, b) => compareBytes(b.error?.message ?? '', a.error?.message ?? '')),
      (row) => [row.timestamp.getTime()],
      () => [],
    )
    const [place] = rank(
      [...groupBy(rows, (row) => row.pathname)],
      ([, all]) => [all.length],
      ([path]) => [path],
    )
    return withoutAbsent<unknown>({
      ...{ fingerprint, type: rows[0]?.error?.type, pathname: place?.[0] },
      ...{ message: last?.error?.message, frame: last?.error?.frame },
      count: rows.length,
      visitors: countDistinct(rows, (row) => row.visitor_id),
      sessions: countDistinct(
        rows.filter((row) => row.session_id !== NO_SESSION),
        (row) => row.session_id,
      ),
      first_seen: new Date(Math.min(...times)).toISOString(),
      last_seen: new Date(Math.max(...times)).toISOString(),
      sparkline: Array.from({ length: Math.ceil(counts.length / together) }, (_, i) => {
        const sum = counts.slice(i * together, (i + 1) * together).reduce((a, b) => a + b, 0)
        const isUnrecorded = parts.slice(i * together, (i + 1) * together).every((part) => part === 'none')
        return sum === 0 && isUnrecorded ? null : sum
      }),
    })
  })
  return rank(
    rows,
    (row) => [Number(row.count), Number(row.visitors)],
    (row) => [row.fingerprint],
  )
}

export const PERFORMANCE: Omit<ExpectedRead, 'audiences'> = {
  path: 'performance',
  expect(rows, now, then, { pick }) {
    const dimension = pickFrom([undefined, 'pathname', 'device_type', 'country', 'browser', 'utm_medium'], pick)
    const whole = (q: Question) => vitalHits(siteView(rows, q)).get(undefined) ?? []
    const data = figures(whole(now), then && whole(then))
    if (dimension === undefined) return { params: '', data }
    const [own, other] = [vitalHits(siteView(rows, now), dimension), then && vitalHits(siteView(rows, then), dimension)]
    const all = rank(
      [...own].filter(([key]) => key !== undefined || dimension !== 'utm_medium'),
      ([, hits]) => [hits.length],
      ([key]) => [key],
    )
    const { params, data: shown, total = 0 } = pageOf(all, pick)
    const values = shown.map(([key, hits]) => ({
      ...(key === undefined ? {} : { value: key }),
      ...figures(hits, other && (other.get(key) ?? [])),
    }))
    return { params: `${params}&dimension=${dimension}`, data: { ...data, rows: values }, total }
  },
}
