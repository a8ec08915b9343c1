import { createRecentCache } from '../../base/cache.js'
import type { Agent } from '../catalog.js'
import type { Decision, Policy } from './policy.js'
import { activeVersion, isAssumedGone, judgedTime, type PolicyVersion, recentVersions, standingOf } from './version.js'

/** The verdict of the site's policy on one request when it arrived: columns of its row. The folder's README defines them. */
interface Judgement {
  /** Null if no version was known or the origin could not be reached. */
  robots_allowed: boolean | null
  /** Null unless the request was disallowed, like `robots_line` and `robots_grace`. */
  robots_rule: string | null
  robots_line: number | null
  /** True if a version of the last 24 hours allowed the request: the agent may have a cached copy. */
  robots_grace: boolean | null
  llms_listed: 0 | 1 | null
}

interface PolicyJudgeDeps {
  /** Returns every known version of a hostname's two files, oldest first; undefined if its policy is not fetched. */
  versionsOf: (hostname: string) => { robots: readonly PolicyVersion[]; llms: readonly PolicyVersion[] } | undefined
  /** Returns the parsed text of a served version; undefined if the text is not in memory. */
  policyOf: (version: PolicyVersion) => Policy | undefined
  /** Receives the hostname of each request that is judged. Absent for requests of the past, which are judged only once. */
  observe?: (hostname: string) => void
}

const MAX_CACHED_DECISIONS = 16_384
/** Longer targets are judged each time, so that a client cannot fill the memory with them. */
const MAX_CACHED_TARGET_CHARS = 512

const NO_JUDGEMENT: Judgement = {
  robots_allowed: null,
  robots_rule: null,
  robots_line: null,
  robots_grace: null,
  llms_listed: null,
}
/** Targets of requests that no version decides about yet; the oldest are forgotten. */
const MAX_UNDECIDED_TARGETS = 10_000
const MAX_UNDECIDED_CHARS = 2_000_000
const ALLOWED: Decision = { allowed: true, reason: 'unavailable', group: [] }

/** The parts of a fetch that its stored row has. */
interface StoredFetch {
  hostname: string
  agent_id: string
  /** Undefined for an agent that is not in the catalog. */
  agent: Agent | undefined
  pathname: string
  /** Milliseconds since 1970. */
  at: number
}

/** Judges requests by the versions that were active when they arrived. */
export interface PolicyJudge {
  /** Notes that a person or an agent requested something of `hostname`, so that its policy is fetched. */
  observe(hostname: string): void
  /**
   * `at` is the arrival in milliseconds since 1970, `target` path and query as requested. `agent` is undefined for an agent
   * that is not in the catalog. Never throws, never waits.
   */
  judge(hostname: string, agent: Agent | undefined, target: string, at: number): Judgement
  /**
   * Judges a stored fetch that had no judgement when it was classified. A row has no query, so if the query is not in
   * memory any more, only prefix rules are applied.
   */
  judgeStored(fetch: StoredFetch): Judgement
}

export function createPolicyJudge({ versionsOf, policyOf, observe }: PolicyJudgeDeps): PolicyJudge {
  const undecided = createUndecidedTargets()
  const { decide, hasGrace, isListed } = createDecisions(policyOf)

  const judge = (hostname: string, agent: Agent | undefined, target: string, at: number): Judgement => {
    const versions = versionsOf(hostname)
    const llms_listed = versions === undefined ? null : isListed(versions.llms, target, judgedTime(versions.llms, at))
    // `/robots.txt` itself is always allowed (RFC 9309 2.2.2).
    if (target === '/robots.txt' || target.startsWith('/robots.txt?'))
      return { ...NO_JUDGEMENT, robots_allowed: true, llms_listed }
    const robots = versions?.robots ?? []
    // Rows may arrive after the response that their request came before.
    const time = judgedTime(robots, at)
    const version = activeVersion(robots, time)
    const decision = version && decide(version, agent, target, time)
    if (decision === undefined) return { ...NO_JUDGEMENT, llms_listed }
    if (decision.allowed) return { ...NO_JUDGEMENT, robots_allowed: true, llms_listed }
    return {
      robots_allowed: false,
      robots_rule: decision.rule ?? null,
      robots_line: decision.line ?? null,
      robots_grace: hasGrace(robots, agent, target, time),
      llms_listed,
    }
  }

  /** Judges by the path alone, where no query could change the decision. */
  const judgePath = ({ hostname, agent, pathname, at }: StoredFetch): Judgement => {
    const robots = versionsOf(hostname)?.robots ?? []
    const version = activeVersion(robots, judgedTime(robots, at))
    const decides = version !== undefined && policyOf(version)?.hasOnlyPrefixes(agent) === true
    return decides ? { ...judge(hostname, agent, pathname, at), llms_listed: null } : NO_JUDGEMENT
  }

  return {
    observe: observe ?? (() => {}),
    judge(hostname, agent, target, at) {
      try {
        observe?.(hostname)
        const judgement = judge(hostname, agent, target, at)
        if (observe && (judgement.robots_allowed === null || judgement.llms_listed === null))
          undecided.add({ hostname, agent_id: agent?.id ?? 'other', pathname: pathOf(target), at }, target)
        return judgement
      } catch {
        // A row without a judgement is better than no row.
        return NO_JUDGEMENT
      }
    },
    judgeStored(fetch) {
      const target = undecided.find(fetch)
      try {
        return target ? judge(fetch.hostname, fetch.agent, target, fetch.at) : judgePath(fetch)
      } catch {
        return NO_JUDGEMENT
      }
    },
  }
}

