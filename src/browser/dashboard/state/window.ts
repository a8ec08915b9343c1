import { signal } from '@preact/signals'
import { t } from '../texts/index.js'
import { go, type Move, type Place, place } from './address.js'
import { formatFullInstant, formatLongDay, formatMonth } from './format.js'
import { timeZone } from './session.js'
import { addDays, dayOf, instantOf, isDay, isMonth, monthOf } from './zone.js'

export interface Window {
  start: string
  end: string
}

/** The window of the last answer about what is on screen, as the API resolved it: two instants. */
export const shownWindow = signal<Window | undefined>(undefined)

/** Returns the window of an answer, from the echo of its query. */
export function windowOf(query: Readonly<Record<string, unknown>> | undefined): Window | undefined {
  const { start, end } = query ?? {}
  return typeof start === 'string' && typeof end === 'string' ? { start, end } : undefined
}

/** The name of the window on screen. */
export function windowName(): string {
  const { start, end, range } = place.value
  if (start === undefined || end === undefined) return t().shell.range[range]
  if (start === end) return formatLongDay(start)
  if (isMonth(start, end)) return formatMonth(start)
  const write = (moment: string) => (isDay(moment) ? formatLongDay(moment) : formatFullInstant(moment))
  return `${write(start)} – ${write(end)}`
}

/** Names the time on screen at the start of a sentence. */
export function whenText(): string {
  const { start, range } = place.value
  return start === undefined ? t().shell.rangeInSentence[range] : t().shell.inWindow
}

/** The window of the address as instants; of a range as the last answer resolved it. */
function presentWindow(): readonly [start: number, end: number] | undefined {
  const { start, end } = place.value
  const shown = shownWindow.value
  // A key may be pressed again before the answer about this window has come.
  const instant = (moment: string, days: number) =>
    isDay(moment) ? instantOf(`${addDays(moment, days)}T00:00`, timeZone.value) : Date.parse(moment)
  if (start !== undefined && end !== undefined) return [instant(start, 0), instant(end, 1)]
  return shown && [Date.parse(shown.start), Date.parse(shown.end)]
}

/** The first and the last day of the window, also of a range; undefined until an answer has resolved the range. */
export function presentDays(): Window | undefined {
  const present = presentWindow()
  if (!present) return undefined
  const [start, end] = present
  // The end of a range that runs until now lies up to ten seconds later, which may be tomorrow.
  const last = Math.min(end - 1, Math.max(start, Date.now()))
  return { start: dayOf(start, timeZone.value), end: dayOf(last, timeZone.value) }
}

/**
 * Moves the window by its own length; a range becomes a window of its own. Whole days stay whole days, of 23 or 25 hours
 * too, and a month becomes the month beside it. Nothing lies after now.
 */
export function shiftWindow(by: -1 | 1): void {
  const present = presentWindow()
  if (!present) return
  const [start, end] = present
  const next = by === 1 ? end : start - (end - start)
  if (next >= Date.now()) return
  const zone = timeZone.value
  const [first, last] = [dayOf(start, zone), dayOf(end - 1, zone)]
  const days = Math.round((Date.parse(last) - Date.parse(first)) / 86_400_000) + 1
  const moved = (instant: number) => new Date(instant + by * (end - start)).toISOString()
  if (dayOf(start - 1, zone) === first) go({ start: moved(start), end: moved(end) })
  else if (isMonth(first, last)) {
    const month = monthOf(addDays(by === 1 ? last : first, by))
    // The days after today would be compared as if nothing came.
    go(month.end > dayOf(Date.now(), zone) ? { range: 'mtd' } : month)
  } else go({ start: addDays(first, by * days), end: addDays(last, by * days) })
}

/** The windows before each zoom, and the window that it led to, so that Esc can undo it. */
const zooms: { before: Move; after: Pick<Place, 'start' | 'end'> }[] = []

/** Shows a part of the window: whole days by their names, anything else by its instants. */
export function zoomTo(from: number, to: number): void {
  const zone = timeZone.value
  const [first, last] = [dayOf(from, zone), dayOf(to - 1, zone)]
  const isWhole = dayOf(from - 1, zone) !== first && dayOf(to, zone) !== last
  const after = isWhole
    ? { start: first, end: last }
    : { start: new Date(from).toISOString(), end: new Date(to).toISOString() }
  const { range, start, end } = place.value
  zooms.push({ before: start === undefined ? { range } : { start, end }, after })
  go(after)
}

/** Returns to the window before the last zoom, unless the reader has chosen another one since. */
export function undoZoom(): void {
  const { start, end } = place.value
  const { before, after } = zooms.pop() ?? {}
  if (before && after?.start === start && after?.end === end) go(before)
  else zooms.length = 0
}
