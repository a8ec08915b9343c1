import { formatBytes } from '../../base/format-bytes.js'
import type { Window } from '../query/calendar.js'
import type { Audience } from '../query/dimensions.js'
import type { Condition, Filter } from '../query/filters.js'
import { METRIC_INFO } from '../query/metrics.js'
import type { LayoutColumn } from './layout.js'

// Reused formatters: `toLocaleString` makes one per call, and a page has ten thousand numbers.
const ONE_DECIMAL = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })
const TWO_DECIMALS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 })

/** Formats `1234567` as `1,234,567`, with at most one decimal. */
export const formatNumber = (value: number): string => ONE_DECIMAL.format(value)

/** Lists warnings as sentences; those that differ in their metric only are one. */
export function formatWarnings(warnings: readonly Warning[]): string[] {
  const metrics = new Map<string, Set<string>>()
  for (const { metric, message } of warnings) {
    const names = metrics.get(message) ?? new Set()
    metrics.set(message, metric ? names.add(formatLabel(metric)) : names)
  }
  return Array.from(metrics, ([message, names]) => (names.size > 0 ? `${[...names].join(', ')}: ${message}` : message))
}
interface Warning {
  readonly metric?: string | undefined
  readonly message: string
}

export const formatPercent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** Formats seconds in their two largest units, as the dashboard does: `1 m 5 s`, `5 h 18 m`, `3 d 4 h`. */
export const formatDuration = (seconds: number): string => {
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3_600) return `${Math.floor(whole / 60)} m ${whole % 60} s`
  if (whole < 86_400) return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} m`
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3_600)} h`
}

/** Formats a relative change as `+12.3 %`. */
export const formatChange = (value: number): string =>
  `${value > 0 ? '+' : value < 0 ? '\u2212' : ''}${formatPercent(Math.abs(value))}`

const MONEY_FIELDS = [
  ...['cost', 'cost_per_reader', 'disallowed_cost'],
  ...['price_per_gigabyte', 'price_per_thousand_requests', 'price_per_origin_second'],
]
const MONEY = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 })
/** Formats an amount with every digit that it has, so that printed lines add up. */
const formatMoney = (value: number): string => MONEY.format(value)

const SECONDS_FIELDS = [
  ...['time_on_page', 'freshness_gap', 'origin_seconds', 'people_seconds', 'seconds', 'delay', 'delays', 'stay'],
  // The bins of delays.
  ...['from', 'to'],
]

type Format = (value: number) => string
const FORMAT_BY_TYPE: Record<(typeof METRIC_INFO)[keyof typeof METRIC_INFO]['type'], Format> = {
  count: formatNumber,
  share: formatPercent,
  seconds: formatDuration,
  mean: formatNumber,
  bytes: formatBytes,
}
/** Formats by field name: the metrics, and what reads return beside them. */
const FORMAT_BY_NAME = new Map<string, Format>([
  ...Object.entries(METRIC_INFO).map(([name, { type }]) => [name, FORMAT_BY_TYPE[type]] as const),
  ['change', formatChange],
  ['adjusted', formatChange],
  ...SECONDS_FIELDS.map((name) => [name, formatDuration] as const),
  ...['refused_bytes', 'spoofed_bytes', 'disallowed_bytes'].map((name) => [name, formatBytes] as const),
  ...MONEY_FIELDS.map((name) => [name, formatMoney] as const),
  ['scroll_depth', (value) => `${formatNumber(value)} %`],
  // Identifiers, not amounts.
  ...['id', 'line', 'status', 'last_status', 'asn'].map((name) => [name, String] as const),
])
const formatDecimals: Format = (value) => TWO_DECIMALS.format(value)

/** Returns the number format of a column. */
export const columnFormat = ({ path, kind }: Pick<LayoutColumn, 'path' | 'kind'>): Format =>
  FORMAT_BY_NAME.get(path.at(-1) ?? '') ?? (kind === 'share' ? formatPercent : formatDecimals)

