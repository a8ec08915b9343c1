import { HOUR_MS } from '../../base/time-units.js'
import type { Window } from './calendar.js'
import { gapsWithin, type Recording } from './recording.js'

/** The times of two windows that can be compared with each other: what was recorded in both. */
export interface ComparedTimes {
  /** Parts of the window, in order. */
  readonly now: readonly Window[]
  /** The same parts of the other window. */
  readonly before: readonly Window[]
  /** Milliseconds from a moment of the other window to the same moment of this one. */
  readonly offset: number
  /** The share of the window that is compared, 0 to 1. */
  readonly share: number
}

/** More parts make a long statement; windows with more gaps are compared in longer steps than hours. */
export const MAX_PARTS = 100
/** A window that runs until now ends up to ten seconds after it; those seconds count as recorded. */
const MOMENT_MS = 10_000

/**
 * Returns the hours of two windows that were recorded as a whole in both, counted from the start of each. An hour that is
 * missing in one window would look like a fall there, so it is left out of both.
 */
export function findComparedTimes(window: Window, other: Window, recording: Recording, now: Date): ComparedTimes {
  const offset = window.start.getTime() - other.start.getTime()
  const [start, end] = [window.start.getTime(), window.end.getTime()]
  const missing = [
    ...unrecorded(window, recording, now),
    ...unrecorded(other, recording, now).map((time) => move(time, offset)),
  ].map((time) => [time.start.getTime() - start, time.end.getTime() - start] as const)
  for (let step = HOUR_MS; ; step *= 2) {
    const parts = remaining(missing, end - start, step)
    if (parts.length > MAX_PARTS) continue
    const compared = parts.map(([from, to]) => ({ start: new Date(start + from), end: new Date(start + to) }))
    const length = parts.reduce((sum, [from, to]) => sum + to - from, 0)
    return {
      now: compared,
      before: compared.map((part) => moveBack(part, window, other, offset)),
      offset,
      share: length > 0 ? length / (end - start) : 0,
    }
  }
}

type Span = readonly [from: number, to: number]

/** Returns what is left of the time from 0 to `length` without the steps that `missing` touches. */
export function remaining(missing: readonly Span[], length: number, step: number): Span[] {
  const parts: Span[] = []
  let at = 0
  for (const [from, to] of missing.toSorted(([a], [b]) => a - b)) {
    const start = Math.floor(from / step) * step
    if (start > at) parts.push([at, Math.min(start, length)])
    at = Math.max(at, Math.ceil(to / step) * step)
    if (at >= length) return parts
  }
  return at < length ? [...parts, [at, length]] : parts
}

/** The times of a window of which nothing, or not everything, was recorded. */
export function unrecorded(window: Window, recording: Recording, now: Date): Window[] {
  const { since } = recording
  if (since === undefined) return [window]
  const [first, last] = [
    { start: window.start, end: since },
    { start: now, end: window.end },
  ]
  return [
    ...(since > window.start ? [first] : []),
    ...gapsWithin(recording, window),
    ...(window.end.getTime() - now.getTime() > MOMENT_MS ? [last] : []),
  ]
}

const move = ({ start, end }: Window, ms: number): Window => ({
  start: new Date(start.getTime() + ms),
  end: new Date(end.getTime() + ms),
})

/** The same part of the other window. The same days of another year may be longer or shorter; the last part has the rest. */
function moveBack(part: Window, window: Window, other: Window, offset: number): Window {
  const { start, end } = move(part, -offset)
  const isLast = part.end.getTime() === window.end.getTime()
  const until = isLast || end > other.end ? other.end : end
  return { start: new Date(Math.min(start.getTime(), until.getTime())), end: until }
}
