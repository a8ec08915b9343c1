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

/**
 * Returns the instant at which a day (`2026-03-29`) begins in a time zone, as ISO 8601. The offset is asked twice, because
 * it may change between midnight UTC and local midnight.
 */
export function dayStart(day: string, zone: string): string {
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const first = midnight - offsetAt(midnight, zone)
  return new Date(midnight - offsetAt(first, zone)).toISOString()
}

/** Returns the day after. */
export const nextDay = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)

/** Returns an instant as `<input type="datetime-local">` takes it, in a time zone. */
export const localInput = (instant: number, zone: string): string =>
  new Date(instant + offsetAt(instant, zone)).toISOString().slice(0, 16)

/** Returns the instant of a local date and time (`2026-03-29T14:00`) in a time zone, as ISO 8601. */
export function instantOf(local: string, zone: string): string {
  const utc = Date.parse(`${local}Z`)
  const first = utc - offsetAt(utc, zone)
  return new Date(utc - offsetAt(first, zone)).toISOString()
}
