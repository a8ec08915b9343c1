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
  /** Pages of all sites that stay in memory; 20,000 without it. */
  maxPagesInMemory?: number
}

/** Pages of a site that are kept. A further one takes the place of one that was not sampled for a while. */
const MAX_PAGES = 2_000
const FORGOTTEN_AFTER_MS = 30 * DAY_MS
/** The same of a page with one sample, such as one that a scan asked for. */
const SAMPLED_ONCE_FORGOTTEN_AFTER_MS = DAY_MS
/** A document is described again after this time. */
const DESCRIBED_AGAIN_MS = 10 * MINUTE_MS
/** First lines that wait for further visitors. */
const MAX_LINES = 2_000
/** Visitors whose browsers showed the same first line within a day, before it is kept: it may greet one person, on three devices. */
const VISITORS_OF_LINE = 5
/** Validators of bodies that were read last. */
const MAX_VALIDATORS = 4_096

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
  validator: z.string().optional(),
  is_agent: z.boolean(),
  body: z.instanceof(Uint8Array).optional(),
})

type SitePages = Map<string, PageState>

/** The part of the worker that finds editions of pages in samples of their responses. Bodies are read and dropped. */
export function createPageSamples(deps: PageSamplesDeps) {
  const { store, siteOf, now, maxPagesInMemory = 20_000 } = deps
  const lock = createLock()
  const isOfSite = ({ site_id, hostname }: PageEdition) => siteOf(hostname)?.id === site_id
  const writer = createEditionWriter({ ...deps, isOfSite })
  const sites = new Map<number, SitePages>()
  const confirmLine = createLineConfirmation()
  const validators = createRecentCache<string, string | undefined>(MAX_VALIDATORS)

  const pagesOf = async (site: number): Promise<SitePages> => {
    const pages = sites.get(site) ?? (await readPages(store, site))
    // The site that was sampled last stands last.
    sites.delete(site)
    sites.set(site, pages)
    return pages
  }
  /** Whether there is a place for another page; takes that of the page that was sampled longest ago, if it is forgotten. */
  const makePlace = (pages: SitePages): boolean => {
    if (pages.size < MAX_PAGES) return true
    const forgottenAt = ([, { present }]: [string, PageState]) =>
      present.last_seen.getTime() + (present.samples === 1 ? SAMPLED_ONCE_FORGOTTEN_AFTER_MS : FORGOTTEN_AFTER_MS)
    const [key, state] = [...pages].reduce((first, one) => (forgottenAt(one) < forgottenAt(first) ? one : first))
    if (forgottenAt([key, state]) > now()) return false
    pages.delete(key)
    writer.add([], editionKeys(state))
    return true
  }
  const note = async (argument: unknown): Promise<void> => {
    const { hostname, pathname, at: ms, body, is_agent: isAgent, validator, ...page } = SampleArgument.parse(argument)
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
    // The body with this validator may have been lost on its way, or another process of the site sent a later one.
    const reader = `${site.id} ${key} ${isAgent}`
    if (html === undefined && validators.get(reader) !== validator) return
    const text = html === undefined ? undefined : readPageText(html)
    if (before === undefined && !makePlace(pages)) return
    const next = before
      ? nextState(before, { text, at, isAgent })
      : text && startPage({ site_id: site.id, hostname, pathname }, text, at, isAgent)
    if (next === undefined) return
    pages.set(key, next.state)
    if (html !== undefined) validators.set(reader, validator)
    writer.add(next.put, next.remove)
  }

  return {
    /** Takes what a browser showed of a page. Pages without a sample are ignored. */
    describe(page: DescribedPage): void {
      const { site, hostname, pathname, at, document } = page
      const pages = sites.get(site)
      const key = `${hostname} ${pathname}`
      const state = pages?.get(key)
      if (pages === undefined || state === undefined) return
      const { living_seen, living_line } = state.present
      const line = confirmLine(`${site} ${key}`, page) ?? living_line
      const isRecent = living_seen !== null && Math.abs(at - living_seen.getTime()) < DESCRIBED_AGAIN_MS
      if (isRecent && line === living_line) return
      const living = { living_text_length: document.text_length, living_headings: document.headings }
      const rest = { living_links: document.links, living_seen: new Date(at), living_line: line }
      const present = { ...state.present, ...living, ...rest }
      pages.set(key, { ...state, present })
      writer.add([present], [])
    },
    /** Takes one sample of the proxy. Rejects for another argument. */
    take: (argument: unknown): Promise<void> =>
      lock(() => note(argument).finally(() => forgetSites(sites, maxPagesInMemory, writer.hasChangesOf))),
    /** Stores what is due. Call it each second. Never rejects. */
    tick: (): Promise<void> => writer.store(false),
    /** Stores everything. Never rejects. */
    close: (): Promise<void> => lock(() => writer.store(true)),
  }
}

/** Takes the sites that were sampled longest ago from memory, once they are stored: their pages are read back later. */
function forgetSites(sites: Map<number, SitePages>, limit: number, isWaiting: (site: number) => boolean): void {
  let size = [...sites.values()].reduce((sum, pages) => sum + pages.size, 0)
  for (const [site, pages] of sites)
    if (size > limit && !isWaiting(site)) {
      sites.delete(site)
      size -= pages.size
    }
}

/** Returns a function that returns a first line which enough visitors had; undefined for one that waits for further ones. */
function createLineConfirmation() {
  const lines = createRecentCache<string, { line: string; since: number; visitors: Set<bigint> }>(MAX_LINES)
  return (key: string, { visitor_id, at, document }: DescribedPage): string | undefined => {
    const line = document.first_line
    const waiting = lines.get(key)
    const isSame = waiting?.line === line && Math.abs(at - waiting.since) < DAY_MS
    const { visitors } = isSame ? waiting : { visitors: new Set<bigint>() }
    if (!isSame) lines.set(key, { line, since: at, visitors })
    if (visitors.size < VISITORS_OF_LINE) visitors.add(visitor_id)
    return visitors.size === VISITORS_OF_LINE ? line : undefined
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
