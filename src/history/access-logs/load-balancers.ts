import { COMBINED } from './combined.js'
import { quoteEnd, unescapeField } from './escapes.js'
import { defineFormat, type LogEntry } from './log-format.js'
import { assembleEntry, type RawFields } from './raw-fields.js'
import { createTimeTextReader } from './time-text.js'

/** AWS Application Load Balancer, and the classic one, whose lines have no type at their start. */
export const AWS_ALB = defineFormat({
  name: 'alb',
  title: 'AWS load balancer',
  traits: 'have a load balancer, a client with its port, three times, two statuses and a request in quotes',
  createParser() {
    const readTime = createTimeTextReader()
    return (line) => {
      const all = splitQuoted(line)
      const fields = BALANCER_TYPES.has(all[0] ?? '') ? all : ['', ...all]
      if (fields.length < 16 || !/:\d+$/.test(fields[3] ?? '')) return undefined
      // A listener of TCP: a connection without a request.
      if (fields[12] === '- - - ' && fields[8] === '-') return 'skip'
      const durations = fields.slice(5, 8).map(Number)
      if (durations.some(Number.isNaN)) return undefined
      // The time of the arrival; the first column has the time of the response.
      const arrival = readTime(fields[21] ?? '')
      return assembleEntry({
        time: Number.isNaN(arrival) ? readTime(fields[1] ?? '') : arrival,
        address: beforePort(fields[3] ?? ''),
        request: unescapeField(fields[12] ?? ''),
        status: fields[8],
        bytes: fields[11],
        userAgent: unescapeField(fields[13] ?? ''),
        durationMs: durations.includes(-1)
          ? undefined
          : Math.round(durations.reduce((sum, one) => sum + one, 0) * 1000),
      })
    }
  },
})
const BALANCER_TYPES = new Set(['http', 'https', 'h2', 'grpcs', 'ws', 'wss'])

/** Splits at spaces outside of quotes; quotes are removed. Empty after a quote without an end. */
function splitQuoted(line: string): string[] {
  const fields: string[] = []
  for (let at = 0; at < line.length; ) {
    const isQuoted = line[at] === '"'
    const start = isQuoted ? at + 1 : at
    let end = isQuoted ? quoteEnd(line, start) : line.indexOf(' ', start)
    if (end < 0 && isQuoted) return []
    if (end < 0) end = line.length
    fields.push(line.slice(start, end))
    at = end + (isQuoted ? 2 : 1)
  }
  return fields
}

/** Traefik's common format: combined, then a count, the router, the server and the duration. */
export const TRAEFIK = defineFormat({
  name: 'traefik',
  title: 'Traefik, common',
  traits: 'are combined with Traefik’s router, server and duration after it',
  createParser() {
    const parse = COMBINED.createParser()
    return (line) => {
      const tail = TRAEFIK_TAIL.exec(line.slice(-MAX_TAIL_CHARS))
      const entry = tail && parse(line)
      if (!entry || entry === 'skip') return undefined
      entry.durationMs = Number(tail[1])
      return entry
    }
  },
})
const TRAEFIK_TAIL = / \d+ "[^"]*" "[^"]*" (\d+)ms$/
const MAX_TAIL_CHARS = 2_000

/**
 * HAProxy's `option httplog` and `httpslog`, alone or after what syslog writes. Captured headers have no names in the
 * log, so that each is recognised by its form.
 */
export const HAPROXY = defineFormat({
  name: 'haproxy',
  title: 'HAProxy, HTTP',
  traits: 'have a client with its port, a time in brackets, backend and server, five timers and a request in quotes',
  createParser({ zone }) {
    const readTime = createTimeTextReader(zone)
    return (line): LogEntry | undefined => {
      const match = HAPROXY_LINE.exec(line)
      if (!match?.groups) return undefined
      const { client, time = '', timers = '', status, bytes, captures = '', request = '' } = match.groups
      const duration = Number(timers.slice(timers.lastIndexOf('/') + 1))
      return assembleEntry({
        time: readTime(time),
        address: beforePort(client ?? ''),
        request: decodeHash(request),
        status,
        bytes,
        durationMs: duration,
        ...readCaptures(captures),
      })
    }
  },
})
const HAPROXY_LINE = new RegExp(
  [
    String.raw`(?:^|[ \]])(?<client>[\da-fA-F.:]+:\d+|unix:\d+|-) \[(?<time>\d\d/[A-Z][a-z]{2}/\d{4}:[\d:.]{8,12})\]`,
    String.raw` [^ ]+ [^ /]+/[^ ]+ (?<timers>(?:[+-]?\d+/){4}\+?-?\d+) (?<status>-?\d+) \+?(?<bytes>\d+)`,
    String.raw` [^ ]+ [^ ]+ [^ ]{4} \d+/\d+/\d+/\d+/\+?\d+ \d+/\d+(?<captures>(?: \{[^{}]*\}){0,2}) "(?<request>.*?)(?:"|$)`,
  ].join(''),
)

/** Recognises the host, the referrer, the user agent and X-Forwarded-For among captured request headers. */
function readCaptures(text: string): Partial<RawFields> {
  const raw: Partial<RawFields> = {}
  const values = /^ \{([^{}]*)\}/.exec(text)?.[1]?.split('|').map(decodeHash) ?? []
  // A captured header that the request lacks is an empty text; the user agent may be that.
  if (values.includes('')) raw.userAgent = ''
  for (const value of values) {
    if (/^https?:\/\//.test(value)) raw.referrer ??= value
    else if (/^[\d.]+(?:, ?[\d.]+)*$|^[\da-f]*:[\da-f:]+$/i.test(value)) raw.forwarded ??= value
    else if (/^(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?$|^localhost(?::\d+)?$/i.test(value)) raw.host ??= value
    else if (/[A-Za-z]/.test(value) && /[/ ]/.test(value)) raw.userAgent ||= value
  }
  return raw
}

/** The port is always there, also after IPv6 without brackets. */
const beforePort = (text: string): string => (text.startsWith('unix:') ? '' : text.slice(0, text.lastIndexOf(':')))

/** HAProxy writes characters that cannot be printed, quotes and `#` itself as `#` and two digits. */
const decodeHash = (text: string): string =>
  text.replace(/(?:#[\dA-F]{2})+/g, (code) => Buffer.from(code.replaceAll('#', ''), 'hex').toString())
