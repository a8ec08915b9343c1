import { setTimeout as sleep } from 'node:timers/promises'
import type { Outbound } from '../../base/outbound/outbound.js'
import type { Records } from '../../storage/store.js'
import { changeText, firstText, type PolicyChange, stateOf } from './change.js'
import { fetchPolicy } from './fetch-policy.js'
import {
  addVersion,
  createFileState,
  type PolicyFileState,
  previousAnswer,
  recheckSoon,
  scheduleNext,
} from './file-schedule.js'
import { createHostnames, MAX_UNLISTED_HOSTNAMES } from './hostnames.js'
import { createPolicyCache } from './policy-cache.js'
import { createPolicyJudge } from './policy-judge.js'
import {
  DAY_MS,
  firstAnswerTime,
  MAX_BACKDATING_MS,
  POLICY_KINDS,
  POLICY_PATHS,
  type PolicyKind,
  type PolicyVersion,
  standingOf,
} from './version.js'
import { createVersionWriter, loadVersions, releaseBodies } from './version-store.js'

export interface PolicyMonitorDeps {
  /**
   * Sends a request to the origin whatever the hostname of the URL, with the hostname as `Host`. Redirects to other hosts
   * are guarded. Undefined if there is no origin; then nothing is fetched.
   */
  originOutbound: Outbound | undefined
  /** The hostname whose policy is fetched until a site or a request names one: that of the settings, or of the origin's URL. */
  assumedHostname?: string
  /** The origin is the application that readership runs in: before its first request it may not listen yet. */
  startsWithRequest?: boolean
  /** Sends requests to the origin of one site. The site's administrators chose it, so it is guarded. */
  siteOutbound?: (origin: string) => Outbound
  records: Records
  /** The hostnames whose policy is fetched; another array once they have changed. */
  sites: () => readonly { readonly domains: readonly string[]; readonly origin: string | null }[]
  /** Milliseconds since 1970. */
  now: () => number
  /** Between 0 and 1. */
  random: () => number
  log: (level: 'info' | 'warn' | 'error', message: string, error?: unknown) => void
  /** Called when a hostname's file changed, but not for its first version. */
  onChange?: (change: PolicyChange) => void
}

/** The rows of a hostname from `since` to before `until`, in milliseconds since 1970. */
export interface UnjudgedTime {
  hostname: string
  since: number
  until: number
}

type PolicyFiles = { readonly [K in PolicyKind]: PolicyFileState }

/** Hostnames without a request in a long time are forgotten this often. */
const FORGET_INTERVAL_MS = 10_000
/** Few, because the origin has its visitors to serve. At most one is of the same hostname. */
const MAX_CONCURRENT_FETCHES = 8
/** Fetches of hostnames that no site lists. A client can make them up, so they leave room for those that a site lists. */
const MAX_UNLISTED_FETCHES = 4

/** How long a question about a policy waits for the first response of the origin. */
const FIRST_ANSWER_WAIT_MS = 3_000

export type PolicyMonitor = ReturnType<typeof createPolicyMonitor>

/**
 * Fetches robots.txt and llms.txt of each hostname on a schedule, stores every version and judges requests by them.
 *
 * Long because its parts share the hostnames and their files; the schedule of a file, the choice of
 * hostnames, the store and the judgement are in files of their own.
 */
