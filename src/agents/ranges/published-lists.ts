import { type Outbound, OutboundError } from '../../outbound/outbound.js'
import type { Catalog } from '../catalog.js'
import { isHelpPage, ListError, parseList } from './formats.js'
import type { CachedList, ListCache } from './list-cache.js'
import { createPrefixSet, type PrefixSet } from './prefix-set.js'
import { type ListSource, sourcesOfCatalog } from './sources.js'
import type { RefreshResult } from './status.js'

/** One list as it is held. */
export interface RangeList {
  /** Its URL, or the operator's file. */
  source: string
  own: boolean
  prose: boolean
  set?: PrefixSet
  /** When it was last found to be so; milliseconds since 1970. */
  at: number
}

export interface PublishedList extends RangeList {
  format: string
  agents: readonly string[]
  etag?: string | undefined
  last_modified?: string | undefined
  /** When it is to be fetched next. */
  due: number
  failures: number
  fetching?: Promise<RefreshResult>
}

interface PublishedLists {
  get(url: string): PublishedList | undefined
  /** Fetches all that are wanted, now. Never rejects. */
  refresh(wanted: (list: PublishedList) => boolean): Promise<RefreshResult[]>
  /** Begins to fetch what is due and wanted. */
  tick(wanted: (list: PublishedList) => boolean): void
}

export interface PublishedListsDeps {
  catalog: Catalog
  outbound: Outbound
  kept: ListCache
  /** Milliseconds since 1970. */
  now: () => number
  /** 0 to 1. */
  random: () => number
  log: (level: 'info' | 'warn', message: string) => void
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const REQUEST_OPTIONS = { limit: 8_000_000, timeout: 20_000, redirects: 3 }
const MAX_CONCURRENT_FETCHES = 4
/** Failures that come within so long of one another are told of together, ms. */
const FAILURE_REPORT_DELAY_MS = 10_000

/**
 * The published lists of a catalog, each URL once: as the last process left them, fetched once a day. One that fails is
 * fetched again after minutes, then hours, and its last good copy stays.
 */
export function createPublishedLists({
  catalog,
  outbound,
  kept,
  now,
  random,
  log,
}: PublishedListsDeps): PublishedLists {
  const lists = new Map(
    sourcesOfCatalog(catalog).map((source) => [source.url, cachedList(source, { kept, now, random })]),
  )

  const fetch = (list: PublishedList): Promise<RefreshResult> => {
    list.fetching ??= load(list).finally(() => delete list.fetching)
    return list.fetching
  }

  async function load(list: PublishedList): Promise<RefreshResult> {
    const told = (status: RefreshResult['status'], error?: string): RefreshResult => ({
      of: 'addresses',
      agents: [...list.agents],
      source: list.source,
      count: list.set?.count ?? 0,
      ...(list.set && { refreshed_at: new Date(list.at).toISOString() }),
      status,
      ...(error !== undefined && { error }),
    })
    try {
      const unchanged = await renew(list)
      list.failures = 0
      list.due = now() + DAY_MS * (0.9 + 0.2 * random())
      return told(unchanged ? 'unchanged' : 'updated')
    } catch (error) {
      list.due = now() + Math.min(5 * MINUTE_MS * 2 ** list.failures, DAY_MS / 4) * (0.8 + 0.4 * random())
      list.failures++
      const offline = error instanceof OutboundError && error.reason === 'offline'
      return told(offline ? 'offline' : 'failed', error instanceof Error ? error.message : String(error))
    }
  }

  /** Fetches the list; true where it is the one that is held. Throws where it is no list. */
  async function renew(list: PublishedList): Promise<boolean> {
    const { source, format, etag, last_modified } = list
    const headers = {
      ...(list.set && etag !== undefined && { 'if-none-match': etag }),
      ...(list.set && last_modified !== undefined && { 'if-modified-since': last_modified }),
    }
    const { status, body, truncated, headers: told } = await outbound(source, { ...REQUEST_OPTIONS, headers })
    const at = now()
    if (status === 304 && list.set) {
      list.at = at
      const copy = kept.read(source)
      if (copy) await keep(source, { ...copy, at })
      return true
    }
    if (status !== 200) throw new ListError(`${source} answered ${status}`)
    if (truncated) throw new ListError(`${source} is larger than ${REQUEST_OPTIONS.limit} bytes`)
    const prefixes = parsePublished(new TextDecoder().decode(body), format, source)
    list.set = createPrefixSet(prefixes)
    list.at = at
    list.etag = told.etag
    list.last_modified = told['last-modified']
    const tags = {
      ...(told.etag && { etag: told.etag }),
      ...(list.last_modified && { last_modified: list.last_modified }),
    }
    await keep(source, { prefixes, at, ...tags })
    return false
  }

  /** What cannot be written is held all the same, until the next start. */
  const keep = async (url: string, copy: CachedList) => {
    try {
      await kept.write(url, copy)
    } catch (error) {
      log('warn', `ranges: the list of ${url} cannot be kept: ${error instanceof Error ? error.message : error}`)
    }
  }

  let active = 0
  let failed: RefreshResult[] = []
  let tell_at = 0
  const start = async (list: PublishedList) => {
    active++
    const before = list.failures
    const result = await fetch(list)
    if (list.failures > 0 && before === 0) {
      failed.push(result)
      tell_at = now() + FAILURE_REPORT_DELAY_MS
    }
    active--
  }

  return {
    get: (url) => lists.get(url),
    async refresh(wanted) {
      const told: RefreshResult[] = []
      const waiting = [...lists.values()].filter(wanted)
      const work = async () => {
        for (let list = waiting.shift(); list; list = waiting.shift()) told.push(await fetch(list))
      }
      await Promise.all(Array.from({ length: MAX_CONCURRENT_FETCHES }, work))
      return told
    },
    tick(wanted) {
      const time = now()
      const [first] = failed
      // One line for all, also where nothing of the outside can be reached.
      if (first && active === 0 && (time >= tell_at || tell_at > time + FAILURE_REPORT_DELAY_MS)) {
        log(
          'warn',
          `ranges: lists that cannot be fetched: ${failed.length}; what is held of them stays (${first.error})`,
        )
        failed = []
      }
      for (const list of lists.values()) {
        if (active >= MAX_CONCURRENT_FETCHES) return
        // A time far ahead is of a clock that was set back since.
        const due = list.due <= time || list.due > time + 2 * DAY_MS
        if (due && !list.fetching && wanted(list)) void start(list)
      }
    },
  }
}

/** A list as the last process left it. */
function cachedList(
  { url, format, agents }: ListSource,
  { kept, now, random }: Pick<PublishedListsDeps, 'kept' | 'now' | 'random'>,
): PublishedList {
  const copy = kept.read(url)
  const list = { source: url, format, agents, own: false, prose: isHelpPage(format), failures: 0 }
  // The first fetch waits for a command that only looks something up to be over.
  if (!copy) return { ...list, at: 0, due: now() + 5_000 + 10_000 * random() }
  const { prefixes, at, etag, last_modified } = copy
  return { ...list, at, due: at + DAY_MS * (0.9 + 0.2 * random()), set: createPrefixSet(prefixes), etag, last_modified }
}

function parsePublished(text: string, format: string, source: string) {
  try {
    return parseList(text, format)
  } catch (cause) {
    throw new ListError(`${source} ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}
