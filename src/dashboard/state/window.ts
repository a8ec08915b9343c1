import { signal } from '@preact/signals'
import { t } from '../texts/index.js'
import { go, place } from './address.js'
import { formatFullInstant, formatLongDay } from './format.js'
import { timeZone } from './session.js'
import { addDays, dayOf, isDay } from './zone.js'

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
  const write = (moment: string) => (isDay(moment) ? formatLongDay(moment) : formatFullInstant(moment))
  return `${write(start)} – ${write(end)}`
}

/** Names the time on screen at the start of a sentence. */
export function whenText(): string {
  const { start, range } = place.value
  return start === undefined ? t().shell.rangeInSentence[range] : t().shell.inWindow
}

/**
 * Moves the window by its own length; a range becomes a window of its own. Whole days stay whole days, of 23 or 25 hours
 * too. Nothing lies after now.
 */
export function shiftWindow(by: -1 | 1): void {
  const shown = shownWindow.value
  if (!shown) return
  const [start, end] = [Date.parse(shown.start), Date.parse(shown.end)]
  const next = by === 1 ? end : start - (end - start)
  if (next >= Date.now()) return
  const zone = timeZone.value
  const [first, last] = [dayOf(start, zone), dayOf(end - 1, zone)]
  const days = Math.round((Date.parse(last) - Date.parse(first)) / 86_400_000) + 1
  const moved = (instant: number) => new Date(instant + by * (end - start)).toISOString()
  if (dayOf(start - 1, zone) === first) go({ start: moved(start), end: moved(end) })
  else go({ start: addDays(first, by * days), end: addDays(last, by * days) })
}

/** Shows a part of the window: whole days by their names, anything else by its instants. */
export function zoomTo(start: number, end: number): void {
  const zone = timeZone.value
  const [first, last] = [dayOf(start, zone), dayOf(end - 1, zone)]
  const isWhole = dayOf(start - 1, zone) !== first && dayOf(end, zone) !== last
  if (isWhole) go({ start: first, end: last })
  else go({ start: new Date(start).toISOString(), end: new Date(end).toISOString() })
}
