import { type Outbound, OutboundError } from '../../base/outbound/outbound.js'
import { createSlots } from '../../base/slots.js'
import { DAY_MS, MINUTE_MS } from '../../base/time-units.js'
import type { Catalog } from '../catalog.js'
import { isHelpPage, ListError, parseList } from './formats.js'
import type { CachedList, ListCache } from './list-cache.js'
import { createPrefixSet, type PrefixSet } from './prefix-set.js'
import { sourcesOfCatalog } from './sources.js'
import type { RefreshResult } from './status.js'

/** One list in memory. */
export interface RangeList {
  /** Its URL or local file. */
  source: string
  /** True for a list from a file of `--ranges`. */
  local: boolean
  helpPage: boolean
  /** Absent until the list has been read. */
  set?: PrefixSet
  /** When the list was last confirmed to be current; milliseconds since 1970. */
  at: number
}

export interface PublishedList extends RangeList {
  format: string
  agents: readonly string[]
  etag?: string | undefined
  last_modified?: string | undefined
  /** When it is fetched next. */
  due: number
  failures: number
  fetching?: Promise<RefreshResult>
}

export interface PublishedListsDeps {
  catalog: Catalog
  outbound: Outbound
  cache: ListCache
  /** Milliseconds since 1970. */
  now: () => number
  /** Between 0 and 1. */
  random: () => number
  log: (level: 'info' | 'warn', message: string) => void
}

const REQUEST_OPTIONS = { limit: 8_000_000, timeout: 20_000, redirects: 3 }
const MAX_CONCURRENT_FETCHES = 4
/** Failures within this time are logged in one line. */
const FAILURE_REPORT_DELAY_MS = 10_000

/**
 * The published lists of a catalog, each URL once: read from the cache at start and fetched once a day. After a failure a
 * list is fetched again after minutes, then hours, and its last good copy stays in use.
 */
export function createPublishedLists(deps: PublishedListsDeps) {
  const { now, random } = deps
  const lists = readCachedLists(deps)
  const failures = createFailureReport(deps)
  let active = 0

  const fetch = (list: PublishedList): Promise<RefreshResult> => {
    list.fetching ??= load(list).finally(() => delete list.fetching)
    return list.fetching
  }

  async function load(list: PublishedList): Promise<RefreshResult> {
    try {
      const unchanged = await renew(list, deps)
      list.failures = 0
      list.due = now() + DAY_MS * (0.9 + 0.2 * random())
      return resultOf(list, unchanged ? 'unchanged' : 'updated')
    } catch (error) {
      list.due = now() + Math.min(5 * MINUTE_MS * 2 ** list.failures, DAY_MS / 4) * (0.8 + 0.4 * random())
      list.failures++
      const offline = error instanceof OutboundError && error.reason === 'offline'
      return resultOf(list, offline ? 'offline' : 'failed', error instanceof Error ? error.message : String(error))
    }
  }

  const start = async (list: PublishedList) => {
    active++
    const before = list.failures
    const result = await fetch(list)
    if (list.failures > 0 && before === 0) failures.add(result)
    active--
  }

  return {
    get: (url: string): PublishedList | undefined => lists.get(url),
    /** Fetches every list that `isUsed` accepts, now. Never rejects. */
    refresh(isUsed: (list: PublishedList) => boolean): Promise<RefreshResult[]> {
      const slots = createSlots(MAX_CONCURRENT_FETCHES)
      return Promise.all([...lists.values()].filter(isUsed).map((list) => slots(() => fetch(list))))
    },
    /** Starts to fetch the lists that are due and that `isUsed` accepts. */
    tick(isUsed: (list: PublishedList) => boolean) {
      const time = now()
      if (active === 0) failures.report(time)
      for (const list of lists.values()) {
        if (active >= MAX_CONCURRENT_FETCHES) return
        // A due time in the far future was computed before the clock was set back.
        const due = list.due <= time || list.due > time + 2 * DAY_MS
        if (due && !list.fetching && isUsed(list)) void start(list)
      }
    },
  }
}

/** Fetches the list. Returns true if it has not changed. Throws if the response is not a valid list. */
async function renew(list: PublishedList, deps: PublishedListsDeps): Promise<boolean> {
  const { outbound, cache, now } = deps
  const { source, set, etag, last_modified } = list
  const { status, body, truncated, headers } = await outbound(source, {
    ...REQUEST_OPTIONS,
    headers: {
      ...(set && etag && { 'if-none-match': etag }),
      ...(set && last_modified && { 'if-modified-since': last_modified }),
    },
  })
  const at = now()
  if (status === 304 && set) {
    list.at = at
    const copy = cache.read(source)
    if (copy) await store(deps, source, { ...copy, at })
    return true
  }
  if (status !== 200) throw new ListError(`${source} answered ${status}`)
  if (truncated) throw new ListError(`${source} is larger than ${REQUEST_OPTIONS.limit} bytes`)
  const prefixes = parsePublished(new TextDecoder().decode(body), list)
  list.set = createPrefixSet(prefixes)
  list.at = at
  list.etag = headers.etag
  list.last_modified = headers['last-modified']
  await store(deps, source, { prefixes, at, etag: list.etag, last_modified: list.last_modified })
  return false
}

/** Writes a copy to the cache. If that fails, the list in memory is used until the next start. */
async function store({ cache, log }: PublishedListsDeps, url: string, copy: CachedList): Promise<void> {
  try {
    await cache.write(url, copy)
  } catch (error) {
    log('warn', `ranges: the list ${url} cannot be cached: ${error instanceof Error ? error.message : error}`)
  }
}

/** Logs recent failures in one line, so that a missing network is reported once. */
function createFailureReport({ now, log }: PublishedListsDeps) {
  let failed: RefreshResult[] = []
  let reportAt = 0
  return {
    add(result: RefreshResult): void {
      failed.push(result)
      reportAt = now() + FAILURE_REPORT_DELAY_MS
    },
    report(time: number): void {
      const [first] = failed
      if (!first || (time < reportAt && reportAt <= time + FAILURE_REPORT_DELAY_MS)) return
      log('warn', `ranges: lists that cannot be fetched: ${failed.length}; cached copies stay in use (${first.error})`)
      failed = []
    },
  }
}

const resultOf = (list: PublishedList, status: RefreshResult['status'], error?: string): RefreshResult => ({
  of: 'addresses',
  agents: [...list.agents],
  source: list.source,
  count: list.set?.count ?? 0,
  ...(list.set && { refreshed_at: new Date(list.at).toISOString() }),
  status,
  ...(error !== undefined && { error }),
})

function readCachedLists({ catalog, cache, now, random }: PublishedListsDeps): Map<string, PublishedList> {
  const lists = new Map<string, PublishedList>()
  for (const { url, format, agents } of sourcesOfCatalog(catalog)) {
    const copy = cache.read(url)
    const list = { source: url, format, agents, local: false, helpPage: isHelpPage(format), failures: 0 }
    // The first fetch is delayed, so that a short command of the terminal fetches nothing.
    if (!copy) lists.set(url, { ...list, at: 0, due: now() + 5_000 + 10_000 * random() })
    else {
      const { prefixes, at, etag, last_modified } = copy
      const due = at + DAY_MS * (0.9 + 0.2 * random())
      lists.set(url, { ...list, at, due, set: createPrefixSet(prefixes), etag, last_modified })
    }
  }
  return lists
}

function parsePublished(text: string, { format, source }: PublishedList) {
  try {
    return parseList(text, format)
  } catch (cause) {
    throw new ListError(`${source} ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}
