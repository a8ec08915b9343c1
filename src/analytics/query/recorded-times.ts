import type { Granularity } from '../../storage/sql.js'
import { type Bucket, bucketEnds } from './buckets.js'
import type { Window } from './calendar.js'
import type { ReadHistory } from './histories.js'
import type { Warning } from './read-warnings.js'
import { describeUnrecorded, gapsWithin, intersect, joinGaps, type Recording, recordedPart } from './recording.js'

interface RecordedTimesDeps {
  readonly plan: { readonly window: Window; readonly comparison?: Window | undefined }
  readonly recording: Recording
  readonly history: ReadHistory
  readonly now: Date
  warn(warning: Warning): void
}

/** Tells a read how much of its times was recorded, and remembers what the response has to say about that. */
export function createRecordedTimes({ plan, recording, history, now, warn }: RecordedTimesDeps) {
  let asksBeforeFirstRow = false
  /** Tells how much of a time was recorded; the response says so where it is nothing. */
  const recorded = (time: Window) => {
    const part = recordedPart(recording, time, now)
    const { since } = recording
    asksBeforeFirstRow ||= part === 'none' && (since === undefined || time.start < since)
    return part
  }
  return {
    recorded,
    /**
     * Tells how much of each bucket was recorded and lies in the window: a count of 0 in a bucket without anything recorded
     * would claim that nothing happened.
     */
    recordedBuckets(buckets: readonly Bucket[], window: Window, tz: string, unit: Granularity) {
      const ends = bucketEnds(buckets, tz, unit)
      return buckets.map(({ t: start }, i) => {
        const end = ends[i] ?? window.end
        const part = recorded(intersect({ start, end }, window))
        const isCut = start < window.start || end > window.end
        return part === 'all' && isCut ? 'part' : part
      })
    },
    /** Returns what `meta.recorded` says, and adds the warnings that say it, and what other tools counted, in words. */
    recordedTimes() {
      const list = (window: Window) => joinGaps(gapsWithin(recording, window), window)
      const gaps = list(plan.window)
      const comparison = plan.comparison && list(plan.comparison)
      const asksBefore = asksBeforeFirstRow && !history.isIncluded()
      const message = describeUnrecorded(recording, [...(comparison ?? []), ...gaps], asksBefore)
      if (message !== undefined) warn({ code: 'not_recorded', message })
      const note = history.note()
      if (note) warn(note)
      return { since: recording.since, gaps, comparison }
    },
  }
}
