import { type Outbound, OutboundError } from '../../outbound/outbound.js'
import type { Agent, Catalog } from '../catalog.js'
import { type KeyDirectory, originOf } from './check.js'
import { readCachedDirectories, writeCachedDirectories } from './directory-cache.js'
import { type DirectoryCopy, downloadDirectory } from './download.js'
import { readKeys } from './keys.js'

export interface DirectoriesDeps {
  catalog: Catalog
  outbound: Outbound
  /** Where the copies survive a restart. */
  file: string
  /** Milliseconds since 1970. */
  now: () => number
  /** From 0 to 1, exclusive. */
  random: () => number
  /** Calls `run` once after `ms`; the answer takes it back. */
  after: (ms: number, run: () => void) => () => void
  log: { warn(details: object, message: string): void }
}

/** One directory of keys as it is held. */
export interface DirectoryStatus {
  agent_ids: string[]
  directory: string
  /** Usable keys. */
  keys: number
  /** When the copy was fetched; ISO-8601 UTC. Absent: there is none. */
  refreshed_at?: string
  /** Why the last attempt failed; absent after one that did not. */
  error?: string
}

/** What is known of one directory. */
interface DirectoryState {
  readonly url: string
  readonly agents: Agent[]
  copy?: DirectoryCopy
  error?: string
  /** Attempts since the last that did not fail. */
  failures: number
  /** Not asked before: by the schedule, and for a signature. */
  scheduled: number
  next: number
  running?: Promise<void>
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** For how long a copy that cannot be renewed is believed. */
const STALE_AFTER_MS = 7 * DAY_MS
/** The longest waits after failures: of the schedule, and for a signature (as long as the draft lets a failure count). */
const MAX_SCHEDULED_WAIT_MS = 6 * HOUR_MS
const MAX_DEMAND_WAIT_MS = 5 * MINUTE_MS
const WELL_KNOWN_PATH = '/.well-known/http-message-signatures-directory'
const MAX_CONCURRENT_FETCHES = 4
const NEVER = 0

/**
 * The key directories of the catalog's agents and of nobody else: a URL is never asked because a request names it. Each
 * is asked once a day, at the first signature after its copy's lifetime, and, at most once a minute, for a key that its
 * copy does not have. A failure changes nothing of what is held, and doubles the wait for the next attempt.
 */
export function createDirectories(deps: DirectoriesDeps) {
  const { now, random, after, log } = deps
  const byUrl = new Map<string, DirectoryState>()
  const byOrigin = new Map<string, DirectoryState>()
  let cancel: (() => void) | undefined
  let started = false
  let closed = false
  let unkept = false
  let complained = false

  for (const agent of deps.catalog.agents) {
    if (agent.web_bot_auth === undefined) continue
    const origin = originOf(agent.web_bot_auth.signature_agent)
    const url = agent.web_bot_auth.directory ?? `${origin}${WELL_KNOWN_PATH}`
    // A pattern over many directories is no directory.
    if (!URL.canParse(url) || /[<>]/.test(url)) continue
    const known = byUrl.get(url) ?? { url, agents: [], failures: 0, scheduled: NEVER, next: NEVER }
    known.agents.push(agent)
    byUrl.set(url, known)
    byOrigin.set(origin, known)
  }
  restore()

  function restore(): void {
    try {
      for (const copy of readCachedDirectories(deps.file)) {
        const known = byUrl.get(copy.directory)
        // A clock that was wrong then must not make a copy last for ever.
        if (known === undefined || copy.refreshed_at > now()) continue
        known.copy = { ...copy, read: readKeys(copy.keys) }
        known.scheduled = copy.refreshed_at + DAY_MS
      }
    } catch (error) {
      log.warn(
        { err: error, file: deps.file },
        'the kept copies of key directories cannot be read and are fetched anew',
      )
    }
  }

  function keep(): void {
    unkept = false
    try {
      const copies = [...byUrl.values()].flatMap(({ copy }) => copy ?? [])
      writeCachedDirectories(
        deps.file,
        copies.map(({ read, ...copy }) => copy),
      )
      complained = false
    } catch (error) {
      if (!complained)
        log.warn({ err: error, file: deps.file }, 'the copies of key directories cannot be kept for a restart')
      complained = true
    }
  }

  /** Asks a directory, or joins whoever is asking it. Never rejects. */
  function fetch(directory: DirectoryState): Promise<void> {
    directory.running ??= ask(directory).finally(() => {
      delete directory.running
      // Once for as many as are asked together: it waits for the disk.
      if (unkept && ![...byUrl.values()].some(({ running }) => running)) keep()
    })
    return directory.running
  }

  async function ask(directory: DirectoryState): Promise<void> {
    const from = now()
    directory.next = from + MINUTE_MS
    try {
      const copy = await downloadDirectory(directory.url, deps.outbound, now)
      if (closed) return
      directory.copy = copy
      delete directory.error
      directory.failures = 0
      directory.scheduled = from + DAY_MS
      unkept = true
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const offline = error instanceof OutboundError && error.reason === 'offline'
      // One that never answered is news to nobody: it stands in what is held.
      if (directory.copy !== undefined && directory.error === undefined && !offline)
        log.warn({ directory: directory.url, reason: message }, 'a key directory cannot be renewed; its copy is kept')
      directory.error = message
      directory.failures += 1
      const wait = MINUTE_MS * 2 ** Math.min(directory.failures - 1, 20) * (1 + random() / 4)
      directory.scheduled = from + Math.min(wait, MAX_SCHEDULED_WAIT_MS)
      directory.next = from + Math.min(wait, MAX_DEMAND_WAIT_MS)
    }
  }

  function plan(): void {
    cancel?.()
    cancel = undefined
    if (!started) return
    const first = Math.min(...[...byUrl.values()].filter(({ running }) => !running).map(({ scheduled }) => scheduled))
    if (!Number.isFinite(first)) return
    // Spread, so that one directory is not asked by all installations at once. One never asked is asked soon: until then
    // whoever only a signature identifies is taken for a person.
    const spread = first === NEVER ? 5_000 : MINUTE_MS
    cancel = after(Math.max(first - now(), 0) + (0.2 + 0.8 * random()) * spread, () => void run())
  }

  async function run(): Promise<void> {
    await inTurn([...byUrl.values()].filter((directory) => directory.scheduled <= now()))
    plan()
  }

  async function inTurn(directories: readonly DirectoryState[]): Promise<void> {
    const rest = [...directories]
    const one = async () => {
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) await fetch(next)
    }
    await Promise.all(Array.from({ length: MAX_CONCURRENT_FETCHES }, one))
  }

