import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Mark } from '../parts/marks.js'
import { formatMetric, kindOf } from '../parts/numbers.js'
import type { Recorded } from '../state/data.js'
import { formatDay, formatFullInstant, formatLongDay, formatSeconds, type Granularity } from '../state/format.js'
import { zoomTo } from '../state/window.js'
import { t } from '../texts/index.js'
import { Band, type BandSeries } from './band.js'
import { NoteLane } from './note-lane.js'
import type { Note } from './notes.js'
import { bucketEdges, type TimeScale, ticks, timeScale } from './scale.js'
import { useWidth } from './width.js'

interface TimeChartProps {
  /** Says what the chart shows, for screen readers. */
  label: string
  series: readonly BandSeries[]
  granularity: Granularity
  recorded?: Recorded | undefined
  notes?: readonly Note[]
  /** The note whose strip is open, and a way to open another. */
  openNote?: number | undefined
  onNote?: (id: number | undefined) => void
  height?: number
}

const TOP = 26
const BETWEEN = 44
/** Pixels: a shorter drag selects nothing, and below `MAX_CLICK_PX` it is a click. */
const MIN_DRAG_PX = 12
const MAX_CLICK_PX = 4

/**
 * The time chart: a band per readership over one axis of true time, each from 0 on its own scale. What was not recorded
 * is hatched at its true time. Arrow keys move the crosshair; a drag zooms, a click or Enter on a bucket too.
 */
export function TimeChart({
  label,
  series,
  granularity,
  recorded,
  notes,
  openNote,
  onNote,
  height = 120,
}: TimeChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const edges = bucketEdges(series[0]?.buckets ?? [], granularity)
  const narrow = width < 520
  const scale = timeScale(edges, narrow ? 34 : 48, Math.max(60, width - 6))
  const { at, drag, handlers } = useCrosshair(scale, granularity)
  const each = series.length === 1 ? height * 1.6 : height
  const bottom = TOP + series.length * each + (series.length - 1) * BETWEEN
  const axis = bottom + 8
  const unfinished = (edges.at(-1) ?? 0) > Date.now()
  return (
    <div class="chart-box" ref={box}>
      <svg class="chart" role="group" aria-label={label} tabindex={0} height={axis + (notes ? 48 : 24)} {...handlers}>
        {edges.length > 1 && (
          <>
            <Unrecorded recorded={recorded} scale={scale} bottom={bottom} />
            {at !== undefined && (
              <line x1={scale.middle(at)} x2={scale.middle(at)} y1={TOP - 6} y2={bottom} stroke="var(--line)" />
            )}
            {series.map((each_, i) => (
              <Band
                key={each_.of}
                series={each_}
                scale={scale}
                top={TOP + i * (each + BETWEEN)}
                height={each}
                isLast={i === series.length - 1}
                unfinished={unfinished}
                shares={kindOf(each_.metric) === 'share'}
              />
            ))}
            {ticks(scale, granularity, narrow ? 84 : 90).map(({ x, text, anchor }) => (
              <text key={x} x={x} y={axis + 14} text-anchor={anchor}>
                {text}
              </text>
            ))}
            {notes && <NoteLane notes={notes} scale={scale} top={TOP} y={axis + 36} open={openNote} onOpen={onNote} />}
            {drag && drag.to - drag.from > MIN_DRAG_PX && (
              <rect
                x={drag.from}
                width={drag.to - drag.from}
                y={TOP}
                height={bottom - TOP}
                fill="var(--line)"
                fill-opacity=".2"
              />
            )}
          </>
        )}
      </svg>
      {at !== undefined && !drag && <Tip at={at} series={series} scale={scale} granularity={granularity} />}
    </div>
  )
}

type ChartEvent = TargetedPointerEvent<SVGSVGElement>

const xOf = (event: ChartEvent): number => event.clientX - event.currentTarget.getBoundingClientRect().left

