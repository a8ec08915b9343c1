import { type Address, addressKey, parseAddress } from '../address.js'
import { CAPS, cap } from './caps.js'
import type { Observation } from './observation.js'
import type { Site } from './site.js'

/** An observation read once: what both kinds of row are made from. */
export interface Seen {
  observation: Observation
  site: Site
  /** Milliseconds since 1970. */
  at: number
  user_agent: string
  hostname: string
  pathname: string
  status: number
  bytes: number
  duration_ms: number
  address: Address | undefined
  /** What hashes are made of. */
  address_key: string
}

/** Throws where `at`, a status or a length is no number: the row could not be stored, and would take its batch along. */
export function see(observation: Observation, site: Site, at: number): Seen {
  const address = parseAddress(observation.ip)
  return {
    observation,
    site,
    at: whole(at, -MOST, MOST),
    user_agent: cap(observation.user_agent, CAPS.user_agent),
    hostname: cap(observation.hostname, CAPS.hostname).toLowerCase(),
    pathname: cap(observation.pathname, CAPS.pathname),
    status: whole(observation.status, 0, 999),
    bytes: whole(observation.bytes, 0, MOST),
    duration_ms: whole(observation.duration_ms, 0, 2 ** 31 - 1),
    address,
    address_key: address ? addressKey(address) : observation.ip,
  }
}

/** The widest instant a `Date` holds, which is below the largest exact integer. */
const MOST = 8.64e15

function whole(value: number, least: number, most: number): number {
  if (!Number.isFinite(value)) throw new TypeError(`not a number: ${value}`)
  return Math.min(Math.max(Math.round(value), least), most)
}
