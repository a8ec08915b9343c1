import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import { isExcludedPath } from '../../capture/excluded-paths.js'
import { fragmentRoute, withoutFragmentRoute } from '../../capture/fragment-route.js'
import type { Hit, HitKind } from '../../capture/hit.js'
import { isOptedOut } from '../../capture/opt-out.js'
import { type SiteSettings, withoutWww } from '../../capture/site.js'
import { parseReferrer } from '../../capture/sources/referrer.js'
import type { DropReason } from '../../storage/drops.js'
import type { EventRow } from '../../storage/rows.js'
import { type BrowserReport, readBrowserReport } from './browser-report.js'
import { type BatchDraft, completeView } from './classified-batch.js'
import { UNNAMED_PAGE } from './late-rows.js'
import { createPersonRow, type PersonDeps, pageKeys, readArrival, readVisitorIds, toPersonView } from './person-view.js'
import { type RequestContext, readRequestContext } from './request-context.js'
import { SESSION_TIMEOUT_MS, type Session, startSession } from './session-memory.js'
import { type PageLocation, pageKey, viewDistance, withoutRoute } from './view-memory.js'
import { allVisitorIds, type VisitorIds } from './visitor-ids.js'

/** Kinds that a page reports about itself, perhaps in a background tab: they continue a visit, and never begin one. */
const PAGE_STATE_KINDS: ReadonlySet<HitKind> = new Set<HitKind>(['engagement', 'web_vitals', 'error'])

/**
 * Checks that a person's hit must pass, in order; the first check that rejects it names the drop. Ingest endpoints apply the same
 * rules, but a hit that another server relays passes none of them.
 */
const GATES: readonly (readonly [DropReason, (hit: Hit, report: BrowserReport, site: SiteSettings) => boolean])[] = [
  ['opted_out', (hit, _, site) => !isOptedOut(hit, site)],
  ['nothing_measured', ({ kind }, report) => hasContent(kind, report)],
  ['excluded_path', (hit, _, site) => !isExcludedPath(site, hit.pathname)],
]

function hasContent(kind: HitKind, report: BrowserReport): boolean {
  if (kind === 'engagement') return isMeasured(report) || report.identified_id !== null
  if (kind === 'web_vitals') return report.vitals !== null
  return kind !== 'error' || report.error !== null
}

const isMeasured = ({ engaged_ms, scroll }: BrowserReport): boolean => (engaged_ms ?? 0) > 0 || (scroll ?? 0) > 0

/** A hit of a person while it is being classified. */
interface PersonHit {
  kind: HitKind
  request: RequestContext
  visitor: VisitorIds
  report: BrowserReport
}

/**
 * Adds the rows of a hit that a person's browser sent. A document's first pageview is the same view as the server's row,
 * if there is one: that row is completed. What a later pageview reports about the previous page becomes a row of that page.
 */
export function addPersonHit(
  { hit, site, at }: { hit: Hit; site: SiteSettings; at: number },
  draft: BatchDraft,
  deps: PersonDeps,
): DropReason | undefined {
  const { viewMemory } = deps
  const request = readRequestContext(hit, site, at)
  const report = readBrowserReport(hit)
  const visitor = readVisitorIds(request, deps.salts)
  const isPageview = hit.kind === 'pageview'
  const isFirst = isPageview && hit.engaged_ms === undefined && hit.scroll === undefined
  const rejected = GATES.find(([, passes]) => !passes(hit, report, site))?.[0]
  if (isPageview && !isFirst && rejected !== 'opted_out') leavePage(hit, { request, visitor, report }, draft, deps)
  if (rejected !== undefined) return rejected
  if (hit.document) {
    const { hostname, pathname } = withoutRoute(request)
    const { visitor_id } = visitor
    deps.describePage?.({ site: site.id, hostname, pathname, visitor_id, at, document: hit.document })
  }
  if (PAGE_STATE_KINDS.has(hit.kind)) {
    continueVisit({ kind: hit.kind, request, visitor, report }, draft, deps)
    return undefined
  }
  // A pageview's measurements are about the previous page, not about this one.
  const fields = isPageview ? { ...report, engaged_ms: null, scroll: null } : report
  const personHit = { kind: hit.kind, request, visitor, report: fields }
  if (!isFirst) {
    const row = addAction(personHit, draft, deps)
    if (isPageview) row.duration_ms = 0
    return undefined
  }
  const served = viewMemory.serverViews.take(pageKeys(visitor, withoutRoute(request)), (server) =>
    viewDistance(server, at),
  )
  if (served !== undefined) {
    completeView(draft, served, request, withSessionFacts(fields, served.session, deps))
    return undefined
  }
  const row = addAction(personHit, draft, deps)
  const { visitor_id } = visitor
  const view = { at, visitor_id, pathname: row.pathname, session: undefined, isMatched: false }
  viewMemory.browserViews.add(pageKey(visitor_id, withoutRoute(request)), view)
  draft.viewRows.set(view, row)
  // A hit slightly too early may belong to a view that the server reports next: memory covers that case.
  if (!viewMemory.covers(site.id, at - SESSION_TIMEOUT_MS))
    draft.unmatchedViews.set(row, { row, visitor, reportedBy: 'browser', view })
  return undefined
}

