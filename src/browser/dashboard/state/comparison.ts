import { HOUR_MS } from './time-units.js'

interface Time {
  start: string
  end: string
}

interface Meta {
  query?: Readonly<Record<string, unknown>> | undefined
  comparison?: Time | undefined
  recorded?:
    | {
        since?: string | undefined
        gaps?: readonly (Time & { joined?: number | undefined })[] | undefined
        comparison?: readonly (Time & { joined?: number | undefined })[] | undefined
      }
    | undefined
  warnings?: readonly { code: string }[] | undefined
}

/** The time of a comparison that is recorded too little to be compared with, and the share of it that is recorded. */
export interface Unrecorded extends Time {
  share: number
}

/** The least part of the recorded share of a window that its comparison must reach. */
const LEAST_RECORDED = 0.95

/**
 * The time that an answer is compared with, if clearly less of it is recorded than of the window: a change would then show
 * the recording, not the readers. Another tool's history fills the time before the first row.
 */
export function unrecordedComparison(meta: Meta | undefined): Unrecorded | undefined {
  const { comparison, recorded, query, warnings = [] } = meta ?? {}
  if (comparison === undefined || recorded === undefined) return undefined
  if (warnings.some(({ code }) => code === 'imported_history')) return undefined
  const { start, end } = comparison
  const share = recordedShare({ start, end }, recorded.since, recorded.comparison)
  const window =
    typeof query?.start === 'string' && typeof query.end === 'string'
      ? { start: query.start, end: query.end }
      : undefined
  const own = window === undefined ? 1 : recordedShare(window, recorded.since, recorded.gaps)
  return share === 0 || share < own * LEAST_RECORDED ? { start, end, share } : undefined
}

type Gaps = NonNullable<Meta['recorded']>['gaps']

/** Gaps that were joined count as recorded: how much of them was is not known, and they are many and short. */
function recordedShare(time: Time, since: string | undefined, gaps: Gaps = []): number {
  if (since === undefined) return 0
  const [start, end] = [Date.parse(time.start), Date.parse(time.end)]
  const before = Math.min(Math.max(Date.parse(since) - start, 0), end - start)
  const missing = gaps
    .filter(({ joined }) => joined === undefined)
    .reduce((sum, gap) => sum + Date.parse(gap.end) - Date.parse(gap.start), before)
  return end > start ? Math.max(0, 1 - missing / (end - start)) : 1
}

/**
 * Whether the last part of a window can be compared by itself: at least half of its hours were recorded in it and in the time
 * that it is compared with. What is known of the window and its comparison covers both. Gaps that were joined count as missing
 * as a whole, so that a time that is offered has a change.
 */
export function isComparable(meta: Meta | undefined, start: number, now = Date.now()): boolean {
  const { comparison, recorded, query } = meta ?? {}
  const [from, end] = [Date.parse(`${query?.start}`), Date.parse(`${query?.end}`)]
  if (comparison === undefined || recorded?.since === undefined || !(start < end)) return false
  const isRightBefore = Date.parse(comparison.end) === from
  const distance = isRightBefore ? end - start : from - Date.parse(comparison.start)
  const gaps = [...(recorded.gaps ?? []), ...(recorded.comparison ?? [])].map((gap) => ({
    from: Date.parse(gap.start) - HOUR_MS,
    to: Date.parse(gap.end) + HOUR_MS,
  }))
  const all = [{ from: -Infinity, to: Date.parse(recorded.since) + HOUR_MS }, ...gaps, { from: now, to: Infinity }]
  const missing = all.flatMap((gap) => [gap, { from: gap.from + distance, to: gap.to + distance }])
  let [sum, at] = [0, start]
  for (const gap of missing.sort((a, b) => a.from - b.from)) {
    const to = Math.min(gap.to, end)
    sum += Math.max(0, to - Math.max(gap.from, at))
    at = Math.max(at, to)
  }
  return sum * 2 <= end - start
}

/** Returns data without the numbers of the comparison; those of charts stay, because each has its own time. */
export function withoutComparison(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withoutComparison)
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(
    Object.entries(data)
      .filter(([name, value]) => name !== 'comparison' || Array.isArray(value))
      .map(([name, value]) => [name, withoutComparison(value)]),
  )
}

/** A part of a total. */
export interface Part {
  n: number
  of: number
}

/** Returns by how many whole points a share changed; 0 if two samples of one share differ as much by chance. */
export function pointsBeyondChance(now: Part, before: Part): number {
  if (now.of === 0 || before.of === 0) return 0
  const difference = now.n / now.of - before.n / before.of
  const both = (now.n + before.n) / (now.of + before.of)
  const deviation = Math.sqrt(both * (1 - both) * (1 / now.of + 1 / before.of))
  return Math.abs(difference) < 2 * deviation ? 0 : Math.round(difference * 100)
}
