import type { Vitals } from '../rows.js'
import { fragmentRoute } from './fragment-route.js'
import { HIT_KINDS, type Hit, type HitKind } from './hit.js'
import { MAX_CHARACTERS, truncate } from './text-limits.js'

/** What a payload says by itself; the rest of a hit is its request's. */
export type Payload = Omit<Hit, 'timestamp' | 'ip' | 'user_agent' | 'headers'>

type JsonObject = Readonly<Record<string, unknown>>

/** Properties deeper than this are nobody's: their payload is none. */
const MAX_PROPS_DEPTH = 8
/** Members that properties have in all, and characters of a name and of a text; what is beyond is left out or cut. */
const MAX_PROPS_MEMBERS = 200
const MAX_NAME_CHARACTERS = 200
const MAX_TEXT_CHARACTERS = MAX_CHARACTERS.referrer
/** As an observation's, of which no row is made from more either. */
const MAX_QUERY_CHARACTERS = 8_192

/** CSS pixels; a day and an hour in milliseconds: what is beyond was not measured. */
const MAX_PIXELS = 100_000
const MAX_ENGAGED_MS = 86_400_000
const MAX_VITAL = 3_600_000

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** Only what the sender wrote: every object has a `constructor`. */
const ownMember = (keys: JsonObject, name: string): unknown => (Object.hasOwn(keys, name) ? keys[name] : undefined)

/**
 * One item of spec 2.4 as JSON gave it; undefined where it is no payload: no object, no site, no http(s) URL, a kind that
 * is none of spec 6, properties without end. Any other key of a wrong type is as if it were absent, unknown keys are
 * ignored.
 */
export function readPayload(value: unknown): Payload | undefined {
  if (!isJsonObject(value)) return undefined
  const site = ownMember(value, 's')
  const page = readPage(ownMember(value, 'u'))
  const kind = readKind(ownMember(value, 't'))
  const props = readProps(ownMember(value, 'p'))
  if (typeof site !== 'number' || !Number.isSafeInteger(site) || !page || !kind || props === null) return undefined
  const read: Payload = { site, kind, ...page }
  const name = readText(ownMember(value, 'n'))
  if (name !== undefined) read.name = name
  const referrer = readText(ownMember(value, 'r'), MAX_TEXT_CHARACTERS)
  if (referrer !== undefined) read.referrer = referrer
  const screen_width = wholeNumber(ownMember(value, 'w'), MAX_PIXELS)
  if (screen_width !== undefined) read.screen_width = screen_width
  const viewport_width = wholeNumber(ownMember(value, 'vw'), MAX_PIXELS)
  if (viewport_width !== undefined) read.viewport_width = viewport_width
  const language = readText(ownMember(value, 'l'))
  if (language !== undefined) read.language = language
  const timezone = readText(ownMember(value, 'tz'))
  if (timezone !== undefined) read.timezone = timezone
  const engaged_ms = wholeNumber(ownMember(value, 'd'), MAX_ENGAGED_MS)
  if (engaged_ms !== undefined) read.engaged_ms = engaged_ms
  const scroll = wholeNumber(ownMember(value, 'sc'), 100)
  if (scroll !== undefined) read.scroll = scroll
  if (props !== undefined) read.props = props
  const identified_id = readText(ownMember(value, 'id'))
  if (identified_id !== undefined) read.identified_id = identified_id
  const vitals = readVitals(ownMember(value, 'e'))
  if (vitals !== undefined) read.vitals = vitals
  return read
}

const NUMBER_KEYS = new Set(['s', 'w', 'h', 'vw', 'vh', 'd', 'sc'])
const JSON_KEYS = new Set(['p', 'e'])

/** The same of a query string (spec 4.7, the pixel): numbers are digits, `p` and `e` JSON; of two of a name the first counts. */
export function readQueryPayload(query: string): Payload | undefined {
  const keys = new Map<string, unknown>()
  for (const [name, text] of new URLSearchParams(query)) {
    if (keys.has(name)) continue
    if (NUMBER_KEYS.has(name)) keys.set(name, /^\d{1,10}$/.test(text) ? Number(text) : undefined)
    else keys.set(name, JSON_KEYS.has(name) ? parseJson(text) : text)
  }
  return readPayload(Object.fromEntries(keys))
}

