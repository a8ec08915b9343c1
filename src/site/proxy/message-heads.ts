import { OBSERVED_RESPONSE_HEADERS } from '../../capture/observation.js'
import { appendHopFields, type Hop, NO_CLAIMS } from './hop.js'

/** How a request header is treated; `end_to_end` is forwarded unchanged. */
type RequestKind =
  | 'cookie'
  | 'connection'
  | 'drop'
  | 'end_to_end'
  | 'forwarded'
  | 'forwarded_for'
  | 'forwarded_host'
  | 'forwarded_proto'
  | 'host'
  | 'authority'
  | 'length'
  | 'transfer'

const REQUEST_KINDS: ReadonlyMap<string, RequestKind> = new Map([
  ['connection', 'connection'],
  ['content-length', 'length'],
  ['cookie', 'cookie'],
  ['expect', 'drop'],
  ['forwarded', 'forwarded'],
  ['host', 'host'],
  [':authority', 'authority'],
  ['http2-settings', 'drop'],
  ['keep-alive', 'drop'],
  ['proxy-authorization', 'drop'],
  ['proxy-connection', 'drop'],
  ['te', 'drop'],
  ['trailer', 'drop'],
  ['transfer-encoding', 'transfer'],
  ['upgrade', 'drop'],
  ['x-forwarded-for', 'forwarded_for'],
  ['x-forwarded-host', 'forwarded_host'],
  ['x-forwarded-proto', 'forwarded_proto'],
])

/** How a response header is treated. */
type ResponseKind =
  | 'connection'
  | 'drop'
  | 'end_to_end'
  | 'length'
  | 'observed'
  | 'trailer'
  | 'transfer'
  | 'type'
  | 'upgrade'

const RESPONSE_KINDS: ReadonlyMap<string, ResponseKind> = new Map([
  ['connection', 'connection'],
  ['content-length', 'length'],
  ['content-type', 'type'],
  ['http2-settings', 'drop'],
  ['keep-alive', 'drop'],
  ['proxy-authenticate', 'drop'],
  ['proxy-authentication-info', 'drop'],
  ['proxy-connection', 'drop'],
  ['te', 'drop'],
  ['trailer', 'trailer'],
  ['transfer-encoding', 'transfer'],
  ['upgrade', 'upgrade'],
  ...OBSERVED_RESPONSE_HEADERS.map((name): [string, ResponseKind] => [name, 'observed']),
])

/** Bounds the cache of header names: a site sees few spellings, and a client that sends many must not fill memory. */
const MAX_CACHED_NAMES = 1_024
const MAX_CACHED_NAME_LENGTH = 64

const requestKind = cacheByName<RequestKind>((lower) => {
  if (lower.startsWith(':')) return REQUEST_KINDS.get(lower) ?? 'drop'
  // A server that maps `-` and `_` to one name (CGI, WSGI) would read such a name as the real field.
  if (lower.includes('_') && REQUEST_KINDS.has(lower.replaceAll('_', '-'))) return 'drop'
  return REQUEST_KINDS.get(lower) ?? 'end_to_end'
})
const responseKind = cacheByName<ResponseKind>((lower) => RESPONSE_KINDS.get(lower) ?? 'end_to_end')

/** The framing and target of a request, and the fields to forward. */
export interface RequestHead {
  /** Name, value, name, value, in the original order and case. */
  fields: string[]
  /** The first value of each, and how many there were. In HTTP/2, `Host` is `:authority`. */
  host: string | undefined
  hosts: number
  length: string | undefined
  lengths: number
  transfer: string | undefined
  transfers: number
}

/**
 * Prepares a request's head for the origin: removes the fields of this connection and those that `Connection` names
 * (RFC 9110 7.6.1), and appends this hop to `X-Forwarded-*` and `Forwarded`. `raw` is Node's `rawHeaders`. `Host`,
 * `Content-Length` and `Transfer-Encoding` are not in `fields`.
 */
export function readRequestHead(raw: readonly string[], hop: Hop): RequestHead {
  const fields: string[] = []
  const head: RequestHead = {
    fields,
    host: undefined,
    hosts: 0,
    length: undefined,
    lengths: 0,
    transfer: undefined,
    transfers: 0,
  }
  let named: Set<string> | undefined
  let claims = NO_CLAIMS
  let cookieAt = -1
  let authority = false
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? ''
    const value = raw[i + 1] ?? ''
    const kind = requestKind(name)
    switch (kind) {
      case 'end_to_end':
        fields.push(name, value)
        break
      case 'host':
        // HTTP/2 may carry both with the same value (RFC 9113 8.3.1); if they differ, the request check counts two.
        if (authority && value === head.host) break
        head.host ??= value
        head.hosts += 1
        break
      case 'authority':
        authority = true
        head.host = value
        head.hosts += 1
        break
      case 'cookie': {
        const cookie = withoutOwnSession(value)
        if (cookie === '' && value !== '') break
        // HTTP/2 splits cookies into several fields; HTTP/1.1 needs one field again (RFC 9113 8.2.3).
        if (hop.splitsCookies && cookieAt >= 0) fields[cookieAt] += `; ${cookie}`
        else cookieAt = fields.push(name, cookie) - 1
        break
      }
      case 'length':
        head.length ??= value
        head.lengths += 1
        break
      case 'transfer':
        head.transfer ??= value
        head.transfers += 1
        break
      case 'connection':
        named = addNominated(value, named)
        break
      case 'drop':
        break
      default:
        claims = { ...claims, [kind]: joinValues(claims[kind], value) }
    }
  }
  if (named !== undefined) head.fields = withoutFields(fields, named)
  appendHopFields(head.fields, claims, hop, head.host ?? '')
  return head
}

