import { CAPS, cap } from '../capture/caps.js'
import type { DropReason } from '../capture/drop.js'
import { isExcluded } from '../capture/excluded.js'
import type { Hit, Kind } from '../capture/hit.js'
import { isOptedOut } from '../capture/opt-out.js'
import { askedPath, routeOf } from '../capture/route.js'
import { bare, type Site } from '../capture/site.js'
import type { EventRow } from '../rows.js'
import { apart, nameOf, type Page, viewOf } from './browsing.js'
import { complete, type Made } from './made.js'
import { arrivalOf, namesOf, type PersonDeps, pageOf, rowOf, visitorOf } from './person.js'
import { parseReferrer } from './referrer.js'
import { type Caller, callerOf } from './seen.js'
import { openSession, SESSION_TIMEOUT, type Session } from './session.js'
import { type Told, told } from './told.js'
import { idsOf, type Who } from './visitor.js'

/** What a page says of itself, perhaps in a tab that nobody looks at: it goes on with its visit, and begins none. */
const OF_PAGES: ReadonlySet<Kind> = new Set<Kind>(['engagement', 'web_vitals', 'error'])

/** What a person's hit must pass, in order; the first that refuses names the drop. A hit that was relayed met no door. */
const GATES: readonly (readonly [DropReason, (hit: Hit, said: Told, site: Site) => boolean])[] = [
  ['opted_out', (hit, _, site) => !isOptedOut(hit, site)],
  ['nothing_measured', ({ kind }, said) => says(kind, said)],
  ['excluded_path', (hit, _, site) => !isExcluded(site, hit.pathname)],
]

function says(kind: Kind, said: Told): boolean {
  if (kind === 'engagement') return isMeasured(said) || said.identified_id !== null
  if (kind === 'web_vitals') return said.vitals !== null
  return kind !== 'error' || said.error !== null
}

const isMeasured = ({ engaged_ms, scroll }: Pick<Told, 'engaged_ms' | 'scroll'>): boolean =>
  (engaged_ms ?? 0) > 0 || (scroll ?? 0) > 0

/** What is said of the page before is nothing of this one. */
const ofItself = (hit: Hit, said: Told): Told =>
  hit.kind === 'pageview' ? { ...said, engaged_ms: null, scroll: null } : said

/**
 * The rows of what a person's browser says of itself. The first pageview of a document is of the same view as the
 * server's row, where there is one: that is completed. What a later one says of the page before is a row of that page.
 */
