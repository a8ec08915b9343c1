import { createRecentCache, type RecentCache } from '../cache.js'
import { withoutFragmentRoute } from '../capture/fragment-route.js'
import type { EventRow } from '../rows.js'
import { MAX_LATENESS_MS, SESSION_TIMEOUT_MS } from './session-memory.js'

/** So long after the server's row of a view its browser's hit is of the same view. */
export const SAME_VIEW_MS = SESSION_TIMEOUT_MS
/** And so much earlier, where their clocks differ or it came by another way. */
export const MAX_CLOCK_SKEW_MS = 60_000

/** A view that one of the two, server and browser, has told of. */
export interface PendingView {
  /** Milliseconds since 1970: the timestamp of its row. */
  at: number
  visitor_id: bigint
  /** As its row has it. */
  pathname: string
  /** The key of its session; undefined where that was not known. */
  session: bigint | undefined
  /** Its other half came by another way. */
  taken: boolean
}

/** Views of which the other half is not there yet. */
export interface PendingViews {
  /** The nearest of these pages that `fits`, which is then no more there. */
  take(pages: readonly string[], fits: (at: number) => number): PendingView | undefined
  add(page: string, view: PendingView): void
  /** Whether all that was told of since `at` is in memory still. */
  covers(at: number): boolean
  /** All from `since` on is known. */
  restore(since: number): void
  /** These visitors have no rows any more. */
  forget(visitors: ReadonlySet<bigint>): void
}

/** Of one page by one visitor so many are remembered. */
const MAX_PENDING_PER_PAGE = 64

/**
 * At most `limit` pages of visitors, with `texts` characters in their names: a flood of strangers makes it forget, and
 * what it forgot the store knows. Nothing before `since` (milliseconds since 1970) was told to it.
 */
export function createPendingViews({
  since,
  maxEntries: limit = 65_536,
  maxCharacters: texts = 16 << 20,
}: MemoryBounds = {}): PendingViews {
  let horizon = since ?? Number.NEGATIVE_INFINITY
  let newest = Number.NEGATIVE_INFINITY
  let newestBefore = Number.NEGATIVE_INFINITY
  const weigh = { of: ({ length }: { length: number }) => length, limit: texts }
  const pages = createRecentCache<string, { length: number; views: PendingView[] }>(limit, weigh, () => {
    horizon = Math.max(horizon, newestBefore)
    newestBefore = newest
  })
  return {
    take(names, fits) {
      let best: { views: PendingView[]; view: PendingView; name: string } | undefined
      let least = Number.POSITIVE_INFINITY
      for (const name of names) {
        const views = pages.get(name)?.views ?? []
        for (const view of views) {
          const distance = view.taken ? Number.POSITIVE_INFINITY : fits(view.at)
          if (distance >= least) continue
          least = distance
          best = { views, view, name }
        }
      }
      if (best === undefined) return undefined
      best.views.splice(best.views.indexOf(best.view), 1)
      if (best.views.length === 0) pages.delete(best.name)
      return best.view
    },
    add(name, view) {
      // One clock far ahead must not make memory know of nothing.
      if (view.at > newest) newest = newest < 0 ? view.at : Math.min(view.at, newest + MAX_LATENESS_MS)
      const known = pages.get(name)
      if (known === undefined) {
        pages.set(name, { length: name.length, views: [view] })
        return
      }
      if (known.views.length === MAX_PENDING_PER_PAGE) known.views.shift()
      known.views.push(view)
    },
    covers: (at) => at >= horizon,
    restore(known) {
      horizon = known
    },
    forget: (visitors) => deletePagesOf(pages, visitors),
  }
}

export interface MemoryBounds {
  since?: number
  maxEntries?: number
  maxCharacters?: number
}

/** What the browsers of a session said of themselves: the server's later rows of it say the same. */
export type SessionFacts = Pick<EventRow, 'screen_class' | 'language' | 'timezone' | 'identified_id'> & {
  /** The last page. */
  page: PageLocation | undefined
}
export type PageLocation = Pick<EventRow, 'hostname' | 'pathname'>

/**
 * What hits and the server's rows must know of each other. Of a site from whose pages no browser told of anything yet
 * there is nothing to know: it pays for none of it.
 */
