import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { createIdentify } from '../agents/identify.js'
import type { Verdict, Verifier } from '../agents/verdict.js'

/** The published ranges that are held of one agent. */
export interface PublishedRanges {
  /** Prefixes. */
  count: number
  source: string
  /** ISO-8601, when they were last what the operator publishes. */
  refreshed_at: string
  /** Too old, or not whole: they refute nothing. */
  stale: boolean
}

export interface CheckedClaim extends Verdict {
  agent_id: string
  ranges?: PublishedRanges
}

const Argument = z.object({ user_agent: z.string(), ip: z.string() })

/**
 * Checks a claim as a fetch would be checked, but waits for what the fetch would not: at most as long as reverse DNS may
 * take. Null for a person. By ranges and reverse DNS alone: there is no request that could carry a signature.
 */
export function createClaimCheck(deps: {
  catalog: Catalog
  verifier: Pick<Verifier, 'check'>
  ranges: (agent_id: string) => PublishedRanges | undefined
  now: () => number
}): (argument: unknown) => Promise<CheckedClaim | null> {
  const identify = createIdentify(deps.catalog)
  return async (argument) => {
    const { user_agent, ip } = Argument.parse(argument)
    const found = identify(user_agent)
    if (found === undefined) return null
    const checked = deps.verifier.check(found.agent, { method: 'GET', hostname: '', pathname: '/', ip }, deps.now())
    const verdict = (await checked.later) ?? checked.now
    const agent_id = found.agent?.id ?? 'other'
    const held = deps.ranges(agent_id)
    if (held === undefined) return { agent_id, ...verdict }
    const { count, source, refreshed_at, stale } = held
    return { agent_id, ...verdict, ranges: { count, source, refreshed_at, stale } }
  }
}
