import { type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import type { Window } from './calendar.js'

/** Why a time was not recorded whole: see the README. */
export const GAP_REASONS = ['not_running', 'rows_lost', 'clock_changed'] as const
export type GapReason = (typeof GAP_REASONS)[number]

/** A time in which not everything was recorded. */
export interface Gap extends Window {
  readonly reason: GapReason
  /** How many gaps lie in this time, which was recorded between them; absent: it is one. */
  readonly joined?: number
}

/** The times that were recorded of a site. */
export interface Recording {
  /** The time of the site's first stored row, of people or agents; undefined: it has none. */
  readonly since: Date | undefined
  /** In order, not overlapping. */
  readonly gaps: readonly Gap[]
  /** When the instance first recorded; absent: it is not known. Older rows were imported, or delivered late. */
  readonly began?: Date | undefined
}

const lengthOf = ({ start, end }: Window): number => end.getTime() - start.getTime()

/** Returns the time that lies in both windows. Windows that do not overlap give a window that ends before it starts. */
export const intersect = (a: Window, b: Window): Window => ({
  start: new Date(Math.max(a.start.getTime(), b.start.getTime())),
  end: new Date(Math.min(a.end.getTime(), b.end.getTime())),
})

/** Returns the index of the first gap that ends after `at`, by binary search: a chart asks for each of its buckets. */
function firstEndingAfter(gaps: readonly Gap[], at: Date): number {
  let [low, high] = [0, gaps.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((gaps[middle]?.end ?? at) > at) high = middle
    else low = middle + 1
  }
  return low
}

/** Returns the parts of the gaps that lie within the window and after the site's first row. */
export function gapsWithin({ since, gaps }: Recording, window: Window): Gap[] {
  if (since === undefined) return []
  const observed = intersect(window, { start: since, end: window.end })
  const parts: Gap[] = []
  for (let i = firstEndingAfter(gaps, observed.start); i < gaps.length; i++) {
    const gap = gaps[i]
    if (gap === undefined || gap.start >= observed.end) break
    const part = intersect(gap, observed)
    if (lengthOf(part) > 0) parts.push({ ...part, reason: gap.reason })
  }
  return parts
}

/** The most gaps of a window that an answer lists: one for every few pixels of a chart. */
export const MAX_LISTED_GAPS = 200

/**
 * Returns the gaps of a window as an answer lists them: all of them, or, if they are too many, one for each part of the
 * window in which some begin, from the start of the first to the end of the last, with the reason of the longest.
 */
export function joinGaps(gaps: readonly Gap[], window: Window): readonly Gap[] {
  if (gaps.length <= MAX_LISTED_GAPS) return gaps
  const partMs = lengthOf(window) / MAX_LISTED_GAPS
  const parts = new Map<number, Gap[]>()
  for (const gap of gaps) {
    const part = Math.floor((gap.start.getTime() - window.start.getTime()) / partMs)
    parts.set(part, [...(parts.get(part) ?? []), gap])
  }
  return [...parts.values()].map((all) => {
    const { reason, start, end } = all.reduce((a, b) => (lengthOf(b) > lengthOf(a) ? b : a))
    if (all.length === 1) return { start, end, reason }
    return { start: all[0]?.start ?? start, end: all.at(-1)?.end ?? end, reason, joined: all.length }
  })
}

/** Tells how much of a time was recorded until now. An empty time is recorded. */
export function recordedPart(recording: Recording, time: Window, now: Date): 'all' | 'part' | 'none' {
  if (lengthOf(time) <= 0) return 'all'
  const { since } = recording
  const observed = since && intersect(time, { start: since, end: now })
  if (observed === undefined || lengthOf(observed) <= 0) return 'none'
  const missing = gapsWithin(recording, observed).reduce((sum, gap) => sum + lengthOf(gap), 0)
  if (missing >= lengthOf(observed)) return 'none'
  return missing === 0 && lengthOf(observed) === lengthOf(time) ? 'all' : 'part'
}

/** Returns the time from the first recorded instant of a window to the last; without any it ends before it starts. */
export function recordedSpan(recording: Recording, window: Window, now: Date): Window {
  const known = intersect(window, { start: recording.since ?? now, end: now })
  const gaps = gapsWithin(recording, known)
  let [start, end] = [known.start.getTime(), known.end.getTime()]
  for (const gap of gaps) if (gap.start.getTime() <= start) start = Math.max(start, gap.end.getTime())
  for (const gap of gaps.toReversed()) if (gap.end.getTime() >= end) end = Math.min(end, gap.start.getTime())
  return { start: new Date(start), end: new Date(end) }
}

/** The most gaps that the warning names. */
const MAX_NAMED_GAPS = 3
const WHAT: Record<GapReason, string> = {
  not_running: 'readership was not running',
  rows_lost: 'rows were lost',
  clock_changed: 'the machine slept or its clock was set',
}

/**
 * Says in words which times were not recorded: the gaps, and the time before the first row if it was asked about.
 * Returns undefined if there is nothing to say.
 */
export function describeUnrecorded(
  { since }: Recording,
  gaps: readonly Gap[],
  asksBeforeFirstRow: boolean,
): string | undefined {
  if (since === undefined) return asksBeforeFirstRow ? 'Nothing is recorded yet: values are absent.' : undefined
  const named = gaps
    .slice(0, MAX_NAMED_GAPS)
    .map(({ start, end, reason }) => `${WHAT[reason]} from ${start.toISOString()} to ${end.toISOString()}`)
  const more = gaps.length - named.length
  const all = [...named, ...(more > 0 ? [`${more} more in meta.recorded`] : [])].join(', ')
  const sentences = [
    ...(asksBeforeFirstRow ? [`Nothing is recorded before ${since.toISOString()}: values before it are absent.`] : []),
    ...(gaps.length > 0 ? [`Not recorded whole: ${all}. Values of these times are absent or too low.`] : []),
  ]
  return sentences.length > 0 ? sentences.join(' ') : undefined
}

type Query = (statement: Sql) => Promise<readonly ResultRow[]>

/** Returns the time of the site's first row of any table, so that both audiences have the same. */
export async function firstRowTime(site: number, query: Query): Promise<Date | undefined> {
  const [row] = await query(sql`
    select min(first) as first from (select min(timestamp) as first from events where site_id = ${site}
      union all select min(timestamp) as first from loose_reports where site_id = ${site}
      union all select min(timestamp) as first from agent_events where site_id = ${site}) b`)
  return row?.first instanceof Date ? row.first : undefined
}

/** Milliseconds for which the time of a site's first row is cached: only imports and removals change it. */
const FIRST_ROW_TTL_MS = 60_000

interface RecordingLookupDeps {
  query: Query
  gaps(): Promise<readonly Gap[]>
  /** Absent: it is not known. */
  began?(): Promise<Date>
  /** Monotonic milliseconds. */
  clock(): number
}

/**
 * Returns a function that tells which times were recorded of a site. It scans a site's rows once a minute at most, also for
 * the many reads that a dashboard sends at once.
 */
export function createRecordingLookup({ query, gaps, began, clock }: RecordingLookupDeps) {
  const firstRows = new Map<number, { time: Promise<Date | undefined>; until: number }>()
  const findFirstRow = async (site: number): Promise<Date | undefined> => {
    const cached = firstRows.get(site)
    if (cached && clock() < cached.until) return cached.time
    const asked = { time: firstRowTime(site, query), until: clock() + FIRST_ROW_TTL_MS }
    firstRows.set(site, asked)
    const forget = () => firstRows.get(site) === asked && firstRows.delete(site)
    // A site without rows is asked about again, because its first row may come at any time.
    asked.time.then((time) => time === undefined && forget(), forget)
    return asked.time
  }
  return async (site: number): Promise<Recording> => ({
    since: await findFirstRow(site),
    gaps: await gaps(),
    ...(began && { began: await began() }),
  })
}
