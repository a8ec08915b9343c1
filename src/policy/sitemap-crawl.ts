import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Outbound, OutboundError, type OutboundResponse } from '../outbound/outbound.js'
import { MAX_REDIRECTS } from './fetch-policy.js'
import { createSitemapReader, parseLastmod, type SitemapEntry } from './sitemap-reader.js'

/** A page that a sitemap lists: a row of `sitemap_urls`. */
export interface SitemapUrl {
  pathname: string
  lastmod: Date | null
}

export interface SitemapCrawl {
  /** By path, each once. */
  urls: SitemapUrl[]
  /** Sitemaps that were read. */
  files: number
  /** What was not read, or not whole, and why. */
  problems: string[]
  /** Somebody answered for each of the sitemaps that were named: nothing at all in them is an answer, too. */
  answered: boolean
}

/** sitemaps.org: at most 50,000 URLs and 50 MB in a file; here it is all that a hostname may have. */
const MAX_URLS = 50_000
const MAX_FILES = 50
const MAX_FILE_BYTES = 50_000_000
const MAX_TOTAL_BYTES = 200_000_000
const FETCH_TIMEOUT_MS = 60_000
const MAX_PROBLEMS = 50
/** As long a path as a row holds. */
const MAX_PATHNAME_CHARS = 2_000
/** Bytes that are read between two turns of the event loop. */
const SLICE_BYTES = 65_536

/**
 * Reads the sitemaps of a hostname, and those that an index among them names, one level deep. Those of the hostname
 * itself are asked by `ask`, the way to the origin, all others by `outside`, which is guarded. Never rejects.
 */
export async function crawlSitemaps(
  ways: { ask: Outbound; outside: Outbound },
  hostname: string,
  locations: readonly string[],
): Promise<SitemapCrawl> {
  const found = new Map<string, Date | null>()
  const seen = new Set<string>()
  const queue: { url: string; child: boolean }[] = []
  const problems: string[] = []
  const problem = (url: string, text: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push(`${url.slice(0, 200)}: ${text}`)
  }
  const add = (url: string, child: boolean) => {
    if (seen.has(url)) return
    if (seen.size >= MAX_FILES) problem(url, `more than ${MAX_FILES} sitemaps`)
    else {
      seen.add(url)
      queue.push({ url, child })
    }
  }
  for (const url of locations) add(url, false)
  let files = 0
  let bytes = 0
  let answered = true

  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { url, child } = next
    if (found.size >= MAX_URLS || bytes >= MAX_TOTAL_BYTES) {
      problem(url, `not read: more than ${found.size >= MAX_URLS ? `${MAX_URLS} URLs` : `${MAX_TOTAL_BYTES} bytes`}`)
      break
    }
    const take = (entry: SitemapEntry) => {
      if (entry.index && !child) add(entry.loc, true)
      else if (!entry.index) addUrl(found, hostname, entry)
    }
    try {
      const to = new URL(url)
      const ask = to.hostname === hostname ? ways.ask : ways.outside
      const answer = await ask(to.href, { limit: MAX_FILE_BYTES, timeout: FETCH_TIMEOUT_MS, redirects: MAX_REDIRECTS })
      if (answer.status < 200 || answer.status > 299) {
        if (answer.status >= 500) answered = false
        problem(url, `it answered ${answer.status}`)
        continue
      }
      const read = await readSitemap(answer, take, () => found.size >= MAX_URLS)
      bytes += read.bytes
      files++
      if (read.cut) problem(url, 'only its first part was read')
    } catch (error) {
      if (error instanceof OutboundError && error.reason !== 'refused') answered = false
      problem(url, error instanceof Error ? error.message : String(error))
    }
  }
  return { urls: [...found].map(([pathname, lastmod]) => ({ pathname, lastmod })), files, problems, answered }
}

function addUrl(found: Map<string, Date | null>, hostname: string, { loc, lastmod }: SitemapEntry): void {
  if (found.size >= MAX_URLS || !URL.canParse(loc)) return
  const url = new URL(loc)
  // A sitemap speaks of its own host only (sitemaps.org); rows of another would never meet it.
  if (!/^https?:$/.test(url.protocol) || url.hostname !== hostname || url.pathname.length > MAX_PATHNAME_CHARS) return
  const at = lastmod === undefined ? null : (parseLastmod(lastmod) ?? null)
  const before = found.get(url.pathname)
  if (before === undefined || (at !== null && (before === null || before < at))) found.set(url.pathname, at)
}

/** A sitemap's bytes, unpacked where they are gzip, through the reader; stops where `enough` says so. */
async function readSitemap(
  { body, truncated }: OutboundResponse,
  take: (entry: SitemapEntry) => void,
  enough: () => boolean,
): Promise<{ bytes: number; cut: boolean }> {
  const reader = createSitemapReader(take)
  const decoder = new TextDecoder()
  const packed = body[0] === 0x1f && body[1] === 0x8b
  let bytes = 0
  let cut = truncated
  for await (const chunk of packed ? Readable.from(slices(body)).pipe(createGunzip()) : slices(body)) {
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
