import { detachedCopy } from '../../base/text-limits.js'
import { parseCampaign } from '../../capture/campaign.js'
import type { Device } from '../../capture/device.js'
import { isExcludedPath } from '../../capture/excluded-paths.js'
import { parseLanguage } from '../../capture/language.js'
import type { Observation } from '../../capture/observation.js'
import { isOptedOut } from '../../capture/opt-out.js'
import { isNavigation, isPagePart, isPrefetch } from '../../capture/response-type.js'
import type { SiteSettings } from '../../capture/site.js'
import { attributeVisit } from '../../capture/sources/channel.js'
import { isOwnReferrer, parseReferrer } from '../../capture/sources/referrer.js'
import { sourceOfReferrer } from '../../capture/sources/source.js'
import type { DropReason } from '../../storage/drops.js'
import { type Arrival, type EventRow, MISSING_PAGE } from '../../storage/rows.js'
import type { DescribedPage } from '../pages/page-samples.js'
import { propsText } from './browser-report.js'
import { type BatchDraft, completeView } from './classified-batch.js'
import type { Place, PlaceLookup } from './place/place-lookup.js'
import { type ObservedRequest, type RequestContext, readRequestContext } from './request-context.js'
import type { SaltStore } from './salts.js'
import { type Session, type SessionMemory, startSession } from './session-memory.js'
import { isPolicyFile, type PersonView, type Suspicion, type SuspicionColumns } from './suspicion.js'
import { MAX_CLOCK_SKEW_MS, type PageLocation, pageKey, type ViewMemory, viewDistance } from './view-memory.js'
import { allVisitorIds, hashVisitorId, type VisitorIds } from './visitor-ids.js'

/** Checks that a page of a person must pass to become a row, in order. The first check that rejects it names the drop. */
const GATES: readonly (readonly [DropReason, (observation: Observation, site: SiteSettings) => boolean])[] = [
  // A row that another server declares to be a view is one, however little it sends with it.
  ['not_a_page', (observation) => observation.shipped?.as === 'human' || isNavigation(observation)],
  ['prefetch', (observation) => !isPrefetch(observation)],
  ['excluded_path', (observation, site) => !isExcludedPath(site, observation.pathname)],
  ['opted_out', (observation, site) => !isOptedOut(observation, site)],
]

/** Returns why a person's response becomes no row; undefined if it does. */
export const dropReason = (observation: Observation, site: SiteSettings, isPage: boolean): DropReason | undefined =>
  isPage ? GATES.find(([, passes]) => !passes(observation, site))?.[0] : 'not_a_page'

export interface PersonDeps {
  places: Pick<PlaceLookup, 'locate'>
  salts: Pick<SaltStore, 'at'>
  sessions: SessionMemory
  viewMemory: ViewMemory
  readDevice: (userAgent: string, headers: Observation['headers']) => Device
  suspicion: Suspicion
  /** Returns whether a referrer's host is referrer spam. */
  isReferrerSpam: (host: string) => boolean
  /** Receives what browsers showed of pages; absent where none is wanted: an import. */
  describePage?: ((page: DescribedPage) => void) | undefined
}

/**
 * Adds the pageview of one page that a person got. If the browser has reported this view, its row is completed instead. A
 * row whose session memory cannot tell gets one of its own, and goes to `unplacedRows` too.
 */
