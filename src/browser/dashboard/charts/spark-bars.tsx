import type { Bucket } from './scale.js'

interface SparkBarsProps {
  /** Says what the bars show, for screen readers. */
  label: string
  buckets: readonly Bucket[]
  /** The bars are of a rule: refused (solid), or would have been (dashed). */
  kind?: 'refused' | 'would'
}

/** Bars of one row on its own scale; a bucket that was not recorded is hatched, an unfinished or half recorded one is pale. */
export function SparkBars({ label, buckets, kind }: SparkBarsProps) {
  const most = Math.max(1, ...buckets.map(({ value }) => value ?? 0))
  const step = 100 / Math.max(1, buckets.length)
  return (
    <svg class="spark" height="26" role="img" aria-label={label}>
      {buckets.map(({ t, value, partial }, i) =>
        value === undefined ? (
          <rect key={t} x={`${i * step}%`} width={`${step}%`} height="26" fill="url(#hatch)" />
        ) : (
          value > 0 && (
            <rect
              key={t}
              x={`${i * step}%`}
              width={`${step * 0.84}%`}
              y={25 - Math.max(1.5, (value / most) * 24)}
              height={Math.max(1.5, (value / most) * 24)}
              {...(kind ? { class: kind } : { fill: 'var(--agents)' })}
              opacity={partial ? 0.45 : 0.9}
            />
          )
        ),
      )}
      <line x1="0" x2="100%" y1="25.5" y2="25.5" stroke="var(--rule)" />
    </svg>
  )
}
