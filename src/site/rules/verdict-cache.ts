import type { Agent } from '../../agents/agent.js'
import { createRecentCache } from '../../base/cache.js'
import type { ClaimVerdict } from '../../capture/decision.js'
import { type Identity, VERDICT_LIFETIME_MS } from '../../rules/rule.js'

/** Addresses are chosen by clients: beyond this many claims, those that were not asked about lately are forgotten. */
const MAX_VERDICTS = 50_000

export type VerdictCache = ReturnType<typeof createVerdictCache>

/** Keeps the verdicts of the last hour by address and agent, separately for requests with a signature. */
export function createVerdictCache() {
  const verdicts = createRecentCache<string, { identity: Identity; until: number }>(MAX_VERDICTS)
  return {
    add({ ip, agent_id, isSigned, identity }: ClaimVerdict, at: number): void {
      verdicts.set(keyOf(ip, agent_id, isSigned), { identity, until: at + VERDICT_LIFETIME_MS })
    },
    /** Returns undefined while the claim is not checked. */
    find(ip: string, agent: Agent | undefined, isSigned: boolean, at: number): Identity | undefined {
      // The worker says the same of each such claim (`claim-check.ts`).
      if (agent === undefined || agent.client_side) return 'unverifiable'
      const key = keyOf(ip, agent.id, isSigned)
      const verdict = verdicts.get(key)
      if (verdict === undefined) return undefined
      // A clock that was set back must not keep a verdict for longer than its lifetime.
      if (at < verdict.until && at >= verdict.until - VERDICT_LIFETIME_MS) return verdict.identity
      verdicts.delete(key)
      return undefined
    },
  }
}

const keyOf = (ip: string, agent_id: string, isSigned: boolean): string =>
  `${ip} ${agent_id}${isSigned ? ' signed' : ''}`