/** Words of fields that readers know by another name. */
const READERS_WORDS: Readonly<Record<string, string>> = {
  llms: 'llms.txt',
  visitor: 'person',
  visitors: 'people',
  session: 'visit',
  sessions: 'visits',
}
const UPPER = new Set(['asn', 'cls', 'fcp', 'id', 'inp', 'lcp', 'os', 'sha256', 'ttfb', 'url', 'utm'])
/** Formats `people.exit_rate` as `People exit rate`, `visitors` as `People`, and `llms-links` as `llms.txt links`. */
export const formatLabel = (name: string): string => {
  const words = name
    .split(/[._-]/)
    .map((word) => (UPPER.has(word) ? word.toUpperCase() : (READERS_WORDS[word] ?? word)))
  return words.join(' ').replace(/^(?!llms)./, (letter) => letter.toUpperCase())
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/
/** Reports whether a text is an instant as the API writes it. */
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

/** Formats an instant in a time zone as `26 Oct 2026, 13:00`. */
export const formatInstant = (at: Date, tz: string): string => formatter(tz, { ...DAY, ...TIME }).format(at)

/** Formats the beginning of a bucket, as short as its size allows. */
export function formatBucket(at: Date, tz: string, granularity: string): string {
  if (granularity === 'month') return formatter(tz, { month: 'short', year: 'numeric' }).format(at)
  if (granularity === 'day' || granularity === 'week')
    return formatter(tz, { day: 'numeric', month: 'short' }).format(at)
  return formatter(tz, { day: 'numeric', month: 'short', ...TIME }).format(at)
}

/** Formats a window; an end at midnight shows as the day before, which it includes whole. */
export function formatWindow({ start, end }: Window, tz: string): string {
  const midnight = (at: Date) => formatter(tz, { ...TIME, second: '2-digit' }).format(at) === '00:00:00'
  const day = (at: Date) => formatter(tz, DAY).format(at)
  if (!midnight(start)) return `${formatInstant(start, tz)} to ${formatInstant(end, tz)}`
  if (!midnight(end)) return `${day(start)} to ${formatInstant(end, tz)}`
  const [first, last] = [day(start), day(new Date(Math.max(start.getTime(), end.getTime() - 1)))]
  return first === last ? first : `${first} to ${last}`
}

export const AUDIENCE_NAMES: Record<Audience, string> = { human: 'People', agent: 'Agents', all: 'People and agents' }

/** Formats filters, all of which must match, as a phrase. */
export const describeFilters = (filters: readonly Filter[]): string =>
  filters.map((filter) => describeFilter(filter)).join(' and ')

function describeFilter(f: Filter): string {
  if ('and' in f) return `(${f.and.map(describeFilter).join(' and ')})`
  if ('or' in f) return `(${f.or.map(describeFilter).join(' or ')})`
  if ('not' in f) return `not ${describeFilter(f.not)}`
  if ('has_done' in f) return `people who did: ${describeFilter(f.has_done)}`
  if ('has_not_done' in f) return `people who did not: ${describeFilter(f.has_not_done)}`
  if ('sessions' in f) return 'no session with a suspected view'
  return describeCondition('reached' in f ? f.reached : f)
}

const COMPARISON_SIGNS: Partial<Record<Condition['op'], string>> = { gt: '>', gte: '≥', lt: '<', lte: '≤' }

function describeCondition({ dimension, op, value, case_sensitive }: Condition): string {
  const values = value === undefined ? [] : typeof value === 'object' ? value : [value]
  const joint = op === 'between' ? ' and ' : op.endsWith('_not') || op === 'is_not' ? ' nor ' : ' or '
  const shown = values.map((one) => (typeof one === 'string' ? `“${one}”` : String(one))).join(joint)
  const verb =
    COMPARISON_SIGNS[op] ??
    op.replace(/^(.*)_not$/, (_, verb) => (verb === 'is' ? 'is not' : `not ${verb}`)).replaceAll('_', ' ')
  return `${formatLabel(dimension).toLowerCase()} ${verb}${shown === '' ? '' : ` ${shown}`}${case_sensitive === false ? ' (in any case)' : ''}`
}