export function addPersonView(observed: ObservedRequest, draft: BatchDraft, deps: PersonDeps): DropReason | undefined {
  const { request, observation, status, duration_ms } = observed
  const { site, at } = request
  const { viewMemory } = deps
  const visitor = readVisitorIds(request, deps.salts)
  const { visitor_id } = visitor
  const isRemembered = viewMemory.hasBrowserHits(site.id)
  const key = isRemembered ? pageKey(visitor_id, request) : ''
  if (isRemembered) {
    const keys = (visitor.previous ?? visitor.next) ? pageKeys(visitor, request) : [key]
    const reported = viewMemory.browserViews.take(keys, (browser) => viewDistance(at, browser))
    if (reported !== undefined) {
      completeView(draft, reported, request, { status, duration_ms })
      return 'same_view'
    }
  }
  const joined = deps.sessions.join(visitor, at, () => readArrival(request, deps))
  const session = joined ?? startSession(visitor_id, at, readArrival(request, deps))
  const place = deps.places.locate(request.address)
  const seen = observation.shipped === undefined ? observation : UNSEEN_CLIENT
  const suspicion = deps.suspicion.judge(toPersonView(request, visitor, joined?.key, place.asn, seen))
  const row = createPersonRow(request, visitor_id, session, place, deps, suspicion)
  row.status = status
  row.duration_ms = duration_ms
  row.language = parseLanguage(observation.headers?.['accept-language'])
  if (observation.shipped !== undefined) {
    row.recorded_by = 'edge'
    row.props = propsText(observation.shipped.props)
  }
  if (observation.imported !== undefined) {
    row.recorded_by = 'import'
    row.import_id = observation.imported.import
    row.import_key = observation.imported.key
    if (observation.imported.lacksDuration) row.duration_ms = null
  }
  draft.rows.events.push(row)
  if (joined === undefined) draft.unplacedRows.push({ row, visitor })
  else if (isRemembered) applySessionFacts(row, joined.key, viewMemory)
  const isCovered = viewMemory.browserViews.covers(at - MAX_CLOCK_SKEW_MS)
  if (!isRemembered) viewMemory.noteUnremembered(at)
  if (!isRemembered && isCovered) return undefined
  const view = { at, visitor_id, pathname: row.pathname, session: joined?.key, isMatched: false }
  if (!isCovered) draft.unmatchedViews.set(row, { row, visitor, reportedBy: 'server', view })
  if (!isRemembered) return undefined
  viewMemory.serverViews.add(key, view)
  viewMemory.noteView(key, joined?.key, at)
  draft.viewRows.set(view, row)
  return undefined
}

/**
 * Adds a person's request for a missing page. It is not a view and begins no visit, so its row has no session, and no read of
 * visits and visitors counts it.
 */
export function addMissingPage({ request, status }: ObservedRequest, draft: BatchDraft, deps: PersonDeps): void {
  const { visitor_id } = readVisitorIds(request, deps.salts)
  const session = startSession(visitor_id, request.at, readArrival(request, deps))
  const place = deps.places.locate(request.address)
  const row = createPersonRow(request, visitor_id, session, place, deps, { suspected: false, suspected_by: null })
  draft.missingPages.push(Object.assign(row, { kind: MISSING_PAGE, status }))
}

/** Fills in what the browsers of the row's session reported about themselves. */
function applySessionFacts(row: EventRow, session: bigint, viewMemory: ViewMemory): void {
  const facts = viewMemory.sessionFacts(session)
  row.screen_class = facts.screen_class
  row.timezone = facts.timezone
  row.identified_id = facts.identified_id
  row.language = facts.language ?? row.language
}

/** Returns the keys of a page under each id of its visitor. */
export const pageKeys = (visitor: VisitorIds, page: PageLocation): string[] =>
  allVisitorIds(visitor).map((id) => pageKey(id, page))

export const toPersonView = (
  { at, hostname, pathname, user_agent, headers }: RequestContext,
  { visitor_id, previous }: VisitorIds,
  session: bigint | undefined,
  asn: number | null,
  { ip, head_form }: ClientTraces,
): PersonView => ({ visitor_id, previous, session, at, hostname, pathname, user_agent, headers, asn, ip, head_form })

/** Facts that only a server that saw the client itself knows. */
type ClientTraces = Pick<Observation, 'head_form'> & { ip?: string }
const UNSEEN_CLIENT: ClientTraces = {}

