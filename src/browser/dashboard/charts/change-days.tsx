import { useRef } from 'preact/hooks'
import type { Changes } from '../parts/change-text.js'
import { signed } from '../parts/change-text.js'
import type { Audience } from '../state/address.js'
import { t } from '../texts/index.js'
import { NoteLane } from './note-lane.js'
import type { Note } from './notes.js'
import { bucketEdges, ticks, timeScale } from './scale.js'
import { useWidth } from './width.js'

interface ChangeDaysProps {
  series: readonly { of: Audience; data: Changes }[]
  notes: readonly Note[]
  openNote: number | undefined
  onNote: (id: number | undefined) => void
  label: string
}

const TOP = 20
const HEIGHT = 84
const BETWEEN = 26

/** Bars up and down for each bucket of each readership over one axis; filled is more, hollow is fewer, hatched is not compared. */
export function ChangeDays({ series, notes, openNote, onNote, label }: ChangeDaysProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const granularity = series[0]?.data.granularity ?? 'day'
  const edges = bucketEdges(series[0]?.data.buckets ?? [], granularity)
  const narrow = width < 520
  const scale = timeScale(edges, narrow ? 44 : 64, Math.max(80, width - 6))
  const bottom = TOP + series.length * HEIGHT + (series.length - 1) * BETWEEN
  const axis = bottom + 4
  return (
    <div ref={box}>
      <svg class="chart change-days" role="group" aria-label={label} height={axis + 44}>
        {edges.length > 1 &&
          series.map(({ of, data }, i) => (
            <Bars key={of} of={of} data={data} scale={scale} top={TOP + i * (HEIGHT + BETWEEN)} />
          ))}
        {edges.length > 1 &&
          ticks(scale, granularity, narrow ? 70 : 90).map(({ x, text, anchor }) => (
            <text key={x} x={x} y={axis + 14} text-anchor={anchor}>
              {text}
            </text>
          ))}
        <NoteLane notes={notes} scale={scale} top={TOP} y={axis + 34} open={openNote} onOpen={onNote} />
      </svg>
    </div>
  )
}

interface BarsProps {
  of: Audience
  data: Changes
  scale: ReturnType<typeof timeScale>
  top: number
}

function Bars({ of, data, scale, top }: BarsProps) {
  const values = data.buckets.map(({ difference = 0 }) => difference)
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)]
  const y = (n: number) => top + HEIGHT * (1 - (n - low) / Math.max(1, high - low))
  const color = of === 'human' ? 'var(--people)' : 'var(--agents)'
  return (
    <g>
      <text x={scale.left - 8} y={y(high) + 4} text-anchor="end">
        {signed(high)}
      </text>
      {low < 0 && y(low) - y(high) > 24 && (
        <text x={scale.left - 8} y={y(low) + 2} text-anchor="end">
          {signed(low)}
        </text>
      )}
      {data.buckets.map(({ t: at, difference }, i) => {
        const [start = 0, end = 0] = [scale.edges[i], scale.edges[i + 1]].map((edge) => scale.at(edge ?? 0))
        const room = Math.max(1, end - start)
        if (difference === undefined)
          return <rect key={at} x={start} width={room} y={top} height={HEIGHT} fill="url(#hatch)" />
        if (difference === 0) return null
        const bar = Math.max(1, room * 0.68)
        const [from, to] = [y(Math.max(0, difference)), y(Math.min(0, difference))]
        return (
          <rect
            key={at}
            x={start + (room - bar) / 2}
            width={bar}
            y={from}
            height={Math.max(1.5, to - from)}
            fill={difference > 0 ? color : 'var(--panel)'}
            stroke={difference > 0 ? 'none' : color}
            stroke-width="1.5"
          />
        )
      })}
      <line x1={scale.left} x2={scale.right} y1={y(0)} y2={y(0)} stroke={color} />
      <text x={scale.left} y={top - 6}>
        {t().changes.measure[of]}, {t().changes.moreOrFewer}
      </text>
    </g>
  )
}
