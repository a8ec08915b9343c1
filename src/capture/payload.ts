import type { Vitals } from '../rows.js'
import { CAPS, cap } from './caps.js'
import { type Hit, KINDS, type Kind } from './hit.js'
import { routeOf } from './route.js'

/** What a payload says by itself; the rest of a hit is its request's. */
export type Payload = Omit<Hit, 'timestamp' | 'ip' | 'user_agent' | 'headers'>

type Keys = Readonly<Record<string, unknown>>

/** Properties deeper than this are nobody's: their payload is none. */
const DEPTH = 8
/** Members that properties have in all, and characters of a name and of a text; what is beyond is left out or cut. */
const MEMBERS = 200
const NAME = 200
const TEXT = CAPS.referrer
/** As an observation's, of which no row is made from more either. */
const QUERY = 8_192

/** CSS pixels; a day and an hour in milliseconds: what is beyond was not measured. */
const PIXELS = 100_000
const DAY = 86_400_000
const HOUR = 3_600_000

const isKeys = (value: unknown): value is Keys => typeof value === 'object' && value !== null && !Array.isArray(value)
/** Only what the sender wrote: every object has a `constructor`. */
const own = (keys: Keys, name: string): unknown => (Object.hasOwn(keys, name) ? keys[name] : undefined)

/**
 * One item of spec 2.4 as JSON gave it; undefined where it is no payload: no object, no site, no http(s) URL, a kind that
 * is none of spec 6, properties without end. Any other key of a wrong type is as if it were absent, unknown keys are
 * ignored.
 */
export function readPayload(value: unknown): Payload | undefined {
  if (!isKeys(value)) return undefined
  const site = own(value, 's')
  const page = pageOf(own(value, 'u'))
  const kind = kindOf(own(value, 't'))
  const props = propsOf(own(value, 'p'))
  if (typeof site !== 'number' || !Number.isSafeInteger(site) || !page || !kind || props === null) return undefined
  const read: Payload = { site, kind, ...page }
  const name = textOf(own(value, 'n'))
  if (name !== undefined) read.name = name
  const referrer = textOf(own(value, 'r'), TEXT)
  if (referrer !== undefined) read.referrer = referrer
  const screen_width = numberIn(own(value, 'w'), PIXELS)
  if (screen_width !== undefined) read.screen_width = screen_width
  const viewport_width = numberIn(own(value, 'vw'), PIXELS)
  if (viewport_width !== undefined) read.viewport_width = viewport_width
  const language = textOf(own(value, 'l'))
  if (language !== undefined) read.language = language
  const timezone = textOf(own(value, 'tz'))
  if (timezone !== undefined) read.timezone = timezone
  const engaged_ms = numberIn(own(value, 'd'), DAY)
  if (engaged_ms !== undefined) read.engaged_ms = engaged_ms
  const scroll = numberIn(own(value, 'sc'), 100)
  if (scroll !== undefined) read.scroll = scroll
  if (props !== undefined) read.props = props
  const identified_id = textOf(own(value, 'id'))
  if (identified_id !== undefined) read.identified_id = identified_id
  const vitals = vitalsOf(own(value, 'e'))
  if (vitals !== undefined) read.vitals = vitals
  return read
}

const NUMBERS = new Set(['s', 'w', 'h', 'vw', 'vh', 'd', 'sc'])
const OBJECTS = new Set(['p', 'e'])

/** The same of a query string (spec 4.7, the pixel): numbers are digits, `p` and `e` JSON; of two of a name the first counts. */
export function readQuery(query: string): Payload | undefined {
  const keys = new Map<string, unknown>()
  for (const [name, text] of new URLSearchParams(query)) {
    if (keys.has(name)) continue
    if (NUMBERS.has(name)) keys.set(name, /^\d{1,10}$/.test(text) ? Number(text) : undefined)
    else keys.set(name, OBJECTS.has(name) ? parseJson(text) : text)
  }
  return readPayload(Object.fromEntries(keys))
}

/** The payload that `readPayload` reads as the same. */
export function writePayload(hit: Payload): Keys {
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
function pageOf(value: unknown): Pick<Payload, 'hostname' | 'pathname' | 'query'> | undefined {
  if (typeof value !== 'string') return undefined
  let url: URL
  try {
    url = new URL(value)
  } catch {
    return undefined
  }
  const { protocol, hostname, pathname, search, hash } = url
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  const page = { hostname, pathname: cap(pathname + routeOf(hash), CAPS.pathname) }
  return search === '' ? page : { ...page, query: cap(search.slice(1), QUERY) }
}

/** What is said to be something that nobody knows is no view of a page. */
function kindOf(value: unknown): Kind | undefined {
  return value === undefined || value === null ? 'pageview' : KINDS.find((kind) => kind === value)
}

/** Whole, from 0. */
const numberIn = (value: unknown, most: number): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most ? value : undefined

/** A text that says something, of whole characters: half a pair is no text to most of what reads it later. */
function textOf(value: unknown, most: number = CAPS.text): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = whole(value, most)
  return text.trim() === '' ? undefined : text
}

const whole = (text: string, most: number): string => {
  const short = cap(text, most)
  return /\p{Surrogate}/u.test(short) ? Buffer.from(short).toString() : short
}

const VITALS = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const

function vitalsOf(value: unknown): Partial<Vitals> | undefined {
  if (!isKeys(value)) return undefined
  const vitals: Partial<Vitals> = {}
  for (const name of VITALS) {
    const measured = own(value, name)
    if (typeof measured === 'number' && measured >= 0 && measured <= HOUR) vitals[name] = measured
  }
  return Object.keys(vitals).length > 0 ? vitals : undefined
}

/** Undefined where there are none, null where they have no end. */
function propsOf(value: unknown): Keys | undefined | null {
  if (!isKeys(value)) return undefined
  let left = MEMBERS
  let endless = false

  const copyOf = (one: unknown, depth: number): unknown => {
    if (typeof one === 'string') return whole(one, TEXT)
    // JSON has 1e999, and a number's text has not.
    if (typeof one === 'number') return Number.isFinite(one) ? one : null
    if (typeof one !== 'object' || one === null) return one
    if (depth === DEPTH) {
      endless = true
      return null
    }
    if (!Array.isArray(one)) return keysOf({ ...one }, depth)
    const members = one.slice(0, left)
    left -= members.length
    return members.map((member) => copyOf(member, depth + 1))
  }

  const keysOf = (keys: Keys, depth: number): Keys => {
    const kept: [string, unknown][] = []
    for (const name in keys) {
      if (left === 0) break
      // A name that sets an object's prototype where a copy is made without care.
      if (name === '__proto__') continue
      left -= 1
      kept.push([whole(name, NAME), copyOf(keys[name], depth + 1)])
    }
    return Object.fromEntries(kept)
  }

  const kept = keysOf(value, 0)
  if (endless) return null
  return Object.keys(kept).length > 0 ? kept : undefined
}
