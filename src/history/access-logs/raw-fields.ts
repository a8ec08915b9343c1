import { clientAddress, parseTrust } from '../../base/address.js'
import type { LogEntry } from './log-format.js'
import { hostOf, isMethod, type RequestLine, splitRequest, splitTarget } from './request-line.js'

/** The texts of one line by their meaning, unescaped; `-` and the empty text stand for nothing. */
export interface RawFields {
  /** Milliseconds since 1970. */
  time?: number
  address?: string | undefined
  /** X-Forwarded-For. */
  forwarded?: string | undefined
  host?: string | undefined
  /** A whole request line, instead of method and target. */
  request?: string | undefined
  method?: string | undefined
  /** Path and query, or a whole URL. */
  target?: string | undefined
  /** Appended to a target that has none. */
  query?: string | undefined
  status?: string | undefined
  bytes?: string | undefined
  referrer?: string | undefined
  userAgent?: string | undefined
  durationMs?: number | undefined
  contentType?: string | undefined
  headers?: Record<string, string> | undefined
}

/** Makes an entry of the texts; undefined if time or request are missing, or if the status is not a number. */
export function assembleEntry(raw: RawFields): LogEntry | undefined {
  const { time, durationMs, headers } = raw
  const status = present(raw.status) === undefined ? 0 : Number(raw.status)
  if (time === undefined || !Number.isFinite(time) || !(status < 1000)) return undefined
  if (raw.request === undefined && raw.method === undefined && raw.target === undefined) return undefined
  const request = raw.request === undefined ? joinRequest(raw) : splitRequest(raw.request)
  const entry: LogEntry = {
    timestamp: time,
    address: readAddress(raw.address ?? '', raw.forwarded),
    method: request.method,
    target: request.target,
    status: Math.max(0, status),
    referrer: present(raw.referrer) ?? '',
    userAgent: present(raw.userAgent) ?? '',
  }
  if (raw.userAgent === undefined) entry.lacksUserAgent = true
  const host = hostOf(raw.host ?? '') ?? request.host
  if (host !== undefined) entry.host = host
  const bytes = present(raw.bytes) === undefined ? Number.NaN : Number(raw.bytes)
  if (bytes >= 0) entry.bytes = bytes
  if (durationMs !== undefined && durationMs >= 0) entry.durationMs = durationMs
  const contentType = present(raw.contentType)
  if (contentType !== undefined) entry.contentType = contentType
  if (headers !== undefined) entry.requestHeaders = headers
  return entry
}

const present = (text: string | undefined): string | undefined => (text === '' || text === '-' ? undefined : text)

/** A log without methods has the target alone; most requests are GET. */
function joinRequest({ method = 'GET', target = '', query }: RawFields): RequestLine {
  if (!isMethod(method)) return { method: '', target: '' }
  const tail = present(query)
  const start = present(target) ?? ''
  return {
    method,
    ...splitTarget(tail === undefined || start.includes('?') ? start : `${start}?${tail.replace(/^\?/, '')}`),
  }
}

/**
 * Returns the client's address, without its port: of a proxy in a private network the address that this proxy reports,
 * by the same rules as for live requests with `--trust-proxy private`; without any address the first of the list.
 */
export function readAddress(field: string, forwarded?: string): string {
  const list = present(forwarded)
  const address = withoutPort(field)
  if (list === undefined) return address
  if (address === '') return withoutPort(list.slice(0, (list.indexOf(',') + 1 || list.length + 1) - 1).trim())
  return clientAddress(address, list, PRIVATE) || address
}
const PRIVATE = parseTrust(['private'])

/** Empty for `-` and for a UNIX socket; the first of a list. */
function withoutPort(text: string): string {
  if (text === '' || text === '-' || text.startsWith('unix:')) return ''
  const first = text.includes(',') ? text.slice(0, text.indexOf(',')) : text
  if (first.startsWith('[')) return first.slice(1, first.indexOf(']'))
  const colon = first.indexOf(':')
  return colon > 0 && colon === first.lastIndexOf(':') && first.includes('.') ? first.slice(0, colon) : first
}
