import type { Window } from '../query/calendar.js'

/**
 * `Content-Disposition` of a file that is to be kept: a name that every system takes, and the same in UTF-8 (RFC 6266),
 * of the site, the report and the days of the window in its zone.
 */
export function contentDisposition(
  of: { site: { id: number; name: string }; report: string; window: Window; tz: string },
  ending: 'csv' | 'pdf',
): string {
  const { site, report, window, tz } = of
  const last = new Date(Math.max(window.start.getTime(), window.end.getTime() - 1))
  const rest = `${asciiName(report)}-${formatDay(window.start, tz)}-${formatDay(last, tz)}.${ending}`
  const ascii = `${asciiName(site.name) || `site-${site.id}`}-${rest}`
  const full = `${unicodeName(site.name) || `site-${site.id}`}-${rest}`
  return `attachment; filename="${ascii}"; filename*=UTF-8''${percentEncode(full)}`
}

const MAX_NAME_CHARACTERS = 60

/** Letters and digits of ASCII, accents left off; everything else is one hyphen. */
const asciiName = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, MAX_NAME_CHARACTERS)
    .replace(/^-+|-+$/g, '')

/** Letters and digits of any script: no separators of folders, no controls, no marks that turn the name around. */
const unicodeName = (text: string): string =>
  [...text.normalize('NFC').replace(/[^\p{L}\p{N}\p{M}]+/gu, '-')]
    .slice(0, MAX_NAME_CHARACTERS)
    .join('')
    .replace(/^-+|-+$/g, '')

/** RFC 8187: what is no attr-char is percent-encoded. */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

const formatDay = (at: Date, tz: string): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: tz, year: 'numeric', month: '2-digit', day: '2-digit' }).format(at)
