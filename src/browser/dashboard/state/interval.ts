import { computed } from '@preact/signals'
import { place, type Range } from './address.js'
import type { Granularity } from './format.js'
import { DAY_MS } from './time-units.js'
import { isDay } from './zone.js'

/** About how many days each range has; what depends on the calendar or on the site counts as its most. */
const DAYS: Readonly<Record<Range, number>> = {
  today: 1,
  yesterday: 1,
  '24h': 1,
  '7d': 7,
  mtd: 31,
  '30d': 30,
  '90d': 90,
  '12mo': 365,
  ytd: 365,
  all: 365,
}

function daysOfWindow(): number {
  const { range, start, end } = place.value
  if (start === undefined || end === undefined) return DAYS[range]
  const days = (Date.parse(end) - Date.parse(start)) / DAY_MS
  return isDay(start) ? days + 1 : days
}

/** The lengths of a bucket that the reader may choose for the window on screen, the shortest first. */
export const intervals = computed<readonly Granularity[]>(() => {
  const days = daysOfWindow()
  if (days <= 3) return []
  if (days <= 9) return ['hour', 'day']
  if (days <= 31) return ['hour', 'day', 'week']
  return days <= 100 ? ['day', 'week', 'month'] : ['week', 'month']
})

/**
 * The length of a bucket that is asked for: the chosen one, or a day for a week, of which hours would be noise. Otherwise
 * the API decides.
 */
export const interval = computed<Granularity | undefined>(() => {
  const chosen = intervals.value.find((each) => each === place.value.own.interval)
  return chosen ?? (intervals.value.length === 2 && intervals.value.includes('hour') ? 'day' : undefined)
})
