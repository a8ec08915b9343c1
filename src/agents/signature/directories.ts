import { type Outbound, OutboundError } from '../../base/outbound/outbound.js'
import { createSlots } from '../../base/slots.js'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time-units.js'
import type { Agent, Catalog } from '../catalog.js'
import { type KeyDirectory, originOf } from './check.js'
import { readCachedDirectories, writeCachedDirectories } from './directory-cache.js'
import { type DirectoryCopy, downloadDirectory } from './download.js'
import { readKeys } from './keys.js'

export interface DirectoriesDeps {
  catalog: Catalog
  outbound: Outbound
  /** The cache file. */
  file: string
  /** Milliseconds since 1970. */
  now: () => number
  /** Between 0 and 1, exclusive. */
  random: () => number
  /** Calls `run` once after `ms`. The returned function cancels the call. */
  after: (ms: number, run: () => void) => () => void
  log: { warn(details: object, message: string): void }
}

/** The status of one directory of keys. */
export interface DirectoryStatus {
  agent_ids: string[]
  directory: string
  /** Number of usable keys. */
  keys: number
  /** When the copy was fetched; ISO-8601 UTC. Absent if there is no copy. */
  refreshed_at?: string
  /** Why the last fetch failed; absent if it succeeded. */
  error?: string
}

interface DirectoryState {
  readonly url: string
  readonly agents: Agent[]
  copy?: DirectoryCopy
  error?: string
  /** Failed fetches since the last successful one. */
  failures: number
  /** Earliest time of the next scheduled fetch, and of the next fetch because of a signature. */
  scheduled: number
  next: number
  running?: Promise<void>
}

/** A copy that cannot be renewed is used for this long. */
const STALE_AFTER_MS = 7 * DAY_MS
/** Longest waits after failures: of the schedule, and for a signature (the draft lets a failure count for 5 minutes). */
const MAX_SCHEDULED_WAIT_MS = 6 * HOUR_MS
const MAX_DEMAND_WAIT_MS = 5 * MINUTE_MS
const WELL_KNOWN_PATH = '/.well-known/http-message-signatures-directory'
const MAX_CONCURRENT_FETCHES = 4
const NEVER = 0
/** Most sites never see most signers, so the directories of lists are fetched when the first signature names them. */
const ON_DEMAND = Number.POSITIVE_INFINITY

/**
 * The key directories of the catalog's agents. No other URL is fetched, whatever a request names. Each directory is fetched
 * once a day, at the first signature after its copy's lifetime, and at most once a minute for a key that its copy lacks.
 * After a failure the copy stays in use and the wait for the next fetch doubles.
 */
export function createDirectories(deps: DirectoriesDeps) {
  const { now, after } = deps
  const { byUrl, byOrigin } = directoriesOfCatalog(deps.catalog)
  const all = [...byUrl.values()]
  restoreCopies(deps, byUrl)
  let cancel: (() => void) | undefined
  let state: 'created' | 'started' | 'closed' = 'created'
  const writeCache = createCacheWriter(deps, all)

  /** Fetches a directory, or joins the fetch that is running. Never rejects. */
  function fetch(directory: DirectoryState): Promise<void> {
    directory.running ??= load(directory).finally(() => delete directory.running)
    return directory.running
  }

  async function load(directory: DirectoryState): Promise<void> {
    const from = now()
    directory.next = from + MINUTE_MS
    try {
      const copy = await downloadDirectory(directory.url, deps.outbound, now)
      if (state === 'closed') return
      replaceCopy(directory, copy, from)
      writeCache()
    } catch (error) {
      noteFailure(directory, error, from, deps)
    }
  }

  /** Sets the timer for the next scheduled fetch. */
  function plan(): void {
    cancel?.()
    cancel = undefined
    const wait = state === 'started' ? nextWait(all, deps) : undefined
    const isDue = ({ scheduled }: DirectoryState) => scheduled <= now()
    if (wait !== undefined) cancel = after(wait, () => void fetchAll(all.filter(isDue)).then(plan))
  }

  async function fetchAll(directories: readonly DirectoryState[]): Promise<void> {
    const slots = createSlots(MAX_CONCURRENT_FETCHES)
    await Promise.all(directories.map((directory) => slots(() => fetch(directory))))
  }

  return {
    /** Returns the directory of an origin for a check. Also starts to renew a copy that is past its lifetime. */
    directoryOf(origin: string): KeyDirectory | undefined {
      const directory = byOrigin.get(origin)
      const [agent] = directory?.agents ?? []
      if (directory === undefined || agent === undefined) return undefined
      const { copy } = directory
      const age = copy === undefined ? Number.POSITIVE_INFINITY : now() - copy.refreshed_at
      if (state === 'started' && copy !== undefined && age > copy.lifetime && directory.next <= now())
        void fetch(directory)
      return keysOf(directory, agent, age)
    },
    /** Fetches a directory for a key that its copy lacks. Returns undefined if that has to wait. Never rejects. */
    renew(url: string): Promise<void> | undefined {
      const directory = byUrl.get(url)
      if (directory === undefined || state !== 'started') return undefined
      return directory.running ?? (directory.next <= now() ? fetch(directory) : undefined)
    },
    /** Fetches every directory now. Never rejects; the `error` of an entry says what failed. */
    async refresh(): Promise<DirectoryStatus[]> {
      await fetchAll(all)
      plan()
      return all.map(statusOf)
    },
    status: (): DirectoryStatus[] => all.map(statusOf),
    /** Starts the schedule. */
    start() {
      state = 'started'
      plan()
    },
    /** Stops the schedule. Fetches that are still running change nothing any more. */
    close() {
      state = 'closed'
      plan()
    },
  }
}

