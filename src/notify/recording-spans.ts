import type { Window } from '../query/calendar.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'

export interface RecordingSpansDeps {
  records: Records
  /** Whether the store takes what comes in. */
  ready(): boolean
  /** Resolves when all that was seen until now is stored or given up. */
  settle(): Promise<void>
  /** Since the start: rows that were seen and given up, and files of the store that could not be opened whole. */
  lost(): { rows: number; files: number }
  now(): Date
  /** Monotonic milliseconds. */
  clock(): number
}

/** When this instance ran and stored all that it saw, in spans that outlive the process. */
export interface RecordingSpans {
  /** To be called each minute and at the end: what was seen by now is stored, and known to be, when it resolves. */
  extend(): Promise<void>
  /** Milliseconds of the window for which nobody knows whether all of it was stored. */
  missingMs(window: Window): Promise<number>
}

/** The clock said so much more or less than went by: it was set, or the machine was asleep. */
const MAX_CLOCK_STEP_MS = 10_000
/** Twice the longest window of an alert, ms. */
const RETENTION_MS = 2 * 44_640 * 60_000

/** Of a process that begins now. */
export function createRecordingSpans({ records, ready, settle, lost, now, clock }: RecordingSpansDeps): RecordingSpans {
  let seen = { at: now(), clock: clock() }
  let given = lost().rows
  let files = 0
  /** Of the span that goes on. */
  let began = seen.at

  return {
    async extend() {
      const here = { at: now(), clock: clock() }
      await settle()
      if (!ready()) return
      const { rows, files: gone } = lost()
      const stepped = Math.abs(here.at.getTime() - seen.at.getTime() - (here.clock - seen.clock)) > MAX_CLOCK_STEP_MS
      seen = here
      // Rows that a file lost may have been of any time before.
      if (rows !== given || stepped || gone !== files) began = here.at
      given = rows
      const old = new Date(here.at.getTime() - RETENTION_MS)
      // No moment is in two spans: whether one is there may be unknown, and a clock that was set back comes by again.
      await records.write(
        sql`delete from recorded where ${gone === files ? sql`ended < ${old} or began >= ${began}` : sql`true`}`,
        sql`update recorded set ended = ${began} where ended > ${began}`,
        sql`insert into recorded values (${began}, ${here.at})`,
      )
      files = gone
    },
    async missingMs({ start, end }) {
      const [row] = await records.query(sql`
        select coalesce(sum(epoch_ms(least(ended, ${end})) - epoch_ms(greatest(began, ${start}))), 0)::double as ms
        from recorded where ended > ${start} and began < ${end}`)
      return end.getTime() - start.getTime() - Number(row?.ms)
    },
  }
}
