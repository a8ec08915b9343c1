import { createRecentCache } from '../../base/cache.js'
import type { Observation } from '../../capture/observation.js'

type Headers = NonNullable<Observation['headers']>

/** Headers that every modern browser sends with a navigation, unless something between it and us removes them. */
export const HEADER_CHECKS = {
  navigation: (headers: Headers) =>
    headers['sec-fetch-mode'] !== undefined &&
    headers['sec-fetch-dest'] !== undefined &&
    headers['sec-fetch-site'] !== undefined,
  language: (headers: Headers) => !!headers['accept-language'],
  html: (headers: Headers) => headers.accept?.includes('text/html') === true,
  gzip: (headers: Headers) => headers['accept-encoding']?.includes('gzip') === true,
} as const
type HeaderCheck = keyof typeof HEADER_CHECKS

/** Visitors of a hostname: `visitors` in all, `fromHosting` of them; `sampled` whose headers were counted, by check. */
type HostnameCounts = Record<HeaderCheck | 'sampled' | 'visitors' | 'fromHosting', number>

/** A norm needs at least this many visitors, and over half of them with the header. */
const MIN_VISITORS = 20
/** At this many visitors all counts are halved, so a site that moves to TLS or another CDN is learned within as many visitors. */
const MAX_VISITORS = 1000

/**
 * Creates the memory of the headers that arrive, which are not those that browsers send: over plain HTTP they omit
 * Sec-Fetch, a CDN may forward none of it or its own `Accept-Encoding`, and a request does not show which it passed. So
 * norms are learned by hostname: a header that most visitors lack is not a signal. At most `limit` hostnames are remembered.
 */
export function createHeaderNorms(limit = 256) {
  const cache = createRecentCache<string, HostnameCounts>(limit)
  const countsOf = (hostname: string): HostnameCounts => {
    let counts = cache.get(hostname)
    if (counts === undefined) {
      counts = { sampled: 0, navigation: 0, language: 0, html: 0, gzip: 0, visitors: 0, fromHosting: 0 }
      cache.set(hostname, counts)
    }
    return counts
  }
  return {
    /** Returns whether visitors of a hostname usually pass a check: only then is a failure a signal. */
    isUsual(hostname: string, check: HeaderCheck): boolean {
      const counts = cache.get(hostname)
      return counts !== undefined && counts.sampled >= MIN_VISITORS && counts[check] * 2 > counts.sampled
    },
    /** Counts the headers of one visitor's first view, with a modern browser and not from a hosting network. */
    countHeaders(hostname: string, headers: Headers): void {
      const counts = countsOf(hostname)
      counts.sampled++
      let check: HeaderCheck
      for (check in HEADER_CHECKS) if (HEADER_CHECKS[check](headers)) counts[check]++
      if (counts.sampled < MAX_VISITORS) return
      counts.sampled /= 2
      for (check in HEADER_CHECKS) counts[check] /= 2
    },
    countVisitor(hostname: string, fromHosting: boolean): void {
      const counts = countsOf(hostname)
      counts.visitors++
      if (fromHosting) counts.fromHosting++
      if (counts.visitors < MAX_VISITORS) return
      counts.visitors /= 2
      counts.fromHosting /= 2
    },
    /**
     * Returns whether nearly all visitors of a hostname come from hosting networks. Then it is the network of a CDN or load
     * balancer whose `X-Forwarded-For` is not trusted (`--trust-proxy`), and says nothing about the visitors.
     */
    isBehindProxy(hostname: string): boolean {
      const counts = cache.get(hostname)
      return counts !== undefined && counts.visitors >= MIN_VISITORS && counts.fromHosting > counts.visitors * 0.9
    },
  }
}
