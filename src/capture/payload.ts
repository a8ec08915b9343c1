import { MAX_CHARACTERS, truncate } from '../base/text-limits.js'
import type { Vitals } from '../storage/rows.js'
import { fragmentRoute } from './fragment-route.js'
import { HIT_KINDS, type Hit, type HitKind, type LivingDocument } from './hit.js'

/** The content of a message of the browser script; the rest of a hit comes from its HTTP request. */
export type Payload = Omit<Hit, 'timestamp' | 'ip' | 'user_agent' | 'headers'>

type JsonObject = Readonly<Record<string, unknown>>

/** A payload whose properties nest deeper is rejected. */
const MAX_PROPS_DEPTH = 8
/** All members of the properties together, characters of a name and of a text; the excess is left out or cut. */
const MAX_PROPS_MEMBERS = 200
const MAX_NAME_CHARACTERS = 200
const MAX_TEXT_CHARACTERS = MAX_CHARACTERS.referrer
/** The same bound as for observations. */
const MAX_QUERY_CHARACTERS = 8_192

/** Larger numbers are not plausible measurements: CSS pixels, a day and an hour in milliseconds. */
const MAX_PIXELS = 100_000
const MAX_ENGAGED_MS = 86_400_000
const MAX_VITAL = 3_600_000
/** Characters, links or headings of a document, and characters of its first line. */
const MAX_DOCUMENT_COUNT = 1e9
const MAX_LINE_CHARACTERS = 120

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads one payload from parsed JSON. Returns undefined if it is not an object, has no site, no http(s) URL or an unknown
 * kind, or if its properties nest too deeply. Any other key of a wrong type counts as absent; unknown keys are ignored.
 */
export function readPayload(value: unknown): Payload | undefined {
  if (!isJsonObject(value)) return undefined
  // Only what the sender wrote: every object inherits a `constructor`.
  const member = (name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined)
  const site = member('s')
  const page = readPage(member('u'))
  const kind = readKind(member('t'))
  const props = readProps(member('p'))
  if (typeof site !== 'number' || !Number.isSafeInteger(site) || !page || !kind || props === null) return undefined
  const payload: Payload = { site, kind, ...page }
  const put = <K extends keyof Payload>(key: K, read: Payload[K] | undefined) => {
    if (read !== undefined) payload[key] = read
  }
  put('name', readText(member('n')))
  put('referrer', readText(member('r'), MAX_TEXT_CHARACTERS))
  put('screen_width', wholeNumber(member('w'), MAX_PIXELS))
  put('viewport_width', wholeNumber(member('vw'), MAX_PIXELS))
  put('language', readText(member('l')))
  put('timezone', readText(member('tz')))
  put('engaged_ms', wholeNumber(member('d'), MAX_ENGAGED_MS))
  put('scroll', wholeNumber(member('sc'), 100))
  put('props', props)
  put('identified_id', readText(member('id')))
  put('vitals', readVitals(member('e')))
  put('document', readDocument(member('b')))
  return payload
}

const NUMBER_KEYS = new Set(['s', 'w', 'h', 'vw', 'vh', 'd', 'sc'])
const JSON_KEYS = new Set(['p', 'e', 'b'])

/** Reads the same payload from a query string (the pixel): numbers are digits, `p`, `e` and `b` are JSON, the first of equal keys counts. */
export function readQueryPayload(query: string): Payload | undefined {
  const members = new Map<string, unknown>()
  for (const [name, text] of new URLSearchParams(query)) {
    if (members.has(name)) continue
    if (NUMBER_KEYS.has(name)) members.set(name, /^\d{1,10}$/.test(text) ? Number(text) : undefined)
    else members.set(name, JSON_KEYS.has(name) ? parseJson(text) : text)
  }
  return readPayload(Object.fromEntries(members))
}

/** Writes the JSON members that `readPayload` reads as the same payload. */
export function writePayload(hit: Payload): JsonObject {
  const { site, kind, hostname, pathname, query } = hit
  const [path = '', ...route] = pathname.split('#')
  const search = query === undefined ? '' : `?${query}`
  const written: Record<string, unknown> = {
    s: site,
    t: kind,
    u: `https://${hostname}${path}${search}${route.length > 0 ? `#${route.join('#')}` : ''}`,
    n: hit.name,
    r: hit.referrer,
    w: hit.screen_width,
    vw: hit.viewport_width,
    l: hit.language,
    tz: hit.timezone,
    d: hit.engaged_ms,
    sc: hit.scroll,
    p: hit.props,
    id: hit.identified_id,
    e: hit.vitals,
    b: hit.document && writeDocument(hit.document),
  }
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined))
}

