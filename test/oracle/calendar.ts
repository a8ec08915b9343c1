/**
 * Computes zones and buckets by walking the clock in steps of a quarter of an hour and asking Intl for the local time.
 */
interface Local {
  year: number
  month: number
  day: number
  hour: number
  /** Milliseconds by which the clock is ahead of UTC. */
  offset: number
}

const MINUTE = 60_000
const QUARTER = 15 * MINUTE
const DAY = 86_400_000
const formats = new Map<string, Intl.DateTimeFormat>()
const offsetsByZone = new Map<string, Map<number, number>>()
const labelsByZone = new Map<string, Map<number, string>>()
const mapFor = <V>(maps: Map<string, Map<number, V>>, key: string): Map<number, V> => {
  const found = maps.get(key) ?? new Map<number, V>()
  maps.set(key, found)
  return found
}

/** The local time in the zone. */
function local(at: number, tz: string): Local {
  const offset = offsetOf(at, tz)
  const d = new Date(at + offset)
  return {
    ...{ year: d.getUTCFullYear(), month: d.getUTCMonth() + 1, day: d.getUTCDate() },
    ...{ hour: d.getUTCHours(), offset },
  }
}

/**
 * Zones change at whole quarters of an hour, so the offset is looked up once per quarter. If it is the same at both
 * ends of a UTC day it is the same all day, because no zone changes twice in a day.
 */
function offsetOf(at: number, tz: string): number {
  const quarter = Math.floor(at / QUARTER) * QUARTER
  const offsets = mapFor(offsetsByZone, tz)
  const asked = (at: number) => {
    const offset = offsets.get(at) ?? clockTime(at, tz) - at
    offsets.set(at, offset)
    return offset
  }
  const day = Math.floor(at / DAY) * DAY
  const offset = asked(day)
  return offset === asked(day + DAY) ? offset : asked(quarter)
}

function clockTime(at: number, tz: string): number {
  let format = formats.get(tz)
  if (!format) {
    const numeric = 'numeric'
    format = new Intl.DateTimeFormat('en-US', {
      ...{
        timeZone: tz,
        hourCycle: 'h23',
        year: numeric,
        month: numeric,
        day: numeric,
        hour: numeric,
        minute: numeric,
      },
    })
    formats.set(tz, format)
  }
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'))
}

/** The label of an instant's bucket: two instants are in one bucket if their labels are equal. */
export function bucketLabel(at: number, tz: string, unit: string): string {
  // Clocks that are ahead by whole quarters of an hour all show the same minutes.
  if (unit === 'minute') return String(Math.floor(at / MINUTE))
  const known = mapFor(labelsByZone, `${tz} ${unit}`)
  const quarter = Math.floor(at / QUARTER)
  const name = known.get(quarter) ?? computeLabel(at, tz, unit)
  known.set(quarter, name)
  return name
}

function computeLabel(at: number, tz: string, unit: string): string {
  const { year, month, day, hour, offset } = local(at, tz)
  const date = Date.UTC(year, month - 1, day)
  switch (unit) {
    case 'month':
      return `${year}-${month}`
    case 'week':
      return new Date(date - ((new Date(date).getUTCDay() + 6) % 7) * DAY).toISOString()
    case 'day':
      return new Date(date).toISOString()
    default:
      return `${new Date(date).toISOString()} ${hour} ${offset}`
  }
}

type Bucket = { t: number; label: string }
const timelines = new Map<string, Bucket[]>()
/** The window's buckets: the first instant of each, and its label. */
export function timeline(start: number, end: number, tz: string, unit: string): readonly Bucket[] {
  const asked = [start, end, tz, unit].join()
  const found = timelines.get(asked) ?? walkClock(start, end, tz, unit)
  timelines.set(asked, found)
  return found
}

function walkClock(start: number, end: number, tz: string, unit: string): Bucket[] {
  // A minute of the hour that is shown twice may have ended before it began, a year earlier.
  if (start >= end) return []
  const step = unit === 'minute' ? MINUTE : QUARTER
  let at = Math.floor(start / step) * step
  const first = bucketLabel(start, tz, unit)
  while (bucketLabel(at - step, tz, unit) === first) at -= stride(at, -1, tz, unit)
  const found: Bucket[] = []
  for (; at < end; at += stride(at, 1, tz, unit)) {
    const name = bucketLabel(at, tz, unit)
    if (found.at(-1)?.label !== name) found.push({ t: at, label: name })
  }
  return found
}

/** The distance that stays in the same bucket: no day, week or month comes back after it has ended. */
function stride(at: number, way: 1 | -1, tz: string, unit: string): number {
  if (unit === 'minute') return MINUTE
  if (unit === 'hour') return QUARTER
  const name = bucketLabel(at, tz, unit)
  return [DAY / 2, DAY / 12].find((far) => bucketLabel(at + way * far, tz, unit) === name) ?? QUARTER
}

/** The first instant of the day that is `days` after the day of `at`. */
export function midnight(at: number, tz: string, days = 0): number {
  const { year, month, day } = local(at, tz)
  const wanted = new Date(Date.UTC(year, month - 1, day + days)).toISOString()
  let t = Math.floor((at + (days - 2) * DAY) / QUARTER) * QUARTER
  while (bucketLabel(t, tz, 'day') < wanted) t += QUARTER
  return t
}

/**
 * The same local time a year earlier; 29 February becomes the 28th. If a clock shows it twice, the first moment; if it
 * skips it, the moment that a clock without the change would show.
 */
export function yearBefore(at: number, tz: string): number {
  const { year, month, day, offset } = local(at, tz)
  const last = new Date(Date.UTC(year - 1, month, 0)).getUTCDate()
  const time = (((at + offset) % DAY) + DAY) % DAY
  const wanted = Date.UTC(year - 1, month - 1, Math.min(day, last)) + time
  const before = local(wanted - DAY, tz).offset
  const found = [before, local(wanted + DAY, tz).offset]
    .map((each) => wanted - each)
    .filter((t) => t + local(t, tz).offset === wanted)
  return found.length === 0 ? wanted - before : Math.min(...found)
}
