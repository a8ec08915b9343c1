import { parseDay } from '../../analytics/query/calendar.js'

/** Parses the number of a cell: digits, perhaps with separators of thousands. Undefined if it is not a whole number. */
export function parseCount(text: string): number | undefined {
  const trimmed = text.trim()
  if (/^\d{1,15}(\.0+)?$/.test(trimmed)) return Number(trimmed)
  if (/^\d{1,3}(?:([,.'\u00a0\u202f ])\d{3})(?:\1\d{3})*$/.test(trimmed)) return Number(trimmed.replace(/\D/g, ''))
  return undefined
}

/** Parses a number with a decimal point, or with a comma where that cannot be one of thousands. */
export function parseDecimal(text: string): number | undefined {
  const trimmed = text.trim().replace(/^(\d+),(\d+)$/, '$1.$2')
  return /^\d{1,15}(\.\d+)?$/.test(trimmed) ? Number(trimmed) : undefined
}

/** Parses a share to a number from 0 to 1; in `percent`, or with a percent sign, 45 is 0.45. */
export function parseShare(text: string, unit: 'percent' | 'fraction'): number | undefined {
  const [, number = text, sign] = /^(.*?)\s*(%)$/.exec(text.trim()) ?? []
  const value = parseDecimal(number)
  if (value === undefined) return undefined
  return Math.min(1, unit === 'percent' || sign !== undefined ? value / 100 : value)
}

/** Parses seconds, also written as `1:23` or `0:01:23`. */
export function parseSeconds(text: string): number | undefined {
  const clock = /^(?:(\d+):)?(\d{1,2}):(\d{2})$/.exec(text.trim())
  if (!clock) return parseDecimal(text.trim().replace(/s$/, ''))
  const [, hours = '0', minutes, seconds] = clock
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
}

/** Parses a calendar day, `2026-11-21` or `20261121`, to the first form. */
export function parseDate(text: string): string | undefined {
  const compact = /^(\d{4})(\d{2})(\d{2})$/.exec(text.trim())
  return parseDay(compact ? compact.slice(1).join('-') : text.trim())?.day
}

/** Parses an instant to milliseconds: ISO 8601, also with a space, and in UTC if it has no zone. */
export function parseTime(text: string): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i.exec(
    text.trim(),
  )
  if (!parts) return undefined
  const [, day, time, zone = 'Z'] = parts
  const offset = /^[+-]/.test(zone) ? `${zone.replace(':', '').padEnd(5, '0')}`.replace(/(\d\d)$/, ':$1') : 'Z'
  const at = Date.parse(`${day}T${time}${offset}`)
  return Number.isNaN(at) ? undefined : at
}
