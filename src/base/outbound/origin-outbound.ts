import { isIP } from 'node:net'
import type { buildConnector } from 'undici'
import { parseUrl, userAgent, withTimeout } from './guarded-outbound.js'
import type { Outbound } from './outbound.js'
import { redirectLocation, sendOnce } from './single-request.js'

interface OriginDeps {
  /** The configured site: scheme, host and port. It may be on a private address, because its operator named it. */
  origin: URL
  /** For an https origin whose certificate the system does not know. */
  tls?: { ca?: string; rejectUnauthorized?: boolean }
  version: string
  /** Whether the origin serves another hostname: a redirect to such a hostname goes to the origin too. */
  isOriginHostname?: (hostname: string) => boolean
  /** The client for redirects that lead elsewhere. */
  outbound: Outbound
}

/**
 * Creates the client for the site's own files (robots.txt and the like), fetched as an agent would get them. For any
 * hostname it connects to the configured origin, with `Host` and `X-Forwarded-*` as the proxy sends them. A redirect to
 * the same hostname, or to another one of the site, goes to the origin again; the guarded client follows all others.
 */
export function createOriginOutbound({ origin, tls, version, isOriginHostname, outbound }: OriginDeps): Outbound {
  const host = origin.hostname.replace(/^\[|\]$/g, '')
  const connect = (signal: AbortSignal, build: typeof buildConnector): buildConnector.connector => {
    const options = { ...tls, signal, timeout: 0 }
    const connectTo = build(options)
    // The certificate must name the configured origin; an IP address is not sent as a server name.
    return (request, callback) => connectTo({ ...request, servername: isIP(host) ? '' : host }, callback)
  }
  return (text, options) => {
    const first = parseUrl(text)
    const deadline = performance.now() + options.timeout
    const isOrigin = ({ protocol, hostname }: URL) =>
      (protocol === 'https:' || protocol === 'http:') &&
      (hostname === first.hostname || isOriginHostname?.(hostname) === true)
    return withTimeout(options.timeout, origin, async (signal) => {
      let url = first
      for (let redirects = options.redirects; ; redirects--) {
        if (!isOrigin(url)) return outbound(url.href, { ...options, redirects, timeout: deadline - performance.now() })
        const response = await sendOnce({
          url,
          origin: origin.origin,
          headers: {
            ...options.headers,
            'user-agent': userAgent(version),
            'x-forwarded-host': url.host,
            'x-forwarded-proto': url.protocol.slice(0, -1),
          },
          limit: options.limit,
          signal,
          skipsRedirectBody: redirects > 0,
          connect,
        })
        const location = redirectLocation(response)
        if (location === undefined || redirects <= 0) return response
        url = parseUrl(location, url)
      }
    })
  }
}