/** The bucket under the crosshair, the drag from left to right that will zoom, and the events that move both. */
function useCrosshair(scale: TimeScale, granularity: Granularity) {
  const [at, setAt] = useState<number>()
  const [drag, setDrag] = useState<{ from: number; to: number }>()
  const count = scale.edges.length - 1
  const clear = () => setAt(undefined)
  const [from, to] = drag ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)] : [0, 0]
  useEscape(drag && (() => setDrag(undefined)))
  // A window of one bucket cannot be narrowed, nor can a minute.
  const zoom = (a: number, b: number) => {
    if (count < 2 || granularity === 'minute') return
    clear()
    zoomTo(scale.edges[a] ?? 0, scale.edges[b + 1] ?? 0)
  }
  const handlers = {
    onPointerMove(event: ChartEvent) {
      setAt(scale.nearest(xOf(event)))
      if (drag) setDrag({ ...drag, to: xOf(event) })
    },
    onPointerLeave: clear,
    onPointerDown(event: ChartEvent) {
      if (event.button !== 0 || event.pointerType === 'touch') return
      event.currentTarget.setPointerCapture(event.pointerId)
      setDrag({ from: xOf(event), to: xOf(event) })
    },
    onPointerUp() {
      if (!drag) return
      if (to - from < MAX_CLICK_PX || to - from > MIN_DRAG_PX) zoom(scale.nearest(from), scale.nearest(to))
      setDrag(undefined)
    },
    onKeyDown(event: TargetedKeyboardEvent<SVGSVGElement>) {
      if (event.key === 'Enter' && event.target === event.currentTarget && at !== undefined) zoom(at, at)
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
      event.preventDefault()
      const by = event.key === 'ArrowRight' ? 1 : -1
      setAt((now) => Math.max(0, Math.min(count - 1, (now ?? (by > 0 ? -1 : count)) + by)))
    },
    onBlur: clear,
  }
  return { at, drag: drag && { from, to }, handlers }
}

/** Runs something on Esc, in place of what Esc does elsewhere. */
function useEscape(run: (() => void) | undefined): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !latest.current) return
      event.preventDefault()
      latest.current()
    }
    addEventListener('keydown', onKey, true)
    return () => removeEventListener('keydown', onKey, true)
  }, [])
}

/** Hatches the time before the first row and the gaps. */
export function Unrecorded({
  recorded,
  scale,
  bottom,
  top = TOP,
}: {
  recorded: Recorded | undefined
  scale: TimeScale
  bottom: number
  top?: number
}) {
  const { parts } = t()
  const [from, to] = [scale.edges[0] ?? 0, scale.edges.at(-1) ?? 0]
  const since = recorded?.since === undefined ? undefined : Date.parse(recorded.since)
  const times = [
    ...(since !== undefined && since > from
      ? [{ start: from, end: Math.min(since, to), text: parts.beforeFirst, joined: undefined }]
      : []),
    ...(recorded?.gaps ?? []).map(({ start, end, reason, joined }) => ({
      start: Math.max(from, Date.parse(start)),
      end: Math.min(to, Date.parse(end)),
      text: parts.gapReasons[reason] ?? reason,
      joined,
    })),
  ].filter(({ start, end }) => end > start)
  return (
    <g>
      {times.map(({ start, end, text, joined }) => {
        const [x, width] = [scale.at(start), Math.max(2, scale.at(end) - scale.at(start))]
        const missing = joined === undefined ? parts.notRecordedFor(formatSeconds((end - start) / 1_000)) : parts.partly
        const words = `${missing}: ${text}`
        return (
          <g key={start}>
            <title>{words}</title>
            <rect x={x} width={width} y={top - 8} height={bottom - top + 8} fill="url(#hatch)" />
            {width > 60 && (
              <text class="halo" x={Math.min(x + width / 2, scale.right - 80)} y={top - 12} text-anchor="middle">
                {width > words.length * 6 ? words : parts.notRecorded}
              </text>
            )}
          </g>
        )
      })}
    </g>
  )
}

interface TipProps {
  at: number
  series: readonly BandSeries[]
  scale: TimeScale
  granularity: Granularity
}

/** The values of one bucket beside the crosshair; read out politely. */
function Tip({ at, series, scale, granularity }: TipProps) {
  const { parts } = t()
  const start = scale.edges[at] ?? 0
  const isLong = granularity === 'day' || granularity === 'week' || granularity === 'month'
  const x = scale.middle(at)
  const left = x < (scale.left + scale.right) / 2
  const write = (metric: string, value: number | undefined) =>
    value === undefined ? parts.notRecorded : formatMetric(metric, value)
  return (
    <div
      class="chart-tip"
      role="status"
      style={
        left
          ? { left: `${x + 12}px`, maxWidth: `${scale.right - x - 12}px` }
          : { right: `calc(100% - ${x - 12}px)`, maxWidth: `${x - 12}px` }
      }
    >
      <div class="muted">
        {isLong ? formatLongDay(start) : formatFullInstant(start)}
        {(scale.edges[at + 1] ?? 0) > Date.now()
          ? `, ${parts.soFar}`
          : series[0]?.buckets[at]?.partial
            ? `, ${parts.partly}`
            : ''}
      </div>
      {series.map(({ of, metric, unit, buckets, comparison, dashed }) => (
        <div key={of}>
          <Mark of={of} />
          {unit}
          <b>{write(metric, buckets[at]?.value)}</b>
          {buckets[at]?.imported && <span class="muted">{parts.imported}</span>}
          {comparison && (
            <span class="muted">
              {dashed ?? `${parts.previous} ${comparison[at]?.t ? formatDay(comparison[at].t) : ''}`}:{' '}
              {write(metric, comparison[at]?.value)}
            </span>
          )}
        </div>
      ))}
    </div>
  )
}
