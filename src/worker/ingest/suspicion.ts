import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { createRecentCache } from '../../base/cache.js'
import type { Observation } from '../../capture/observation.js'
import type { EventRow } from '../../storage/rows.js'
import { familyOf, SUSPICION_SIGNALS, type SuspicionSignal } from '../../storage/suspicion-signals.js'
import { type BrowserClaim, parseBrowserClaim } from './browser-claim.js'
import { createHeaderNorms, HEAD_FORM_CHECKS, HEADER_CHECKS } from './header-norms.js'
import { countPage, createPace, hashText, isBurst, isSweep, type Pace } from './pace.js'
import { SESSION_TIMEOUT_MS } from './session-memory.js'

/** Two columns of a person's row. */
export type SuspicionColumns = Pick<EventRow, 'suspected' | 'suspected_by'>

/** One view of a page by a person. */
export interface PersonView {
  visitor_id: bigint
  /** The visitor's id in the salt period that has just ended. */
  previous: bigint | undefined
  /** Tells one session of the visitor from the next; undefined for a hit that came too late to tell. */
  session: bigint | undefined
  /** Milliseconds since 1970. */
  at: number
  hostname: string
  pathname: string
  user_agent: string
  headers: Observation['headers']
  asn: number | null
  /** The client's address as text; undefined for a row of another server, which ships no parts of pages. */
  ip: string | undefined
  /** As in `Observation`. */
  head_form: string | undefined
}

interface VisitorSignals {
  session: bigint | undefined
  /** Signals of the session so far, one bit each. */
  signals: number
  views: number
  /** The first and the latest view, in milliseconds since 1970. */
  first: number
  last: number
  /** Whether it was counted if the visitor loads parts of pages. */
  isLoadCounted: boolean
  pace: Pace
}

const SIGNALS = SUSPICION_SIGNALS.map(({ name }) => name)
const signalBit = (signal: SuspicionSignal) => 1 << SIGNALS.indexOf(signal)
const SIGNAL_BITS = {
  no_navigation: signalBit('headers:no_navigation'),
  no_language: signalBit('headers:no_language'),
  accept: signalBit('headers:accept'),
  no_gzip: signalBit('headers:no_gzip'),
  client_hints: signalBit('headers:client_hints'),
  stale_browser: signalBit('headers:stale_browser'),
  order: signalBit('headers:order'),
  http1: signalBit('headers:http1'),
  hosting: signalBit('network:hosting'),
  burst: signalBit('behaviour:burst'),
  sweep: signalBit('behaviour:sweep'),
  policy_first: signalBit('behaviour:policy_first'),
  no_assets: signalBit('behaviour:no_assets'),
  network_sweep: signalBit('behaviour:network_sweep'),
}
/** After this time the first parts of a first page have come, on slow networks too. */
const LOAD_MS = 10_000

/** Browsers that fetch or render pages in their makers' data centres: their network says nothing. */
const CLOUD_BROWSERS = /\b(?:Silk|Puffin|Opera Mini|OPiOS|UCBrowser|UCWEB)\b/

const HostingFile = z.object({ as_of: z.iso.date(), networks: z.record(z.string().regex(/^\d+$/), z.string().min(1)) })
let hostingNetworks: ReadonlySet<number> | undefined

/** Returns whether an autonomous system rents out servers (`hosting.json`): few people read from there. */
export function isHosting(asn: number | null): boolean {
  hostingNetworks ??= new Set(
    Object.keys(
      HostingFile.parse(JSON.parse(readFileSync(new URL('./hosting.json', import.meta.url), 'utf8'))).networks,
    ).map(Number),
  )
  return asn !== null && hostingNetworks.has(asn)
}

type HeaderNorms = ReturnType<typeof createHeaderNorms>
export type Suspicion = ReturnType<typeof createSuspicion>

/**
 * Creates the memory of signals against people who may be bots. A row is suspected if at least two of three independent
 * families speak against the visitor: headers, network, behaviour; several signals of one family count once. Signals add
 * up over a session, so rows are suspected from the moment the second family spoke; earlier rows are stored already, and
 * stay. The result is a lower bound: an agent in a real browser on a home network is not seen. No address is kept: at most
 * `limit` visitors by their id, and twice as many clients and half as many networks by a hash of 32 bits under `seed`.
 */
