import { createRecent } from '../cache.js'
import type { Observation } from '../capture/observation.js'

/** Headers that every modern browser sends with a navigation, if nothing between it and us takes them away. */
export const USUAL = {
  navigation: (headers: Headers) =>
    headers['sec-fetch-mode'] !== undefined &&
    headers['sec-fetch-dest'] !== undefined &&
    headers['sec-fetch-site'] !== undefined,
  language: (headers: Headers) => !!headers['accept-language'],
  html: (headers: Headers) => headers.accept?.includes('text/html') === true,
  gzip: (headers: Headers) => headers['accept-encoding']?.includes('gzip') === true,
} as const
export type Usual = keyof typeof USUAL
type Headers = NonNullable<Observation['headers']>

/** `seen`: visitors that were learned from; `met`: all of them. */
type Custom = Record<Usual | 'seen' | 'met' | 'hosting', number>

export interface Customs {
  /** Whether the visitors of a hostname send it: only then does its lack say something of one of them. */
  isUsual(hostname: string, what: Usual): boolean
  /** Takes one visitor's first view into account: one with a modern browser, and not from a hosting network. */
  learn(hostname: string, headers: Headers): void
  /** Counts a visitor of a hostname. */
  meet(hostname: string, fromHosting: boolean): void
  /**
   * Whether nearly all visitors of a hostname come from hosting networks: then it is the network of what stands before
   * us, a CDN or load balancer whose `X-Forwarded-For` is not believed (`--trust-proxy`), and says nothing of them.
   */
  isFronted(hostname: string): boolean
}

/** So many visitors must have been seen, and over half of them have sent it. */
const LEARNED = 20
/** Then all counts are halved: a site that moves behind TLS or another CDN is learned anew within as many. */
const MEMORY = 1000

/**
 * What browsers send is not what arrives: over plain HTTP they leave out Sec-Fetch, a CDN may forward none of it or its
 * own `Accept-Encoding`, and the wire does not say which of these a hostname is behind. So it is learned for each: what
 * most visitors lack is no sign against any of them. At most `limit` hostnames are remembered.
 */
export function createCustoms(limit = 256): Customs {
  const customs = createRecent<string, Custom>(limit)
  const of = (hostname: string): Custom => {
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
      return custom !== undefined && custom.seen >= LEARNED && custom[what] * 2 > custom.seen
    },
    learn(hostname, headers) {
      const custom = of(hostname)
      custom.seen++
      let what: Usual
      for (what in USUAL) if (USUAL[what](headers)) custom[what]++
      if (custom.seen < MEMORY) return
      custom.seen /= 2
      for (what in USUAL) custom[what] /= 2
    },
    meet(hostname, fromHosting) {
      const custom = of(hostname)
      custom.met++
      if (fromHosting) custom.hosting++
      if (custom.met < MEMORY) return
      custom.met /= 2
      custom.hosting /= 2
    },
    isFronted(hostname) {
      const custom = customs.get(hostname)
      return custom !== undefined && custom.met >= LEARNED && custom.hosting > custom.met * 0.9
    },
  }
}
