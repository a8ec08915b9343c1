import { isIP, type LookupFunction } from 'node:net'
import { isPublic, parseAddress } from '../address.js'
import { type Outbound, OutboundError, type OutboundOptions, type OutboundResponse } from './outbound.js'
import { redirectLocation, type SingleRequest, sendOnce } from './single-request.js'

export interface OutboundDeps {
  resolve: Resolve
  /** Makes every request fail with reason `offline`. */
  offline: boolean
  /** Version of readership, for `User-Agent`. */
  version: string
  /** Exceptions to the guard, for tests whose servers are on this machine. */
  allow?: AllowedTargets & { ca?: string }
}

/** Targets to allow in addition to public addresses and the ports of http and https. */
interface AllowedTargets {
  address?: (address: string) => boolean
  port?: (port: number) => boolean
}

export const userAgent = (version: string): string => `readership/${version}`

const MAX_ADDRESSES_TRIED = 8

/**
 * Creates the client for servers that a third party may have named. It allows http and https on their default ports,
 * without user name or password, and only public addresses. A name is refused if any of its addresses is not public.
 * The connection goes to an address that was checked, never to the result of a second DNS query. Each redirect is
 * checked as the first URL was; a redirect from https to http is refused.
 */
export function createOutbound(deps: OutboundDeps): Outbound {
  return async (text, { limit, redirects, timeout, headers }) => {
    if (deps.offline) throw new OutboundError('offline', 'outbound requests are switched off (--offline)')
    const first = parseUrl(text)
    return withTimeout(timeout, first, async (signal) => {
      let from: URL | undefined
      let url = first
      for (let left = redirects; ; left--) {
        const response = await sendOnce({
          url,
          headers: { ...headers, 'user-agent': userAgent(deps.version) },
          limit,
          signal,
          skipsRedirectBody: left > 0,
          connect: createCheckedConnector(url, deps, from),
        })
        const location = redirectLocation(response)
        if (location === undefined || left <= 0) return response
        from = url
        url = parseUrl(location, from)
      }
    })
  }
}

/** Sends `body` to `url` by POST, until `signal` aborts it. Throws `OutboundError` if there is no response. */
export type Post = (
  url: string,
  body: string,
  options: Omit<OutboundOptions, 'redirects'> & { signal?: AbortSignal },
) => Promise<OutboundResponse>

/** Ports below belong to other protocols, some of which take a request for commands. */
const MIN_CUSTOM_PORT = 1_024

/**
 * Creates the client that delivers webhooks: guarded like `createOutbound`, but with any port from 1024 allowed.
 * Redirects are not followed, because their target was not configured. `anywhere` allows private addresses too.
 */
export function createPoster(deps: { resolve: Resolve; version: string; anywhere: boolean }): Post {
  const allow: AllowedTargets = { port: (port) => port >= MIN_CUSTOM_PORT }
  if (deps.anywhere) allow.address = () => true
  return (text, body, { headers, limit, timeout, signal }) => {
    const url = parseUrl(text)
    return withTimeout(timeout, url, (timedOut) =>
      sendOnce({
        url,
        headers: { ...headers, 'user-agent': userAgent(deps.version) },
        body,
        limit,
        signal: signal ? AbortSignal.any([timedOut, signal]) : timedOut,
        skipsRedirectBody: false,
        connect: createCheckedConnector(url, { resolve: deps.resolve, allow }),
      }),
    )
  }
}

/** Parses `text`, relative to `base` if given. Throws `OutboundError` if it is not a URL. */
export function parseUrl(text: string, base?: URL): URL {
  try {
    return new URL(text, base)
  } catch (cause) {
    throw new OutboundError('malformed', `${JSON.stringify(text.slice(0, 200))} is not a URL`, { cause })
  }
}

/** Runs `work` with a signal that aborts after `ms`. */
export async function withTimeout<T>(ms: number, url: URL, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timeout = new AbortController()
  const timer = setTimeout(
    () => timeout.abort(new OutboundError('timeout', `${originForMessage(url)} took too long`)),
    ms,
  )
  try {
    return await work(timeout.signal)
  } finally {
    clearTimeout(timer)
  }
}

/** Names a URL in messages without the rest that a hostile URL may carry. */
const originForMessage = (url: URL) => `${url.protocol}//${url.host}`.slice(0, 200)

/** Returns why the guard refuses a URL by its text alone; undefined if it does not. */
function refusalReason(url: URL, allow: AllowedTargets | undefined, from?: URL): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'only http and https are allowed'
  if (url.username !== '' || url.password !== '') return 'a URL with a user name or password is not allowed'
  if (from?.protocol === 'https:' && url.protocol === 'http:') return 'a redirect from https to http is not allowed'
  if (url.port !== '' && !allow?.port?.(Number(url.port))) return 'this port is not allowed'
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !isAllowed(literal, allow)) return 'this is not a public address'
  return undefined
}

function isAllowed(address: string, allow: AllowedTargets | undefined): boolean {
  const parsed = parseAddress(address)
  return parsed !== undefined && (isPublic(parsed) || allow?.address?.(address) === true)
}

/**
 * Throws `OutboundError` if the guard refuses `url`. Otherwise returns a connector that resolves and checks in one step,
 * so that the socket connects to an address that was checked.
 */
function createCheckedConnector(
  url: URL,
  { resolve, allow }: Pick<OutboundDeps, 'resolve' | 'allow'>,
  from?: URL,
): SingleRequest['connect'] {
  const refused = (reason: string) => new OutboundError('refused', `${originForMessage(url)}: ${reason}`)
  const refusal = refusalReason(url, allow, from)
  if (refusal !== undefined) throw refused(refusal)
  const resolveChecked = async (hostname: string) => {
    const addresses = await resolve(hostname)
    const bad = addresses.find((address) => !isAllowed(address, allow))
    if (bad !== undefined) throw refused(`${bad} is not a public address`)
    if (addresses.length === 0) throw refused(`${hostname} has no address`)
    return addresses.slice(0, MAX_ADDRESSES_TRIED).map((address) => ({ address, family: isIP(address) }))
  }
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolveChecked(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (options.all || first === undefined) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error) => callback(error, []),
    )
  }
  return (signal, build) => {
    const options = { lookup, signal, timeout: 0, ...(allow?.ca !== undefined && { ca: allow.ca }) }
    return build(options)
  }
}

/** Returns all addresses of a name, as text. Rejects if the name has no address or no DNS server replies. */
type Resolve = (hostname: string) => Promise<readonly string[]>

/** The part of `node:dns/promises` in use; a `Resolver` has it. */
interface DnsResolver {
  resolve4(hostname: string): Promise<string[]>
  resolve6(hostname: string): Promise<string[]>
}

/**
 * Resolves names by DNS rather than by the system: that needs no thread of the pool that file access uses, and names
 * that only this machine's tables know stay unknown.
 */
export function createResolve(dns: DnsResolver): Resolve {
  return async (hostname) => {
    const results = await Promise.allSettled([dns.resolve4(hostname), dns.resolve6(hostname)])
    const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    if (addresses.length > 0) return addresses
    const failed = results.find((result) => result.status === 'rejected')
    throw new OutboundError('unreachable', `${hostname} has no address`, { cause: failed?.reason })
  }
}
