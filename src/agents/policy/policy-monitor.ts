import { setTimeout as sleep } from 'node:timers/promises'
import type { Records } from '../../storage/store.js'
import { type PolicyFileState, recheckSoon } from './file-schedule.js'
import { createPolicyCache } from './policy-cache.js'
import { createPolicyFetcher, type FetcherDeps } from './policy-fetcher.js'
import { createPolicyFiles, type PolicyFilesDeps } from './policy-files.js'
import { createPolicyJudge } from './policy-judge.js'
import { createUnjudgedTimes } from './unjudged-times.js'
import { POLICY_KINDS, POLICY_PATHS, standingOf } from './version.js'
import { createVersionWriter, loadVersions } from './version-store.js'

export interface PolicyMonitorDeps extends PolicyFilesDeps, FetcherDeps {
  /** The origin is the application that readership runs in: before its first request it may not listen yet. */
  startsWithRequest?: boolean
  records: Records
}

/** How long a question about a policy waits for the first response of the origin. */
const FIRST_ANSWER_WAIT_MS = 3_000

export type PolicyMonitor = ReturnType<typeof createPolicyMonitor>

/** Fetches robots.txt and llms.txt of each hostname on a schedule, stores every version and judges requests by them. */
export function createPolicyMonitor(deps: PolicyMonitorDeps) {
  const { originOutbound, siteOutbound, records, now, log } = deps
  const files = createPolicyFiles(deps)
  const writer = createVersionWriter({ records, now, log, hostnames: files.hostnames })
  const policyOf = createPolicyCache()
  const unjudged = createUnjudgedTimes(now)
  const fetcher = createPolicyFetcher(deps, { files, writer, policyOf, unjudged })
  let isWaiting = deps.startsWithRequest === true

  /** Fetches what is due. Call it each second. Resolves after all fetches that it started. Never rejects. */
  const tick = async () => {
    if (fetcher.isClosed() || isWaiting || (originOutbound === undefined && siteOutbound === undefined)) return
    try {
      files.update()
      await fetcher.fetchDue()
      if (!fetcher.isClosed()) await writer.flush()
    } catch (error) {
      log('warn', 'policies could not be updated', error)
    }
  }

  const versionsOf = (hostname: string) => {
    const found = files.get(hostname)
    return found && { robots: found.robots.versions, llms: found.llms.versions }
  }

  return {
    judge: createPolicyJudge({
      versionsOf,
      policyOf,
      observe(hostname) {
        isWaiting = false
        files.observe(hostname)
      },
    }),
    /** Has the policies of these hostnames fetched, of which rows are stored. */
    addStored: (stored: readonly string[]): void => stored.forEach(files.observe),
    /** Judges requests of the past, whose hostname may be another one today: no policy is fetched for them. */
    judgeOfPast: createPolicyJudge({ versionsOf, policyOf }),
    /** Reads the stored versions, so that requests are judged from the first on; again, if another process stores them. Never rejects. */
    async start() {
      try {
        files.restore(await loadVersions(records))
        files.all().forEach(unjudged.addFile)
      } catch (error) {
        log('error', 'the stored policy versions cannot be read; requests are judged by newly fetched ones', error)
      }
    },
    tick,
    /** Returns for each hostname what became of its robots.txt, and when it was last fetched. */
    robotsChecks: () => files.all().flatMap((file) => (file.kind === 'robots' ? describeFile(file) : [])),
    /** Fetches what is due, and resolves when it is fetched, or after 3 seconds. Never rejects. */
    async fetchNow(): Promise<void> {
      isWaiting = false
      const fetched = tick().then(fetcher.whenIdle)
      await Promise.race([fetched, sleep(FIRST_ANSWER_WAIT_MS, undefined, { ref: false })])
    },
    /** Returns and forgets the times of which stored rows may get the judgement that they lack. */
    takeUnjudged: unjudged.take,
    /** Fetches a file soon because the proxy served a changed body of it. `at`: arrival of the request. */
    reportServedFile(hostname: string, path: string, at: number) {
      const kind = POLICY_KINDS.find((one) => POLICY_PATHS[one] === path)
      const file = kind && files.get(hostname)?.[kind]
      // An unlisted hostname waits for its admission whatever the proxy serves, since a client can make it up.
      if (!file || !files.isAdmitted(hostname)) return
      recheckSoon(file, Math.min(at, now()), now())
      void tick()
    },
    /** Returns every hostname whose policy is fetched: those that sites list first, then those with most requests. */
    hostnames: files.hostnames,
    isListed: files.isListed,
    files: files.get,
    policyOf,
    /** Stores everything and stops fetching. */
    async close() {
      fetcher.close()
      await writer.flush(true)
    },
  }
}

function describeFile({ hostname, versions }: PolicyFileState) {
  const version = versions.at(-1)
  if (version === undefined) return { hostname, standing: 'unknown' as const }
  return { hostname, standing: standingOf(version.status), checked_at: new Date(version.last_seen).toISOString() }
}