/** The payload that `readPayload` reads as the same. */
export function writePayload(hit: Payload): JsonObject {
  const { site, kind, hostname, pathname, query } = hit
  const [path = '', ...route] = pathname.split('#')
  const search = query === undefined ? '' : `?${query}`
  const written: Record<string, unknown> = {
    ...{ s: site, t: kind, u: `https://${hostname}${path}${search}${route.length > 0 ? `#${route.join('#')}` : ''}` },
    ...{ n: hit.name, r: hit.referrer, w: hit.screen_width, vw: hit.viewport_width, l: hit.language, tz: hit.timezone },
    ...{ d: hit.engaged_ms, sc: hit.scroll, p: hit.props, id: hit.identified_id, e: hit.vitals },
  }
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined))
}

/** What JSON text says; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The page of a URL as a browser would ask for it, which is how the proxy stores it. A fragment that is a route (`#/`, `#!`)
 * is part of the path: to a site whose pages are told apart by it, the rest is one page.
 */
function readPage(value: unknown): Pick<Payload, 'hostname' | 'pathname' | 'query'> | undefined {
  if (typeof value !== 'string') return undefined
  let url: URL
  try {
    url = new URL(value)
  } catch {
    return undefined
  }
  const { protocol, hostname, pathname, search, hash } = url
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  const page = { hostname, pathname: truncate(pathname + fragmentRoute(hash), MAX_CHARACTERS.pathname) }
  return search === '' ? page : { ...page, query: truncate(search.slice(1), MAX_QUERY_CHARACTERS) }
}

/** What is said to be something that nobody knows is no view of a page. */
function readKind(value: unknown): HitKind | undefined {
  return value === undefined || value === null ? 'pageview' : HIT_KINDS.find((kind) => kind === value)
}

/** Whole, from 0. */
const wholeNumber = (value: unknown, most: number): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most ? value : undefined

/** A text that says something, of whole characters: half a pair is no text to most of what reads it later. */
function readText(value: unknown, most: number = MAX_CHARACTERS.text): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = wellFormedText(value, most)
  return text.trim() === '' ? undefined : text
}

const wellFormedText = (text: string, most: number): string => {
  const short = truncate(text, most)
  return /\p{Surrogate}/u.test(short) ? Buffer.from(short).toString() : short
}

const VITAL_NAMES = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const

function readVitals(value: unknown): Partial<Vitals> | undefined {
  if (!isJsonObject(value)) return undefined
  const vitals: Partial<Vitals> = {}
  for (const name of VITAL_NAMES) {
    const measured = ownMember(value, name)
    if (typeof measured === 'number' && measured >= 0 && measured <= MAX_VITAL) vitals[name] = measured
  }
  return Object.keys(vitals).length > 0 ? vitals : undefined
}

/** Undefined where there are none, null where they have no end. */
function readProps(value: unknown): JsonObject | undefined | null {
  if (!isJsonObject(value)) return undefined
  let left = MAX_PROPS_MEMBERS
  let endless = false

  const copyOf = (one: unknown, depth: number): unknown => {
    if (typeof one === 'string') return wellFormedText(one, MAX_TEXT_CHARACTERS)
    // JSON has 1e999, and a number's text has not.
    if (typeof one === 'number') return Number.isFinite(one) ? one : null
    if (typeof one !== 'object' || one === null) return one
    if (depth === MAX_PROPS_DEPTH) {
      endless = true
      return null
    }
    if (!Array.isArray(one)) return keysOf({ ...one }, depth)
    const members = one.slice(0, left)
    left -= members.length
    return members.map((member) => copyOf(member, depth + 1))
  }

  const keysOf = (keys: JsonObject, depth: number): JsonObject => {
    const kept: [string, unknown][] = []
    for (const name in keys) {
      if (left === 0) break
      // A name that sets an object's prototype where a copy is made without care.
      if (name === '__proto__') continue
      left -= 1
      kept.push([wellFormedText(name, MAX_NAME_CHARACTERS), copyOf(keys[name], depth + 1)])
    }
    return Object.fromEntries(kept)
  }

  const kept = keysOf(value, 0)
  if (endless) return null
  return Object.keys(kept).length > 0 ? kept : undefined
}
