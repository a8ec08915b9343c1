import { isIP } from 'node:net'
import { buildConnector } from 'undici'
import { parseUrl, userAgent, withTimeout } from './guarded-outbound.js'
import type { Outbound } from './outbound.js'
import { redirectLocation, sendOnce } from './single-request.js'

export interface OriginDeps {
  /** The configured site: scheme, host and port. It may be on a private address; its operator named it. */
  origin: URL
  /** For an https origin whose certificate the system does not know. */
  tls?: { ca?: string; rejectUnauthorized?: boolean }
  version: string
  /** Other hostnames that the origin serves: a redirect to one of them is asked of it too. */
  isOriginHostname?: (hostname: string) => boolean
  /** The way for redirects that lead elsewhere. */
  outbound: Outbound
}

/**
 * The way to the site's own files as an agent would get them: whatever hostname is asked for, the configured origin is
 * dialled, with `Host` and `X-Forwarded-*` as the proxy sends them. A redirect to the same hostname, or to another of
 * the site's, goes to the origin again; one to elsewhere is left to the guarded way, and does not come back.
 */
export function createOriginOutbound({ origin, tls, version, isOriginHostname: own, outbound }: OriginDeps): Outbound {
  const host = origin.hostname.replace(/^\[|\]$/g, '')
  const connect = (signal: AbortSignal): buildConnector.connector => {
    const options = { ...tls, signal, timeout: 0 }
    const dial = buildConnector(options)
    // The name in the certificate is the configured origin's; an address is no name.
    return (request, callback) => dial({ ...request, servername: isIP(host) ? '' : host }, callback)
  }
  return (text, options) => {
    const asked = parseUrl(text)
    const until = performance.now() + options.timeout
    const ours = ({ protocol, hostname }: URL) =>
      (protocol === 'https:' || protocol === 'http:') && (hostname === asked.hostname || own?.(hostname) === true)
    return withTimeout(options.timeout, asked, async (signal) => {
      let url = asked
      for (let redirects = options.redirects; ; redirects--) {
        if (!ours(url)) return outbound(url.href, { ...options, redirects, timeout: until - performance.now() })
        const headers = {
          ...options.headers,
          'user-agent': userAgent(version),
          'x-forwarded-host': url.host,
          'x-forwarded-proto': url.protocol.slice(0, -1),
        }
        const following = redirects > 0
        const answer = await sendOnce({
          url,
          origin: origin.origin,
          headers,
          limit: options.limit,
          signal,
          followsRedirects: following,
          connect,
        })
        const location = redirectLocation(answer)
        if (location === undefined || !following) return answer
        url = parseUrl(location, url)
      }
    })
  }
}