export function createSuspicion({ limit = 8192, seed = randomInt(2 ** 32) }: { limit?: number; seed?: number } = {}) {
  const visitors = createRecentCache<bigint, VisitorSignals>(limit)
  /** When visitors without a view requested a policy file. */
  const policyRequests = createRecentCache<bigint, number>(limit / 4)
  const norms = createHeaderNorms()
  const clients = createClients(limit, seed)

  /** Returns the visitor as it was before this view. */
  const recall = (view: PersonView): VisitorSignals => {
    const { visitor_id, previous, session, at } = view
    let visitor = visitors.get(visitor_id)
    if (visitor === undefined && previous !== undefined) {
      visitor = visitors.get(previous)
      if (visitor) visitors.set(visitor_id, visitor)
    }
    if (visitor === undefined) {
      const signals = policyFirstSignal(view)
      visitor = { session, signals, views: 0, first: at, last: at, isLoadCounted: false, pace: createPace() }
      visitors.set(visitor_id, visitor)
      return visitor
    }
    // Without the session of both, the time between them tells: a late hit ends no session.
    const isKnown = session !== undefined && visitor.session !== undefined
    const isOther = isKnown ? visitor.session !== session : at - visitor.last >= SESSION_TIMEOUT_MS
    if (isOther) visitor.signals = 0
    if (isOther || session !== undefined) visitor.session = session
    if (at > visitor.last) visitor.last = at
    return visitor
  }

  const policyFirstSignal = ({ visitor_id, at, pathname, headers }: PersonView): number => {
    const requestedAt = policyRequests.get(visitor_id)
    policyRequests.delete(visitor_id)
    const isRecent = requestedAt !== undefined && Math.abs(at - requestedAt) < SESSION_TIMEOUT_MS
    // The view itself may be for a policy file: many sites respond to any path with a page.
    return isRecent || (isPolicyFile(pathname) && !isBrowserNavigation(headers)) ? SIGNAL_BITS.policy_first : 0
  }

  return {
    /** Returns what speaks against this view and those before it in its session. */
    judge(view: PersonView): SuspicionColumns {
      const visitor = recall(view)
      visitor.views++
      const { headers, user_agent, hostname } = view
      const fromHosting = isHosting(view.asn)
      const claim = headers && parseBrowserClaim(user_agent)
      if (visitor.views === 1) norms.countVisitor(hostname, fromHosting)
      visitor.signals |= networkSignals(view, norms)
      const loads = clients.isBrowser(view)
      const isEarly = visitor.views === 1 || view.at - visitor.first < LOAD_MS
      if (!loads) visitor.signals |= strangerSignals(view, claim, isEarly, norms, clients)
      if (headers && claim) visitor.signals |= headerSignals(hostname, headers, claim, norms)
      // A client in a hosting network may be no visitor, so it does not say what visitors send.
      if (claim?.modern && !fromHosting) countSample(view, claim, visitor, isEarly ? undefined : loads, norms)
      if (isUnlinked(headers)) {
        countPage(visitor.pace, view.at, view.pathname)
        if (isBurst(visitor.pace)) visitor.signals |= SIGNAL_BITS.burst
        if (isSweep(visitor.pace)) visitor.signals |= SIGNAL_BITS.sweep
      }
      return suspicionColumns(visitor.signals)
    },
    /** The same for a hit. It is not a navigation, so of its headers only those that name the browser count. */
    judgeHit(view: PersonView): SuspicionColumns {
      const visitor = recall(view)
      const { headers, user_agent, ip } = view
      const claim = headers && parseBrowserClaim(user_agent)
      visitor.signals |= networkSignals(view, norms)
      if (headers && claim) visitor.signals |= claimSignals(headers, claim)
      if (ip !== undefined) clients.noteBrowser(ip, user_agent)
      return suspicionColumns(visitor.signals)
    },
    /** Notes a part of a page that a client loaded: an image, style or script. */
    notePagePart: clients.noteBrowser,
    /** Notes a request for a policy file that becomes no row. */
    noteRequest(visitor_id: bigint, at: number, headers: Observation['headers']): void {
      if (!isBrowserNavigation(headers) && visitors.get(visitor_id) === undefined) policyRequests.set(visitor_id, at)
    },
  }
}

/** Counts for the norms what a visitor sends with the first view, and then once whether parts of pages were loaded. */
function countSample(
  { hostname, headers, head_form, ip }: PersonView,
  { engine }: BrowserClaim,
  visitor: VisitorSignals,
  loads: boolean | undefined,
  norms: HeaderNorms,
): void {
  if (visitor.views === 1 && headers) norms.countHeaders(hostname, headers)
  if (visitor.views === 1 && engine === 'chrome' && head_form !== undefined) norms.countHeadForm(hostname, head_form)
  if (loads === undefined || ip === undefined || visitor.isLoadCounted) return
  visitor.isLoadCounted = true
  norms.countLoads(hostname, loads)
}

/** Creates the memory of clients that are browsers, and of how fast the others in their networks open pages. */
function createClients(limit: number, seed: number) {
  const browsers = createRecentCache<number, true>(limit * 2)
  const networks = createRecentCache<number, Pace>(limit / 2)
  const clientKey = (ip: string, user_agent: string) => hashText(user_agent, hashText(ip, seed))
  const networkKey = (ip: string) => hashText(networkText(ip), seed)
  return {
    isBrowser: ({ ip, user_agent }: PersonView) => ip === undefined || browsers.get(clientKey(ip, user_agent)) === true,
    /** Notes a client that loaded a part of a page, or reported as the script of a page does. */
    noteBrowser(ip: string, user_agent: string): void {
      const key = clientKey(ip, user_agent)
      if (browsers.get(key) === true) return
      browsers.set(key, true)
      networks.delete(networkKey(ip))
    },
    /** Counts a page of a client that is not known to be a browser; returns whether its network opens too many. */
    isSweeping({ ip, at, pathname }: PersonView): boolean {
      if (ip === undefined) return false
      const key = networkKey(ip)
      const pace = networks.get(key) ?? createPace()
      networks.set(key, pace)
      countPage(pace, at, pathname)
      return isSweep(pace)
    },
  }
}

