import { parseCampaign } from '../capture/campaign.js'
import type { Device } from '../capture/device.js'
import type { DropReason } from '../capture/drops.js'
import { isExcludedPath } from '../capture/excluded-paths.js'
import { parseLanguage } from '../capture/language.js'
import type { Observation } from '../capture/observation.js'
import { isOptedOut } from '../capture/opt-out.js'
import { isNavigation, isPage, isPrefetch } from '../capture/page-response.js'
import type { Site } from '../capture/site.js'
import { detachedCopy } from '../capture/text-limits.js'
import type { Arrival, EventRow } from '../rows.js'
import { type BatchDraft, completeView } from './batch-draft.js'
import { propsText } from './browser-report.js'
import { channelOf } from './channel.js'
import type { Place, PlaceLookup } from './place/place-lookup.js'
import { isOwnReferrer, parseReferrer } from './referrer.js'
import { type ObservedRequest, type RequestContext, readRequestContext } from './request-context.js'
import type { SaltStore } from './salts.js'
import { type Session, type SessionMemory, startSession } from './session-memory.js'
import { sourceOf, sourceOfReferrer } from './source.js'
import { isPolicyFile, type Suspicion, type SuspicionColumns } from './suspicion.js'
import { MAX_CLOCK_SKEW_MS, type PageLocation, pageKey, type ViewMemory, viewDistance } from './view-memory.js'
import { allVisitorIds, hashVisitorId, type VisitorIds } from './visitor-ids.js'

/** What a person's response must pass to become a row, in order; the first that refuses names the drop (contract 3). */
const GATES: readonly (readonly [DropReason, (observation: Observation, site: Site) => boolean])[] = [
  [
    'not_a_page',
    // What another server calls a view is one, whatever of it came along.
    (observation) => observation.shipped?.as === 'human' || (isPage(observation) && isNavigation(observation)),
  ],
  ['prefetch', (observation) => !isPrefetch(observation)],
  ['excluded_path', (observation, site) => !isExcludedPath(site, observation.pathname)],
  ['opted_out', (observation, site) => !isOptedOut(observation, site)],
]

/** Why a person's response makes no row; undefined when it does. */
export const dropReason = (observation: Observation, site: Site): DropReason | undefined =>
  GATES.find(([, passes]) => !passes(observation, site))?.[0]

export interface PersonDeps {
  places: PlaceLookup
  salts: SaltStore
  sessions: SessionMemory
  browsing: ViewMemory
  device: (userAgent: string, headers: Observation['headers']) => Device
  suspicion: Pick<Suspicion, 'judge' | 'judgeHit'>
}

/**
 * The pageview of one page that a person got. Where the browser told of this view first, that row is the view's. A row
 * whose session memory cannot tell has one of its own, and is added to `unplaced`.
 */
export function addPersonView(seen: ObservedRequest, made: BatchDraft, deps: PersonDeps): DropReason | undefined {
  const { observation } = seen
  const { shipped } = observation
  const { browsing } = deps
  const who = readVisitorIds(seen, deps.salts)
  const { visitor_id } = who
  const heard = browsing.hasBrowserHits(seen.site.id)
  const name = heard ? pageKey(visitor_id, seen) : ''
  const told = heard
    ? browsing.browserViews.take((who.before ?? who.after) ? pageKeys(who, seen) : [name], (at) =>
        viewDistance(seen.at, at),
      )
    : undefined
  if (told !== undefined) {
    completeView(made, told, seen, { status: seen.status, duration_ms: seen.duration_ms })
    return 'same_view'
  }
  const placed = deps.sessions.join(who, seen.at, () => readArrival(seen))
  const session = placed ?? startSession(visitor_id, seen.at, readArrival(seen))
  const place = deps.places.locate(seen.address)
  const suspected = deps.suspicion.judge({
    visitor: visitor_id,
    before: who.before,
    session: placed?.key,
    at: seen.at,
    hostname: seen.hostname,
    pathname: seen.pathname,
    user_agent: seen.user_agent,
    headers: observation.headers,
    asn: place.asn,
  })
  const row = createPersonRow(
    seen,
    visitor_id,
    session,
    place,
    deps.device(seen.user_agent, observation.headers),
    suspected,
  )
  row.status = seen.status
  row.duration_ms = seen.duration_ms
  row.language = parseLanguage(observation.headers?.['accept-language'])
  if (shipped !== undefined) {
    row.recorded_by = 'edge'
    row.props = propsText(shipped.props)
  }
  made.rows.events.push(row)
  if (placed === undefined) made.unplaced.push({ row, visitor: who })
  else if (heard) applySessionFacts(row, placed.key, browsing)
  const isSure = browsing.browserViews.covers(seen.at - MAX_CLOCK_SKEW_MS)
  if (!heard) browsing.noteUnremembered(seen.at)
  if (!heard && isSure) return undefined
  const view = { at: seen.at, visitor_id, pathname: row.pathname, session: placed?.key, taken: false }
  if (!isSure) made.unsure.set(row, { row, visitor: who, reportedBy: 'server', view })
  if (!heard) return undefined
  browsing.serverViews.add(name, view)
  browsing.noteView(name, placed?.key, seen.at)
  made.viewRows.set(view, row)
  return undefined
}

