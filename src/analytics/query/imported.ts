import type { Window } from './calendar.js'
import type { Warning } from './read-warnings.js'
import type { Gap, Recording } from './recording.js'

/** An import of access logs that has rows. */
export interface ImportedTime {
  /** From the first line to the last. */
  readonly time: Window
  /** Whether visitors have ids that recorded ones do not have. */
  readonly own_salts: boolean
}

/**
 * Adds the times of imports to those that were recorded: a log has every request of its time. Between them, and until the
 * instance first recorded, nothing is known. The time of the first row may be cached from before an import.
 */
export function addImports(recording: Recording, imports: readonly ImportedTime[]): Recording {
  if (imports.length === 0) return recording
  const { began } = recording
  const first = new Date(Math.min(...imports.map(({ time }) => time.start.getTime())))
  const before: Gap[] =
    began !== undefined && first < began ? [{ start: first, end: began, reason: 'not_running' }] : []
  let gaps = [...before, ...recording.gaps]
  for (const { time } of imports) gaps = gaps.flatMap((gap) => subtract(gap, time))
  const { since = first } = recording
  return { ...recording, since: first < since ? first : since, gaps }
}

function subtract(gap: Gap, { start, end }: Window): Gap[] {
  if (gap.end <= start || gap.start >= end) return [gap]
  const before = gap.start < start ? [{ ...gap, end: start }] : []
  return gap.end > end ? [...before, { ...gap, start: end }] : before
}

/** Says that people of these windows may have two ids, because the salts of their imported time were destroyed. */
export function noteImportedVisitors(
  imports: readonly ImportedTime[],
  { window, comparison = window }: { window: Window; comparison?: Window | undefined },
): Warning | undefined {
  const touches = (time: Window, { start, end }: Window) => time.start < end && time.end >= start
  const overlapping = imports.filter(
    ({ time, own_salts }) => own_salts && (touches(time, window) || touches(time, comparison)),
  )
  if (overlapping.length === 0) return undefined
  const start = new Date(Math.min(...overlapping.map(({ time }) => time.start.getTime())))
  const end = new Date(Math.max(...overlapping.map(({ time }) => time.end.getTime())))
  const message = `Rows from ${start.toISOString()} to ${end.toISOString()} come from access logs whose visitors have ids of their own: who was also recorded in that time, or came before or after, counts twice.`
  return { metric: 'visitors', code: 'imported_visitors', message }
}
