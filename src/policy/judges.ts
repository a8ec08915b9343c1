import type { Agent } from '../agents/catalog.js'
import type { Judgement, Judges } from './judgement.js'
import type { Decision, Policy } from './policy.js'
import { inForce, isForsaken, standingOf, stillHeld, type Version } from './timeline.js'

/** Every version known of a hostname's two files, oldest first; undefined: none is kept of it. */
export type VersionsOf = (hostname: string) => { robots: readonly Version[]; llms: readonly Version[] } | undefined

export interface JudgesDeps {
  versionsOf: VersionsOf
  /** What a served version says; undefined where its text is not held. */
  policyOf: (version: Version) => Policy | undefined
  /** Told of each hostname that is asked about. */
  observe: (hostname: string, at: number) => void
}

/** Answers remembered. */
const REMEMBERED = 16_384
/** Longer targets are judged each time: remembered, they would be what a stranger fills our memory with. */
const LONGEST = 512

const NOTHING: Judgement = {
  robots_allowed: null,
  robots_rule: null,
  robots_line: null,
  robots_grace: null,
  llms_listed: null,
}

/** Judges rows by the versions in force when they were made, with what was answered before remembered. */
export function createJudges({ versionsOf, policyOf, observe }: JudgesDeps): Judges {
  const decided = remembered<Decision>()
  const listed = remembered<{ listed: boolean | null }>()

  /** Undefined where a version says nothing of fetches at that time. */
  const decide = (version: Version, agent: Agent | undefined, target: string, at: number) => {
    const standing = standingOf(version.status)
    if (standing === 'unavailable') return ALLOWED
    if (standing === 'unreachable') return isForsaken(version, at) ? ALLOWED : undefined
    return decided(version, agent?.id ?? '', target, () => policyOf(version)?.allows(agent, target))
  }

  /** Whether another version allowed it of which a copy may still be held. */
  const graced = (versions: readonly Version[], agent: Agent | undefined, target: string, at: number): boolean => {
    for (const version of stillHeld(versions, at)) {
      if (standingOf(version.status) !== 'unreachable' && decide(version, agent, target, at)?.allowed) return true
    }
    return false
  }

  const lists = (versions: readonly Version[], target: string, at: number): 0 | 1 | null => {
    const version = inForce(versions, at)
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
    if (versions === undefined) return isRobots(target) ? { ...NOTHING, robots_allowed: true } : NOTHING
    const llms_listed = lists(versions.llms, target, at)
    if (isRobots(target)) return { ...NOTHING, robots_allowed: true, llms_listed }
    const version = inForce(versions.robots, at)
    const decision = version && decide(version, agent, target, at)
    if (decision === undefined) return { ...NOTHING, llms_listed }
    if (decision.allowed) return { ...NOTHING, robots_allowed: true, llms_listed }
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
        return NOTHING
      }
    },
  }
}

/** `/robots.txt` itself is always allowed (RFC 9309 2.2.2). */
const isRobots = (target: string): boolean => target === '/robots.txt' || target.startsWith('/robots.txt?')

const ALLOWED: Decision = { allowed: true, reason: 'unavailable', group: [] }

/**
 * Answers by version, agent and target. Two generations: an answer that is asked for moves to the young one, and the
 * old one goes when the young one is full.
 */
function remembered<V>() {
  let young = new Map<string, V>()
  let old = new Map<string, V>()
  const numbers = new WeakMap<Version, number>()
  let last = 0
  const numberOf = (version: Version): number => {
    const known = numbers.get(version)
    if (known !== undefined) return known
    last++
    numbers.set(version, last)
    return last
  }
  return (version: Version, agent: string, target: string, work: () => V | undefined): V | undefined => {
    if (target.length > LONGEST) return work()
    const key = `${numberOf(version)} ${agent} ${target}`
    const known = young.get(key)
    if (known !== undefined) return known
    const value = old.get(key) ?? work()
    if (value === undefined) return undefined
    if (young.size >= REMEMBERED / 2) {
      old = young
      young = new Map()
    }
    young.set(key, value)
    return value
  }
}
