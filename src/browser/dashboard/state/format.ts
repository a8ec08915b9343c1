import { language } from './preferences.js'
import { timeZone } from './session.js'
import { isDay } from './zone.js'

/** The reader's locale; undefined if it is invalid: Chromium says `en-US@posix` where the system has no language. */
const [ownLocale] = ((): string[] => {
  try {
    return Intl.getCanonicalLocales(navigator.language)
  } catch {
    return []
  }
})()

/** Returns the reader's locale, if it is of the chosen language; else the language's own. */
const locale = (): string => (ownLocale?.startsWith(language.value) ? ownLocale : language.value)

/** Narrow no-break space between a number and its unit. */
const THIN = '\u202f'

export const formatNumber = (value: number, digits = 0): string =>
  value.toLocaleString(locale(), { maximumFractionDigits: digits })

/** A ratio; from 10 on its fraction says nothing more. */
export const formatRatio = (value: number): string => formatNumber(value, value < 10 ? 1 : 0)

/** Short form from 100,000: `1.2M`. */
export const formatShort = (value: number): string =>
  value < 100_000
    ? formatNumber(value, Number.isInteger(value) ? 0 : 1)
    : value.toLocaleString(locale(), { notation: 'compact', maximumFractionDigits: 1 })

/** A share between 0 and 1 as a percentage: always with tenths, so that shares beside each other compare, except 0 % and 100 %. */
export function formatShare(value: number, digits = 1): string {
  const fraction = value === 0 || value === 1 ? 0 : digits
  return value.toLocaleString(locale(), {
    style: 'percent',
    minimumFractionDigits: fraction,
    maximumFractionDigits: fraction,
  })
}

/** Seconds as `1 m 12 s`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole}${THIN}s`
  if (whole < 3_600) return `${Math.floor(whole / 60)}${THIN}m ${whole % 60}${THIN}s`
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}${THIN}h ${Math.floor((whole % 3_600) / 60)}${THIN}m`
  return `${Math.floor(whole / 86_400)}${THIN}d ${Math.floor((whole % 86_400) / 3_600)}${THIN}h`
}

export const formatMilliseconds = (ms: number): string =>
  ms < 1_000 ? `${formatNumber(ms)}${THIN}ms` : `${formatNumber(ms / 1_000, 2)}${THIN}s`

export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = bytes < 1_000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3))
  return `${formatNumber(bytes / 1_000 ** power, power === 0 ? 0 : 1)}${THIN}${units[power]}`
}

type DateParts = Intl.DateTimeFormatOptions

const DAY: DateParts = { day: 'numeric', month: 'short' }
const LONG_DAY: DateParts = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' }
const TIME: DateParts = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }

const inZone = (at: string | number | Date, parts: DateParts): string =>
  new Intl.DateTimeFormat(locale(), {
    ...parts,
    timeZone: typeof at === 'string' && isDay(at) ? 'UTC' : timeZone.value,
  }).format(new Date(at))

/** Dates and times in the site's time zone; a day without a time is that day in each zone. */
export const formatDay = (at: string | number | Date): string => inZone(at, DAY)
/** A time of whole days, such as `8–14 Nov`. */
export const formatDays = (first: string | number | Date, last: string | number | Date): string =>
  new Intl.DateTimeFormat(locale(), {
    ...DAY,
    timeZone: typeof first === 'string' && isDay(first) ? 'UTC' : timeZone.value,
  }).formatRange(new Date(first), new Date(last))
export const formatLongDay = (at: string | number | Date): string => inZone(at, LONG_DAY)
export const formatMonth = (at: string | number | Date): string => inZone(at, { month: 'short', year: 'numeric' })
export const formatTime = (at: string | number | Date): string => inZone(at, TIME)
export const formatClock = (at: string | number | Date): string => inZone(at, { ...TIME, second: '2-digit' })
export const formatInstant = (at: string | number | Date): string => inZone(at, { ...DAY, ...TIME })
export const formatFullInstant = (at: string | number | Date): string => inZone(at, { ...LONG_DAY, ...TIME })

/** The name of a day of the week; 1 is Monday. 5 January 1970 was one. */
export const formatWeekday = (weekday: number, length: 'long' | 'short'): string =>
  new Intl.DateTimeFormat(locale(), { weekday: length, timeZone: 'UTC' }).format(new Date((weekday + 3) * 86_400_000))

export type Granularity = 'minute' | 'hour' | 'day' | 'week' | 'month'

/** The label of a bucket on an axis. */
export const formatBucket = (at: string | number, granularity: Granularity): string =>
  granularity === 'month'
    ? formatMonth(at)
    : granularity === 'day' || granularity === 'week'
      ? formatDay(at)
      : formatTime(at)

/** How long ago: `4 minutes ago`. */
export function formatAgo(at: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1_000)
  const units = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
    ['second', 1],
  ] as const
  const [unit, size] = units.find(([, length]) => seconds >= length) ?? ['second', 1]
  return new Intl.RelativeTimeFormat(locale(), { numeric: 'auto', style: 'short' }).format(
    -Math.floor(seconds / size),
    unit,
  )
}

/** The name of a code; the code itself if it is unknown. */
function nameOf(type: 'region' | 'language', code: string): string {
  try {
    return new Intl.DisplayNames(locale(), { type, fallback: 'code' }).of(code) ?? code
  } catch {
    return code
  }
}

/** The name of a country by its code, and of a language by its tag, such as `de-AT`. */
export const formatCountry = (code: string): string => nameOf('region', code)
export const formatLanguage = (tag: string): string => nameOf('language', tag)

/** Picks a text by count: `plural(n, { one: '1 page', other: `${n} pages` })`. */
export function plural(count: number, forms: { one: string; other: string }): string {
  return new Intl.PluralRules(locale()).select(count) === 'one' ? forms.one : forms.other
}

/** A number with its word, by count: `counted(2, 'page', 'pages')` is `2 pages`. */
export const counted = (n: number, one: string, other: string): string =>
  `${formatNumber(n)} ${plural(n, { one, other })}`

/** Formats an amount of money in its currency; of one below ten of the smallest coins, two digits that tell amounts apart. */
export function formatMoney(amount: number, currency: string): string {
  const of = (digits: Intl.NumberFormatOptions) =>
    new Intl.NumberFormat(locale(), { style: 'currency', currency, ...digits })
  const usual = of({})
  const least = 10 ** (1 - (usual.resolvedOptions().maximumFractionDigits ?? 2))
  const isSmall = amount > 0 && Number(amount.toPrecision(2)) < least
  return (isSmall ? of({ maximumSignificantDigits: 2 }) : usual).format(amount)
}
