import { createHash } from 'node:crypto'
import type { Outbound } from '../outbound/outbound.js'
import type { PolicyMonitor } from './policy-monitor.js'
import { crawlSitemaps, type SitemapUrl } from './sitemap-crawl.js'
import { DAY_MS, standingOf } from './version.js'

interface SitemapMonitorDeps {
  policies: Pick<PolicyMonitor, 'hostnames' | 'isListed' | 'files' | 'policyOf'>
  /** As the keeper's; undefined: nothing is asked. */
  ask: Outbound | undefined
  /** The way to elsewhere, for sitemaps of another host; guarded. */
  outbound: Outbound
  /** Puts these in the place of all that is stored of a hostname. */
  replace: (hostname: string, urls: readonly SitemapUrl[]) => Promise<void>
  /** Epoch ms. */
  now: () => number
  /** From 0 to 1. */
  random: () => number
  log: (level: 'info' | 'warn' | 'error', message: string, error?: unknown) => void
}

export interface SitemapMonitor {
  /** To be called each second; reads what is due, one hostname at a time. Never rejects. */
  tick(): Promise<void>
  close(): void
}

/** Behind the start, ms: the site has more urgent things to do. */
const FIRST_READ_AFTER_MS = 60_000
/** After a failure, ms. */
const RETRY_AFTER_MS = 3_600_000
/** Other Sitemap lines are followed no more often, ms. */
const MIN_REREAD_INTERVAL_MS = 600_000
/** Hostnames whose sitemaps are read, those seen most first. */
const MAX_HOSTNAMES = 16
/** Of those that no site lists one at a time, ms: a stranger can make up new ones for ever, each of them worth a crawl. */
const UNLISTED_INTERVAL_MS = 600_000

interface HostnameState {
  due: number
  read_at: number
  locations: string
  /** Digest of what was stored last. */
  stored: string | undefined
}

/** Reads the sitemaps of each hostname once a day, and when robots.txt names others. */
export function createSitemapMonitor(deps: SitemapMonitorDeps): SitemapMonitor {
  const { policies: keeper, ask, now, random, log } = deps
  const states = new Map<string, HostnameState>()
  let unlisted_after = Number.NEGATIVE_INFINITY
  let running = false
  let closed = false

  /** Of robots.txt as it is now; `/sitemap.xml` where it names none; undefined while it is not known. */
  const locationsOf = (hostname: string): string[] | undefined => {
    const version = keeper.files(hostname)?.robots.versions.at(-1)
    if (version === undefined || standingOf(version.status) === 'unreachable') return undefined
    const named = keeper.policyOf(version)?.robots?.sitemaps ?? []
    return named.length > 0 ? [...named] : [`http://${hostname}/sitemap.xml`]
  }

  const read = async (way: Outbound, hostname: string, state: HostnameState, locations: readonly string[]) => {
    const at = now()
    state.read_at = at
    state.locations = locations.join('\n')
    state.due = at + RETRY_AFTER_MS * (0.9 + random() / 5)
    const { urls, files, problems, answered } = await crawlSitemaps(
      { ask: way, outside: deps.outbound },
      hostname,
      locations,
    )
    if (closed) return
    // What cannot be reached today was not taken out of the site.
    if (!answered && urls.length === 0) {
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

  const run = async (way: Outbound) => {
    const hostnames = keeper.hostnames().slice(0, MAX_HOSTNAMES)
    for (const hostname of states.keys()) if (!hostnames.includes(hostname)) states.delete(hostname)
    for (const hostname of hostnames) {
      const locations = locationsOf(hostname)
      if (closed || locations === undefined) continue
      const state = states.get(hostname) ?? {
        due: now() + FIRST_READ_AFTER_MS * (1 + random()),
        read_at: Number.NEGATIVE_INFINITY,
        locations: locations.join('\n'),
        stored: undefined,
      }
      states.set(hostname, state)
      const others = state.locations !== locations.join('\n') && now() - state.read_at >= MIN_REREAD_INTERVAL_MS
      if (state.due > now() && !others) continue
      if (!keeper.isListed(hostname)) {
        if (now() < unlisted_after) continue
        unlisted_after = now() + UNLISTED_INTERVAL_MS
      }
      await read(way, hostname, state, locations)
    }
  }

  return {
    async tick() {
      if (running || closed || ask === undefined) return
      running = true
      try {
        await run(ask)
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

/** As text they may be 100 MB. */
function digestOf(urls: readonly SitemapUrl[]): string {
  const digest = createHash('sha256')
  for (const { pathname, lastmod } of urls) digest.update(`${pathname}\n${lastmod?.getTime() ?? ''}\n`)
  return digest.digest('base64')
}
