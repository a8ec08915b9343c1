import { campaign } from '../capture/campaign.js'
import { alone } from '../capture/caps.js'
import type { Device } from '../capture/device.js'
import { isNavigation, isPage, isPrefetch } from '../capture/document.js'
import type { DropReason } from '../capture/drop.js'
import { isExcluded } from '../capture/excluded.js'
import { language } from '../capture/language.js'
import type { Observation } from '../capture/observation.js'
import { isOptedOut } from '../capture/opt-out.js'
import type { Site } from '../capture/site.js'
import type { Arrival, EventRow } from '../rows.js'
import { apart, type Browsing, nameOf, type Page, SKEW } from './browsing.js'
import { channel } from './channel.js'
import { complete, type Made } from './made.js'
import type { Place, Places } from './place/places.js'
import { isOwn, parseReferrer } from './referrer.js'
import type { Salts } from './salt.js'
import { type Caller, callerOf, type Seen } from './seen.js'
import { openSession, type Session, type Sessions } from './session.js'
import { sourceOf, sourceOfReferrer } from './source.js'
import { isPolicyFile, type Suspected, type Suspicion } from './suspect.js'
import { propsText } from './told.js'
import { idsOf, visitorId, type Who } from './visitor.js'

/** What a person's response must pass to become a row, in order; the first that refuses names the drop (contract 3). */
const GATES: readonly (readonly [DropReason, (observation: Observation, site: Site) => boolean])[] = [
  [
    'not_a_page',
    // What another server calls a view is one, whatever of it came along.
    (observation) => observation.shipped?.as === 'human' || (isPage(observation) && isNavigation(observation)),
  ],
  ['prefetch', (observation) => !isPrefetch(observation)],
  ['excluded_path', (observation, site) => !isExcluded(site, observation.pathname)],
  ['opted_out', (observation, site) => !isOptedOut(observation, site)],
]

/** Why a person's response makes no row; undefined when it does. */
export const refusal = (observation: Observation, site: Site): DropReason | undefined =>
  GATES.find(([, passes]) => !passes(observation, site))?.[0]

export interface PersonDeps {
  places: Places
  salts: Salts
  sessions: Sessions
  browsing: Browsing
  device: (userAgent: string, headers: Observation['headers']) => Device
  suspicion: Pick<Suspicion, 'judge' | 'judgeHit'>
}

/**
 * The pageview of one page that a person got. Where the browser told of this view first, that row is the view's. A row
 * whose session memory cannot tell has one of its own, and is added to `unplaced`.
 */
export function addView(seen: Seen, made: Made, deps: PersonDeps): DropReason | undefined {
  const { observation } = seen
  const { shipped } = observation
  const { browsing } = deps
  const who = visitorOf(seen, deps.salts)
  const { visitor_id } = who
  const heard = browsing.hears(seen.site.id)
  const name = heard ? nameOf(visitor_id, seen) : ''
  const told = heard
    ? browsing.browsers.take((who.before ?? who.after) ? namesOf(who, seen) : [name], (at) => apart(seen.at, at))
    : undefined
  if (told !== undefined) {
    complete(made, told, seen, { status: seen.status, duration_ms: seen.duration_ms })
    return 'same_view'
  }
  const placed = deps.sessions.join(who, seen.at, () => arrivalOf(seen))
  const session = placed ?? openSession(visitor_id, seen.at, arrivalOf(seen))
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
  const row = rowOf(seen, visitor_id, session, place, deps.device(seen.user_agent, observation.headers), suspected)
  row.status = seen.status
  row.duration_ms = seen.duration_ms
  row.language = language(observation.headers?.['accept-language'])
  if (shipped !== undefined) {
    row.recorded_by = 'edge'
    row.props = propsText(shipped.props)
  }
  made.rows.events.push(row)
  if (placed === undefined) made.unplaced.push({ row, who })
  else if (heard) recall(row, placed.key, browsing)
  const isSure = browsing.browsers.holds(seen.at - SKEW)
  if (!heard) browsing.pass(seen.at)
  if (!heard && isSure) return undefined
  const view = { at: seen.at, visitor_id, pathname: row.pathname, session: placed?.key, taken: false }
  if (!isSure) made.unsure.set(row, { row, who, half: 'server', view })
  if (!heard) return undefined
  browsing.servers.add(name, view)
  browsing.see(name, placed?.key, seen.at)
  made.fresh.set(view, row)
  return undefined
}

/** Gives a row what the browsers of its session said of themselves. */
function recall(row: EventRow, session: bigint, browsing: Browsing): void {
  const known = browsing.known(session)
  row.screen_class = known.screen_class
  row.timezone = known.timezone
  row.identified_id = known.identified_id
  row.language = known.language ?? row.language
  known.page = pageOf(row)
}

/** The page of a row, where it is short enough to be kept of every session. */
export const pageOf = ({ hostname, pathname }: Page): Page | undefined =>
  hostname.length + pathname.length > 256 ? undefined : { hostname, pathname }

/** A page under each id that its visitor has. */
export const namesOf = (who: Who, page: Page): string[] => idsOf(who).map((id) => nameOf(id, page))

/** A pageview of which nothing is known but who, where and when. */
export function rowOf(
  from: Caller,
  visitor_id: bigint,
  session: Session,
  place: Place,
  device: Device,
  { suspected, suspected_by }: Suspected,
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
export function overhear(
  observation: Observation,
  site: Site,
  at: number,
  deps: { salts: Salts; suspicion: Pick<Suspicion, 'notice'> },
): void {
  if (!isPolicyFile(observation.pathname) || isOptedOut(observation, site)) return
  deps.suspicion.notice(visitorOf(callerOf(observation, site, at), deps.salts).visitor_id, at, observation.headers)
}

/** Who it is in this salt period, and in those beside it. */
export function visitorOf({ site, at, address_key, user_agent }: Caller, salts: Salts): Who {
  const { secret, previous, next } = salts.at(site.visitor_salt, at)
  return {
    visitor_id: visitorId(secret, site.id, address_key, user_agent),
    before: previous ? visitorId(previous, site.id, address_key, user_agent) : undefined,
    after: next ? visitorId(next, site.id, address_key, user_agent) : undefined,
  }
}

/** How a visit began: its page, and who sent it. */
export function arrivalOf({ query, referrer, hostname, pathname, site }: Caller): Arrival {
  const { ref, click, ...utm } = campaign(query)
  const outside = parseReferrer(referrer)
  const foreign = outside && !isOwn(outside, hostname, site.domains) ? outside : undefined
  const sender = foreign && sourceOfReferrer(foreign)
  const source = sourceOf({ ref, click, ...utm }, sender)
  // A session keeps them for half an hour: copies, or it would keep the whole query and referrer they were cut from.
  return {
    entry_page: alone(pathname),
    referrer: sender && foreign ? alone(foreign.url) : null,
    source: own(source?.name),
    channel: channel(source, { ref, click, ...utm }, sender),
    utm_source: own(utm.utm_source),
    utm_medium: own(utm.utm_medium),
    utm_campaign: own(utm.utm_campaign),
    utm_content: own(utm.utm_content),
    utm_term: own(utm.utm_term),
  }
}

const own = (text: string | null | undefined): string | null => (text == null ? null : alone(text))