/** Gives a row what the browsers of its session said of themselves. */
function applySessionFacts(row: EventRow, session: bigint, browsing: ViewMemory): void {
  const known = browsing.sessionFacts(session)
  row.screen_class = known.screen_class
  row.timezone = known.timezone
  row.identified_id = known.identified_id
  row.language = known.language ?? row.language
  known.page = shortPage(row)
}

/** The page of a row, where it is short enough to be kept of every session. */
export const shortPage = ({ hostname, pathname }: PageLocation): PageLocation | undefined =>
  hostname.length + pathname.length > 256 ? undefined : { hostname, pathname }

/** A page under each id that its visitor has. */
export const pageKeys = (who: VisitorIds, page: PageLocation): string[] =>
  allVisitorIds(who).map((id) => pageKey(id, page))

/** A pageview of which nothing is known but who, where and when. */
export function createPersonRow(
  from: RequestContext,
  visitor_id: bigint,
  session: Session,
  place: Place,
  device: Device,
  { suspected, suspected_by }: SuspicionColumns,
): EventRow {
  return {
    site_id: from.site.id,
    timestamp: new Date(from.at),
    kind: 'pageview',
    event_name: null,
    visitor_id,
    session_id: session.id,
    session_start: session.start,
    hostname: from.hostname,
    pathname: from.pathname,
    status: null,
    duration_ms: null,
    entry_page: session.arrival.entry_page,
    referrer: session.arrival.referrer,
    source: session.arrival.source,
    channel: session.arrival.channel,
    utm_source: session.arrival.utm_source,
    utm_medium: session.arrival.utm_medium,
    utm_campaign: session.arrival.utm_campaign,
    utm_content: session.arrival.utm_content,
    utm_term: session.arrival.utm_term,
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
  }
}

/** Tells suspicion of what a person asked for and makes no row: robots begin with questions that people do not ask. */
export function notePolicyRequest(
  observation: Observation,
  site: Site,
  at: number,
  deps: { salts: SaltStore; suspicion: Pick<Suspicion, 'notice'> },
): void {
  if (!isPolicyFile(observation.pathname) || isOptedOut(observation, site)) return
  deps.suspicion.notice(
    readVisitorIds(readRequestContext(observation, site, at), deps.salts).visitor_id,
    at,
    observation.headers,
  )
}

/** Who it is in this salt period, and in those beside it. */
export function readVisitorIds({ site, at, address_key, user_agent }: RequestContext, salts: SaltStore): VisitorIds {
  const { secret, previous, next } = salts.at(site.visitor_salt, at)
  return {
    visitor_id: hashVisitorId(secret, site.id, address_key, user_agent),
    before: previous ? hashVisitorId(previous, site.id, address_key, user_agent) : undefined,
    after: next ? hashVisitorId(next, site.id, address_key, user_agent) : undefined,
  }
}

/** How a visit began: its page, and who sent it. */
export function readArrival({ query, referrer, hostname, pathname, site }: RequestContext): Arrival {
  const { ref, click, ...utm } = parseCampaign(query)
  const outside = parseReferrer(referrer)
  const foreign = outside && !isOwnReferrer(outside, hostname, site.domains) ? outside : undefined
  const sender = foreign && sourceOfReferrer(foreign)
  const source = sourceOf({ ref, click, ...utm }, sender)
  // A session keeps them for half an hour: copies, or it would keep the whole query and referrer they were cut from.
  return {
    entry_page: detachedCopy(pathname),
    referrer: sender && foreign ? detachedCopy(foreign.url) : null,
    source: detachedOrNull(source?.name),
    channel: channelOf(source, { ref, click, ...utm }, sender),
    utm_source: detachedOrNull(utm.utm_source),
    utm_medium: detachedOrNull(utm.utm_medium),
    utm_campaign: detachedOrNull(utm.utm_campaign),
    utm_content: detachedOrNull(utm.utm_content),
    utm_term: detachedOrNull(utm.utm_term),
  }
}

const detachedOrNull = (text: string | null | undefined): string | null => (text == null ? null : detachedCopy(text))
