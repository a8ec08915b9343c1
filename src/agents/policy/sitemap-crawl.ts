import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Outbound, OutboundError, type OutboundResponse } from '../../base/outbound/outbound.js'
import { MAX_REDIRECTS } from './fetch-policy.js'
import { createSitemapReader, parseLastmod, type SitemapEntry } from './sitemap-reader.js'

/** A page that a sitemap lists: a row of `sitemap_urls`. */
export interface SitemapUrl {
  pathname: string
  lastmod: Date | null
}

interface SitemapCrawl {
  /** Each path once. */
  urls: SitemapUrl[]
  /** Number of sitemaps that were read. */
  files: number
  /** Files that were not read, or only in part, and why. */
  problems: string[]
  /** True if there was a response for every sitemap; an empty sitemap then means that there are no pages. */
  answered: boolean
}

/** sitemaps.org allows 50,000 URLs and 50 MB per file; here the number of URLs is for a hostname. */
const MAX_URLS = 50_000
const MAX_FILES = 50
const MAX_FILE_BYTES = 50_000_000
const MAX_TOTAL_BYTES = 200_000_000
const FETCH_TIMEOUT_MS = 60_000
const MAX_PROBLEMS = 50
/** The longest path that a row holds. */
const MAX_PATHNAME_CHARS = 2_000
/** Bytes that are read before other work of the process may run. */
const SLICE_BYTES = 65_536

/**
 * Reads the sitemaps of a hostname, and the sitemaps that an index among them names, one level deep. Sitemaps of the
 * hostname itself are fetched through `origin`, all others through `outbound`, which is guarded. Never rejects.
 */
export async function crawlSitemaps(
  via: { origin: Outbound; outbound: Outbound },
  hostname: string,
  locations: readonly string[],
): Promise<SitemapCrawl> {
  const entries = new Map<string, Date | null>()
  const queued = new Set<string>()
  const queue: { url: string; child: boolean }[] = []
  const problems: string[] = []
  const problem = (url: string, text: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push(`${url.slice(0, 200)}: ${text}`)
  }
  const add = (url: string, child: boolean) => {
    if (queued.has(url)) return
    if (queued.size >= MAX_FILES) problem(url, `not read: more than ${MAX_FILES} sitemaps`)
    else {
      queued.add(url)
      queue.push({ url, child })
    }
  }
  for (const url of locations) add(url, false)
  let files = 0
  let bytes = 0
  let answered = true

  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { url, child } = next
    if (entries.size >= MAX_URLS || bytes >= MAX_TOTAL_BYTES) {
      problem(url, `not read: more than ${entries.size >= MAX_URLS ? `${MAX_URLS} URLs` : `${MAX_TOTAL_BYTES} bytes`}`)
      break
    }
    const take = (entry: SitemapEntry) => {
      if (!entry.index) addUrl(entries, hostname, entry)
      else if (!child) add(entry.loc, true)
    }
    try {
      const { href, hostname: host } = new URL(url)
      const fetch = host === hostname ? via.origin : via.outbound
      const response = await fetch(href, { limit: MAX_FILE_BYTES, timeout: FETCH_TIMEOUT_MS, redirects: MAX_REDIRECTS })
      if (response.status < 200 || response.status > 299) {
        if (response.status >= 500) answered = false
        problem(url, `status ${response.status}`)
        continue
      }
      const read = await readSitemap(response, take, () => entries.size >= MAX_URLS)
      bytes += read.bytes
      files++
      if (read.cut) problem(url, 'only its first part was read')
    } catch (error) {
      if (error instanceof OutboundError && error.reason !== 'refused') answered = false
      problem(url, error instanceof Error ? error.message : String(error))
      // Other hostnames wait, so a host that took a minute for one file is not asked for the next.
      if (error instanceof OutboundError && error.reason === 'timeout') break
    }
  }
  return { urls: [...entries].map(([pathname, lastmod]) => ({ pathname, lastmod })), files, problems, answered }
}

function addUrl(entries: Map<string, Date | null>, hostname: string, { loc, lastmod }: SitemapEntry): void {
  if (entries.size >= MAX_URLS || !URL.canParse(loc)) return
  const url = new URL(loc)
  // A sitemap may list URLs of its own host only (sitemaps.org). Rows of another host would never match.
  if (!/^https?:$/.test(url.protocol) || url.hostname !== hostname || url.pathname.length > MAX_PATHNAME_CHARS) return
  const at = lastmod === undefined ? null : (parseLastmod(lastmod) ?? null)
  const before = entries.get(url.pathname)
  if (before === undefined || (at !== null && (before === null || before < at))) entries.set(url.pathname, at)
}

/** Feeds a sitemap to the reader, decompressed if it is gzip. Stops as soon as `enough` returns true. */
async function readSitemap(
  { body, truncated }: OutboundResponse,
  take: (entry: SitemapEntry) => void,
  enough: () => boolean,
): Promise<{ bytes: number; cut: boolean }> {
  const reader = createSitemapReader(take)
  const decoder = new TextDecoder()
  const gzipped = body[0] === 0x1f && body[1] === 0x8b
  let bytes = 0
  let cut = truncated
  for await (const chunk of gzipped ? Readable.from(slices(body)).pipe(createGunzip()) : slices(body)) {
    if (!(chunk instanceof Uint8Array)) continue
    bytes += chunk.length
    reader.write(decoder.decode(chunk, { stream: true }))
    cut ||= bytes > MAX_FILE_BYTES
    if (bytes > MAX_FILE_BYTES || enough()) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  reader.end()
  return { bytes, cut }
}

async function* slices(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < body.length; from += SLICE_BYTES) yield body.subarray(from, from + SLICE_BYTES)
}
