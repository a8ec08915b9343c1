import type { Window } from '../query/calendar.js'
import type { Audience } from '../query/dimensions.js'
import type { Condition, Filter } from '../query/filters.js'
import { MEANING } from '../query/metrics.js'
import type { Column } from './layout.js'

// Made once: `toLocaleString` makes one at each call, and a page has ten thousand numbers.
const ONE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })
const TWO = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 })

/** `1234567` as `1,234,567`, at most one decimal. */
export const number = (value: number): string => ONE.format(value)

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
/** Bytes as people read them, in powers of 1000. */
export function bytes(value: number): string {
  let unit = 0
  let amount = value
  while (amount >= 999.95 && unit < UNITS.length - 1) {
    amount /= 1000
    unit++
  }
  return `${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit]}`
}

export const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** Seconds as `1m 05s`. */
export const duration = (seconds: number): string => {
  const whole = Math.round(seconds)
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m ${String(whole % 60).padStart(2, '0')}s`
}

/** Seconds as `3d 04h` or `4h 05m`, where minutes would be many. */
const age = (seconds: number): string => {
  const two = (n: number) => String(n).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  if (hours >= 24) return `${Math.floor(hours / 24)}d ${two(hours % 24)}h`
  return hours > 0 ? `${hours}h ${two(Math.floor((seconds % 3600) / 60))}m` : duration(seconds)
}

/** A relative change: `+12.3 %`. */
export const change = (value: number): string =>
  `${value > 0 ? '+' : value < 0 ? '\u2212' : ''}${percent(Math.abs(value))}`

type Format = (value: number) => string
const OF_TYPE: Record<(typeof MEANING)[keyof typeof MEANING]['type'], Format> = {
  count: number,
  share: percent,
  seconds: duration,
  mean: number,
  bytes,
}
/** What the reads measure besides the metrics. */
const OF_NAME = new Map<string, Format>([
  ...Object.entries(MEANING).map(([name, { type }]) => [name, OF_TYPE[type]] as const),
  ['change', change],
  ['adjusted', change],
  ['time_on_page', duration],
  ['freshness_gap', age],
  ['scroll_depth', (value) => `${number(value)} %`],
  // Names, not amounts.
  ...['id', 'line', 'status', 'last_status', 'asn'].map((name) => [name, String] as const),
])
const decimals: Format = (value) => TWO.format(value)

/** How a number of a column is written. */
export const formatOf = ({ path, kind }: Pick<Column, 'path' | 'kind'>): Format =>
  OF_NAME.get(path.at(-1) ?? '') ?? (kind === 'share' ? percent : decimals)

const UPPER = new Set(['asn', 'cls', 'fcp', 'id', 'inp', 'lcp', 'os', 'ttfb', 'url', 'utm'])
/** `people.exit_rate` as `People exit rate`. */
export const label = (name: string): string => {
  const words = name.split(/[._]/).map((word) => (UPPER.has(word) ? word.toUpperCase() : word))
  return words.join(' ').replace(/^./, (letter) => letter.toUpperCase())
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/
/** Whether a text is an instant as the API writes it. */
export const isInstant = (text: string): boolean => INSTANT.test(text)

const formats = new Map<string, Intl.DateTimeFormat>()
const formatter = (tz: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => {
  const name = `${tz} ${Object.keys(options).join()}`
  const known = formats.get(name) ?? new Intl.DateTimeFormat('en-GB', { timeZone: tz, hourCycle: 'h23', ...options })
  formats.set(name, known)
  return known
}
const DAY = { day: 'numeric', month: 'short', year: 'numeric' } as const
const TIME = { hour: '2-digit', minute: '2-digit' } as const

/** `26 Oct 2026, 13:00` there. */
export const instant = (at: Date, tz: string): string => formatter(tz, { ...DAY, ...TIME }).format(at)

/** A bucket's beginning, as short as its size allows. */
export function moment(at: Date, tz: string, granularity: string): string {
  if (granularity === 'month') return formatter(tz, { month: 'short', year: 'numeric' }).format(at)
  if (granularity === 'day' || granularity === 'week')
    return formatter(tz, { day: 'numeric', month: 'short' }).format(at)
  return formatter(tz, { day: 'numeric', month: 'short', ...TIME }).format(at)
}

/** Both ends of a window; an end at midnight is the day before it, whole. */
export function span({ start, end }: Window, tz: string): string {
  const midnight = (at: Date) => formatter(tz, { ...TIME, second: '2-digit' }).format(at) === '00:00:00'
  const day = (at: Date) => formatter(tz, DAY).format(at)
  if (!midnight(start)) return `${instant(start, tz)} to ${instant(end, tz)}`
  if (!midnight(end)) return `${day(start)} to ${instant(end, tz)}`
  const [first, last] = [day(start), day(new Date(Math.max(start.getTime(), end.getTime() - 1)))]
  return first === last ? first : `${first} to ${last}`
}

export const AUDIENCE: Record<Audience, string> = { human: 'People', agent: 'Agents', all: 'People and agents' }

/** Filters as a sentence: all of them have to hold. */
export const filterWords = (filters: readonly Filter[]): string => filters.map((filter) => words(filter)).join(' and ')

function words(f: Filter): string {
  if ('and' in f) return `(${f.and.map(words).join(' and ')})`
  if ('or' in f) return `(${f.or.map(words).join(' or ')})`
  if ('not' in f) return `not ${words(f.not)}`
  if ('has_done' in f) return `visitors who did: ${words(f.has_done)}`
  if ('has_not_done' in f) return `visitors who did not: ${words(f.has_not_done)}`
  return conditionWords('reached' in f ? f.reached : f)
}

const COMPARISONS: Partial<Record<Condition['op'], string>> = { gt: '>', gte: '≥', lt: '<', lte: '≤' }

function conditionWords({ dimension, op, value, case_sensitive }: Condition): string {
  const values = value === undefined ? [] : typeof value === 'object' ? value : [value]
  const joint = op === 'between' ? ' and ' : op.endsWith('_not') || op === 'is_not' ? ' nor ' : ' or '
  const shown = values.map((one) => (typeof one === 'string' ? `“${one}”` : String(one))).join(joint)
  const verb =
    COMPARISONS[op] ??
    op.replace(/^(.*)_not$/, (_, verb) => (verb === 'is' ? 'is not' : `not ${verb}`)).replaceAll('_', ' ')
  return `${label(dimension).toLowerCase()} ${verb}${shown === '' ? '' : ` ${shown}`}${case_sensitive === false ? ' (in any case)' : ''}`
}
