import { scaleLinear } from 'd3-scale'
import { formatBucket, formatDay, type Granularity } from '../state/format.js'
import { timeZone } from '../state/session.js'
import { DAY_MS } from '../state/time-units.js'
import { addDays, dayOf, instantOf } from '../state/zone.js'

export interface Bucket {
  t: string
  value?: number | undefined
  /** Recorded in part, cut by the window, or not over yet. */
  partial?: boolean | undefined
  /** The value has days that another tool counted. */
  imported?: boolean
}

/** Returns the starts of the buckets and the end of the last one, by the calendar of the site's zone. */
export function bucketEdges(buckets: readonly Bucket[], granularity: Granularity): number[] {
  const starts = buckets.map(({ t }) => Date.parse(t))
  const last = starts.at(-1)
  return last === undefined ? [] : [...starts, endOf(last, granularity)]
}

function endOf(start: number, granularity: Granularity): number {
  if (granularity === 'minute') return start + 60_000
  if (granularity === 'hour') return start + 3_600_000
  const zone = timeZone.value
  const day = dayOf(start, zone)
  const [year = 0, month = 0] = day.split('-').map(Number)
  const next =
    granularity === 'month'
      ? new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10)
      : addDays(day, granularity === 'week' ? 7 : 1)
  return instantOf(`${next}T00:00`, zone)
}

export interface TimeScale {
  /** Returns the x of an instant. */
  at(instant: number): number
  /** Returns the x of the middle of a bucket. */
  middle(index: number): number
  /** Returns the bucket that is nearest to an x. */
  nearest(x: number): number
  readonly edges: readonly number[]
  readonly left: number
  readonly right: number
}

/** One axis of true time, on which buckets have their true width (a DST day has 23 or 25 hours). */
export function timeScale(edges: readonly number[], left: number, right: number): TimeScale {
  const scale = scaleLinear([edges[0] ?? 0, edges.at(-1) ?? 1], [left, right])
  const middle = (i: number) => scale(((edges[i] ?? 0) + (edges[i + 1] ?? 0)) / 2)
  return {
    at: (instant) => scale(instant),
    middle,
    nearest: (x) => {
      const instant = scale.invert(x)
      const next = edges.findIndex((edge) => edge > instant)
      return Math.max(0, Math.min(edges.length - 2, next < 0 ? edges.length - 2 : next - 1))
    },
    edges,
    left,
    right,
  }
}

/** Returns a round number at or above the greatest value: 1, 2, 2.5 or 5 times a power of ten. */
export function niceTop(values: readonly (number | undefined)[], integer = true): number {
  const most = Math.max(0, ...values.map((value) => value ?? 0))
  if (most === 0) return integer ? 2 : 1
  const power = 10 ** Math.floor(Math.log10(most))
  const top = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= most) ?? 10 * power
  return integer ? Math.max(2, Math.ceil(top / 2) * 2) : top
}

/** Returns the runs of buckets that have values, as lists of indices: no line goes through what is absent. */
export function runs(buckets: readonly Bucket[]): number[][] {
  const ticks: number[][] = []
  buckets.forEach((bucket, i) => {
    if (bucket.value === undefined) return
    const run = ticks.at(-1)
    if (run?.at(-1) === i - 1) run.push(i)
    else ticks.push([i])
  })
  return ticks
}

interface Tick {
  x: number
  text: string
  anchor: 'middle' | 'end'
}

/** Returns the labels of the axis, at least `every` pixels apart: of buckets, or of days if hours make up several. */
export function ticks(scale: TimeScale, granularity: Granularity, every = 90): Tick[] {
  const starts = scale.edges.slice(0, -1)
  const isFine = granularity === 'minute' || granularity === 'hour'
  const zone = timeZone.value
  const isMidnight = (at: number) => dayOf(at, zone) !== dayOf(at - 1, zone)
  if (isFine && (scale.edges.at(-1) ?? 0) - (scale.edges[0] ?? 0) > 2 * DAY_MS) {
    const days = starts.filter(isMidnight)
    const step = Math.max(1, Math.ceil((days.length * every) / Math.max(1, scale.right - scale.left)))
    return days
      .filter((_, i) => (days.length - 1 - i) % step === 0)
      .map((at) => ({ x: Math.min(scale.at(at), scale.right - 20), text: formatDay(at), anchor: 'middle' }))
  }
  const count = starts.length
  const step = Math.max(1, Math.ceil(count / Math.max(1, (scale.right - scale.left) / every)))
  return starts.flatMap((at, i) => {
    if ((count - 1 - i) % step !== 0) return []
    const text = isFine && isMidnight(at) ? formatDay(at) : formatBucket(at, granularity)
    return [{ x: scale.middle(i), text, anchor: i === count - 1 ? 'end' : 'middle' }]
  })
}