/** Adds what a person did: it continues a visit or begins one. */
function addAction({ kind, request, visitor, report }: PersonHit, draft: BatchDraft, deps: PersonDeps): EventRow {
  const { visitor_id } = visitor
  const isView = kind === 'pageview'
  // A visit that continues in an open page after a pause did not come from the earlier visit's referrer.
  const arriving = isView ? request : { ...request, query: undefined, referrer: undefined }
  const joined = deps.sessions.join(visitor, request.at, () => readArrival(arriving, deps))
  const session = joined ?? startSession(visitor_id, request.at, readArrival(arriving, deps))
  const row = createHitRow(request, visitor, visitor_id, session, joined?.key, deps)
  Object.assign(row, withSessionFacts(report, joined?.key, deps), { kind })
  draft.rows.events.push(row)
  if (joined === undefined) draft.unplacedRows.push({ row, visitor })
  if (!isView) return row
  deps.viewMemory.noteView(pageKey(visitor_id, request), joined?.key, request.at)
  return row
}

/** Adds what a page reports about itself to the visit in which it was seen, however long ago that was (late-rows.ts). */
function continueVisit(personHit: PersonHit, draft: BatchDraft, deps: PersonDeps): void {
  const { kind, visitor, report } = personHit
  const request = withKnownPath(personHit, deps)
  const view = findLastView(visitor, request, deps)
  const followed = view && deps.sessions.follow(visitor, request.at, report.engaged_ms ?? 0, view)
  if (view && followed) {
    const { session, at } = followed
    const row = createHitRow({ ...request, at }, visitor, view.visitor_id, session, session.key, deps)
    if (at < request.at) row.reported_at = new Date(request.at)
    draft.rows.events.push(Object.assign(row, withSessionFacts(report, session.key, deps), { kind }))
    return
  }
  // The store knows the visit, or a later batch will have it.
  const { visitor_id } = visitor
  const session = startSession(visitor_id, request.at, readArrival(request, deps))
  const row = createHitRow(request, visitor, visitor_id, session, undefined, deps)
  draft.rows.events.push(Object.assign(row, report, { kind }))
  draft.unplacedRows.push({ row, visitor, follows: true })
}

/** Returns when a visitor last saw a page, under which id and in which session; undefined if memory does not know. */
function findLastView(visitor: VisitorIds, page: PageLocation, { viewMemory }: PersonDeps) {
  for (const visitor_id of allVisitorIds(visitor)) {
    const view = viewMemory.lastView(pageKey(visitor_id, page))
    if (view === undefined) continue
    const { session, at } = view
    return session === undefined ? undefined : { visitor_id, session, at }
  }
  return undefined
}

/** Adds what a pageview reports about the previous page of the same document. */
function leavePage(
  hit: Hit,
  { request, visitor, report }: Omit<PersonHit, 'kind'>,
  draft: BatchDraft,
  deps: PersonDeps,
): void {
  if (!isMeasured(report)) return
  const page = referringPage(hit, request) ?? { hostname: request.hostname, pathname: UNNAMED_PAGE }
  if (isExcludedPath(request.site, page.pathname)) return
  const { engaged_ms, scroll, screen_class, language, timezone } = report
  // A millisecond before the view that ended it: of two simultaneous rows it is unknown which page was seen last.
  const leaving = { ...request, ...page, at: request.at - 1, query: undefined, referrer: undefined }
  const left = { ...EMPTY_REPORT, engaged_ms, scroll, screen_class, language, timezone }
  continueVisit({ kind: 'engagement', request: leaving, visitor, report: left }, draft, deps)
}

function createHitRow(
  request: RequestContext,
  visitor: VisitorIds,
  visitor_id: bigint,
  session: Session,
  sessionKey: bigint | undefined,
  deps: PersonDeps,
): EventRow {
  const place = deps.places.locate(request.address)
  const suspicion = deps.suspicion.judgeHit(toPersonView(request, visitor, sessionKey, place.asn, request))
  const row = createPersonRow(request, visitor_id, session, place, deps, suspicion)
  row.recorded_by = 'browser'
  return row
}

/** Keeps a report's facts the same for the whole session: a resized window does not change the visitor's screen. */
function withSessionFacts(report: BrowserReport, session: bigint | undefined, deps: PersonDeps): BrowserReport {
  if (session === undefined) return report
  const facts = deps.viewMemory.sessionFacts(session)
  facts.screen_class ??= report.screen_class
  facts.timezone ??= report.timezone
  facts.language ??= report.language
  facts.identified_id = report.identified_id ?? facts.identified_id
  const { screen_class, timezone, language, identified_id } = facts
  return { ...report, screen_class, timezone, language, identified_id }
}

/**
 * Returns the request with the path under which the page is known. A document's first view has the path that its server
 * was asked for, and so do the page's reports, until its route is seen as a page of its own.
 */
function withKnownPath({ request, visitor }: PersonHit, { viewMemory }: PersonDeps): RequestContext {
  const pathname = withoutFragmentRoute(request.pathname)
  const isKnown = (page: PageLocation) => pageKeys(visitor, page).some((key) => viewMemory.lastView(key) !== undefined)
  if (pathname === request.pathname || isKnown(request) || !isKnown({ hostname: request.hostname, pathname }))
    return request
  return { ...request, pathname }
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

/** Returns the previous page if the referrer is a page of the site. */
function referringPage({ referrer }: Hit, { hostname, site }: RequestContext): PageLocation | undefined {
  const parsed = parseReferrer(referrer)
  if (parsed === undefined || parsed.isApp) return undefined
  const isOwn =
    parsed.host === withoutWww(hostname) || site.domains.some((domain) => withoutWww(domain) === parsed.host)
  if (!isOwn) return undefined
  const [, , host = ''] = parsed.url.split('/', 3)
  const route = fragmentRoute(/#.*/s.exec(referrer ?? '')?.[0] ?? '')
  return { hostname: host.replace(/\.$/, ''), pathname: truncate(parsed.path + route, MAX_CHARACTERS.pathname) }
}