/** Judges a client that has not loaded any part of a page so far: a script, or a browser that had all parts in its cache. */
function strangerSignals(
  view: PersonView,
  claim: BrowserClaim | undefined,
  isEarly: boolean,
  norms: HeaderNorms,
  clients: ReturnType<typeof createClients>,
): number {
  const { hostname, head_form: form, headers } = view
  let signals = 0
  if (form !== undefined && claim?.modern && claim.engine === 'chrome') {
    const fails = (check: keyof typeof HEAD_FORM_CHECKS) =>
      !HEAD_FORM_CHECKS[check](form) && norms.isUsual(hostname, check)
    if (fails('order')) signals |= SIGNAL_BITS.order
    if (fails('http2')) signals |= SIGNAL_BITS.http1
  }
  if (!norms.isUsual(hostname, 'assets')) return signals
  if (!isEarly) signals |= SIGNAL_BITS.no_assets
  if (isUnlinked(headers) && clients.isSweeping(view)) signals |= SIGNAL_BITS.network_sweep
  return signals
}

const networkSignals = ({ asn, user_agent, hostname }: PersonView, norms: HeaderNorms): number =>
  isHosting(asn) && !CLOUD_BROWSERS.test(user_agent) && !norms.isBehindProxy(hostname) ? SIGNAL_BITS.hosting : 0

const claimSignals = (headers: NonNullable<Observation['headers']>, claim: BrowserClaim): number =>
  (claim.stale ? SIGNAL_BITS.stale_browser : 0) |
  (contradictsHints(claim, headers['sec-ch-ua']) ? SIGNAL_BITS.client_hints : 0)

function headerSignals(
  hostname: string,
  headers: NonNullable<Observation['headers']>,
  claim: BrowserClaim,
  norms: HeaderNorms,
): number {
  let signals = claimSignals(headers, claim)
  if (headers.accept?.includes('text/markdown')) signals |= SIGNAL_BITS.accept
  if (!claim.modern) return signals
  const lacks = (check: keyof typeof HEADER_CHECKS) => !HEADER_CHECKS[check](headers) && norms.isUsual(hostname, check)
  if (lacks('navigation')) signals |= SIGNAL_BITS.no_navigation
  if (lacks('language')) signals |= SIGNAL_BITS.no_language
  if (lacks('html')) signals |= SIGNAL_BITS.accept
  if (lacks('gzip')) signals |= SIGNAL_BITS.no_gzip
  return signals
}

/** Returns whether a person opened the file in a browser, as people who maintain sites do. */
const isBrowserNavigation = (headers: Observation['headers']) => headers?.['sec-fetch-mode'] === 'navigate'

/** Returns whether a path is what robots ask for first: robots.txt, llms.txt or a sitemap. */
export function isPolicyFile(pathname: string): boolean {
  if (pathname.length > 64) return false
  if (pathname.startsWith('/sitemap')) return /^\/sitemap[\w-]*\.xml(?:\.gz)?$/.test(pathname)
  return pathname === '/robots.txt' || pathname === '/llms.txt'
}

/**
 * Returns whether no link led here, as far as a browser tells. One visitor id is often many people who share an address and
 * a browser, as behind a company's gateway or a VPN; the pages they open together come by links, a crawler's do not.
 */
const isUnlinked = (headers: Observation['headers']) => {
  const site = headers?.['sec-fetch-site']
  return site === undefined || site === 'none'
}

/** Returns the part of an address that names its network: /24 of IPv4, /48 of IPv6. */
function networkText(ip: string): string {
  if (ip.includes('.')) return ip.slice(0, ip.lastIndexOf('.'))
  return ip.split(':', 3).join(':')
}

/** Returns whether the client hints contradict the user agent. Only Chromium sends hints. */
function contradictsHints({ engine, version }: BrowserClaim, brands: string | undefined): boolean {
  if (!brands) return false
  if (engine !== 'chrome' || brands.includes('HeadlessChrome')) return true
  const at = brands.indexOf('"Chromium";v="')
  return at >= 0 && Number.parseInt(brands.slice(at + 14, at + 20), 10) !== Math.floor(version)
}

const columnsBySignals = new Map<number, SuspicionColumns>()

/** Returns the columns for a set of signals. At most 16,384 sets exist, and few of them ever occur, so all are cached. */
function suspicionColumns(signals: number): SuspicionColumns {
  let columns = columnsBySignals.get(signals)
  if (columns === undefined) {
    const names = SIGNALS.filter((_, i) => signals & (1 << i))
    const families = new Set(names.map(familyOf))
    columns = { suspected: families.size >= 2, suspected_by: names.length > 0 ? names.join(',') : null }
    columnsBySignals.set(signals, columns)
  }
  return columns
}