export interface ViewMemory {
  /** Whether a browser told of something on this site: what the server tells of it is remembered from then on. */
  hasBrowserHits(site: number): boolean
  noteBrowserHits(site: number): void
  /** The server told of a view at `at` that nobody remembers. */
  noteUnremembered(at: number): void
  /** Whether all views of a site that the server told of since `at` are in memory still. */
  covers(site: number, at: number): boolean
  /** Views of people that only the server told of, and those that only the browser did. */
  serverViews: PendingViews
  browserViews: PendingViews
  /** The same of agents that run scripts. */
  agentFetches: PendingViews
  agentScripts: PendingViews
  /** By the key of a session. */
  sessionFacts(session: bigint): SessionFacts
  /** In which session a visitor saw a page last, by its name, and when. */
  lastView(name: string): { session: bigint | undefined; at: number } | undefined
  noteView(name: string, session: bigint | undefined, at: number): void
  restore(told: StoredViews): void
  /** These visitors and sessions (by their keys) have no rows any more. */
  forget(visitors: ReadonlySet<bigint>, sessions: Iterable<bigint>): void
}

/** What the store knows of the last half hour. */
export interface StoredViews {
  views: readonly ({ from: 'server' | 'browser'; name: string } & Pick<
    PendingView,
    'at' | 'visitor_id' | 'pathname' | 'session'
  >)[]
  sessions: readonly ({ session: bigint } & Omit<SessionFacts, 'page'>)[]
  /** Those of which browsers told of something; the above is of them. */
  sites: readonly number[]
  /** That is all since then, and nothing is stored behind `last`; milliseconds since 1970. */
  since: number
  last: number
}

export function createViewMemory(bounds: MemoryBounds = {}): ViewMemory {
  const { maxEntries: limit = 65_536, maxCharacters: texts = 16 << 20 } = bounds
  const [servers, browsers] = [createPendingViews(bounds), createPendingViews(bounds)]
  const knowns = createRecentCache<bigint, SessionFacts>(limit)
  const pages = createRecentCache<string, { length: number; session: bigint | undefined; at: number }>(limit, {
    of: ({ length }) => length,
    limit: texts,
  })
  /** By site, the latest view that was not remembered when its first hit came. */
  const heard = new Map<number, number>()
  let passed = Number.NEGATIVE_INFINITY
  const known = (session: bigint): SessionFacts => {
    let one = knowns.get(session)
    if (one === undefined) {
      one = { screen_class: null, language: null, timezone: null, identified_id: null, page: undefined }
      knowns.set(session, one)
    }
    return one
  }
  return {
    hasBrowserHits: (site) => heard.has(site),
    noteBrowserHits(site) {
      if (!heard.has(site)) heard.set(site, passed)
    },
    noteUnremembered(at) {
      // One clock far ahead must not make memory know of nothing.
      if (at > passed) passed = passed < 0 ? at : Math.min(at, passed + MAX_LATENESS_MS)
    },
    covers: (site, at) => at > (heard.get(site) ?? Number.POSITIVE_INFINITY) && servers.covers(at),
    serverViews: servers,
    browserViews: browsers,
    agentFetches: createPendingViews(bounds),
    agentScripts: createPendingViews(bounds),
    sessionFacts: known,
    lastView: (name) => pages.get(name),
    noteView: (name, session, at) => pages.set(name, { length: name.length, session, at }),
    restore(told) {
      for (const site of told.sites) heard.set(site, Number.NEGATIVE_INFINITY)
      passed = told.last
      for (const { from, name, ...view } of told.views)
        (from === 'server' ? servers : browsers).add(name, { ...view, taken: false })
      for (const { session, ...said } of told.sessions) Object.assign(known(session), said)
      servers.restore(told.since)
      browsers.restore(told.since)
    },
    forget(visitors, sessions) {
      for (const session of sessions) knowns.delete(session)
      for (const views of [servers, browsers]) views.forget(visitors)
      deletePagesOf(pages, visitors)
    },
  }
}

/** A page of one visitor. No hostname has a line break. */
export const pageKey = (visitor: bigint, { hostname, pathname }: PageLocation): string =>
  `${visitor.toString(16)}\n${hostname}\n${pathname}`

function deletePagesOf(
  pages: Pick<RecentCache<string, object>, 'keys' | 'delete'>,
  visitors: ReadonlySet<bigint>,
): void {
  const theirs = new Set([...visitors].map((visitor) => visitor.toString(16)))
  for (const name of pages.keys()) if (theirs.has(name.slice(0, name.indexOf('\n')))) pages.delete(name)
}

/** What both halves of a view call it: of a route only the browser knows. */
export const withoutRoute = ({ hostname, pathname }: PageLocation): PageLocation => ({
  hostname,
  pathname: withoutFragmentRoute(pathname),
})

/** How far apart the two halves of one view may be: server's before browser's; infinity where it is another view. */
export function viewDistance(server: number, browser: number): number {
  const ms = browser - server
  if (ms >= SAME_VIEW_MS || ms <= -MAX_CLOCK_SKEW_MS) return Number.POSITIVE_INFINITY
  // One that came first is the likelier, however near the other.
  return ms >= 0 ? ms : SAME_VIEW_MS - ms
}
