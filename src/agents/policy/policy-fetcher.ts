import type { Outbound } from '../../base/outbound/outbound.js'
import { changeText, firstText, type PolicyChange, stateOf } from './change.js'
import { fetchPolicy, managedVersion } from './fetch-policy.js'
import { createFetchQueue } from './fetch-queue.js'
import { addVersion, type PolicyFileState, previousAnswer, scheduleNext } from './file-schedule.js'
import type { createPolicyCache } from './policy-cache.js'
import type { PolicyFileList } from './policy-files.js'
import type { createUnjudgedTimes } from './unjudged-times.js'
import { POLICY_PATHS, type PolicyVersion, standingOf } from './version.js'
import { type createVersionWriter, releaseBodies } from './version-store.js'

export interface FetcherDeps {
  /**
   * Sends a request to the origin whatever the hostname of the URL, with the hostname as `Host`. Redirects to other hosts
   * are guarded. Undefined if there is no origin; then nothing is fetched.
   */
  originOutbound: Outbound | undefined
  /** Sends requests to the origin of one site. The site's administrators chose it, so it is guarded. */
  siteOutbound?: (origin: string) => Outbound
  /** Milliseconds since 1970. */
  now: () => number
  /** Between 0 and 1. */
  random: () => number
  log: (level: 'info' | 'warn' | 'error', message: string, error?: unknown) => void
  /** Called when a hostname's file changed, but not for its first version. */
  onChange?: (change: PolicyChange) => void
}

interface FetcherParts {
  files: PolicyFileList
  writer: ReturnType<typeof createVersionWriter>
  policyOf: ReturnType<typeof createPolicyCache>
  unjudged: ReturnType<typeof createUnjudgedTimes>
}

/** Fetches the files that are due, and stores, logs and reports their new versions. */
export function createPolicyFetcher(deps: FetcherDeps, { files, writer, policyOf, unjudged }: FetcherParts) {
  const { now, random, log } = deps
  let closed = false

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

  /** Never rejects. */
  const fetchFile = async (file: PolicyFileState, outbound: Outbound): Promise<void> => {
    const at = now()
    const noticedAt = scheduleNext(file, at, random() * 2 - 1)
    try {
      const { hostname, kind } = file
      const last = file.versions.at(-1)
      const previous = last?.body === undefined ? undefined : last
      const managed = kind === 'robots' ? files.managedOf(hostname) : undefined
      const fetched =
        managed === undefined
          ? await fetchPolicy(outbound, { hostname, kind, at, previous })
          : managedVersion(hostname, managed, at)
      if (closed) return
      const version = addVersion(file, fetched, now(), noticedAt)
      const current = file.versions.at(-1)
      if (!file.answered && current !== undefined && standingOf(current.status) !== 'unreachable') {
        file.answered = true
        unjudged.addFile(file)
      }
      if (version !== undefined) {
        writer.add(version)
        announce(file, version)
        releaseBodies(files.all().map(({ versions }) => versions))
      } else if (current !== undefined) writer.renew(current)
    } catch (error) {
      log('error', `${file.hostname}${POLICY_PATHS[file.kind]} could not be fetched`, error)
    }
  }

  const queue = createFetchQueue({
    files,
    fetchFile,
    now,
    outboundOf: (hostname) => outboundOf(files.originOf(hostname), deps),
  })
  return {
    fetchDue: queue.fetchDue,
    whenIdle: queue.whenIdle,
    isClosed: () => closed,
    close() {
      closed = true
      queue.close()
    },
  }
}

/** Returns how files of a site with this origin of its own, or with the instance's, are fetched. */
function outboundOf(
  siteOrigin: string | undefined,
  { originOutbound, siteOutbound }: FetcherDeps,
): Outbound | undefined {
  return (siteOrigin === undefined ? undefined : siteOutbound?.(siteOrigin)) ?? originOutbound
}
