import { DAY_MS, HOUR_MS } from '../../base/time-units.js'
import { clfMidnight, timeOfDay } from './clf-time.js'

/** Reads a time in any of the usual notations; NaN for anything else. */
export type ReadTimeText = (text: string) => number

/** Turns a local time, as if it were UTC, into the time that it is. */
export type ToUtc = (local: number) => number

/**
 * Reads ISO 8601 with a T or a space, the common log format with and without a zone, and numbers since 1970 in seconds,
 * milliseconds, microseconds or nanoseconds. A time without a zone is local in `zone`. Remembers the last text, because
 * lines of one second follow each other.
 */
export function createTimeTextReader(zone?: string): ReadTimeText {
  const toUtc = createZone(zone)
  let last = ''
  let value = Number.NaN
  return (text) => {
    if (text !== last) {
      last = text
      value = readTimeText(text, toUtc)
    }
    return value
  }
}

function readTimeText(text: string, toUtc: ToUtc): number {
  if (NUMBER.test(text)) return epochTime(Number(text))
  const match = ISO.exec(text) ?? CLF.exec(text)
  if (!match) return Number.NaN
  const { date = '', time = '', fraction = '', offset } = match.groups ?? {}
  const local = readDate(date) + timeOfDay(time, 0) + Math.floor(Number(`0.${fraction || 0}`) * 1000)
  return Number.isNaN(local) ? local : offset === undefined ? toUtc(local) : local - offsetOf(offset)
}
const NUMBER = /^\d{1,20}(?:\.\d{1,9})?$/
const TIME = String.raw`(?<time>\d\d:\d\d:\d\d)(?:[.,](?<fraction>\d{1,9}))?`
const OFFSET = String.raw`(?: ?(?<offset>Z|UTC|GMT|[+-]\d\d:?\d\d))?`
const ISO = new RegExp(String.raw`^(?<date>\d{4}[-/]\d\d[-/]\d\d)[T ]${TIME}${OFFSET}$`)
const CLF = new RegExp(String.raw`^(?<date>\d\d/[A-Z][a-z]{2}/\d{4})[: ]${TIME}${OFFSET}$`)

/** Reads `2026-11-06`, `2026/11/06`, `20261106`, `06/Nov/2026` and `06-Nov-2026`, as the start of the day in UTC. */
export function readDate(text: string): number {
  const match = /^(\d{4})([-/]?)(\d\d)\2(\d\d)$/.exec(text)
  if (!match) return clfMidnight(`${text.replaceAll('-', '/')}:`, 0)
  const [year, month, day] = [Number(match[1]), Number(match[3]), Number(match[4])]
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 ? Date.UTC(year, month - 1, day) : Number.NaN
}

/** Takes a number since 1970 for the unit that makes it a time of this century. */
function epochTime(number: number): number {
  if (number < 1e11) return Math.floor(number * 1000)
  if (number < 1e14) return Math.floor(number)
  return Math.floor(number / (number < 1e17 ? 1e3 : 1e6))
}

/** Milliseconds of `Z`, `UTC`, `+01:30` or `-0130`. */
export function offsetOf(text: string): number {
  if (!/^[+-]/.test(text)) return 0
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2))
  return (text[0] === '-' ? -minutes : minutes) * 60_000
}

/** Local times that a change of the clocks repeats are taken for the first of the two. */
export function createZone(zone?: string): ToUtc {
  if (zone === undefined || zone === 'UTC') return (local) => local
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    timeZoneName: 'longOffset',
  })
  const offsetAt = (time: number): number => {
    const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    return offsetOf(name.replace('GMT', ''))
  }
  let hour = Number.NaN
  let offset = 0
  return (local) => {
    // Clocks change at full hours.
    if (!Number.isNaN(local) && Math.floor(local / HOUR_MS) !== hour) {
      hour = Math.floor(local / HOUR_MS)
      offset = offsetAt(local - offsetAt(local - DAY_MS))
    }
    return local - offset
  }
}
