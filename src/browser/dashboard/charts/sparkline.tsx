import { niceTop } from './scale.js'

interface SparklineProps {
  /** Values over the window; null: not recorded. */
  values: readonly (number | null)[]
  /** Says what the bars are, for screen readers. */
  label: string
  height?: number
}

/** Small bars over the window. A bar that was not recorded is hatched. */
export function Sparkline({ values, label, height = 24 }: SparklineProps) {
  const most = niceTop(values.map((value) => value ?? 0))
  const step = 100 / Math.max(1, values.length)
  return (
    <svg class="sparkline" viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" height={height} role="img">
      <title>{label}</title>
      {values.map((value, i) => {
        const size = value === null ? height : value > 0 ? Math.max(1.5, (value / most) * height) : 0.75
        return (
          <rect
            key={i}
            x={i * step + step * 0.1}
            width={step * 0.8}
            y={height - size}
            height={size}
            fill={value === null ? 'url(#hatch)' : value > 0 ? 'var(--people)' : 'var(--rule)'}
          />
        )
      })}
    </svg>
  )
}
