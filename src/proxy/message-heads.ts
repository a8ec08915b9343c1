import { OBSERVED_RESPONSE_HEADERS } from '../capture/observation.js'
import { appendHopFields, type Hop, NO_CLAIMS } from './hop.js'

/** What a request header is to the wire; `end` (to end) travels untouched. */
type RequestKind =
  | 'cookie'
  | 'connection'
  | 'drop'
  | 'end'
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

/** What a response header is to the wire. */
type ResponseKind = 'connection' | 'drop' | 'end' | 'length' | 'observed' | 'trailer' | 'transfer' | 'type' | 'upgrade'

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

/** Spellings remembered: a site meets few, and a stranger who sends many or long ones must not grow the table. */
const MAX_CACHED_NAMES = 1_024
const MAX_CACHED_NAME_LENGTH = 64

const requestKind = cacheByName<RequestKind>((lower) => {
  if (lower.startsWith(':')) return REQUEST_KINDS.get(lower) ?? 'drop'
  // A server that maps `-` and `_` to one name (CGI, WSGI) would read a look-alike as the real field.
  if (lower.includes('_') && REQUEST_KINDS.has(lower.replaceAll('_', '-'))) return 'drop'
  return REQUEST_KINDS.get(lower) ?? 'end'
})
const responseKind = cacheByName<ResponseKind>((lower) => RESPONSE_KINDS.get(lower) ?? 'end')

/** What a request's head says about its framing and its target, and the fields that travel on. */
export interface RequestHead {
  /** Name, value, name, value: in the order and the case in which they came. */
  fields: string[]
  /** The first of each, and how many there were. `Host` is `:authority` in HTTP/2. */
  host: string | undefined
  hosts: number
  length: string | undefined
  lengths: number
  transfer: string | undefined
  transfers: number
}

/**
 * The head for the next hop: fields of this connection only, and those that `Connection` names, are taken out
 * (RFC 9110 7.6.1); what is known of this hop is appended to `X-Forwarded-*` and `Forwarded`.
 * `raw` is Node's `rawHeaders`. `Host`, `Content-Length` and `Transfer-Encoding` are not in `fields`.
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
      case 'end':
        fields.push(name, value)
        break
      case 'host':
        // HTTP/2 may carry both; they say the same (RFC 9113 8.3.1), and where they do not the guard sees two.
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
        // HTTP/2 splits cookies into crumbs; before HTTP/1.1 they are one field again (RFC 9113 8.2.3).
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

/** The cookie of a session of ours (http/cookie.ts); a site's own of that name, of another form, is the site's. */
const OWN_SESSION_COOKIE = /(?:^|;)\s*service_session="?[\w-]{43}"?\s*(?=;|$)/g

/**
 * A `Cookie` without the session of whoever is signed in here: cookies know no ports, so that a browser sends it to every
 * listener of the host, and who reads the site's requests could be that person.
 */
const withoutOwnSession = (cookie: string): string =>
  cookie.includes('service_session=') ? cookie.replace(OWN_SESSION_COOKIE, '').replace(/^;\s*/, '') : cookie

/** A response's head for the client, and what the wire must know of it. */
export interface ResponseHead {
  fields: string[]
  content_type: string
  /** It says how long its body is. */
  sized: boolean
  /** What an observation says of it; undefined where there is nothing to say. */
  observed: Record<string, string> | undefined
}

/**
 * The origin's head for the client: without the fields of the origin's connection.
 * `raw` is undici's: name, value, name, value as bytes. `trailers` tells whether the client can be sent trailers.
 * Throws when the body has a transfer coding that this hop would have had to decode.
 */
export function readResponseHead(raw: readonly (Buffer | string)[], status: number, trailers: boolean): ResponseHead {
  const fields: string[] = []
  let named: Set<string> | undefined
  let content_type = ''
  let sized = false
  let announced: string | undefined
  let observed: Record<string, string> | undefined
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = latin1Text(raw[i])
    const value = fieldValue(raw[i + 1])
    switch (responseKind(name)) {
      case 'end':
        fields.push(name, value)
        break
      case 'type':
        content_type ||= value
        fields.push(name, value)
        break
      case 'length':
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
        // The one status that must say what to upgrade to (RFC 9110 15.5.22).
        if (status === 426) fields.push(name, value)
        break
      case 'drop':
    }
  }
  if (announced !== undefined && trailers && !sized) fields.push('Trailer', announced)
  if (named !== undefined && status === 426) named.delete('upgrade')
  return { fields: named === undefined ? fields : withoutFields(fields, named), content_type, sized, observed }
}

/** Trailer fields that may travel: not those that frame, route or authenticate a message (RFC 9110 6.5.1). */
export function readTrailers(raw: readonly (Buffer | string)[]): [string, string][] {
  const fields: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = latin1Text(raw[i])
    if (!NOT_IN_TRAILERS.has(name.toLowerCase())) fields.push([name, fieldValue(raw[i + 1])])
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

/** Fields that `Connection` may not take out: they frame the message or name its target, which is our word to give. */
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
const latin1Text = (bytes: Buffer | string | undefined): string =>
  typeof bytes === 'string' ? bytes : (bytes?.toString('latin1') ?? '')

/** Without the space that may follow a value (RFC 9110 5.5), for which HTTP/2 clients drop the field without a word. */
function fieldValue(bytes: Buffer | string | undefined): string {
  const value = latin1Text(bytes)
  let end = value.length
  while (end > 0 && (value[end - 1] === ' ' || value[end - 1] === '\t')) end -= 1
  return end === value.length ? value : value.slice(0, end)
}

function cacheByName<K>(classify: (lower: string) => K): (name: string) => K {
  const seen = new Map<string, K>()
  return (name) => {
    const known = seen.get(name)
    if (known !== undefined) return known
    const kind = classify(name.toLowerCase())
    if (seen.size < MAX_CACHED_NAMES && name.length <= MAX_CACHED_NAME_LENGTH) seen.set(name, kind)
    return kind
  }
}
