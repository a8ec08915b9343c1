import { type Address, addressKey, parseAddress } from '../address.js'
import { CAPS, cap } from '../capture/caps.js'
import type { Observation } from '../capture/observation.js'
import type { Site } from '../capture/site.js'

/** Who asked for a page or told of one, read once: what observations and hits have in common. */
export interface Caller {
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
export interface Seen extends Caller {
  observation: Observation
  status: number
  bytes: number
  duration_ms: number
}

type Call = Pick<Observation, 'user_agent' | 'hostname' | 'pathname' | 'query' | 'referrer' | 'ip'> & {
  headers?: Observation['headers']
}

/** Throws where `at` is no number. */
export function callerOf(call: Call, site: Site, at: number): Caller {
  const address = parseAddress(call.ip)
  return {
    site,
    at: whole(at, -MOST, MOST),
    user_agent: cap(call.user_agent, CAPS.user_agent),
    hostname: cap(call.hostname, CAPS.hostname).toLowerCase(),
    pathname: cap(call.pathname, CAPS.pathname),
    query: call.query,
    referrer: call.referrer,
    headers: call.headers,
    address,
    address_key: address ? addressKey(address) : call.ip,
  }
}

/** Throws where `at`, a status or a length is no number: the row could not be stored, and would take its batch along. */
export function see(observation: Observation, site: Site, at: number): Seen {
  const caller = callerOf(observation, site, at)
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
    status: whole(observation.status, 0, 999),
    bytes: whole(observation.bytes, 0, MOST),
    duration_ms: whole(observation.duration_ms, 0, 2 ** 31 - 1),
  }
}

/** The widest instant a `Date` holds, which is below the largest exact integer. */
const MOST = 8.64e15

function whole(value: number, least: number, most: number): number {
  if (!Number.isFinite(value)) throw new TypeError(`not a number: ${value}`)
  return Math.min(Math.max(Math.round(value), least), most)
}