/** Creates the decisions of versions about targets, which are cached. */
function createDecisions(policyOf: PolicyJudgeDeps['policyOf']) {
  const decisions = createDecisionCache<Decision>()
  const listings = createDecisionCache<{ listed: boolean | null }>()

  /** Returns undefined if the version does not decide about requests at that time. */
  const decide = (version: PolicyVersion, agent: Agent | undefined, target: string, at: number) => {
    const standing = standingOf(version.status)
    if (standing === 'unavailable') return ALLOWED
    if (standing === 'unreachable') return isAssumedGone(version, at) ? ALLOWED : undefined
    return decisions(version, agent?.id ?? '', target, () => policyOf(version)?.allows(agent, target))
  }

  /** Returns true if a version that the agent may still have cached allowed the request. */
  const hasGrace = (versions: readonly PolicyVersion[], agent: Agent | undefined, target: string, at: number) => {
    for (const version of recentVersions(versions, at)) {
      if (standingOf(version.status) !== 'unreachable' && decide(version, agent, target, at)?.allowed) return true
    }
    return false
  }

  const isListed = (versions: readonly PolicyVersion[], target: string, at: number): 0 | 1 | null => {
    const version = activeVersion(versions, at)
    if (version === undefined || standingOf(version.status) === 'unreachable') return null
    if (standingOf(version.status) === 'unavailable') return 0
    const listing = listings(version, '', target, () => {
      const policy = policyOf(version)
      return policy && { listed: policy.lists(target) }
    })
    return listing === undefined ? null : listing.listed ? 1 : 0
  }

  return { decide, hasGrace, isListed }
}

const pathOf = (target: string): string => target.split('?', 1)[0] ?? target

/** Keeps the targets of requests that no version decides about yet. */
function createUndecidedTargets() {
  const targets = createRecentCache<string, string>(MAX_UNDECIDED_TARGETS, {
    of: (target) => target.length,
    limit: MAX_UNDECIDED_CHARS,
  })
  const keyOf = ({ hostname, agent_id, pathname, at }: Omit<StoredFetch, 'agent'>): string =>
    `${at} ${hostname} ${agent_id} ${pathname}`
  return {
    add(fetch: Omit<StoredFetch, 'agent'>, target: string): void {
      const key = keyOf(fetch)
      // Two fetches with different queries cannot be told apart: then neither query is known.
      targets.set(key, (targets.get(key) ?? target) === target ? target : '')
    },
    find: (fetch: StoredFetch) => targets.get(keyOf(fetch)),
  }
}

/** Returns a function that caches results by version, agent and target. Undefined results are not cached. */
function createDecisionCache<V extends object>() {
  const cache = createRecentCache<string, V>(MAX_CACHED_DECISIONS)
  const numbers = new WeakMap<PolicyVersion, number>()
  let lastNumber = 0
  return (version: PolicyVersion, agent: string, target: string, work: () => V | undefined): V | undefined => {
    if (target.length > MAX_CACHED_TARGET_CHARS) return work()
    const number = numbers.get(version) ?? ++lastNumber
    numbers.set(version, number)
    const key = `${number} ${agent} ${target}`
    const cached = cache.get(key)
    if (cached !== undefined) return cached
    const value = work()
    if (value !== undefined) cache.set(key, value)
    return value
  }
}
