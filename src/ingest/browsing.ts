import { createRecent, type Recent } from '../cache.js'
import { askedPath } from '../capture/route.js'
import type { EventRow } from '../rows.js'
import { LATEST, SESSION_TIMEOUT } from './session.js'

/** So long after the server's row of a view its browser's hit is of the same view. */
export const SAME_VIEW = SESSION_TIMEOUT
/** And so much earlier, where their clocks differ or it came by another way. */
export const SKEW = 60_000

/** A view that one of the two, server and browser, has told of. */
export interface Waiting {
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
export interface Views {
  /** The nearest of these pages that `fits`, which is then no more there. */
  take(pages: readonly string[], fits: (at: number) => number): Waiting | undefined
  add(page: string, view: Waiting): void
  /** Whether all that was told of since `at` is in memory still. */
  holds(at: number): boolean
  /** All from `since` on is known. */
  restore(since: number): void
  /** These visitors have no rows any more. */
  forget(visitors: ReadonlySet<bigint>): void
}

/** Of one page by one visitor so many are remembered. */
const EACH = 64

/**
 * At most `limit` pages of visitors, with `texts` characters in their names: a flood of strangers makes it forget, and
 * what it forgot the store knows. Nothing before `since` (milliseconds since 1970) was told to it.
 */
export function createViews({ since, limit = 65_536, texts = 16 << 20 }: Bounds = {}): Views {
  let horizon = since ?? Number.NEGATIVE_INFINITY
  let newest = Number.NEGATIVE_INFINITY
  let newestBefore = Number.NEGATIVE_INFINITY
  const weigh = { of: ({ length }: { length: number }) => length, limit: texts }
  const pages = createRecent<string, { length: number; views: Waiting[] }>(limit, weigh, () => {
    horizon = Math.max(horizon, newestBefore)
    newestBefore = newest
  })
  return {
    take(names, fits) {
      let best: { views: Waiting[]; view: Waiting; name: string } | undefined
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
      if (view.at > newest) newest = newest < 0 ? view.at : Math.min(view.at, newest + LATEST)
      const known = pages.get(name)
      if (known === undefined) {
        pages.set(name, { length: name.length, views: [view] })
        return
      }
      if (known.views.length === EACH) known.views.shift()
      known.views.push(view)
    },
    holds: (at) => at >= horizon,
    restore(known) {
      horizon = known
    },
    forget: (visitors) => forgetPages(pages, visitors),
  }
}

export interface Bounds {
  since?: number
  limit?: number
  texts?: number
}

/** What the browsers of a session said of themselves: the server's later rows of it say the same. */
export type Known = Pick<EventRow, 'screen_class' | 'language' | 'timezone' | 'identified_id'> & {
  /** The last page. */
  page: Page | undefined
}
export type Page = Pick<EventRow, 'hostname' | 'pathname'>

/**
 * What hits and the server's rows must know of each other. Of a site from whose pages no browser told of anything yet
 * there is nothing to know: it pays for none of it.
 */
export interface Browsing {
  /** Whether a browser told of something on this site: what the server tells of it is remembered from then on. */
  hears(site: number): boolean
  hear(site: number): void
  /** The server told of a view at `at` that nobody remembers. */
  pass(at: number): void
  /** Whether all views of a site that the server told of since `at` are in memory still. */
  holds(site: number, at: number): boolean
  /** Views of people that only the server told of, and those that only the browser did. */
  servers: Views
  browsers: Views
  /** The same of agents that run scripts. */
  fetches: Views
  scripts: Views
  /** By the key of a session. */
  known(session: bigint): Known
  /** In which session a visitor saw a page last, by its name, and when. */
  seen(name: string): { session: bigint | undefined; at: number } | undefined
  see(name: string, session: bigint | undefined, at: number): void
  restore(told: Restored): void
  /** These visitors and sessions (by their keys) have no rows any more. */
  forget(visitors: ReadonlySet<bigint>, sessions: Iterable<bigint>): void
}

/** What the store knows of the last half hour. */
export interface Restored {
  views: readonly ({ from: 'server' | 'browser'; name: string } & Pick<
    Waiting,
    'at' | 'visitor_id' | 'pathname' | 'session'
  >)[]
  known: readonly ({ session: bigint } & Omit<Known, 'page'>)[]
  /** Those of which browsers told of something; the above is of them. */
  sites: readonly number[]
  /** That is all since then, and nothing is stored behind `last`; milliseconds since 1970. */
  since: number
  last: number
}

export function createBrowsing(bounds: Bounds = {}): Browsing {
  const { limit = 65_536, texts = 16 << 20 } = bounds
  const [servers, browsers] = [createViews(bounds), createViews(bounds)]
  const knowns = createRecent<bigint, Known>(limit)
  const pages = createRecent<string, { length: number; session: bigint | undefined; at: number }>(limit, {
    of: ({ length }) => length,
    limit: texts,
  })
  /** By site, the latest view that was not remembered when its first hit came. */
  const heard = new Map<number, number>()
  let passed = Number.NEGATIVE_INFINITY
  const known = (session: bigint): Known => {
    let one = knowns.get(session)
    if (one === undefined) {
      one = { screen_class: null, language: null, timezone: null, identified_id: null, page: undefined }
      knowns.set(session, one)
    }
    return one
  }
  return {
    hears: (site) => heard.has(site),
    hear(site) {
      if (!heard.has(site)) heard.set(site, passed)
    },
    pass(at) {
      // One clock far ahead must not make memory know of nothing.
      if (at > passed) passed = passed < 0 ? at : Math.min(at, passed + LATEST)
    },
    holds: (site, at) => at > (heard.get(site) ?? Number.POSITIVE_INFINITY) && servers.holds(at),
    servers,
    browsers,
    fetches: createViews(bounds),
    scripts: createViews(bounds),
    known,
    seen: (name) => pages.get(name),
    see: (name, session, at) => pages.set(name, { length: name.length, session, at }),
    restore(told) {
      for (const site of told.sites) heard.set(site, Number.NEGATIVE_INFINITY)
      passed = told.last
      for (const { from, name, ...view } of told.views)
        (from === 'server' ? servers : browsers).add(name, { ...view, taken: false })
      for (const { session, ...said } of told.known) Object.assign(known(session), said)
      servers.restore(told.since)
      browsers.restore(told.since)
    },
    forget(visitors, sessions) {
      for (const session of sessions) knowns.delete(session)
      for (const views of [servers, browsers]) views.forget(visitors)
      forgetPages(pages, visitors)
    },
  }
}

/** A page of one visitor. No hostname has a line break. */
export const nameOf = (visitor: bigint, { hostname, pathname }: Page): string =>
  `${visitor.toString(16)}\n${hostname}\n${pathname}`

function forgetPages(pages: Pick<Recent<string, object>, 'keys' | 'delete'>, visitors: ReadonlySet<bigint>): void {
  const theirs = new Set([...visitors].map((visitor) => visitor.toString(16)))
  for (const name of pages.keys()) if (theirs.has(name.slice(0, name.indexOf('\n')))) pages.delete(name)
}

/** What both halves of a view call it: of a route only the browser knows. */
export const viewOf = ({ hostname, pathname }: Page): Page => ({ hostname, pathname: askedPath(pathname) })

/** How far apart the two halves of one view may be: server's before browser's; infinity where it is another view. */
export function apart(server: number, browser: number): number {
  const ms = browser - server
  if (ms >= SAME_VIEW || ms <= -SKEW) return Number.POSITIVE_INFINITY
  // One that came first is the likelier, however near the other.
  return ms >= 0 ? ms : SAME_VIEW - ms
}
