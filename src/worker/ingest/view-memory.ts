import { createRecentCache } from '../../base/cache.js'
import { withoutFragmentRoute } from '../../capture/fragment-route.js'
import type { EventRow } from '../../storage/rows.js'
import { MAX_LATENESS_MS, SESSION_TIMEOUT_MS } from './session-memory.js'

/** A browser's hit up to this long after the server's row of a view is the same view. */
export const SAME_VIEW_MS = SESSION_TIMEOUT_MS
/** So is a hit this much earlier, if clocks differ or the row came by another way. */
export const MAX_CLOCK_SKEW_MS = 60_000

/** A view that either the server or the browser has reported. */
export interface PendingView {
  /** Milliseconds since 1970: the timestamp of its row. */
  at: number
  visitor_id: bigint
  /** As in its row. */
  pathname: string
  /** The key of its session; undefined if that was not known. */
  session: bigint | undefined
  /** The store has matched it with its other half already. */
  isMatched: boolean
}

/** At most this many views of one page by one visitor are remembered. */
const MAX_PENDING_PER_PAGE = 64

export interface MemoryBounds {
  /** Nothing before this instant (milliseconds since 1970) was ever reported to the memory. */
  since?: number
  /** Pages of visitors. */
  maxEntries?: number
  /** Characters in their keys. */
  maxCharacters?: number
}

/** Creates a bounded memory of views whose other half is missing. What a flood makes it forget, the store knows. */
function createPendingViews({ since, maxEntries = 65_536, maxCharacters = 8 << 20 }: MemoryBounds) {
  let horizon = since ?? Number.NEGATIVE_INFINITY
  let newest = Number.NEGATIVE_INFINITY
  let newestBefore = Number.NEGATIVE_INFINITY
  const weight = { of: ({ length }: { length: number }) => length, limit: maxCharacters }
  const pages = createRecentCache<string, { length: number; views: PendingView[] }>(maxEntries, weight, () => {
    horizon = Math.max(horizon, newestBefore)
    newestBefore = newest
  })
  return {
    /** Removes and returns the nearest view of these pages; `distanceTo` measures how far a view is. */
    take(keys: readonly string[], distanceTo: (at: number) => number): PendingView | undefined {
      let best: { views: PendingView[]; view: PendingView; key: string } | undefined
      let least = Number.POSITIVE_INFINITY
      for (const key of keys) {
        const views = pages.get(key)?.views ?? []
        for (const view of views) {
          const distance = view.isMatched ? Number.POSITIVE_INFINITY : distanceTo(view.at)
          if (distance >= least) continue
          least = distance
          best = { views, view, key }
        }
      }
      if (best === undefined) return undefined
      best.views.splice(best.views.indexOf(best.view), 1)
      if (best.views.length === 0) pages.delete(best.key)
      return best.view
    },
    add(key: string, view: PendingView): void {
      newest = laterOf(newest, view.at)
      const page = pages.get(key)
      if (page === undefined) {
        pages.set(key, { length: key.length, views: [view] })
        return
      }
      if (page.views.length === MAX_PENDING_PER_PAGE) page.views.shift()
      page.views.push(view)
    },
    /** Returns whether everything reported since `at` is still in memory. */
    covers: (at: number): boolean => at >= horizon,
    /** Declares that everything from `since` on is in memory. */
    restore(since: number): void {
      horizon = since
    },
    /** Forgets visitors whose rows are erased. */
    forget: (visitors: ReadonlySet<bigint>): void => deletePagesOf(pages, visitors),
  }
}

/** Returns the later instant, but at most a day after the earlier: one clock far ahead must not make memory cover nothing. */
const laterOf = (newest: number, at: number): number =>
  at <= newest ? newest : newest < 0 ? at : Math.min(at, newest + MAX_LATENESS_MS)

/** Facts that the browsers of a session reported about themselves. The server's later rows of the session get the same values. */
type SessionFacts = Pick<EventRow, 'screen_class' | 'language' | 'timezone' | 'identified_id'>
export type PageLocation = Pick<EventRow, 'hostname' | 'pathname'>

/** The store's knowledge of the last half hour. */
export interface StoredViews {
  views: readonly ({ from: 'server' | 'browser'; name: string } & Pick<
    PendingView,
    'at' | 'visitor_id' | 'pathname' | 'session'
  >)[]
  sessions: readonly ({ session: bigint } & SessionFacts)[]
  /** The sites whose browsers reported anything; the lists above concern them. */
  sites: readonly number[]
  /** The lists are complete since then, and nothing is stored after `last`; milliseconds since 1970. */
  since: number
  last: number
}

