import type { Window } from '../query/calendar.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'

interface RecordingSpansDeps {
  records: Records
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
/** Twice the longest window of an alert. */
const RETENTION_MS = 2 * 44_640 * 60_000

/** Keeps the spans of time in which this instance ran and stored everything that it observed. They outlive the process. */
export function createRecordingSpans({ records, ready, settle, lost, now, clock }: RecordingSpansDeps) {
  let previous = { at: now(), clock: clock() }
  let lostRows = lost().rows
  let lostFiles = 0
  /** Start of the current span. */
  let began = previous.at

  return {
    /** Extends the current span to now, once what was observed is stored. Call it each minute and at the end. */
    async extend(): Promise<void> {
      const current = { at: now(), clock: clock() }
      await settle()
      if (!ready()) return
      const { rows, files } = lost()
      const stepped =
        Math.abs(current.at.getTime() - previous.at.getTime() - (current.clock - previous.clock)) > MAX_CLOCK_STEP_MS
      previous = current
      if (rows !== lostRows || stepped || files !== lostFiles) began = current.at
      lostRows = rows
      const expired = new Date(current.at.getTime() - RETENTION_MS)
      // Spans never overlap: an earlier write may or may not have been stored, and a clock that was set back passes
      // the same time twice. Rows of a lost file may be of any time, so all earlier spans go.
      await records.write(
        sql`delete from recorded where ${files === lostFiles ? sql`ended < ${expired} or began >= ${began}` : sql`true`}`,
        sql`update recorded set ended = ${began} where ended > ${began}`,
        sql`insert into recorded values (${began}, ${current.at})`,
      )
      lostFiles = files
    },
    /** Returns how many milliseconds of the window are not known to be stored completely. */
    async missingMs({ start, end }: Window): Promise<number> {
      const [row] = await records.query(sql`
        select coalesce(sum(epoch_ms(least(ended, ${end})) - epoch_ms(greatest(began, ${start}))), 0)::double as ms
        from recorded where ended > ${start} and began < ${end}`)
      return end.getTime() - start.getTime() - Number(row?.ms)
    },
  }
}
