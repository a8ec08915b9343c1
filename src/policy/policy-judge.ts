import type { Agent } from '../agents/catalog.js'
import type { Judgement, PolicyJudge } from './judgement.js'
import type { Decision, Policy } from './policy.js'
import { activeVersion, isAssumedGone, type PolicyVersion, recentVersions, standingOf } from './version.js'

/** Every version known of a hostname's two files, oldest first; undefined: none is kept of it. */
type VersionsOf = (hostname: string) => { robots: readonly PolicyVersion[]; llms: readonly PolicyVersion[] } | undefined

interface PolicyJudgeDeps {
  versionsOf: VersionsOf
  /** What a served version says; undefined where its text is not held. */
  policyOf: (version: PolicyVersion) => Policy | undefined
  /** Told of each hostname that is asked about. */
  observe: (hostname: string, at: number) => void
}

/** Answers remembered. */
const MAX_CACHED_DECISIONS = 16_384
/** Longer targets are judged each time: remembered, they would be what a stranger fills our memory with. */
const MAX_CACHED_TARGET_CHARS = 512

const NO_JUDGEMENT: Judgement = {
  robots_allowed: null,
  robots_rule: null,
  robots_line: null,
  robots_grace: null,
  llms_listed: null,
}

/** Judges rows by the versions in force when they were made, with what was answered before remembered. */
export function createPolicyJudge({ versionsOf, policyOf, observe }: PolicyJudgeDeps): PolicyJudge {
  const decided = createDecisionCache<Decision>()
  const listed = createDecisionCache<{ listed: boolean | null }>()

  /** Undefined where a version says nothing of fetches at that time. */
  const decide = (version: PolicyVersion, agent: Agent | undefined, target: string, at: number) => {
    const standing = standingOf(version.status)
    if (standing === 'unavailable') return ALLOWED
    if (standing === 'unreachable') return isAssumedGone(version, at) ? ALLOWED : undefined
    return decided(version, agent?.id ?? '', target, () => policyOf(version)?.allows(agent, target))
  }

  /** Whether another version allowed it of which a copy may still be held. */
  const graced = (
    versions: readonly PolicyVersion[],
    agent: Agent | undefined,
    target: string,
    at: number,
  ): boolean => {
    for (const version of recentVersions(versions, at)) {
      if (standingOf(version.status) !== 'unreachable' && decide(version, agent, target, at)?.allowed) return true
    }
    return false
  }

  const lists = (versions: readonly PolicyVersion[], target: string, at: number): 0 | 1 | null => {
    const version = activeVersion(versions, at)
    if (version === undefined || standingOf(version.status) === 'unreachable') return null
    if (standingOf(version.status) === 'unavailable') return 0
    const answer = listed(version, '', target, () => {
      const policy = policyOf(version)
      return policy && { listed: policy.lists(target) }
    })
    return answer === undefined ? null : answer.listed ? 1 : 0
  }

  const judge = (hostname: string, agent: Agent | undefined, target: string, at: number): Judgement => {
    observe(hostname, at)
    const versions = versionsOf(hostname)
    if (versions === undefined) return isRobotsTxt(target) ? { ...NO_JUDGEMENT, robots_allowed: true } : NO_JUDGEMENT
    const llms_listed = lists(versions.llms, target, at)
    if (isRobotsTxt(target)) return { ...NO_JUDGEMENT, robots_allowed: true, llms_listed }
    const version = activeVersion(versions.robots, at)
    const decision = version && decide(version, agent, target, at)
    if (decision === undefined) return { ...NO_JUDGEMENT, llms_listed }
    if (decision.allowed) return { ...NO_JUDGEMENT, robots_allowed: true, llms_listed }
    return {
      robots_allowed: false,
      robots_rule: decision.rule ?? null,
      robots_line: decision.line ?? null,
      robots_grace: graced(versions.robots, agent, target, at),
      llms_listed,
    }
  }

  return {
    judge(hostname, agent, target, at) {
      try {
        return judge(hostname, agent, target, at)
      } catch {
        // A row without a judgement is worth more than none.
        return NO_JUDGEMENT
      }
    },
  }
}

/** `/robots.txt` itself is always allowed (RFC 9309 2.2.2). */
const isRobotsTxt = (target: string): boolean => target === '/robots.txt' || target.startsWith('/robots.txt?')

const ALLOWED: Decision = { allowed: true, reason: 'unavailable', group: [] }

/**
 * Answers by version, agent and target. Two generations: an answer that is asked for moves to the young one, and the
 * old one goes when the young one is full.
 */
function createDecisionCache<V>() {
  let young = new Map<string, V>()
  let old = new Map<string, V>()
  const numbers = new WeakMap<PolicyVersion, number>()
  let last = 0
  const numberOf = (version: PolicyVersion): number => {
    const known = numbers.get(version)
    if (known !== undefined) return known
    last++
    numbers.set(version, last)
    return last
  }
  return (version: PolicyVersion, agent: string, target: string, work: () => V | undefined): V | undefined => {
    if (target.length > MAX_CACHED_TARGET_CHARS) return work()
    const key = `${numberOf(version)} ${agent} ${target}`
    const known = young.get(key)
    if (known !== undefined) return known
    const value = old.get(key) ?? work()
    if (value === undefined) return undefined
    if (young.size >= MAX_CACHED_DECISIONS / 2) {
      old = young
      young = new Map()
    }
    young.set(key, value)
    return value
  }
}
