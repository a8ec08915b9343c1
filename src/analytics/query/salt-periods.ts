import { DAY_MS } from '../../base/time-units.js'
import type { Window } from './calendar.js'

/** The time after which the salt, and so every visitor id, changes: by the UTC calendar, weeks from Monday. */
export type SaltPeriod = 'day' | 'week' | 'month' | 'never'

/** Returns the number of the salt period that contains an instant; consecutive periods have consecutive numbers. */
function saltPeriodNumber(salt: SaltPeriod, at: Date): number {
  if (salt === 'never') return 0
  if (salt === 'month') return at.getUTCFullYear() * 12 + at.getUTCMonth()
  const day = Math.floor(at.getTime() / DAY_MS)
  return salt === 'day' ? day : Math.floor((day + 3) / 7)
}

/** Returns the instant at which the salt of another instant is destroyed; undefined if it never is. */
export function saltPeriodEnd(salt: SaltPeriod, at: Date): Date | undefined {
  if (salt === 'never') return undefined
  if (salt === 'month') return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1))
  const next = saltPeriodNumber(salt, at) + 1
  return new Date(salt === 'day' ? next * DAY_MS : (next * 7 - 3) * DAY_MS)
}

/** Returns whether the salt changes within a window: its end, which is exclusive, may be the instant of the change. */
export function changesSalt({ start, end }: Window, salt: SaltPeriod): boolean {
  if (start >= end) return false
  return saltPeriodNumber(salt, start) < saltPeriodNumber(salt, new Date(end.getTime() - 1))
}

/**
 * Returns whether most visitors of one time would have another id in the other: the middles of the two times lie in
 * different salt periods. Days and weeks of a time zone do not begin with those of UTC.
 */
export function separatesVisitors(a: Window, b: Window, salt: SaltPeriod): boolean {
  return saltPeriodNumber(salt, middleOf(a)) !== saltPeriodNumber(salt, middleOf(b))
}

const middleOf = ({ start, end }: Window): Date => new Date((start.getTime() + end.getTime()) / 2)
