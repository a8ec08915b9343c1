import type { DataOf } from '../client/index.js'
import { place, type Range } from '../state/address.js'
import { useRead } from '../state/data.js'
import { shareSlug, siteQuery } from '../state/question.js'
import { timeZone } from '../state/session.js'
import type { Window } from '../state/window.js'
import { addDays, dayOf } from '../state/zone.js'

/** A note on the time line. */
export type Note = DataOf<'/api/annotations'>[number]

/** Days in which a range has begun for certain. */
const MAX_DAYS: Partial<Record<Range, number>> = {
  ...{ today: 2, yesterday: 3, '24h': 2, '7d': 9, '30d': 32, '90d': 92, '12mo': 368, mtd: 33, ytd: 368 },
}

/**
 * The site's notes of a chart's window; a share link shows none. They are asked with the chart, before its answer has said
 * when a range begins: by a day that is earlier.
 */
export function useNotes(window: Window | undefined): readonly Note[] {
  const { range, start, end } = place.value
  const days = MAX_DAYS[range]
  const since = start ?? (days === undefined ? undefined : addDays(dayOf(Date.now(), timeZone.value), -days))
  const { data } = useRead(
    '/api/annotations',
    shareSlug.value === undefined ? { ...siteQuery.value, start: since, end } : undefined,
  )
  const [from, to] = [Date.parse(window?.start ?? ''), Date.parse(window?.end ?? '')]
  return (data ?? []).filter(({ at }) => Date.parse(at) >= from && Date.parse(at) < to)
}