  const held = (): DirectoryStatus[] =>
    [...byUrl.values()].map(({ url, agents, copy, error }) => ({
      agent_ids: agents.map(({ id }) => id),
      directory: url,
      keys: copy?.read.size ?? 0,
      ...(copy && { refreshed_at: new Date(copy.refreshed_at).toISOString() }),
      ...(error !== undefined && { error }),
    }))

  return {
    /** The directory of an origin, as a check needs it; renews a copy past its lifetime in passing. */
    directoryOf(origin: string): KeyDirectory | undefined {
      const directory = byOrigin.get(origin)
      const [agent] = directory?.agents ?? []
      if (directory === undefined || agent === undefined) return undefined
      const { copy, url } = directory
      const age = copy === undefined ? Number.POSITIVE_INFINITY : now() - copy.refreshed_at
      if (started && copy !== undefined && age > copy.lifetime && directory.next <= now()) void fetch(directory)
      return {
        agent,
        directory: url,
        others: copy !== undefined && copy.others > 0,
        fresh: age < MINUTE_MS && directory.error === undefined,
        ...(copy !== undefined && age < STALE_AFTER_MS && { keys: copy.read }),
      }
    },
    /** Asks for a key that is not held; undefined where that has to wait. Never rejects. */
    renew(url: string): Promise<void> | undefined {
      const directory = byUrl.get(url)
      if (directory === undefined || !started) return undefined
      if (directory.running) return directory.running
      return directory.next <= now() ? fetch(directory) : undefined
    },
    async refresh(): Promise<DirectoryStatus[]> {
      await inTurn([...byUrl.values()])
      plan()
      return held()
    },
    held,
    start() {
      started = true
      plan()
    },
    close() {
      started = false
      closed = true
      cancel?.()
      cancel = undefined
    },
  }
}
