import { createRecentCache } from '../cache.js'
import type { Observation } from '../capture/observation.js'
import type { EventRow } from '../rows.js'
import { type BrowserClaim, parseBrowserClaim } from './browser-claim.js'
import { createHeaderNorms, HEADER_CHECKS } from './header-norms.js'
import { isHosting } from './hosting.js'
import { countPage, createPace, isBurst, isSweep, type Pace } from './pace.js'
import { SESSION_TIMEOUT_MS } from './session-memory.js'

/** What can speak against a visitor, in the order of `suspected_by`; what stands before the colon is the family. */
const SIGNALS = [
  /** A modern browser's navigation without Sec-Fetch-Mode, -Dest and -Site. */
  'headers:no_navigation',
  'headers:no_language',
  /** `Accept` without text/html, or with text/markdown: browsers ask for pages as pages. */
  'headers:accept',
  'headers:no_gzip',
  /** `Sec-CH-UA` of another version or browser than the user agent's, or of a headless one. */
  'headers:client_hints',
  'headers:stale_browser',
  'network:hosting',
  /** More than 30 pages in 10 s. */
  'behaviour:burst',
  /** More than 25 different pages in 60 s. */
  'behaviour:sweep',
  /** The first that was asked for was robots.txt, llms.txt or a sitemap. */
  'behaviour:policy_first',
] as const
type Signal = (typeof SIGNALS)[number]

/** Two columns of a person's row. */
export type SuspicionColumns = Pick<EventRow, 'suspected' | 'suspected_by'>

/** One view of a page by a person. */
export interface PersonView {
  visitor: bigint
  /** The visitor's id in the salt period that has just ended. */
  before: bigint | undefined
  /** What tells one session of the visitor from the next; undefined for a hit that came too late to say. */
  session: bigint | undefined
  /** Milliseconds since 1970. */
  at: number
  hostname: string
  pathname: string
  user_agent: string
  headers: Observation['headers']
  asn: number | null
}

export interface Suspicion {
  /** What speaks against this view and those before it in its session. */
  judge(view: PersonView): SuspicionColumns
  /** What speaks against a visitor whose browser tells of itself: no navigation, so of its headers only who it is counts. */
  judgeHit(view: PersonView): SuspicionColumns
  /** Tells of a request of `isPolicyFile` that makes no row. */
  notice(visitor: bigint, at: number, headers: Observation['headers']): void
}

interface VisitorSignals {
  session: bigint | undefined
  /** Signals of the session so far, a bit each. */
  signals: number
  views: number
  pace: Pace
}

const signalBit = (signal: Signal) => 1 << SIGNALS.indexOf(signal)
const SIGNAL_BITS = {
  no_navigation: signalBit('headers:no_navigation'),
  no_language: signalBit('headers:no_language'),
  accept: signalBit('headers:accept'),
  no_gzip: signalBit('headers:no_gzip'),
  client_hints: signalBit('headers:client_hints'),
  stale_browser: signalBit('headers:stale_browser'),
  hosting: signalBit('network:hosting'),
  burst: signalBit('behaviour:burst'),
  sweep: signalBit('behaviour:sweep'),
  policy_first: signalBit('behaviour:policy_first'),
}

/** Whose pages are fetched, or rendered, in their makers' data centres: where they come from says nothing. */
const CLOUD_BROWSERS = /\b(?:Silk|Puffin|Opera Mini|OPiOS|UCBrowser|UCWEB)\b/

/**
 * Suspicion of people who may be none (reference/agents.md 7). It needs two of three independent families: headers,
 * network, behaviour; several of one family count once. Signals add up over a session, so a row is suspected from the
 * moment on in which the second family spoke: rows before it are stored already, and stay. It is a floor: an agent in a
 * real browser on a home network is not seen. No address is held, and at most `limit` visitors, by their id.
 */
