import type { DropReason } from '../capture/drops.js'
import { isExcludedPath } from '../capture/excluded-paths.js'
import { fragmentRoute, withoutFragmentRoute } from '../capture/fragment-route.js'
import type { Hit, HitKind } from '../capture/hit.js'
import { isOptedOut } from '../capture/opt-out.js'
import { type Site, withoutWww } from '../capture/site.js'
import { MAX_CHARACTERS, truncate } from '../capture/text-limits.js'
import type { EventRow } from '../rows.js'
import { type BatchDraft, completeView } from './batch-draft.js'
import { type BrowserReport, readBrowserReport } from './browser-report.js'
import { createPersonRow, type PersonDeps, pageKeys, readArrival, readVisitorIds, shortPage } from './person-view.js'
import { parseReferrer } from './referrer.js'
import { type RequestContext, readRequestContext } from './request-context.js'
import { SESSION_TIMEOUT_MS, type Session, startSession } from './session-memory.js'
import { type PageLocation, pageKey, viewDistance, withoutRoute } from './view-memory.js'
import { allVisitorIds, type VisitorIds } from './visitor-ids.js'

/** What a page says of itself, perhaps in a tab that nobody looks at: it goes on with its visit, and begins none. */
const PAGE_STATE_KINDS: ReadonlySet<HitKind> = new Set<HitKind>(['engagement', 'web_vitals', 'error'])

/** What a person's hit must pass, in order; the first that refuses names the drop. A hit that was relayed met no door. */
const GATES: readonly (readonly [DropReason, (hit: Hit, said: BrowserReport, site: Site) => boolean])[] = [
  ['opted_out', (hit, _, site) => !isOptedOut(hit, site)],
  ['nothing_measured', ({ kind }, said) => hasContent(kind, said)],
  ['excluded_path', (hit, _, site) => !isExcludedPath(site, hit.pathname)],
]

function hasContent(kind: HitKind, said: BrowserReport): boolean {
  if (kind === 'engagement') return isMeasured(said) || said.identified_id !== null
  if (kind === 'web_vitals') return said.vitals !== null
  return kind !== 'error' || said.error !== null
}

const isMeasured = ({ engaged_ms, scroll }: Pick<BrowserReport, 'engaged_ms' | 'scroll'>): boolean =>
  (engaged_ms ?? 0) > 0 || (scroll ?? 0) > 0

/** What is said of the page before is nothing of this one. */
const withoutPreviousPage = (hit: Hit, said: BrowserReport): BrowserReport =>
  hit.kind === 'pageview' ? { ...said, engaged_ms: null, scroll: null } : said

/**
 * The rows of what a person's browser says of itself. The first pageview of a document is of the same view as the
 * server's row, where there is one: that is completed. What a later one says of the page before is a row of that page.
 */
