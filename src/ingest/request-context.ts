import { type Address, addressKey, parseAddress } from '../address.js'
import type { Observation } from '../capture/observation.js'
import type { Site } from '../capture/site.js'
import { MAX_CHARACTERS, truncate } from '../capture/text-limits.js'

/** Who asked for a page or told of one, read once: what observations and hits have in common. */
export interface RequestContext {
  site: Site
  /** Milliseconds since 1970. */
  at: number
  user_agent: string
  hostname: string
  pathname: string
  /** These as they came. */
  query: string | undefined
  referrer: string | undefined
  headers: Observation['headers']
  address: Address | undefined
  /** What hashes are made of. */
  address_key: string
}

/** An observation read once: what both kinds of row are made from. */
export interface ObservedRequest extends RequestContext {
  observation: Observation
  status: number
  bytes: number
  duration_ms: number
}

type RequestFields = Pick<Observation, 'user_agent' | 'hostname' | 'pathname' | 'query' | 'referrer' | 'ip'> & {
  headers?: Observation['headers']
}

/** Throws where `at` is no number. */
export function readRequestContext(call: RequestFields, site: Site, at: number): RequestContext {
  const address = parseAddress(call.ip)
  return {
    site,
    at: clampedInteger(at, -MAX_DATE_MS, MAX_DATE_MS),
    user_agent: truncate(call.user_agent, MAX_CHARACTERS.user_agent),
    hostname: truncate(call.hostname, MAX_CHARACTERS.hostname).toLowerCase(),
    pathname: truncate(call.pathname, MAX_CHARACTERS.pathname),
    query: call.query,
    referrer: call.referrer,
    headers: call.headers,
    address,
    address_key: address ? addressKey(address) : call.ip,
  }
}

/** Throws where `at`, a status or a length is no number: the row could not be stored, and would take its batch along. */
export function readObservedRequest(observation: Observation, site: Site, at: number): ObservedRequest {
  const caller = readRequestContext(observation, site, at)
  return {
    site,
    at: caller.at,
    user_agent: caller.user_agent,
    hostname: caller.hostname,
    pathname: caller.pathname,
    query: caller.query,
    referrer: caller.referrer,
    headers: caller.headers,
    address: caller.address,
    address_key: caller.address_key,
    observation,
    status: clampedInteger(observation.status, 0, 999),
    bytes: clampedInteger(observation.bytes, 0, MAX_DATE_MS),
    duration_ms: clampedInteger(observation.duration_ms, 0, 2 ** 31 - 1),
  }
}

/** The widest instant a `Date` holds, which is below the largest exact integer. */
const MAX_DATE_MS = 8.64e15

function clampedInteger(value: number, least: number, most: number): number {
  if (!Number.isFinite(value)) throw new TypeError(`not a number: ${value}`)
  return Math.min(Math.max(Math.round(value), least), most)
}
