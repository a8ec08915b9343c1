import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isPublic, parseAddress } from '../address.js'
import { type Outbound, OutboundError } from './outbound.js'
import type { Resolve } from './resolve.js'
import { redirectLocation, type SingleRequest, sendOnce } from './single-request.js'

export interface OutboundDeps {
  resolve: Resolve
  /** Nothing is asked at all. */
  offline: boolean
  /** Of readership, for `User-Agent`. */
  version: string
  /** What may be asked although the guard would refuse it: in tests alone, whose servers are on this machine. */
  allow?: AllowedTargets & { ca?: string }
}

/** What goes beyond public addresses and the ports of http and https. */
export interface AllowedTargets {
  address?: (address: string) => boolean
  port?: (port: number) => boolean
}

export const userAgent = (version: string): string => `readership/${version}`

/** Addresses of one name that are tried. */
const MAX_ADDRESSES_TRIED = 8

/**
 * The way to servers that a stranger may have named: http and https on their own ports, without userinfo, and only to
 * public addresses. A name is refused where any of its addresses is not public; the connection goes to an address that
 * was checked, never to a second answer of the DNS. Each redirect is checked as the first URL was; one from https
 * to http is refused.
 */
export function createOutbound(deps: OutboundDeps): Outbound {
  const headers = { 'user-agent': userAgent(deps.version) }
  return async (text, options) => {
    if (deps.offline) throw new OutboundError('offline', 'no request is made to the outside (--offline)')
    const first = parseUrl(text)
    return withTimeout(options.timeout, first, async (signal) => {
      let from: URL | undefined
      let url = first
      for (let redirects = options.redirects; ; redirects--) {
        const refusal = refusalReason(url, deps, from)
        if (refusal !== undefined) throw new OutboundError('refused', `${originForMessage(url)}: ${refusal}`)
        const connect = createCheckedConnector(url, deps)
        const following = redirects > 0
        const answer = await sendOnce({
          url,
          headers: { ...options.headers, ...headers },
          limit: options.limit,
          signal,
          followsRedirects: following,
          connect,
        })
        const location = redirectLocation(answer)
        if (location === undefined || !following) return answer
        from = url
        url = parseUrl(location, from)
      }
    })
  }
}

/** `text` as a URL. */
export function parseUrl(text: string, base?: URL): URL {
  try {
    return new URL(text, base)
  } catch (cause) {
    throw new OutboundError('malformed', `${JSON.stringify(text.slice(0, 200))} is not a URL`, { cause })
  }
}

/** Runs `work` with a signal that ends it after `ms`. */
export async function withTimeout<T>(ms: number, url: URL, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new OutboundError('timeout', `${originForMessage(url)} took too long`)), ms)
  try {
    return await work(over.signal)
  } finally {
    clearTimeout(timer)
  }
}

/** Where it goes, without what a hostile URL carries besides. */
export const originForMessage = (url: URL) => `${url.protocol}//${url.host}`.slice(0, 200)

/** Why a URL is not asked, by what is written in it; undefined where it may be. */
export function refusalReason(url: URL, { allow }: Pick<OutboundDeps, 'allow'>, from?: URL): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'only http and https are asked'
  if (url.username !== '' || url.password !== '') return 'a URL with a user in it is not asked'
  if (from?.protocol === 'https:' && url.protocol === 'http:') return 'a redirect from https to http is not followed'
  if (url.port !== '' && !allow?.port?.(Number(url.port))) return 'only the ports of http and https are asked'
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !isAllowed(literal, allow)) return 'is not a public address'
  return undefined
}

function isAllowed(address: string, allow: OutboundDeps['allow']): boolean {
  const parsed = parseAddress(address)
  return parsed !== undefined && (isPublic(parsed) || allow?.address?.(address) === true)
}

/** Resolves and checks in the one step whose answer the socket connects to. */
export function createCheckedConnector(
  url: URL,
  { resolve, allow }: Pick<OutboundDeps, 'resolve' | 'allow'>,
): SingleRequest['connect'] {
  const addressesOf = async (hostname: string) => {
    const addresses = await resolve(hostname)
    const bad = addresses.find((address) => !isAllowed(address, allow))
    if (bad !== undefined || addresses.length === 0)
      throw new OutboundError('refused', `${originForMessage(url)}: ${bad ?? 'nothing'} is not a public address`)
    return addresses.slice(0, MAX_ADDRESSES_TRIED).map((address) => ({ address, family: isIP(address) }))
  }
  const lookup: LookupFunction = (hostname, options, callback) => {
    addressesOf(hostname).then(
      (found) => {
        const [one] = found
        if (options.all || one === undefined) callback(null, found)
        else callback(null, one.address, one.family)
      },
      (error) => callback(error, []),
    )
  }
  return (signal) => {
    const options = { lookup, signal, timeout: 0, ...(allow?.ca !== undefined && { ca: allow.ca }) }
    return buildConnector(options)
  }
}
