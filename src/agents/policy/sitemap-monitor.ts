import { createHash } from 'node:crypto'
import type { Outbound } from '../../base/outbound/outbound.js'
import { DAY_MS } from '../../base/time-units.js'
import type { PolicyMonitor } from './policy-monitor.js'
import { crawlSitemaps, type SitemapUrl } from './sitemap-crawl.js'
import { standingOf } from './version.js'

interface SitemapMonitorDeps {
  policies: Pick<PolicyMonitor, 'hostnames' | 'isListed' | 'files' | 'policyOf'>
  /** Sends requests to the origin, as for the policy monitor; undefined if there is no origin. */
  originOutbound: Outbound | undefined
  /** Sends guarded requests to other hosts. */
  outbound: Outbound
  /** Replaces all stored URLs of a hostname. */
  replace: (hostname: string, urls: readonly SitemapUrl[]) => Promise<void>
  /** Milliseconds since 1970. */
  now: () => number
  /** Between 0 and 1. */
  random: () => number
  log: (level: 'info' | 'warn' | 'error', message: string, error?: unknown) => void
}

/** The first read waits at least this long after start, because the site has more urgent work then. */
const FIRST_READ_AFTER_MS = 60_000
const RETRY_AFTER_MS = 3_600_000
/** Changed Sitemap lines are followed at most this often. */
const MIN_REREAD_INTERVAL_MS = 600_000
/** Sitemaps of at most so many hostnames are read, those with most requests first. */
const MAX_HOSTNAMES = 16
/** Unlisted hostnames are crawled one per interval: a client can make them up, and each costs a crawl. */
const UNLISTED_INTERVAL_MS = 600_000

interface HostnameState {
  due: number
  readAt: number
  locations: string
  /** Digest of the URLs that were stored last. */
  stored: string | undefined
}

/** Reads the sitemaps of each hostname once a day, and when its robots.txt names other sitemaps. */
export function createSitemapMonitor(deps: SitemapMonitorDeps) {
  const { policies, originOutbound, now, random, log } = deps
  const states = new Map<string, HostnameState>()
  let unlistedAfter = Number.NEGATIVE_INFINITY
  let running = false
  let closed = false

  /** Returns the sitemaps that robots.txt names, or `/sitemap.xml`; undefined if robots.txt is not known. */
  const locationsOf = (hostname: string): string[] | undefined => {
    const version = policies.files(hostname)?.robots.versions.at(-1)
    if (version === undefined || standingOf(version.status) === 'unreachable') return undefined
    const named = policies.policyOf(version)?.robots?.sitemaps ?? []
    return named.length > 0 ? [...named] : [`http://${hostname}/sitemap.xml`]
  }

  const read = async (origin: Outbound, hostname: string, state: HostnameState, locations: readonly string[]) => {
    const at = now()
    state.readAt = at
    state.locations = locations.join('\n')
    state.due = at + RETRY_AFTER_MS * (0.9 + random() / 5)
    const crawl = await crawlSitemaps({ origin, outbound: deps.outbound }, hostname, locations)
    if (closed) return
    const { urls, files, problems } = crawl
    // A sitemap that cannot be reached today still lists its pages.
    if (!crawl.answered && urls.length === 0) {
      log('warn', `sitemaps of ${hostname} cannot be read: ${JSON.stringify(problems[0] ?? '')}`)
      return
    }
    const digest = digestOf(urls)
    if (digest !== state.stored) await deps.replace(hostname, urls)
    state.stored = digest
    state.due = at + DAY_MS * (0.9 + random() / 5)
    const also = problems.length === 0 ? '' : `; ${problems.length} problems, the first: ${JSON.stringify(problems[0])}`
    if (files > 0) log('info', `sitemaps of ${hostname}: ${urls.length} URLs in ${files} files${also}`)
  }

  const run = async (origin: Outbound) => {
    const hostnames = policies.hostnames().slice(0, MAX_HOSTNAMES)
    for (const hostname of states.keys()) if (!hostnames.includes(hostname)) states.delete(hostname)
    for (const hostname of hostnames) {
      const locations = locationsOf(hostname)
      if (closed || locations === undefined) continue
      const state = states.get(hostname) ?? {
        due: now() + FIRST_READ_AFTER_MS * (1 + random()),
        readAt: Number.NEGATIVE_INFINITY,
        locations: locations.join('\n'),
        stored: undefined,
      }
      states.set(hostname, state)
      const changed = state.locations !== locations.join('\n') && now() - state.readAt >= MIN_REREAD_INTERVAL_MS
      if (state.due > now() && !changed) continue
      if (!policies.isListed(hostname)) {
        if (now() < unlistedAfter) continue
        unlistedAfter = now() + UNLISTED_INTERVAL_MS
      }
      await read(origin, hostname, state, locations)
    }
  }

  return {
    /** Reads what is due, one hostname at a time. Call it each second. Never rejects. */
    async tick() {
      if (running || closed || originOutbound === undefined) return
      running = true
      try {
        await run(originOutbound)
      } catch (error) {
        log('warn', 'sitemaps could not be stored', error)
      } finally {
        running = false
      }
    },
    close() {
      closed = true
    },
  }
}

/** Hashes URL by URL, since all of them as one text may take 100 MB. */
function digestOf(urls: readonly SitemapUrl[]): string {
  const digest = createHash('sha256')
  for (const { pathname, lastmod } of urls) digest.update(`${pathname}\n${lastmod?.getTime() ?? ''}\n`)
  return digest.digest('base64')
}
