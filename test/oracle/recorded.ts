import type { Rows } from '../../src/storage/rows.js'
import { bucketLabel, timeline } from './calendar.js'
import type { Question } from './site-rows.js'

export type Part = 'all' | 'part' | 'none'

const firstRows = new WeakMap<Rows, Map<number, number>>()
/** The time of the first row of each site. */
function firstRowsOf(all: Rows): ReadonlyMap<number, number> {
  const known = firstRows.get(all)
  if (known) return known
  const found = new Map<number, number>()
  for (const { site_id, timestamp } of [...all.events, ...all.agent_events])
    found.set(site_id, Math.min(found.get(site_id) ?? Number.POSITIVE_INFINITY, timestamp.getTime()))
  firstRows.set(all, found)
  return found
}

/** How much of a time was recorded: cuts it at every edge and looks at the middle of each piece. */
export function recordedPart(all: Rows, q: Question, [from, to]: readonly [number, number]): Part {
  if (from >= to) return 'all'
  const { gaps = [], now = Number.POSITIVE_INFINITY } = q
  const first = q.first ?? firstRowsOf(q.allRows ?? all).get(q.site) ?? Number.POSITIVE_INFINITY
  const edges = [from, to, ...[first, now, ...gaps.flat()].filter((edge) => edge > from && edge < to)]
  const sorted = edges.toSorted((a, b) => a - b)
  const isRecorded = (at: number) => at > first && at < now && !gaps.some(([start, end]) => at > start && at < end)
  const pieces = sorted.slice(1).map((end, i) => isRecorded(((sorted[i] ?? end) + end) / 2))
  return pieces.every(Boolean) ? 'all' : pieces.some(Boolean) ? 'part' : 'none'
}

/** How much of each bucket of the window was recorded and lies in the window. */
export function bucketParts(all: Rows, q: Question, unit: string): Part[] {
  const [from, to] = q.window
  const buckets = timeline(from, to, q.tz, unit)
  return buckets.map(({ t, label }, i) => {
    const step = unit === 'minute' ? 60_000 : 900_000
    let end = buckets[i + 1]?.t ?? t + step
    while (i + 1 === buckets.length && bucketLabel(end, q.tz, unit) === label) end += step
    const part = recordedPart(all, q, [Math.max(from, t), Math.min(to, end)])
    return part === 'all' && (t < from || end > to) ? 'part' : part
  })
}

/** Counts that are absent, not 0, if nothing was recorded. */
const COUNTS = new Set([
  ...['suspected_pageviews', 'suspected_sessions'],
  ...['visitors', 'sessions', 'pageviews', 'events', 'entries', 'exits', 'conversions', 'count', 'people'],
  ...['fetches', 'agents', 'verified_fetches', 'spoofed', 'indeterminate', 'unverifiable', 'bytes'],
])

/** Returns what was counted in a time, without counts of 0 if nothing was recorded then. */
export const countedIn = (all: Rows, q: Question, time: readonly [number, number], answer: object): object => {
  const part = recordedPart(all, q, time)
  return Object(withoutUnrecorded(answer, part, part))
}

/** Takes counts of 0 out of an answer where the window, or the one compared with, was not recorded. */
export function withoutUnrecorded(answer: unknown, now: Part, then: Part): unknown {
  if (Array.isArray(answer)) return answer.map((each) => withoutUnrecorded(each, now, then))
  if (typeof answer !== 'object' || answer === null) return answer
  const counts = new Map<string, unknown>(Object.entries(answer))
  const isUnknown = (name: string, value: unknown) => value === 0 && now === 'none' && COUNTS.has(name)
  /** A count that is absent has no change. */
  const knownChanges = (change: object) =>
    Object.fromEntries(Object.entries(change).filter(([name]) => !isUnknown(name, counts.get(name))))
  return Object.fromEntries(
    Object.entries(answer).flatMap(([name, value]) => {
      if (isUnknown(name, value)) return []
      if (name === 'change') return [[name, knownChanges(Object(value))]]
      return [[name, withoutUnrecorded(value, name === 'comparison' ? then : now, then)]]
    }),
  )
}
