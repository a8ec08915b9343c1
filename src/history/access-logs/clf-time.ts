/** Reads the time that stands at a place of a line; NaN for anything else. */
export type ReadTime = (line: string, at: number) => number

/** Characters of `06/Nov/2026:10:11:12 +0000`. */
export const CLF_TIME_CHARS = 26

/** Reads times like `06/Nov/2026:10:11:12 +0000`. Lines of one second follow each other, so that the last time is kept. */
export function createClfReader(): ReadTime {
  let text = ''
  let value = Number.NaN
  let day = ''
  let midnight = Number.NaN
  return (line, at) => {
    if (text !== '' && line.startsWith(text, at)) return value
    if (day === '' || !line.startsWith(day, at)) {
      const read = clfMidnight(line, at)
      if (Number.isNaN(read)) return Number.NaN
      day = line.slice(at, at + DAY_CHARS)
      midnight = read
    }
    const time = timeOfDay(line, at + DAY_CHARS) - clfOffset(line, at + DAY_CHARS + 8)
    if (Number.isNaN(time)) return Number.NaN
    text = line.slice(at, at + CLF_TIME_CHARS)
    value = midnight + time
    return value
  }
}
/** Characters of `06/Nov/2026:`. */
const DAY_CHARS = 12

const MONTHS: Readonly<Record<string, number>> = Object.fromEntries(
  ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'].map((name, i) => [name, i]),
)

/** The number of an English month's name from 0, as in `Date`; undefined if the text is not one. */
export const monthNumber = (name: string): number | undefined => MONTHS[name]

/** Milliseconds at the start of `06/Nov/2026:`, as UTC. */
export function clfMidnight(line: string, at: number): number {
  const month = monthNumber(line.slice(at + 3, at + 6))
  if (month === undefined || line[at + 2] !== '/' || line[at + 6] !== '/' || line[at + 11] !== ':') return Number.NaN
  const [day, year] = [twoDigits(line, at), twoDigits(line, at + 7) * 100 + twoDigits(line, at + 9)]
  return day >= 1 && day <= 31 ? Date.UTC(year, month, day) : Number.NaN
}

/** Milliseconds of `10:11:12`. */
export function timeOfDay(line: string, at: number): number {
  const [hour, minute, second] = [twoDigits(line, at), twoDigits(line, at + 3), twoDigits(line, at + 6)]
  const valid = hour < 24 && minute < 60 && second <= 60 && line[at + 2] === ':' && line[at + 5] === ':'
  return valid ? ((hour * 60 + minute) * 60 + second) * 1000 : Number.NaN
}

/** Milliseconds of ` +0130` before UTC. */
function clfOffset(line: string, at: number): number {
  const sign = line[at + 1]
  if (line[at] !== ' ' || (sign !== '+' && sign !== '-')) return Number.NaN
  const minutes = twoDigits(line, at + 2) * 60 + twoDigits(line, at + 4)
  return (sign === '-' ? -minutes : minutes) * 60_000
}

/** Two digits as a number; NaN if there are others. */
function twoDigits(line: string, at: number): number {
  const [tens, units] = [line.charCodeAt(at) - 48, line.charCodeAt(at + 1) - 48]
  return tens >= 0 && tens <= 9 && units >= 0 && units <= 9 ? tens * 10 + units : Number.NaN
}