const keysOf = ({ url, copy, error }: DirectoryState, agent: Agent, age: number): KeyDirectory => ({
  agent,
  url,
  others: copy !== undefined && copy.others > 0,
  fresh: age < MINUTE_MS && error === undefined,
  keys: age < STALE_AFTER_MS ? copy?.usableKeys : undefined,
  refreshed_at: copy?.refreshed_at,
})

function replaceCopy(directory: DirectoryState, copy: DirectoryCopy, from: number): void {
  directory.copy = copy
  delete directory.error
  directory.failures = 0
  directory.scheduled = from + DAY_MS
}

/** Notes why a fetch that began at `from` failed, and puts off the next ones: the wait doubles. */
function noteFailure(directory: DirectoryState, error: unknown, from: number, { log, random }: DirectoriesDeps): void {
  const message = error instanceof Error ? error.message : String(error)
  const offline = error instanceof OutboundError && error.reason === 'offline'
  // A directory that never responded is not logged; its status shows the error.
  if (directory.copy !== undefined && directory.error === undefined && !offline)
    log.warn({ directory: directory.url, reason: message }, 'a key directory cannot be renewed; its copy stays in use')
  directory.error = message
  directory.failures += 1
  const wait = MINUTE_MS * 2 ** Math.min(directory.failures - 1, 20) * (1 + random() / 4)
  if (directory.scheduled !== ON_DEMAND || directory.copy !== undefined)
    directory.scheduled = from + Math.min(wait, MAX_SCHEDULED_WAIT_MS)
  directory.next = from + Math.min(wait, MAX_DEMAND_WAIT_MS)
}

/** Returns the milliseconds until the next scheduled fetch; undefined if none is scheduled. */
function nextWait(directories: readonly DirectoryState[], { now, random }: DirectoriesDeps): number | undefined {
  const first = Math.min(...directories.filter(({ running }) => !running).map(({ scheduled }) => scheduled))
  if (!Number.isFinite(first)) return undefined
  // Spread over time, so that not all installations fetch at once. A directory that was never fetched is fetched soon:
  // until then an agent that only its signature identifies is taken for a person.
  const spread = first === NEVER ? 5_000 : MINUTE_MS
  return Math.max(first - now(), 0) + (0.2 + 0.8 * random()) * spread
}

/** Returns a function that writes all copies to disk, and logs only the first of several failures. */
function createCacheWriter({ file, log }: DirectoriesDeps, directories: readonly DirectoryState[]): () => void {
  let hasFailed = false
  return () => {
    try {
      const copies = directories.flatMap(({ copy }) => copy ?? [])
      writeCachedDirectories(
        file,
        copies.map(({ usableKeys, ...copy }) => copy),
      )
      hasFailed = false
    } catch (error) {
      if (!hasFailed) log.warn({ err: error, file }, 'the key directories cannot be cached for a restart')
      hasFailed = true
    }
  }
}

function directoriesOfCatalog({ agents }: Catalog) {
  const byUrl = new Map<string, DirectoryState>()
  const byOrigin = new Map<string, DirectoryState>()
  for (const agent of agents) {
    if (agent.web_bot_auth === undefined) continue
    const { signature_agent, directory, status, further = [] } = agent.web_bot_auth
    const places = [[signature_agent, directory] as const, ...further.map((one) => [one, null] as const)]
    for (const [signatureAgent, place] of places) {
      const origin = originOf(signatureAgent)
      const url = place ?? `${origin}${WELL_KNOWN_PATH}`
      // The catalog has patterns that stand for many directories, such as `https://<name>.example`.
      if (!URL.canParse(url) || /[<>]/.test(url)) continue
      const scheduled = status === 'listed' ? ON_DEMAND : NEVER
      const state = byUrl.get(url) ?? { url, agents: [], failures: 0, scheduled, next: NEVER }
      state.agents.push(agent)
      byUrl.set(url, state)
      byOrigin.set(origin, state)
    }
  }
  return { byUrl, byOrigin }
}

function restoreCopies({ file, now, log }: DirectoriesDeps, byUrl: ReadonlyMap<string, DirectoryState>): void {
  try {
    for (const copy of readCachedDirectories(file)) {
      const directory = byUrl.get(copy.directory)
      // A copy from the future was written with a wrong clock and would never become stale.
      if (directory === undefined || copy.refreshed_at > now()) continue
      directory.copy = { ...copy, usableKeys: readKeys(copy.keys) }
      directory.scheduled = copy.refreshed_at + DAY_MS
    }
  } catch (error) {
    log.warn({ err: error, file }, 'the cached key directories cannot be read and are fetched again')
  }
}

const statusOf = ({ url, agents, copy, error }: DirectoryState): DirectoryStatus => ({
  agent_ids: agents.map(({ id }) => id),
  directory: url,
  keys: copy?.usableKeys.size ?? 0,
  ...(copy && { refreshed_at: new Date(copy.refreshed_at).toISOString() }),
  ...(error !== undefined && { error }),
})
