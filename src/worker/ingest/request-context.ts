import { type Address, addressKey, parseAddress } from '../../base/address.js'
import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import type { Observation } from '../../capture/observation.js'
import type { SiteSettings } from '../../capture/site.js'

/** The fields that rows need of a request, read once: what observations and hits have in common. */
export interface RequestContext {
  site: SiteSettings
  /** Milliseconds since 1970. */
  at: number
  user_agent: string
  hostname: string
  pathname: string
  /** Sent by the client and unchanged, like `referrer`. */
  query: string | undefined
  referrer: string | undefined
  headers: Observation['headers']
  /** The address as it came. */
  ip: string
  address: Address | undefined
  /** The text that hashes of the address are made from. */
  address_key: string
}

/** An observation, read once for either kind of row. */
export interface ObservedRequest {
  request: RequestContext
  observation: Observation
  /** Whether the response was a page. */
  is_page: boolean
  status: number
  bytes: number
  duration_ms: number
}

type RequestFields = Pick<Observation, 'user_agent' | 'hostname' | 'pathname' | 'query' | 'referrer' | 'ip'> & {
  headers?: Observation['headers']
}

/** Throws if `at` is not a number. */
export function readRequestContext(fields: RequestFields, site: SiteSettings, at: number): RequestContext {
  const address = parseAddress(fields.ip)
  return {
    site,
    at: clampedInteger(at, -MAX_DATE_MS, MAX_DATE_MS),
    user_agent: truncate(fields.user_agent, MAX_CHARACTERS.user_agent),
    hostname: truncate(fields.hostname, MAX_CHARACTERS.hostname).toLowerCase(),
    pathname: truncate(fields.pathname, MAX_CHARACTERS.pathname),
    query: fields.query,
    referrer: fields.referrer,
    headers: fields.headers,
    ip: fields.ip,
    address,
    address_key: address ? addressKey(address) : fields.ip,
  }
}

/** Throws if `at`, status, bytes or duration is not a number: such a row could not be stored, and its batch would fail with it. */
export const readObservedRequest = (
  observation: Observation,
  site: SiteSettings,
  at: number,
  is_page: boolean,
): ObservedRequest => ({
  request: readRequestContext(observation, site, at),
  observation,
  is_page,
  status: clampedInteger(observation.status, 0, 999),
  bytes: clampedInteger(observation.bytes, 0, MAX_DATE_MS),
  duration_ms: clampedInteger(observation.duration_ms, 0, 2 ** 31 - 1),
})

/** The last instant that a `Date` holds. It is below the largest exact integer, and serves as its bound too. */
const MAX_DATE_MS = 8.64e15

function clampedInteger(value: number, min: number, max: number): number {
  if (!Number.isFinite(value)) throw new TypeError(`expected a finite number, got ${value}`)
  return Math.min(Math.max(Math.round(value), min), max)
}