/** Creates a pageview about which only visitor, place and time are known. Plain fields, because spreads made every row slower. */
export function createPersonRow(
  request: RequestContext,
  visitor_id: bigint,
  { id, start, arrival }: Session,
  place: Place,
  { readDevice }: Pick<PersonDeps, 'readDevice'>,
  { suspected, suspected_by }: SuspicionColumns,
): EventRow {
  const device = readDevice(request.user_agent, request.headers)
  return {
    site_id: request.site.id,
    timestamp: new Date(request.at),
    kind: 'pageview',
    event_name: null,
    visitor_id,
    session_id: id,
    session_start: start,
    hostname: request.hostname,
    pathname: request.pathname,
    status: null,
    duration_ms: null,
    entry_page: arrival.entry_page,
    referrer: arrival.referrer,
    source: arrival.source,
    channel: arrival.channel,
    utm_source: arrival.utm_source,
    utm_medium: arrival.utm_medium,
    utm_campaign: arrival.utm_campaign,
    utm_content: arrival.utm_content,
    utm_term: arrival.utm_term,
    country: place.country,
    region: place.region,
    city: place.city,
    asn: place.asn,
    browser: device.browser,
    browser_version: device.browser_version,
    os: device.os,
    os_version: device.os_version,
    device_type: device.device_type,
    screen_class: null,
    language: null,
    timezone: null,
    engaged_ms: null,
    scroll: null,
    identified_id: null,
    props: null,
    suspected,
    suspected_by,
    recorded_by: 'server',
    vitals: null,
    error: null,
    traits: null,
    reported_at: null,
    import_id: null,
    import_key: null,
  }
}

/**
 * Notes a person's request that becomes no row: for a policy file, because robots begin with requests that people do not
 * make, or for a part of a page, which few robots load.
 */
export function noteOtherRequest(
  observation: Observation,
  site: SiteSettings,
  at: number,
  { salts, suspicion }: Pick<PersonDeps, 'salts' | 'suspicion'>,
): void {
  const { pathname, shipped, ip, user_agent, headers } = observation
  const isPolicy = isPolicyFile(pathname)
  const isPart = !isPolicy && shipped === undefined && isPagePart(observation)
  if (!(isPolicy || isPart) || isOptedOut(observation, site)) return
  if (isPart) {
    suspicion.notePagePart(ip, user_agent)
    return
  }
  const { visitor_id } = readVisitorIds(readRequestContext(observation, site, at), salts)
  suspicion.noteRequest(visitor_id, at, headers)
}

/** Returns a visitor's id in this salt period and in its neighbours. */
export function readVisitorIds(request: RequestContext, salts: Pick<SaltStore, 'at'>): VisitorIds {
  const { site, at, address_key, user_agent } = request
  const { secret, previous, next } = salts.at(site.visitor_salt, at)
  return {
    visitor_id: hashVisitorId(secret, site.id, address_key, user_agent),
    previous: previous ? hashVisitorId(previous, site.id, address_key, user_agent) : undefined,
    next: next ? hashVisitorId(next, site.id, address_key, user_agent) : undefined,
  }
}

/** Returns how a visit began: its page, and who referred it. */
export function readArrival(
  { query, referrer, hostname, pathname, site }: RequestContext,
  { isReferrerSpam }: Pick<PersonDeps, 'isReferrerSpam'>,
): Arrival {
  const campaign = parseCampaign(query)
  const parsed = parseReferrer(referrer)
  const foreign = parsed && !isOwnReferrer(parsed, hostname, site.domains) ? parsed : undefined
  const isSpam = foreign !== undefined && !foreign.isApp && isReferrerSpam(foreign.host)
  const referrerSource = foreign && !isSpam ? sourceOfReferrer(foreign) : undefined
  const { source, channel } = attributeVisit(campaign, referrerSource)
  // Copies, because a session lives half an hour and would keep the whole query and referrer that they were cut from.
  return {
    entry_page: detachedCopy(pathname),
    // Spam keeps its referrer: without a source, it is what the dimension `referrer_spam` counts.
    referrer: foreign && (referrerSource || isSpam) ? detachedCopy(foreign.url) : null,
    source: copyOrNull(source?.name),
    channel,
    utm_source: copyOrNull(campaign.utm_source),
    utm_medium: copyOrNull(campaign.utm_medium),
    utm_campaign: copyOrNull(campaign.utm_campaign),
    utm_content: copyOrNull(campaign.utm_content),
    utm_term: copyOrNull(campaign.utm_term),
  }
}

const copyOrNull = (text: string | null | undefined): string | null => (text == null ? null : detachedCopy(text))
