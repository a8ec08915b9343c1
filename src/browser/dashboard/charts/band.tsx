import { line } from 'd3-shape'
import { formatMetric, kindOf } from '../parts/numbers.js'
import type { Audience } from '../state/address.js'
import { type Bucket, niceTop, runs, type TimeScale } from './scale.js'

export interface BandSeries {
  of: Audience
  metric: string
  /** The name of the unit: `visitors`. */
  unit: string
  buckets: readonly Bucket[]
  comparison?: readonly Bucket[] | undefined
  /** The word for the dashed line, if it is not the time before. */
  dashed?: string
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

type Point = readonly [x: number, y: number]

const toPath = line<Point>()
const path = (points: readonly Point[]): string => toPath([...points]) ?? ''

/** One readership's values over time, from 0, on a scale of its own. */
export function Band({ series, scale, top, height, isLast, unfinished, shares }: BandProps) {
  const { of, metric, unit, buckets, comparison = [] } = series
  const most = shares
    ? 1
    : niceTop(
        [...buckets, ...comparison].map(({ value }) => value),
        kindOf(metric) !== 'decimal',
      )
  const bottom = top + height
  const y = (value: number) => bottom - (value / most) * height
  const point = (list: readonly Bucket[], i: number): Point => [scale.middle(i), y(list[i]?.value ?? 0)]
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
          stroke={series.dashed ? 'var(--ink)' : 'var(--line)'}
          stroke-width="1.3"
          stroke-dasharray="3 4"
        />
      ))}
      {runs(buckets).map((run) => {
        const open = unfinished && run.at(-1) === last
        const points = run.map((i) => point(buckets, i))
        const isMarked = (i: number) => run.length === 1 || (buckets[i]?.partial && !(open && i === last))
        return of === 'human' ? (
          <g key={run[0]}>
            {points.length > 1 && (
              <path
                d={`${path(points)}L${points.at(-1)?.[0]},${bottom}L${points[0]?.[0]},${bottom}Z`}
                fill="url(#people-area)"
              />
            )}
            <RunLine points={points} open={open} color="var(--people)" />
            {points.map((at, i) => isMarked(run[i] ?? 0) && <Circle key={i} at={at} />)}
          </g>
        ) : (
          <g key={run[0]}>
            <RunLine points={points} open={open} color="var(--agents)" />
            {marks && points.slice(0, open ? -1 : undefined).map((at) => <Diamond key={at[0]} at={at} />)}
          </g>
        )
      })}
    </g>
  )
}

/** The line through the points of one run; the way to a bucket that is not over is dotted. */
const RunLine = ({ points, open, color }: { points: readonly Point[]; open: boolean; color: string }) => (
  <g fill="none" stroke={color} stroke-width="2.2" stroke-linecap="round">
    <path d={path(open ? points.slice(0, -1) : points)} stroke-linejoin="round" />
    {open && <path d={path(points.slice(-2))} stroke-dasharray="2 5" />}
  </g>
)

/** A value that was recorded in part, or stands alone. */
const Circle = ({ at: [x, y] }: { at: Point }) => (
  <circle cx={x} cy={y} r="3.5" fill="var(--panel)" stroke="var(--people)" stroke-width="1.5" />
)

const Diamond = ({ at: [x, y] }: { at: Point }) => (
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