export function createPersonHits(
  deps: PersonDeps,
): (hit: Hit, site: Site, at: number, made: BatchDraft) => DropReason | undefined {
  const { browsing, sessions } = deps

  const rowIn = (
    from: RequestContext,
    visitor_id: bigint,
    session: Session,
    placed: bigint | undefined,
    who: VisitorIds,
  ) => {
    const place = deps.places.locate(from.address)
    const { user_agent, headers, hostname, pathname, at } = from
    const suspected = deps.suspicion.judgeHit({
      ...{ visitor: who.visitor_id, before: who.before, session: placed, at },
      ...{ hostname, pathname, user_agent, headers, asn: place.asn },
    })
    const row = createPersonRow(from, visitor_id, session, place, deps.device(user_agent, headers), suspected)
    row.recorded_by = 'browser'
    return row
  }

  /** What a browser says, as it is for the whole of its session: a window that is made wider changes nobody's screen. */
  const settled = (said: BrowserReport, session: bigint | undefined): BrowserReport => {
    if (session === undefined) return said
    const known = browsing.sessionFacts(session)
    known.screen_class ??= said.screen_class
    known.timezone ??= said.timezone
    known.language ??= said.language
    known.identified_id = said.identified_id ?? known.identified_id
    const { screen_class, timezone, language, identified_id } = known
    return { ...said, screen_class, timezone, language, identified_id }
  }

  /**
   * A document's first view has the path that its server was asked for, and so has what it says of itself, until its
   * route is seen as a page of its own.
   */
  const asSeen = (from: RequestContext, who: VisitorIds): RequestContext => {
    const pathname = withoutFragmentRoute(from.pathname)
    const saw = (page: PageLocation) => pageKeys(who, page).some((name) => browsing.lastView(name) !== undefined)
    if (pathname === from.pathname || saw(from) || !saw({ hostname: from.hostname, pathname })) return from
    return { ...from, pathname }
  }

  /** Adds what a page says of itself to the visit that it was seen in, however long ago that was. */
  const follow = (
    caller: RequestContext,
    who: VisitorIds,
    kind: HitKind,
    said: BrowserReport,
    made: BatchDraft,
  ): void => {
    const from = asSeen(caller, who)
    const seen = pageKeys(who, from)
      .map((name) => browsing.lastView(name))
      .find((page) => page !== undefined)
    const engaged_ms = said.engaged_ms ?? 0
    const unplaced = seen !== undefined && seen.session === undefined
    const found = unplaced ? undefined : sessions.follow(who, from.at, engaged_ms, seen?.session)
    if (found !== undefined) {
      const { session, at, visitor_id } = found
      const row = rowIn({ ...from, at }, visitor_id, session, session.key, who)
      made.rows.events.push(Object.assign(row, settled(said, session.key), { kind }))
      return
    }
    // The store knows; it is asked for what lies within half an hour of this.
    const until = seen && Math.min(seen.at + engaged_ms, seen.at + SESSION_TIMEOUT_MS - 1)
    const at = until === undefined || seen === undefined || seen.at > from.at ? from.at : Math.min(from.at, until)
    const visitor_id = allVisitorIds(who).find((id) => browsing.lastView(pageKey(id, from))) ?? who.visitor_id
    const session = startSession(visitor_id, at, readArrival(from))
    const row = Object.assign(rowIn({ ...from, at }, visitor_id, session, undefined, who), said, { kind })
    made.rows.events.push(row)
    made.unplaced.push({ row, visitor: { ...who, visitor_id }, follows: true })
  }

  /** What a pageview says of the page before it in the same document. */
  const leave = (hit: Hit, from: RequestContext, who: VisitorIds, said: BrowserReport, made: BatchDraft): void => {
    if (!isMeasured(said)) return
    const page = referringPage(hit, from) ?? lastPage(who, from.at)
    if (page === undefined || isExcludedPath(from.site, page.pathname)) return
    const { engaged_ms, scroll, screen_class, language, timezone } = said
    const left = { ...EMPTY_REPORT, engaged_ms, scroll, screen_class, language, timezone }
    // Before the view that ended it: of two rows at once nobody could say which page was seen last.
    const at = from.at - 1
    follow({ ...from, ...page, at, query: undefined, referrer: undefined }, who, 'engagement', left, made)
  }

  const lastPage = (who: VisitorIds, at: number): PageLocation | undefined => {
    const key = sessions.last(who, at)?.key
    return key === undefined ? undefined : browsing.sessionFacts(key).page
  }

  /** Adds what a person did: it goes on with a visit or begins one. */
  const act = (hit: Hit, from: RequestContext, who: VisitorIds, said: BrowserReport, made: BatchDraft): EventRow => {
    const isView = hit.kind === 'pageview'
    // A visit that goes on in an open page after a pause was not sent by whoever sent the one before.
    const arriving = isView ? from : { ...from, query: undefined, referrer: undefined }
    const placed = sessions.join(who, from.at, () => readArrival(arriving))
    const session = placed ?? startSession(who.visitor_id, from.at, readArrival(arriving))
    const row = rowIn(from, who.visitor_id, session, placed?.key, who)
    Object.assign(row, settled(withoutPreviousPage(hit, said), placed?.key), { kind: hit.kind })
    made.rows.events.push(row)
    if (placed === undefined) made.unplaced.push({ row, visitor: who })
    if (!isView) return row
    browsing.noteView(pageKey(who.visitor_id, from), placed?.key, from.at)
    if (placed) browsing.sessionFacts(placed.key).page = shortPage(from)
    return row
  }

  return (hit, site, at, made) => {
    const from = readRequestContext(hit, site, at)
    const said = readBrowserReport(hit)
    const who = readVisitorIds(from, deps.salts)
    const isFirst = hit.kind === 'pageview' && hit.engaged_ms === undefined && hit.scroll === undefined
    const refused = GATES.find(([, passes]) => !passes(hit, said, site))?.[0]
    if (hit.kind === 'pageview' && !isFirst && refused !== 'opted_out') leave(hit, from, who, said, made)
    if (refused !== undefined) return refused
    if (PAGE_STATE_KINDS.has(hit.kind)) {
      follow(from, who, hit.kind, said, made)
      return undefined
    }
    if (!isFirst) {
      const row = act(hit, from, who, said, made)
      if (hit.kind === 'pageview') row.duration_ms = 0
      return undefined
    }
    const stored = browsing.serverViews.take(pageKeys(who, withoutRoute(from)), (server) => viewDistance(server, at))
    if (stored !== undefined) {
      completeView(made, stored, from, settled(withoutPreviousPage(hit, said), stored.session))
      return undefined
    }
    const row = act(hit, from, who, said, made)
    const { visitor_id } = who
    const view = { at, visitor_id, pathname: row.pathname, session: undefined, taken: false }
    browsing.browserViews.add(pageKey(visitor_id, withoutRoute(from)), view)
    made.viewRows.set(view, row)
    // One that is a little early may be of a view that the server tells of next: memory has that then.
    if (!browsing.covers(site.id, at - SESSION_TIMEOUT_MS))
      made.unsure.set(row, { row, visitor: who, reportedBy: 'browser', view })
    return undefined
  }
}

const EMPTY_REPORT: BrowserReport = {
  event_name: null,
  screen_class: null,
  language: null,
  timezone: null,
  engaged_ms: null,
  scroll: null,
  identified_id: null,
  props: null,
  traits: null,
  vitals: null,
  error: null,
}

/** The page before, where the referrer is one of the site's. */
function referringPage({ referrer }: Hit, { hostname, site }: RequestContext): PageLocation | undefined {
  const found = parseReferrer(referrer)
  if (found === undefined || found.isApp) return undefined
  const isOwn = found.host === withoutWww(hostname) || site.domains.some((domain) => withoutWww(domain) === found.host)
  const [, , host = ''] = found.url.split('/', 3)
  const route = fragmentRoute(/#.*/s.exec(referrer ?? '')?.[0] ?? '')
  return isOwn
    ? { hostname: host.replace(/\.$/, ''), pathname: truncate(found.path + route, MAX_CHARACTERS.pathname) }
    : undefined
}
