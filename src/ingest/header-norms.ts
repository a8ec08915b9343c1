import { createRecentCache } from '../cache.js'
import type { Observation } from '../capture/observation.js'

/** Headers that every modern browser sends with a navigation, if nothing between it and us takes them away. */
export const HEADER_CHECKS = {
  navigation: (headers: Headers) =>
    headers['sec-fetch-mode'] !== undefined &&
    headers['sec-fetch-dest'] !== undefined &&
    headers['sec-fetch-site'] !== undefined,
  language: (headers: Headers) => !!headers['accept-language'],
  html: (headers: Headers) => headers.accept?.includes('text/html') === true,
  gzip: (headers: Headers) => headers['accept-encoding']?.includes('gzip') === true,
} as const
export type HeaderCheck = keyof typeof HEADER_CHECKS
type Headers = NonNullable<Observation['headers']>

/** `seen`: visitors that were learned from; `met`: all of them. */
type HostnameCounts = Record<HeaderCheck | 'seen' | 'met' | 'hosting', number>

export interface HeaderNorms {
  /** Whether the visitors of a hostname send it: only then does its lack say something of one of them. */
  isUsual(hostname: string, what: HeaderCheck): boolean
  /** Takes one visitor's first view into account: one with a modern browser, and not from a hosting network. */
  countHeaders(hostname: string, headers: Headers): void
  /** Counts a visitor of a hostname. */
  countVisitor(hostname: string, fromHosting: boolean): void
  /**
   * Whether nearly all visitors of a hostname come from hosting networks: then it is the network of what stands before
   * us, a CDN or load balancer whose `X-Forwarded-For` is not believed (`--trust-proxy`), and says nothing of them.
   */
  isBehindProxy(hostname: string): boolean
}

/** So many visitors must have been seen, and over half of them have sent it. */
const MIN_VISITORS = 20
/** Then all counts are halved: a site that moves behind TLS or another CDN is learned anew within as many. */
const MAX_VISITORS = 1000

/**
 * What browsers send is not what arrives: over plain HTTP they leave out Sec-Fetch, a CDN may forward none of it or its
 * own `Accept-Encoding`, and the wire does not say which of these a hostname is behind. So it is learned for each: what
 * most visitors lack is no sign against any of them. At most `limit` hostnames are remembered.
 */
export function createHeaderNorms(limit = 256): HeaderNorms {
  const customs = createRecentCache<string, HostnameCounts>(limit)
  const of = (hostname: string): HostnameCounts => {
    let custom = customs.get(hostname)
    if (custom === undefined) {
      custom = { seen: 0, navigation: 0, language: 0, html: 0, gzip: 0, met: 0, hosting: 0 }
      customs.set(hostname, custom)
    }
    return custom
  }
  return {
    isUsual(hostname, what) {
      const custom = customs.get(hostname)
      return custom !== undefined && custom.seen >= MIN_VISITORS && custom[what] * 2 > custom.seen
    },
    countHeaders(hostname, headers) {
      const custom = of(hostname)
      custom.seen++
      let what: HeaderCheck
      for (what in HEADER_CHECKS) if (HEADER_CHECKS[what](headers)) custom[what]++
      if (custom.seen < MAX_VISITORS) return
      custom.seen /= 2
      for (what in HEADER_CHECKS) custom[what] /= 2
    },
    countVisitor(hostname, fromHosting) {
      const custom = of(hostname)
      custom.met++
      if (fromHosting) custom.hosting++
      if (custom.met < MAX_VISITORS) return
      custom.met /= 2
      custom.hosting /= 2
    },
    isBehindProxy(hostname) {
      const custom = customs.get(hostname)
      return custom !== undefined && custom.met >= MIN_VISITORS && custom.hosting > custom.met * 0.9
    },
  }
}