export function createSuspicion({ limit = 8192 }: { limit?: number } = {}): Suspicion {
  const visitors = createRecentCache<bigint, VisitorSignals>(limit)
  const early = createRecentCache<bigint, number>(limit / 4)
  const customs = createHeaderNorms()

  /** As the visitor was before this view. */
  const recall = (view: PersonView): VisitorSignals => {
    const { visitor, before, session, at } = view
    let known = visitors.get(visitor)
    if (known === undefined && before !== undefined) {
      known = visitors.get(before)
      if (known) visitors.set(visitor, known)
    }
    if (known === undefined) {
      const noticed = early.get(visitor)
      early.delete(visitor)
      const first =
        (noticed !== undefined && Math.abs(at - noticed) < SESSION_TIMEOUT_MS) ||
        // Where a site answers it with a page, as many do that know no other answer.
        (isPolicyFile(view.pathname) && !isBrowserNavigation(view.headers))
      known = { session, signals: first ? SIGNAL_BITS.policy_first : 0, views: 0, pace: createPace() }
      visitors.set(visitor, known)
      return known
    }
    // A late hit ends nothing.
    if (session !== undefined && known.session !== session) {
      if (known.session !== undefined) known.signals = 0
      known.session = session
    }
    return known
  }

  const ofNetwork = ({ asn, user_agent, hostname }: PersonView): number =>
    isHosting(asn) && !CLOUD_BROWSERS.test(user_agent) && !customs.isBehindProxy(hostname) ? SIGNAL_BITS.hosting : 0

  const ofClaim = (headers: NonNullable<Observation['headers']>, claim: BrowserClaim): number =>
    (claim.stale ? SIGNAL_BITS.stale_browser : 0) |
    (contradicts(claim, headers['sec-ch-ua']) ? SIGNAL_BITS.client_hints : 0)

  const ofHeaders = (hostname: string, headers: NonNullable<Observation['headers']>, claim: BrowserClaim): number => {
    let signals = ofClaim(headers, claim)
    if (headers.accept?.includes('text/markdown')) signals |= SIGNAL_BITS.accept
    if (!claim.modern) return signals
    const lacks = (what: keyof typeof HEADER_CHECKS) => !HEADER_CHECKS[what](headers) && customs.isUsual(hostname, what)
    if (lacks('navigation')) signals |= SIGNAL_BITS.no_navigation
    if (lacks('language')) signals |= SIGNAL_BITS.no_language
    if (lacks('html')) signals |= SIGNAL_BITS.accept
    if (lacks('gzip')) signals |= SIGNAL_BITS.no_gzip
    return signals
  }

  return {
    judge(view) {
      const known = recall(view)
      known.views++
      const { headers, user_agent, hostname } = view
      const hosting = isHosting(view.asn)
      const claim = headers && parseBrowserClaim(user_agent)
      if (known.views === 1) customs.countVisitor(hostname, hosting)
      known.signals |= ofNetwork(view)
      if (headers && claim) {
        known.signals |= ofHeaders(hostname, headers, claim)
        // Who may be no visitor at all does not say what visitors send.
        if (known.views === 1 && claim.modern && !hosting) customs.countHeaders(hostname, headers)
      }
      if (isUnlinked(headers)) {
        countPage(known.pace, view.at, view.pathname)
        if (isBurst(known.pace)) known.signals |= SIGNAL_BITS.burst
        if (isSweep(known.pace)) known.signals |= SIGNAL_BITS.sweep
      }
      return suspicionColumns(known.signals)
    },
    judgeHit(view) {
      const known = recall(view)
      const { headers, user_agent } = view
      const claim = headers && parseBrowserClaim(user_agent)
      known.signals |= ofNetwork(view)
      if (headers && claim) known.signals |= ofClaim(headers, claim)
      return suspicionColumns(known.signals)
    },
    notice(visitor, at, headers) {
      if (!isBrowserNavigation(headers) && visitors.get(visitor) === undefined) early.set(visitor, at)
    },
  }
}

/** Somebody who looks at it in a browser, as people who look after sites do. */
const isBrowserNavigation = (headers: Observation['headers']) => headers?.['sec-fetch-mode'] === 'navigate'

/** Whether a request is for what robots ask for first: robots.txt, llms.txt, a sitemap. */
export function isPolicyFile(pathname: string): boolean {
  if (pathname.length > 64) return false
  if (pathname.startsWith('/sitemap')) return /^\/sitemap[\w-]*\.xml(?:\.gz)?$/.test(pathname)
  return pathname === '/robots.txt' || pathname === '/llms.txt'
}

/**
 * Whether no link led here, as far as a browser tells. One visitor is often many: all who share an address and a
 * browser, as behind a company's gateway or a VPN; what they open together comes by links, what a crawler opens does not.
 */
const isUnlinked = (headers: Observation['headers']) => {
  const site = headers?.['sec-fetch-site']
  return site === undefined || site === 'none'
}

/** Whether the client hints belie the user agent (only Chromium sends any). */
function contradicts({ engine, version }: BrowserClaim, brands: string | undefined): boolean {
  if (!brands) return false
  if (engine !== 'chrome' || brands.includes('HeadlessChrome')) return true
  const at = brands.indexOf('"Chromium";v="')
  return at >= 0 && Number.parseInt(brands.slice(at + 14, at + 20), 10) !== Math.floor(version)
}

const columnsBySignals = new Map<number, SuspicionColumns>()

/** Signals as the row has them; there are not more than 1,024 answers, and few of them are ever given. */
function suspicionColumns(signals: number): SuspicionColumns {
  let answer = columnsBySignals.get(signals)
  if (answer === undefined) {
    const names = SIGNALS.filter((_, i) => signals & (1 << i))
    const families = new Set(names.map((name) => name.slice(0, name.indexOf(':'))))
    answer = { suspected: families.size >= 2, suspected_by: names.length > 0 ? names.join(',') : null }
    columnsBySignals.set(signals, answer)
  }
  return answer
}
