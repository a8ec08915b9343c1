import { line } from 'd3-shape'
import { formatMetric } from '../parts/numbers.js'
import type { Audience } from '../state/address.js'
import { type Bucket, niceTop, runs, type TimeScale } from './scale.js'

export interface BandSeries {
  of: Audience
  metric: string
  /** The name of the unit: `visitors`. */
  unit: string
  buckets: readonly Bucket[]
  comparison?: readonly Bucket[] | undefined
}

interface BandProps {
  series: BandSeries
  scale: TimeScale
  top: number
  height: number
  isLast: boolean
  /** The last bucket is not over yet. */
  unfinished: boolean
  shares: boolean
}

const toPath = line<readonly [number, number]>()
const path = (points: readonly (readonly [number, number])[]): string => toPath([...points]) ?? ''

/** One readership's values over time, from 0, on a scale of its own. Long because it draws every layer of one run. */
export function Band({ series, scale, top, height, isLast, unfinished, shares }: BandProps) {
  const { of, metric, unit, buckets, comparison = [] } = series
  const most = shares
    ? 1
    : niceTop(
        [...buckets, ...comparison].map(({ value }) => value),
        metric !== 'views_per_session',
      )
  const bottom = top + height
  const y = (value: number) => bottom - (value / most) * height
  const point = (list: readonly Bucket[], i: number) => [scale.middle(i), y(list[i]?.value ?? 0)] as const
  const color = of === 'human' ? 'var(--people)' : 'var(--agents)'
  const last = buckets.length - 1
  const marks = scale.right - scale.left > buckets.length * 9
  return (
    <g>
      {[1, 0.5].map((share) => (
        <g key={share}>
          <line class="grid" x1="0" x2={scale.right} y1={y(most * share)} y2={y(most * share)} />
          <text class="halo" x="0" y={y(most * share) - 5}>
            {formatMetric(metric, most * share)} {share === 1 ? unit : ''}
          </text>
        </g>
      ))}
      <line class={isLast ? 'axis' : 'grid'} x1="0" x2={scale.right} y1={bottom} y2={bottom} />
      {runs(comparison.slice(0, buckets.length)).map((run) => (
        <path
          key={`c${run[0]}`}
          d={path(run.map((i) => point(comparison, i)))}
          fill="none"
          stroke="var(--line)"
          stroke-width="1.3"
          stroke-dasharray="3 4"
        />
      ))}
      {runs(buckets).map((run) => {
        const open = unfinished && run.at(-1) === last
        const whole = open ? run.slice(0, -1) : run
        const all = run.map((i) => point(buckets, i))
        const solid = whole.map((i) => point(buckets, i))
        return (
          <g key={run[0]}>
            {of === 'human' && all.length > 1 && (
              <path
                d={`${path(all)}L${all.at(-1)?.[0]},${bottom}L${all[0]?.[0]},${bottom}Z`}
                fill="url(#people-area)"
              />
            )}
            <path
              d={path(solid)}
              fill="none"
              stroke={color}
              stroke-width="2.2"
              stroke-linejoin="round"
              stroke-linecap="round"
            />
            {open && (
              <path
                d={path(all.slice(-2))}
                fill="none"
                stroke={color}
                stroke-width="2.2"
                stroke-dasharray="2 5"
                stroke-linecap="round"
              />
            )}
            {of === 'agent' && marks && solid.map(([px, py]) => <Diamond key={px} x={px} y={py} />)}
            {of === 'human' &&
              run
                .filter((i) => run.length === 1 || (buckets[i]?.partial && !(open && i === last)))
                .map((i) => (
                  <circle
                    key={i}
                    cx={scale.middle(i)}
                    cy={y(buckets[i]?.value ?? 0)}
                    r="3.5"
                    fill="var(--panel)"
                    stroke={color}
                    stroke-width="1.5"
                  />
                ))}
          </g>
        )
      })}
    </g>
  )
}

const Diamond = ({ x, y }: { x: number; y: number }) => (
  <rect
    x={x - 2.8}
    y={y - 2.8}
    width="5.6"
    height="5.6"
    transform={`rotate(45 ${x} ${y})`}
    fill="var(--panel)"
    stroke="var(--agents)"
    stroke-width="1.5"
  />
)