/** Parses JSON text; returns undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Reads a URL as a browser would request it, which is how the proxy stores it. A fragment that is a route (`#/`, `#!`) is
 * part of the path: without it, all pages of such an app would be one.
 */
function readPage(value: unknown): Pick<Payload, 'hostname' | 'pathname' | 'query'> | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  const { protocol, hostname, pathname, search, hash } = new URL(value)
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  const page = { hostname, pathname: truncate(pathname + fragmentRoute(hash), MAX_CHARACTERS.pathname) }
  return search === '' ? page : { ...page, query: truncate(search.slice(1), MAX_QUERY_CHARACTERS) }
}

/** An absent kind is a pageview; an unknown kind is not one. */
const readKind = (value: unknown): HitKind | undefined =>
  value === undefined || value === null ? 'pageview' : HIT_KINDS.find((kind) => kind === value)

/** Returns an integer from 0 to `max`. */
const wholeNumber = (value: unknown, max: number): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max ? value : undefined

/** Returns a text that is not blank, truncated and well-formed. */
function readText(value: unknown, max: number = MAX_CHARACTERS.text): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = wellFormedText(value, max)
  return text.trim() === '' ? undefined : text
}

/** Truncates, and replaces half a surrogate pair, which most readers of the row reject. */
const wellFormedText = (text: string, max: number): string => {
  const short = truncate(text, max)
  return /\p{Surrogate}/u.test(short) ? Buffer.from(short).toString() : short
}

const VITAL_NAMES = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const

function readVitals(value: unknown): Partial<Vitals> | undefined {
  if (!isJsonObject(value)) return undefined
  const vitals: Partial<Vitals> = {}
  for (const name of VITAL_NAMES) {
    const measured = Object.hasOwn(value, name) ? value[name] : undefined
    if (typeof measured === 'number' && measured >= 0 && measured <= MAX_VITAL) vitals[name] = measured
  }
  return Object.keys(vitals).length > 0 ? vitals : undefined
}

/** Reads `[characters, links, headings, first line]`. */
function readDocument(value: unknown): LivingDocument | undefined {
  if (!Array.isArray(value)) return undefined
  const [text_length, links, headings] = value.slice(0, 3).map((count) => wholeNumber(count, MAX_DOCUMENT_COUNT))
  if (text_length === undefined || links === undefined || headings === undefined) return undefined
  return { text_length, links, headings, first_line: readText(value[3], MAX_LINE_CHARACTERS) ?? '' }
}

const writeDocument = ({ text_length, links, headings, first_line }: LivingDocument): readonly unknown[] => [
  text_length,
  links,
  headings,
  first_line,
]

/** Copies properties within the bounds above. Returns undefined if none are left, null if they nest too deeply. */
function readProps(value: unknown): JsonObject | undefined | null {
  if (!isJsonObject(value)) return undefined
  let membersLeft = MAX_PROPS_MEMBERS
  let isTooDeep = false

  const copyValue = (one: unknown, depth: number): unknown => {
    if (typeof one === 'string') return wellFormedText(one, MAX_TEXT_CHARACTERS)
    // JSON allows 1e999, which cannot be written back as a number.
    if (typeof one === 'number') return Number.isFinite(one) ? one : null
    if (typeof one !== 'object' || one === null) return one
    if (depth === MAX_PROPS_DEPTH) {
      isTooDeep = true
      return null
    }
    if (!Array.isArray(one)) return copyObject({ ...one }, depth)
    const members = one.slice(0, membersLeft)
    membersLeft -= members.length
    return members.map((member) => copyValue(member, depth + 1))
  }

  const copyObject = (object: JsonObject, depth: number): JsonObject => {
    const entries: [string, unknown][] = []
    for (const name in object) {
      if (membersLeft === 0) break
      // Assigning this name would set the prototype of a careless copy.
      if (name === '__proto__') continue
      membersLeft -= 1
      entries.push([wellFormedText(name, MAX_NAME_CHARACTERS), copyValue(object[name], depth + 1)])
    }
    return Object.fromEntries(entries)
  }

  const props = copyObject(value, 0)
  if (isTooDeep) return null
  return Object.keys(props).length > 0 ? props : undefined
}
