import type { Window } from '../query/calendar.js'

/**
 * Returns the `Content-Disposition` of a download (RFC 6266): a file name in ASCII for any system, and the same in
 * UTF-8, made of the site, the report and the days of the window in its time zone.
 */
export function contentDisposition(
  of: { site: { id: number; name: string }; report: string; window: Window; tz: string },
  ending: 'csv' | 'pdf' | 'json',
): string {
  const { site, report, window, tz } = of
  const last = new Date(Math.max(window.start.getTime(), window.end.getTime() - 1))
  const rest = `${asciiName(report)}-${formatDay(window.start, tz)}-${formatDay(last, tz)}.${ending}`
  const ascii = `${asciiName(site.name) || `site-${site.id}`}-${rest}`
  const full = `${unicodeName(site.name) || `site-${site.id}`}-${rest}`
  return `attachment; filename="${ascii}"; filename*=UTF-8''${percentEncode(full)}`
}

const MAX_NAME_CHARACTERS = 60

/** Keeps ASCII letters and digits, drops accents, and replaces everything else by single hyphens. */
const asciiName = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, MAX_NAME_CHARACTERS)
    .replace(/^-+|-+$/g, '')

/**
 * Keeps letters and digits of any script: no path separators, no control characters, no marks that reverse the text.
 */
const unicodeName = (text: string): string =>
  [...text.normalize('NFC').replace(/[^\p{L}\p{N}\p{M}]+/gu, '-')]
    .slice(0, MAX_NAME_CHARACTERS)
    .join('')
    .replace(/^-+|-+$/g, '')

/** Percent-encodes everything but attr-char (RFC 8187). */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

const formatDay = (at: Date, tz: string): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: tz, year: 'numeric', month: '2-digit', day: '2-digit' }).format(at)