/**
 * The memory that hits and the server's rows share. A site whose browsers have not reported anything yet has
 * nothing to match, and pays for none of it.
 */
export type ViewMemory = ReturnType<typeof createViewMemory>

export function createViewMemory(bounds: MemoryBounds = {}) {
  const { maxEntries = 65_536, maxCharacters = 8 << 20 } = bounds
  const [serverViews, browserViews] = [createPendingViews(bounds), createPendingViews(bounds)]
  const facts = createRecentCache<bigint, SessionFacts>(maxEntries)
  const pages = createRecentCache<string, { length: number; session: bigint | undefined; at: number }>(maxEntries, {
    of: ({ length }) => length,
    limit: maxCharacters,
  })
  /** By site, the latest view that was not remembered when its first hit came. */
  const rememberedSince = new Map<number, number>()
  let unremembered = Number.NEGATIVE_INFINITY
  const sessionFacts = (session: bigint): SessionFacts => {
    let one = facts.get(session)
    if (one === undefined) {
      one = { screen_class: null, language: null, timezone: null, identified_id: null }
      facts.set(session, one)
    }
    return one
  }
  return {
    /** Returns whether a browser has reported anything on this site; from then on the server's views are remembered. */
    hasBrowserHits: (site: number): boolean => rememberedSince.has(site),
    noteBrowserHits(site: number): void {
      if (!rememberedSince.has(site)) rememberedSince.set(site, unremembered)
    },
    /** Notes that the server reported a view at `at` that is not remembered. */
    noteUnremembered(at: number): void {
      unremembered = laterOf(unremembered, at)
    },
    /** Returns whether all views of a site that the server reported since `at` are still in memory. */
    covers: (site: number, at: number): boolean =>
      at > (rememberedSince.get(site) ?? Number.POSITIVE_INFINITY) && serverViews.covers(at),
    /** Views of people that only the server, or only the browser, has reported. */
    serverViews,
    browserViews,
    /** The same for agents that run scripts. */
    agentFetches: createPendingViews(bounds),
    agentScripts: createPendingViews(bounds),
    /** Returns the facts of a session by its key; they may be changed in place. */
    sessionFacts,
    /** Returns in which session a visitor last saw a page (by its key), and when. */
    lastView: (key: string): { session: bigint | undefined; at: number } | undefined => pages.get(key),
    noteView: (key: string, session: bigint | undefined, at: number): void =>
      pages.set(key, { length: key.length, session, at }),
    restore(stored: StoredViews): void {
      for (const site of stored.sites) rememberedSince.set(site, Number.NEGATIVE_INFINITY)
      unremembered = stored.last
      for (const { from, name, at, visitor_id, pathname, session } of stored.views)
        (from === 'server' ? serverViews : browserViews).add(name, {
          at,
          visitor_id,
          pathname,
          session,
          isMatched: false,
        })
      for (const { session, ...reported } of stored.sessions) Object.assign(sessionFacts(session), reported)
      serverViews.restore(stored.since)
      browserViews.restore(stored.since)
    },
    /** Forgets visitors and sessions (by their keys) whose rows are erased. */
    forget(visitors: ReadonlySet<bigint>, sessions: Iterable<bigint>): void {
      for (const session of sessions) facts.delete(session)
      for (const views of [serverViews, browserViews]) views.forget(visitors)
      deletePagesOf(pages, visitors)
    },
  }
}

/** Returns the key of a page of one visitor. No hostname contains a line break. */
export const pageKey = (visitor: bigint, { hostname, pathname }: PageLocation): string =>
  `${visitor.toString(16)}\n${hostname}\n${pathname}`

function deletePagesOf(
  pages: { keys(): Iterable<string>; delete(key: string): void },
  visitors: ReadonlySet<bigint>,
): void {
  const prefixes = new Set([...visitors].map((visitor) => visitor.toString(16)))
  for (const key of pages.keys()) if (prefixes.has(key.slice(0, key.indexOf('\n')))) pages.delete(key)
}

/** Returns the page as both halves of a view name it: only the browser knows the route. */
export const withoutRoute = ({ hostname, pathname }: PageLocation): PageLocation => ({
  hostname,
  pathname: withoutFragmentRoute(pathname),
})

/** Returns the distance between the server's and the browser's half of a view; infinite if they are different views. */
export function viewDistance(server: number, browser: number): number {
  const ms = browser - server
  if (ms >= SAME_VIEW_MS || ms <= -MAX_CLOCK_SKEW_MS) return Number.POSITIVE_INFINITY
  // A server's row before the hit is always the likelier one, however near a later row is.
  return ms >= 0 ? ms : SAME_VIEW_MS - ms
}
