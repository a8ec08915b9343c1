/** The offset of a time zone from UTC at an instant, ms. */
function offsetAt(instant: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(instant)
  const part = (type: string) => Number(parts.find((each) => each.type === type)?.value)
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local - Math.floor(instant / 1_000) * 1_000
}

/** Returns an instant as `<input type="datetime-local">` takes it, in a time zone. */
export const localInput = (instant: number, zone: string): string =>
  new Date(instant + offsetAt(instant, zone)).toISOString().slice(0, 16)

/**
 * Returns the instant of a local date and time (`2026-03-29T14:00`) in a time zone. A time that a change of the clock
 * leaves out is the one after the change. The offset is asked twice, because the change may lie between UTC and there.
 */
export function instantOf(local: string, zone: string): number {
  const utc = Date.parse(`${local}Z`)
  const first = utc - offsetAt(utc, zone)
  return Math.max(first, utc - offsetAt(first, zone))
}

/** Returns the day of an instant in a time zone: `2026-03-29`. */
export const dayOf = (instant: number, zone: string): string => localInput(instant, zone).slice(0, 10)

/** Returns the day that is a number of days after another, or before it. */
export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(`${day}T00:00Z`) + count * 86_400_000).toISOString().slice(0, 10)

/** Returns the first and the last day of the month of a day. */
export function monthOf(day: string): { start: string; end: string } {
  const start = `${day.slice(0, 7)}-01`
  return { start, end: addDays(`${addDays(start, 31).slice(0, 7)}-01`, -1) }
}

/** Returns the month before the month of a day. */
export const monthBefore = (day: string): { start: string; end: string } => monthOf(addDays(monthOf(day).start, -1))

/** Whether two days are the first and the last of one month. */
export const isMonth = (start: string, end: string): boolean =>
  monthOf(start).start === start && monthOf(start).end === end

/** Whether a moment is a day without a time. */
export const isDay = (moment: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(moment)