export function createPolicyMonitor(deps: PolicyMonitorDeps) {
  const { originOutbound, siteOutbound, records, now, random, log } = deps
  /** Origins of the sites that have their own, by hostname. */
  let origins: ReadonlyMap<string, string> = new Map()
  const outboundOf = (hostname: string): Outbound | undefined => {
    const origin = origins.get(hostname)
    return (origin === undefined ? undefined : siteOutbound?.(origin)) ?? originOutbound
  }
  const filesByHostname = new Map<string, PolicyFiles>()
  const allFiles = () => [...filesByHostname.values()].flatMap((files) => POLICY_KINDS.map((kind) => files[kind]))
  const hostnames = createHostnames()
  const writer = createVersionWriter({ records, now, log, hostnames: hostnames.all })
  const policyOf = createPolicyCache()
  let listed: ReturnType<PolicyMonitorDeps['sites']> | undefined
  let listedAt = Number.NEGATIVE_INFINITY
  const fetching = new Map<string, Promise<void>>()
  /** Times of whose rows a file has become known, by hostname. */
  const unjudged = new Map<string, UnjudgedTime>()
  let isWaiting = deps.startsWithRequest === true
  let closed = false

  /** Notes that a file is known: rows that were stored before may lack its judgement. */
  const noteAnswer = ({ hostname, versions }: PolicyFileState) => {
    const first = firstAnswerTime(versions)
    if (first === undefined) return
    const until = now() + 1
    // Earlier rows were judged when the file became known to an earlier process.
    const since = Math.max(first, until - DAY_MS) - MAX_BACKDATING_MS
    unjudged.set(hostname, { hostname, since: Math.min(since, unjudged.get(hostname)?.since ?? since), until })
  }

  const addHostname = (hostname: string, due: number) => {
    const robots = createFileState(hostname, 'robots', due)
    filesByHostname.set(hostname, { robots, llms: createFileState(hostname, 'llms', due) })
  }

  const removeForgotten = () => {
    for (const hostname of filesByHostname.keys()) if (!hostnames.has(hostname)) filesByHostname.delete(hostname)
  }

  const observe = (hostname: string) => {
    // Now, and not when the request arrived: rows of other servers may be weeks old, and a hostname that was forgotten at
    // once and found again would have its files fetched and stored each time.
    if (!hostnames.observe(hostname, now())) return
    addHostname(hostname, Number.POSITIVE_INFINITY)
    removeForgotten()
  }

  const admitHostnames = () => {
    const time = now()
    for (const hostname of hostnames.admit(time))
      for (const kind of POLICY_KINDS) {
        const file = filesByHostname.get(hostname)?.[kind]
        if (file) file.due = time
      }
  }

  const listHostnames = () => {
    const time = now()
    const sites = deps.sites()
    if (sites === listed && time - listedAt < FORGET_INTERVAL_MS) return
    listed = sites
    listedAt = time
    hostnames.setListed(sites.flatMap(({ domains }) => domains))
    origins = new Map(
      sites.flatMap(({ domains, origin }) =>
        origin === null ? [] : domains.map((domain): [string, string] => [domain, origin]),
      ),
    )
    hostnames.forget(time)
    if (deps.assumedHostname !== undefined) hostnames.assume(deps.assumedHostname, time)
    removeForgotten()
    for (const hostname of hostnames.all()) if (!filesByHostname.has(hostname)) addHostname(hostname, time)
  }

  /** Logs a new version, and reports it as a change if the text differs from the last one that was served. */
  const announce = (file: PolicyFileState, version: PolicyVersion) => {
    const before = previousAnswer(file, version)
    const to = stateOf(version, policyOf(version))
    const unreachable = standingOf(version.status) === 'unreachable'
    if (unreachable || before === undefined || before.sha256 === version.sha256) {
      log(unreachable ? 'warn' : 'info', firstText(version, to))
      return
    }
    const { hostname, kind, first_seen: at } = version
    const change = { hostname, kind, at, from: stateOf(before, policyOf(before)), to }
    log('info', changeText(change))
    deps.onChange?.(change)
  }

  const fetchFile = async (file: PolicyFileState, outbound: Outbound) => {
    const at = now()
    const noticedAt = scheduleNext(file, at, random() * 2 - 1)
    try {
      const { hostname, kind } = file
      const last = file.versions.at(-1)
      const previous = last?.body === undefined ? undefined : last
      const fetched = await fetchPolicy(outbound, { hostname, kind, at, previous })
      if (closed) return
      const version = addVersion(file, fetched, now(), noticedAt)
      const current = file.versions.at(-1)
      if (!file.answered && current !== undefined && standingOf(current.status) !== 'unreachable') {
        file.answered = true
        noteAnswer(file)
      }
      if (version !== undefined) {
        writer.add(version)
        announce(file, version)
        releaseBodies(allFiles().map(({ versions }) => versions))
      } else if (current !== undefined) writer.renew(current)
    } catch (error) {
      log('error', `${file.hostname}${POLICY_PATHS[file.kind]} could not be fetched`, error)
    }
  }

  /**
   * Returns the file to fetch next, or undefined if none may be fetched now. A host that responds slowly delays only its
   * own files: its other file waits, hostnames that a site lists go first, and files that failed go last.
   */
  const nextDueFile = (): PolicyFileState | undefined => {
    const time = now()
    const unlisted = [...fetching.keys()].filter((hostname) => !hostnames.isListed(hostname)).length
    const isUnlisted = (file: PolicyFileState) => Number(!hostnames.isListed(file.hostname))
    if (fetching.size >= MAX_CONCURRENT_FETCHES) return undefined
    return allFiles()
      .filter((file) => file.due <= time && !fetching.has(file.hostname))
      .filter((file) => unlisted < MAX_UNLISTED_FETCHES || !isUnlisted(file))
      .sort((a, b) => isUnlisted(a) - isUnlisted(b) || a.failures - b.failures || a.due - b.due)
      .find((file) => outboundOf(file.hostname) !== undefined)
  }

  /** Starts the fetches that are due and may run, and others when these end. Resolves when all of them have ended. */
  const fetchDue = async (): Promise<void> => {
    const started: Promise<void>[] = []
    for (let file = nextDueFile(); file !== undefined && !closed; file = nextDueFile()) {
      const { hostname } = file
      const outbound = outboundOf(hostname)
      if (outbound === undefined) break
      const fetch = fetchFile(file, outbound).finally(() => fetching.delete(hostname))
      fetching.set(hostname, fetch)
      started.push(fetch.then(fetchDue))
    }
    await Promise.all(started)
  }

  const run = async () => {
    if (closed || isWaiting || (originOutbound === undefined && siteOutbound === undefined)) return
    listHostnames()
    admitHostnames()
    await fetchDue()
    if (!closed) await writer.flush()
  }

  /** Fetches what is due. Call it each second. Resolves after all fetches that it started. Never rejects. */
  const tick = async () => {
    try {
      await run()
    } catch (error) {
      log('warn', 'policies could not be updated', error)
    }
  }

  const versionsOf = (hostname: string) => {
    const files = filesByHostname.get(hostname)
    return files && { robots: files.robots.versions, llms: files.llms.versions }
  }

  return {
    judge: createPolicyJudge({
      ...{ versionsOf, policyOf },
      observe(hostname) {
        isWaiting = false
        observe(hostname)
      },
    }),
    /** Has the policies of these hostnames fetched, of which rows are stored. */
    addStored: (stored: readonly string[]): void => stored.forEach(observe),
    /** Judges requests of the past, whose hostname may be another one today: no policy is fetched for them. */
    judgeOfPast: createPolicyJudge({ versionsOf, policyOf }),
    /** Reads the stored versions, so that requests are judged from the first on; again, if another process stores them. Never rejects. */
    async start() {
      try {
        const versions = await loadVersions(records)
        const time = now()
        listHostnames()
        // Hostnames that no site lists count as seen now, so that a long downtime does not remove them.
        const latest = new Map(versions.map(({ hostname, last_seen }) => [hostname, last_seen]))
        const unlisted = [...latest].filter(([hostname]) => !hostnames.has(hostname)).sort((a, b) => b[1] - a[1])
        for (const [hostname] of unlisted.slice(0, MAX_UNLISTED_HOSTNAMES))
          if (hostnames.observe(hostname, time, true)) addHostname(hostname, time)
        for (const file of allFiles()) file.versions.length = 0
        for (const version of versions) filesByHostname.get(version.hostname)?.[version.kind].versions.push(version)
        for (const file of allFiles()) noteAnswer(file)
      } catch (error) {
        log('error', 'the stored policy versions cannot be read; requests are judged by newly fetched ones', error)
      }
    },
    tick,
    /** Returns for each hostname what became of its robots.txt, and when it was last fetched. */
    robotsChecks: () =>
      [...filesByHostname].map(([hostname, { robots }]) => {
        const version = robots.versions.at(-1)
        return version === undefined
          ? { hostname, standing: 'unknown' as const }
          : { hostname, standing: standingOf(version.status), checked_at: new Date(version.last_seen).toISOString() }
      }),
    /** Fetches what is due, and resolves when it is fetched, or after 3 seconds. Never rejects. */
    async fetchNow(): Promise<void> {
      isWaiting = false
      const fetched = tick().then(() => Promise.all(fetching.values()))
      await Promise.race([fetched, sleep(FIRST_ANSWER_WAIT_MS, undefined, { ref: false })])
    },
    /** Returns and forgets the times of which stored rows may get the judgement that they lack. */
    takeUnjudged(): UnjudgedTime[] {
      const taken = [...unjudged.values()]
      unjudged.clear()
      return taken
    },
    /** Fetches a file soon because the proxy served a changed body of it. `at`: arrival of the request. */
    reportServedFile(hostname: string, path: string, at: number) {
      const kind = POLICY_KINDS.find((one) => POLICY_PATHS[one] === path)
      const file = kind && filesByHostname.get(hostname)?.[kind]
      // An unlisted hostname waits for its admission whatever the proxy serves, since a client can make it up.
      if (!file || !hostnames.isAdmitted(hostname)) return
      recheckSoon(file, Math.min(at, now()), now())
      void tick()
    },
    /** Returns every hostname whose policy is fetched: those that sites list first, then those with most requests. */
    hostnames: hostnames.all,
    /** Returns true if a site lists the hostname. */
    isListed: hostnames.isListed,
    files: (hostname: string): PolicyFiles | undefined => filesByHostname.get(hostname),
    /** Returns a parsed version, or undefined if its text is not in memory any more. */
    policyOf,
    /** Stores everything and stops fetching. */
    async close() {
      closed = true
      await writer.flush(true)
    },
  }
}
