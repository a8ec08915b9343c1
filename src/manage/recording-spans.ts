import { z } from 'zod'
import type { Window } from '../analytics/query/calendar.js'
import { GAP_REASONS, type Gap, type GapReason } from '../analytics/query/recording.js'
import { raw, type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { createTableCache } from './table-cache.js'

interface RecordingSpansDeps {
  records: Records
  /** Whether this process writes the spans; otherwise another one does. */
  isWriter(): boolean
  /** Reports whether the store accepts rows. */
  ready(): boolean
  /** Resolves when everything observed so far is stored or given up. */
  settle(): Promise<void>
  /** Counts since the start: rows that were given up, and stored files that could not be opened whole. */
  lost(): { rows: number; files: number }
  now(): Date
  /** Monotonic milliseconds. */
  clock(): number
}

/** Treats a larger difference between wall clock and monotonic clock as a set clock or a sleeping machine. */
const MAX_CLOCK_STEP_MS = 10_000
/** A process that restarts leaves a shorter gap, which hides no whole minute. */
const MIN_GAP_MS = 60_000

/** The writer extends its span each minute, and another process takes over within 15 s. */
const MAX_TAKEOVER_MS = 90_000

/** A stored span. `complete` is false if rows of that time may be lost with a file. */
const Span = z.object({
  began: z.date(),
  ended: z.date(),
  /** Why the time before it was not recorded; absent in spans of earlier versions. */
  cause: z.enum(GAP_REASONS).nullable(),
  complete: z.boolean().nullable(),
})
type Span = z.output<typeof Span>

export type RecordingSpans = ReturnType<typeof createRecordingSpans>

/**
 * Keeps the spans of time in which this instance ran and stored everything that it observed. They outlive the process
 * and are kept for good: one small row for each run.
 */
export function createRecordingSpans({ records, isWriter, ready, settle, lost, now, clock }: RecordingSpansDeps) {
  let previous = { at: now(), clock: clock() }
  let lostRows = lost().rows
  let lostFiles = 0
  const started = previous.at
  /** Start of the current span, and why the time before it was not recorded. */
  let began = started
  let cause: GapReason = 'not_running'
  let isStartStored = false
  const stored = createTableCache(async () =>
    z
      .array(Span)
      .parse(await records.query(sql`select began, ended, cause, complete from recorded order by began, ended`)),
  )

  /** Continues the spans of the process that writes, for the time when this one does. */
  const follow = async (): Promise<void> => {
    previous = { at: now(), clock: clock() }
    const { rows, files } = lost()
    ;[lostRows, lostFiles, isStartStored] = [rows, files, true]
    stored.invalidate()
    // If the spans cannot be read, this process knows nothing of the time before.
    began = previous.at
    const last = (await stored.get()).reduce((end, { ended }) => Math.max(end, ended.getTime()), 0)
    const at = previous.at.getTime()
    began = new Date(at - last > MAX_TAKEOVER_MS ? at : Math.min(last, at))
  }

  return {
    /** When this process began to record. */
    started,
    /** Extends the current span to now, once what was observed is stored. Call it each minute and at the end. */
    async extend(): Promise<void> {
      if (!isWriter()) return follow()
      if (!ready()) return
      const current = { at: now(), clock: clock() }
      await settle()
      if (!ready()) return
      const { rows, files } = lost()
      const stepped =
        Math.abs(current.at.getTime() - previous.at.getTime() - (current.clock - previous.clock)) > MAX_CLOCK_STEP_MS
      previous = current
      const isBroken = rows !== lostRows || stepped || files !== lostFiles
      const isFileLost = files !== lostFiles
      const earlier = began
      if (isBroken) [began, cause] = [current.at, stepped ? 'clock_changed' : 'rows_lost']
      lostRows = rows
      await records
        .write(
          ...makeRoomStatements(earlier, began, cause, isFileLost),
          // The start separates the time without a process from what this process lost in its first minute.
          ...(isStartStored || began <= started
            ? []
            : [insertSpan({ began: started, ended: started, cause: 'not_running' })]),
          insertSpan({ began, ended: current.at, cause }),
        )
        .finally(stored.invalidate)
      lostFiles = files
      isStartStored = true
    },
    /** Returns how many milliseconds of the window are not known to be stored completely. */
    missingMs: async (window: Window): Promise<number> => uncoveredMs(await stored.get(), window),
    /** Returns when the first known span began. */
    async began(): Promise<Date> {
      const [first] = await stored.get()
      return first && first.began < began ? first.began : began
    },
    /**
     * Returns the times between the first known span and the current one, in order. A time of less than a minute is left
     * out unless rows were lost in it.
     */
    gaps: async (): Promise<Gap[]> => {
      const earlier = (await stored.get()).filter((span) => span.began < began)
      return gapsBetween([...earlier, { began, ended: began, cause }])
    },
  }
}

/** Returns the statement that adds a time in which everything was recorded; `cause` says why the time before was not. */
export const insertSpan = ({ began, ended, cause }: Omit<Span, 'complete'>): Sql =>
  sql`insert into recorded values (${began}, ${ended}, ${cause}, true)`

/**
 * Returns the statements that make room for the current span, which began at `began`, and at `earlier` before this minute.
 * Spans never overlap: an earlier write may or may not have been stored, and a clock that was set back passes the same time
 * twice. Rows of a lost file may be of any time, so no earlier span is complete.
 */
const makeRoomStatements = (earlier: Date, began: Date, cause: GapReason, isFileLost: boolean): Sql[] => [
  sql`delete from recorded where began >= ${began}`,
  // Losses in minutes that follow each other are one gap.
  sql`delete from recorded where began = ${earlier} and ended = began and cause = ${cause}`,
  sql`update recorded set ended = ${began} where ended > ${began}`,
  ...(isFileLost ? [raw('update recorded set complete = false')] : []),
]

function uncoveredMs(spans: readonly Span[], { start, end }: Window): number {
  const covered = spans
    .filter(({ complete }) => complete !== false)
    .map(({ began, ended }) => Math.min(ended.getTime(), end.getTime()) - Math.max(began.getTime(), start.getTime()))
  return end.getTime() - start.getTime() - covered.reduce((sum, ms) => sum + Math.max(0, ms), 0)
}

function gapsBetween([first, ...spans]: readonly Omit<Span, 'complete'>[]): Gap[] {
  const gaps: Gap[] = []
  let end = first?.ended
  for (const span of spans) {
    if (end !== undefined && span.began > end)
      gaps.push({ start: end, end: span.began, reason: span.cause ?? 'not_running' })
    end = span.ended
  }
  return gaps.filter((gap) => gap.reason === 'rows_lost' || gap.end.getTime() - gap.start.getTime() >= MIN_GAP_MS)
}