/** Matches the service's session cookie (src/api/session-cookie.ts), but not a site's cookie of the same name. */
const OWN_SESSION_COOKIE = /(?:^|;)\s*service_session="?[\w-]{43}"?\s*(?=;|$)/g

/**
 * Removes the service's session from a `Cookie`. Cookies ignore ports, so a browser sends the session to every listener
 * of the host, and a person who can read the site's requests could act as the user who is signed in.
 */
const withoutOwnSession = (cookie: string): string =>
  cookie.includes('service_session=') ? cookie.replace(OWN_SESSION_COOKIE, '').replace(/^;\s*/, '') : cookie

/** A response's head for the client, and its framing. */
export interface ResponseHead {
  fields: string[]
  content_type: string
  /** The head announces the body's length. */
  sized: boolean
  /** The response headers that an observation keeps; undefined without any. */
  observed: Record<string, string> | undefined
}

/**
 * Prepares the origin's head for the client: removes the fields of the origin's connection. `raw` is name, value, name,
 * value. `trailers` says whether the client can receive trailers. Throws if
 * the body has a transfer coding that this hop would have to decode.
 */
export function readResponseHead(raw: readonly string[], status: number, trailers: boolean): ResponseHead {
  const fields: string[] = []
  let named: Set<string> | undefined
  let content_type = ''
  let sized = false
  let announced: string | undefined
  let observed: Record<string, string> | undefined
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? ''
    const value = fieldValue(raw[i + 1] ?? '')
    switch (responseKind(name)) {
      case 'end_to_end':
        fields.push(name, value)
        break
      case 'type':
        content_type ||= value
        fields.push(name, value)
        break
      case 'length':
        // A 1xx response has no body; HTTP/2 clients take such a length for a fault (RFC 9110 8.6).
        if (status < 200) break
        sized = true
        fields.push(name, value)
        break
      case 'connection':
        named = addNominated(value, named)
        break
      case 'transfer':
        if (!/^(chunked|identity)$/i.test(value.trim())) throw new Error(`the origin's transfer coding is ${value}`)
        break
      case 'observed': {
        const lower = name.toLowerCase()
        observed ??= {}
        observed[lower] = joinValues(observed[lower] ?? '', value)
        fields.push(name, value)
        break
      }
      case 'trailer':
        announced = joinValues(announced ?? '', value)
        break
      case 'upgrade':
        // Status 426 must name the protocols to upgrade to (RFC 9110 15.5.22).
        if (status === 426) fields.push(name, value)
        break
      case 'drop':
    }
  }
  if (announced !== undefined && trailers && !sized) fields.push('Trailer', announced)
  if (named !== undefined && status === 426) named.delete('upgrade')
  return { fields: named === undefined ? fields : withoutFields(fields, named), content_type, sized, observed }
}

/** Returns the trailer fields to forward: none that frame, route or authenticate a message (RFC 9110 6.5.1). */
export function readTrailers(raw: readonly string[]): [string, string][] {
  const fields: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? ''
    if (!NOT_IN_TRAILERS.has(name.toLowerCase())) fields.push([name, fieldValue(raw[i + 1] ?? '')])
  }
  return fields
}

const NOT_IN_TRAILERS = new Set([
  ...[...RESPONSE_KINDS].flatMap(([name, kind]) => (kind === 'observed' ? [] : [name])),
  'authorization',
  'cache-control',
  'content-encoding',
  'content-range',
  'host',
  'location',
  'set-cookie',
])

/** Fields that `Connection` may not remove, because they frame the message or name its target. */
const NOT_NOMINATED = new Set([
  '',
  'close',
  'keep-alive',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
])

function addNominated(value: string, before: Set<string> | undefined): Set<string> | undefined {
  if (value === 'keep-alive' || value === 'close') return before
  let names = before
  for (const part of value.split(',')) {
    const name = part.trim().toLowerCase()
    if (NOT_NOMINATED.has(name)) continue
    names ??= new Set()
    names.add(name)
  }
  return names
}

function withoutFields(fields: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? ''
    if (!names.has(name.toLowerCase())) kept.push(name, fields[i + 1] ?? '')
  }
  return kept
}

const joinValues = (before: string, value: string): string => (before === '' ? value : `${before}, ${value}`)
/** Removes the space that may follow a value (RFC 9110 5.5); HTTP/2 clients silently drop a field that has it. */
function fieldValue(value: string): string {
  let end = value.length
  while (end > 0 && (value[end - 1] === ' ' || value[end - 1] === '\t')) end -= 1
  return end === value.length ? value : value.slice(0, end)
}

function cacheByName<K>(classify: (lower: string) => K): (name: string) => K {
  const kinds = new Map<string, K>()
  return (name) => {
    const cached = kinds.get(name)
    if (cached !== undefined) return cached
    const kind = classify(name.toLowerCase())
    if (kinds.size < MAX_CACHED_NAMES && name.length <= MAX_CACHED_NAME_LENGTH) kinds.set(name, kind)
    return kind
  }
}

/** Calls `visit` for each field of a raw list: name, value, name, value. */
export function forEachHeader(raw: readonly string[], visit: (name: string, value: string) => void): void {
  for (let i = 0; i + 1 < raw.length; i += 2) visit(raw[i] ?? '', raw[i + 1] ?? '')
}

/** Returns the members of a comma-separated list in lower case. */
export const parseTokens = (value: string): string[] =>
  value
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())
    .filter((token) => token !== '')

/** Formats a message's head as latin1 text: start line, fields, empty line. The fields must come from a parser. */
export function formatHead(startLine: string, raw: readonly string[]): string {
  const lines = [startLine]
  forEachHeader(raw, (name, value) => lines.push(`${name}: ${value}`))
  return `${lines.join('\r\n')}\r\n\r\n`
}