export function createHits(deps: PersonDeps): (hit: Hit, site: Site, at: number, made: Made) => DropReason | undefined {
  const { browsing, sessions } = deps

  const rowIn = (from: Caller, visitor_id: bigint, session: Session, placed: bigint | undefined, who: Who) => {
    const place = deps.places.locate(from.address)
    const { user_agent, headers, hostname, pathname, at } = from
    const suspected = deps.suspicion.judgeHit({
      ...{ visitor: who.visitor_id, before: who.before, session: placed, at },
      ...{ hostname, pathname, user_agent, headers, asn: place.asn },
    })
    const row = rowOf(from, visitor_id, session, place, deps.device(user_agent, headers), suspected)
    row.recorded_by = 'browser'
    return row
  }

  /** What a browser says, as it is for the whole of its session: a window that is made wider changes nobody's screen. */
  const settled = (said: Told, session: bigint | undefined): Told => {
    if (session === undefined) return said
    const known = browsing.known(session)
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
  const asSeen = (from: Caller, who: Who): Caller => {
    const pathname = askedPath(from.pathname)
    const saw = (page: Page) => namesOf(who, page).some((name) => browsing.seen(name) !== undefined)
    if (pathname === from.pathname || saw(from) || !saw({ hostname: from.hostname, pathname })) return from
    return { ...from, pathname }
  }

  /** Adds what a page says of itself to the visit that it was seen in, however long ago that was. */
  const follow = (caller: Caller, who: Who, kind: Kind, said: Told, made: Made): void => {
    const from = asSeen(caller, who)
    const seen = namesOf(who, from)
      .map((name) => browsing.seen(name))
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
    const until = seen && Math.min(seen.at + engaged_ms, seen.at + SESSION_TIMEOUT - 1)
    const at = until === undefined || seen === undefined || seen.at > from.at ? from.at : Math.min(from.at, until)
    const visitor_id = idsOf(who).find((id) => browsing.seen(nameOf(id, from))) ?? who.visitor_id
    const session = openSession(visitor_id, at, arrivalOf(from))
    const row = Object.assign(rowIn({ ...from, at }, visitor_id, session, undefined, who), said, { kind })
    made.rows.events.push(row)
    made.unplaced.push({ row, who: { ...who, visitor_id }, follows: true })
  }

  /** What a pageview says of the page before it in the same document. */
  const leave = (hit: Hit, from: Caller, who: Who, said: Told, made: Made): void => {
    if (!isMeasured(said)) return
    const page = pageBefore(hit, from) ?? lastPage(who, from.at)
    if (page === undefined || isExcluded(from.site, page.pathname)) return
    const { engaged_ms, scroll, screen_class, language, timezone } = said
    const left = { ...NOTHING, engaged_ms, scroll, screen_class, language, timezone }
    // Before the view that ended it: of two rows at once nobody could say which page was seen last.
    const at = from.at - 1
    follow({ ...from, ...page, at, query: undefined, referrer: undefined }, who, 'engagement', left, made)
  }

  const lastPage = (who: Who, at: number): Page | undefined => {
    const key = sessions.last(who, at)?.key
    return key === undefined ? undefined : browsing.known(key).page
  }

  /** Adds what a person did: it goes on with a visit or begins one. */
  const act = (hit: Hit, from: Caller, who: Who, said: Told, made: Made): EventRow => {
    const isView = hit.kind === 'pageview'
    // A visit that goes on in an open page after a pause was not sent by whoever sent the one before.
    const arriving = isView ? from : { ...from, query: undefined, referrer: undefined }
    const placed = sessions.join(who, from.at, () => arrivalOf(arriving))
    const session = placed ?? openSession(who.visitor_id, from.at, arrivalOf(arriving))
    const row = rowIn(from, who.visitor_id, session, placed?.key, who)
    Object.assign(row, settled(ofItself(hit, said), placed?.key), { kind: hit.kind })
    made.rows.events.push(row)
    if (placed === undefined) made.unplaced.push({ row, who })
    if (!isView) return row
    browsing.see(nameOf(who.visitor_id, from), placed?.key, from.at)
    if (placed) browsing.known(placed.key).page = pageOf(from)
    return row
  }

  return (hit, site, at, made) => {
    const from = callerOf(hit, site, at)
    const said = told(hit)
    const who = visitorOf(from, deps.salts)
    const isFirst = hit.kind === 'pageview' && hit.engaged_ms === undefined && hit.scroll === undefined
    const refused = GATES.find(([, passes]) => !passes(hit, said, site))?.[0]
    if (hit.kind === 'pageview' && !isFirst && refused !== 'opted_out') leave(hit, from, who, said, made)
    if (refused !== undefined) return refused
    if (OF_PAGES.has(hit.kind)) {
      follow(from, who, hit.kind, said, made)
      return undefined
    }
    if (!isFirst) {
      const row = act(hit, from, who, said, made)
      if (hit.kind === 'pageview') row.duration_ms = 0
      return undefined
    }
    const stored = browsing.servers.take(namesOf(who, viewOf(from)), (server) => apart(server, at))
    if (stored !== undefined) {
      complete(made, stored, from, settled(ofItself(hit, said), stored.session))
      return undefined
    }
    const row = act(hit, from, who, said, made)
    const { visitor_id } = who
    const view = { at, visitor_id, pathname: row.pathname, session: undefined, taken: false }
    browsing.browsers.add(nameOf(visitor_id, viewOf(from)), view)
    made.fresh.set(view, row)
    // One that is a little early may be of a view that the server tells of next: memory has that then.
    if (!browsing.holds(site.id, at - SESSION_TIMEOUT)) made.unsure.set(row, { row, who, half: 'browser', view })
    return undefined
  }
}

const NOTHING: Told = {
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
function pageBefore({ referrer }: Hit, { hostname, site }: Caller): Page | undefined {
  const found = parseReferrer(referrer)
  if (found === undefined || found.app) return undefined
  const isOwn = found.host === bare(hostname) || site.domains.some((domain) => bare(domain) === found.host)
  const [, , host = ''] = found.url.split('/', 3)
  const route = routeOf(/#.*/s.exec(referrer ?? '')?.[0] ?? '')
  return isOwn ? { hostname: host.replace(/\.$/, ''), pathname: cap(found.path + route, CAPS.pathname) } : undefined
}
