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

/** How every Chromium writes a request (`Observation.head_form`): recorded with Chromium 147 over HTTP/1.1 and HTTP/2. */
export const HEAD_FORM_CHECKS = {
  order: (form: string) => isInOrder(form.slice(1), form.startsWith('2') ? 'myzpuae' : 'HUAE'),
  http2: (form: string) => !form.startsWith('s'),
} as const

/** Returns whether all letters stand in this order, each at most once. */
function isInOrder(letters: string, order: string): boolean {
  let from = 0
  for (const letter of letters) {
    from = order.indexOf(letter, from) + 1
    if (from === 0) return false
  }
  return true
}

/** A check that visitors usually pass: a header, a form of the head, or that they load parts of their pages (`assets`). */
type Check = keyof typeof HEADER_CHECKS | keyof typeof HEAD_FORM_CHECKS | 'assets'

/**
 * A failure is a signal if a hostname has at least so many `visitors`, and less than one in `oneIn` of them fails. Where
 * browsers fail too, that bounds them: one in 20 whose head a program on the way has written, or one in 200 whose cache
 * had all parts, who also come from a network that rents out servers, as one in 50 do, are at most 0.1 % of views.
 */
const BOUNDS: Readonly<Record<Check, { visitors: number; oneIn: number }>> = {
  navigation: { visitors: 20, oneIn: 2 },
  language: { visitors: 20, oneIn: 2 },
  html: { visitors: 20, oneIn: 2 },
  gzip: { visitors: 20, oneIn: 2 },
  order: { visitors: 100, oneIn: 20 },
  http2: { visitors: 100, oneIn: 20 },
  assets: { visitors: 200, oneIn: 200 },
}
/** At this many visitors counts are halved, so a site that moves to TLS or another CDN is learned within as many visitors. */
const MAX_VISITORS = 1000
/** Above this share of visitors from hosting networks, the network is that of a proxy. */
const MIN_BEHIND_PROXY = { visitors: 20, share: 0.9 }

/** Visitors of a hostname, and those of them who fail a check or come from a hosting network. */
interface Tally {
  visitors: number
  failed: number
}

function count(tally: Tally, fails: boolean): void {
  tally.visitors++
  if (fails) tally.failed++
  if (tally.visitors < MAX_VISITORS) return
  tally.visitors /= 2
  tally.failed /= 2
}

const createTally = (): Tally => ({ visitors: 0, failed: 0 })

/**
 * Creates the memory of what visitors usually send and do. The headers that arrive are not those that browsers send: over
 * plain HTTP they omit Sec-Fetch, a CDN may forward none of it or its own `Accept-Encoding`, and a request does not show
 * which it passed. So norms are learned by hostname: a header that most visitors lack is not a signal. At most `limit`
 * hostnames are remembered.
 */
export function createHeaderNorms(limit = 256) {
  const cache = createRecentCache<string, Record<Check | 'hosting', Tally>>(limit)
  const talliesOf = (hostname: string) => {
    let tallies = cache.get(hostname)
    if (tallies === undefined) {
      tallies = {
        ...{ navigation: createTally(), language: createTally(), html: createTally(), gzip: createTally() },
        ...{ order: createTally(), http2: createTally(), assets: createTally(), hosting: createTally() },
      }
      cache.set(hostname, tallies)
    }
    return tallies
  }
  return {
    /** Returns whether visitors of a hostname usually pass a check: only then is a failure a signal. */
    isUsual(hostname: string, check: Check): boolean {
      const tally = cache.get(hostname)?.[check]
      const { visitors, oneIn } = BOUNDS[check]
      return tally !== undefined && tally.visitors >= visitors && tally.failed * oneIn < tally.visitors
    },
    /** Counts the headers of one visitor's first view, with a modern browser and not from a hosting network. */
    countHeaders(hostname: string, headers: Headers): void {
      const tallies = talliesOf(hostname)
      let check: keyof typeof HEADER_CHECKS
      for (check in HEADER_CHECKS) count(tallies[check], !HEADER_CHECKS[check](headers))
    },
    /** The same for the head of a request by a Chromium. */
    countHeadForm(hostname: string, form: string): void {
      const tallies = talliesOf(hostname)
      let check: keyof typeof HEAD_FORM_CHECKS
      for (check in HEAD_FORM_CHECKS) count(tallies[check], !HEAD_FORM_CHECKS[check](form))
    },
    /** Counts one visitor with a modern browser, not from a hosting network, who has opened several pages. */
    countLoads(hostname: string, loadsParts: boolean): void {
      count(talliesOf(hostname).assets, !loadsParts)
    },
    countVisitor(hostname: string, fromHosting: boolean): void {
      count(talliesOf(hostname).hosting, fromHosting)
    },
    /**
     * Returns whether nearly all visitors of a hostname come from hosting networks. Then it is the network of a CDN or load
     * balancer whose `X-Forwarded-For` is not trusted (`--trust-proxy`), and says nothing about the visitors.
     */
    isBehindProxy(hostname: string): boolean {
      const tally = cache.get(hostname)?.hosting
      const { visitors, share } = MIN_BEHIND_PROXY
      return tally !== undefined && tally.visitors >= visitors && tally.failed > tally.visitors * share
    },
  }
}
