import { z } from 'zod'
import { createRecentCache } from '../../base/cache.js'
import { createLock } from '../../base/lock.js'
import { MAX_CHARACTERS } from '../../base/text-limits.js'
import { DAY_MS, MINUTE_MS } from '../../base/time-units.js'
import { isExcludedPath } from '../../capture/excluded-paths.js'
import type { LivingDocument } from '../../capture/hit.js'
import type { SiteByHostname } from '../../capture/site.js'
import type { EventStore } from '../../storage/event-store.js'
import { PageEdition } from '../../storage/page-samples.js'
import { sql } from '../../storage/sql.js'
import { decodePage } from './decode-page.js'
import { editionBefore, editionKeys, nextState, type PageState, startPage } from './edition-states.js'
import { createEditionWriter, type EditionWriterDeps } from './edition-writer.js'
import { readPageText } from './page-text.js'

interface PageSamplesDeps extends Omit<EditionWriterDeps, 'isOfSite'> {
  store: Pick<EventStore, 'lookUp' | 'writePageEditions'>
  siteOf: SiteByHostname
}

/** Pages of a site that are kept. A further one takes the place of one that was not sampled for a while. */
const MAX_PAGES = 2_000
const FORGOTTEN_AFTER_MS = 30 * DAY_MS
/** A document is described again after this time. */
const DESCRIBED_AGAIN_MS = 10 * MINUTE_MS
/** First lines that wait for a second visitor. */
const MAX_LINES = 2_000

/** A page as a visitor's browser showed it. */
export interface DescribedPage {
  site: number
  hostname: string
  pathname: string
  visitor_id: bigint
  /** Milliseconds since 1970. */
  at: number
  document: LivingDocument
}

const SampleArgument = z.object({
  hostname: z.string().min(1).max(MAX_CHARACTERS.hostname),
  pathname: z.string().startsWith('/').max(MAX_CHARACTERS.pathname),
  at: z.number(),
  content_type: z.string(),
  coding: z.string(),
  is_agent: z.boolean(),
  body: z.instanceof(Uint8Array).optional(),
})

type SitePages = Map<string, PageState>

/** The part of the worker that finds editions of pages in samples of their responses. Bodies are read and dropped. */
export function createPageSamples(deps: PageSamplesDeps) {
  const { store, siteOf, now } = deps
  const lock = createLock()
  const isOfSite = ({ site_id, hostname }: PageEdition) => siteOf(hostname)?.id === site_id
  const writer = createEditionWriter({ ...deps, isOfSite })
  const sites = new Map<number, SitePages>()

  const pagesOf = async (site: number): Promise<SitePages> => {
    const pages = sites.get(site) ?? (await readPages(store, site))
    sites.set(site, pages)
    return pages
  }
  /** Whether there is a place for another page; takes that of the page that was sampled longest ago, if it is forgotten. */
  const makePlace = (pages: SitePages): boolean => {
    if (pages.size < MAX_PAGES) return true
    const seen = ([, { present }]: [string, PageState]) => present.last_seen.getTime()
    const [key, state] = [...pages].reduce((oldest, one) => (seen(one) < seen(oldest) ? one : oldest))
    if (seen([key, state]) > now() - FORGOTTEN_AFTER_MS) return false
    pages.delete(key)
    writer.add([], editionKeys(state))
    return true
  }
  const note = async (argument: unknown): Promise<void> => {
    const { hostname, pathname, at: ms, body, is_agent: isAgent, ...page } = SampleArgument.parse(argument)
    const site = siteOf(hostname)
    if (site === undefined || isExcludedPath(site, pathname)) return
    const pages = await pagesOf(site.id)
    const key = `${hostname} ${pathname}`
    const before = pages.get(key)
    const at = new Date(ms)
    // Another process may have sent a later one before.
    if (before && at <= before.present.last_seen) return
    const html = body && (await decodePage(page, body))
    if (html === undefined && (body || !before)) return
    const text = html === undefined ? undefined : readPageText(html)
    if (before === undefined && !makePlace(pages)) return
    const next = before
      ? nextState(before, { text, at, isAgent })
      : text && startPage({ site_id: site.id, hostname, pathname }, text, at, isAgent)
    if (next === undefined) return
    pages.set(key, next.state)
    writer.add(next.put, next.remove)
  }

  const lines = createRecentCache<string, Pick<DescribedPage, 'visitor_id'> & { line: string }>(MAX_LINES)
  /** Returns a first line that a visitor before had too; undefined for one that waits for another visitor. */
  const confirmLine = (key: string, visitor_id: bigint, line: string): string | undefined => {
    const before = lines.get(key)
    if (before?.line === line && before.visitor_id !== visitor_id) return line
    if (before?.line !== line) lines.set(key, { line, visitor_id })
    return undefined
  }

  return {
    /** Takes what a browser showed of a page. Pages without a sample are ignored. */
    describe({ site, hostname, pathname, visitor_id, at, document }: DescribedPage): void {
      const pages = sites.get(site)
      const key = `${hostname} ${pathname}`
      const state = pages?.get(key)
      if (pages === undefined || state === undefined) return
      const { living_seen, living_line } = state.present
      const line = confirmLine(`${site} ${key}`, visitor_id, document.first_line) ?? living_line
      const isRecent = living_seen !== null && Math.abs(at - living_seen.getTime()) < DESCRIBED_AGAIN_MS
      if (isRecent && line === living_line) return
      const living = { living_text_length: document.text_length, living_headings: document.headings }
      const rest = { living_links: document.links, living_seen: new Date(at), living_line: line }
      const present = { ...state.present, ...living, ...rest }
      pages.set(key, { ...state, present })
      writer.add([present], [])
    },
    /** Takes one sample of the proxy. Rejects for another argument. */
    take: (argument: unknown): Promise<void> => lock(() => note(argument)),
    /** Stores what is due. Call it each second. Never rejects. */
    tick: (): Promise<void> => writer.store(false),
    /** Stores everything. Never rejects. */
    close: (): Promise<void> => lock(() => writer.store(true)),
  }
}

/** Reads the pages of a site back. */
async function readPages({ lookUp }: Pick<EventStore, 'lookUp'>, site: number): Promise<SitePages> {
  const pages: SitePages = new Map()
  const rows = await lookUp(sql`select * from page_samples where site_id = ${site} order by first_seen`)
  for (const row of rows) {
    const edition = PageEdition.parse(row)
    const key = `${edition.hostname} ${edition.pathname}`
    const state = pages.get(key)
    const older = state ? [...state.older, state.present.first_seen] : []
    pages.set(key, { present: edition, before: state && editionBefore(state, edition.served_to), older })
  }
  return pages
}
