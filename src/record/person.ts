import { campaign } from './campaign.js'
import { alone } from './caps.js'
import { channel } from './channel.js'
import type { Device } from './device.js'
import { asksForPrivacy, isNavigation, isPage, isPrefetch } from './document.js'
import type { DropReason } from './drop.js'
import { isExcluded } from './excluded.js'
import { language } from './language.js'
import type { Unplaced } from './late.js'
import type { Observation } from './observation.js'
import type { Places } from './place/places.js'
import { isOwn, parseReferrer } from './referrer.js'
import type { Arrival, EventRow } from './row.js'
import type { Salts } from './salt.js'
import { type Seen, see } from './seen.js'
import { openSession, type Sessions } from './session.js'
import type { Site } from './site.js'
import { sourceOf, sourceOfReferrer } from './source.js'
import { isPolicyFile, type Suspicion } from './suspect.js'
import { visitorId, type Who } from './visitor.js'

/** What a person's response must pass to become a row, in order; the first that refuses names the drop (contract 3). */
const GATES: readonly (readonly [DropReason, (observation: Observation, site: Site) => boolean])[] = [
  ['not_a_page', (observation) => isPage(observation) && isNavigation(observation)],
  ['prefetch', (observation) => !isPrefetch(observation)],
  ['excluded_path', (observation, site) => !isExcluded(site, observation.pathname)],
  ['opted_out', (observation, site) => !(site.respect_gpc && asksForPrivacy(observation))],
]

/** Why a person's response makes no row; undefined when it does. */
export const refusal = (observation: Observation, site: Site): DropReason | undefined =>
  GATES.find(([, passes]) => !passes(observation, site))?.[0]

/**
 * The pageview of one page that a person got. A row whose session memory cannot tell has one of its own, and is added
 * to `unplaced`.
 */
export function personRow(
  seen: Seen,
  unplaced: Unplaced[],
  deps: {
    places: Places
    salts: Salts
    sessions: Sessions
    device: (userAgent: string, headers: Observation['headers']) => Device
    suspicion: Pick<Suspicion, 'judge'>
  },
): EventRow {
  const { site, observation } = seen
  const who = visitorOf(seen, deps.salts)
  const { visitor_id } = who
  const placed = deps.sessions.join(who, seen.at, () => arrivalOf(seen))
  const session = placed ?? openSession(visitor_id, seen.at, arrivalOf(seen))
  const place = deps.places.locate(seen.address)
  const device = deps.device(seen.user_agent, observation.headers)
  const { suspected, suspected_by } = deps.suspicion.judge({
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
  const row: EventRow = {
    site_id: site.id,
    timestamp: new Date(seen.at),
    kind: 'pageview',
    event_name: null,
    visitor_id,
    session_id: session.id,
    session_start: session.start,
    hostname: seen.hostname,
    pathname: seen.pathname,
    status: seen.status,
    duration_ms: seen.duration_ms,
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
    language: language(observation.headers?.['accept-language']),
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
  if (placed === undefined) unplaced.push({ row, who })
  return row
}

/** Tells suspicion of what a person asked for and makes no row: robots begin with questions that people do not ask. */
export function overhear(
  observation: Observation,
  site: Site,
  at: number,
  deps: { salts: Salts; suspicion: Pick<Suspicion, 'notice'> },
): void {
  if (!isPolicyFile(observation.pathname) || (site.respect_gpc && asksForPrivacy(observation))) return
  deps.suspicion.notice(visitorOf(see(observation, site, at), deps.salts).visitor_id, at, observation.headers)
}

/** Who it is in this salt period, and in those beside it. */
export function visitorOf({ site, at, address_key, user_agent }: Seen, salts: Salts): Who {
  const { secret, previous, next } = salts.at(site.visitor_salt, at)
  return {
    visitor_id: visitorId(secret, site.id, address_key, user_agent),
    before: previous ? visitorId(previous, site.id, address_key, user_agent) : undefined,
    after: next ? visitorId(next, site.id, address_key, user_agent) : undefined,
  }
}

/** How a visit began: its page, and who sent it. */
function arrivalOf({ observation, hostname, pathname, site }: Seen): Arrival {
  const { ref, click, ...utm } = campaign(observation.query)
  const outside = parseReferrer(observation.referrer)
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
