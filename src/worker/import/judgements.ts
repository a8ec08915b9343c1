import { verificationMethods } from '../../agents/catalog.js'
import type { Verifier } from '../../agents/claim-check.js'
import { createPolicy } from '../../agents/policy/policy.js'
import type { PolicyJudge } from '../../agents/policy/policy-judge.js'
import { VERDICTS } from '../../agents/verdict.js'
import { DAY_MS } from '../../base/time-units.js'
import type { ImportOptions } from '../../worker-client/log-batch.js'

/** An address of the past proves nothing by the lists of today, and a log has no signatures. */
export const VERIFIES_NOTHING: Verifier = {
  signer: () => undefined,
  check: (agent) => ({
    now:
      agent && !agent.client_side && verificationMethods(agent).length > 0
        ? VERDICTS.indeterminate
        : VERDICTS.unverifiable,
  }),
}

/** Verifies addresses by what operators publish now (`--verify-now`). */
export const verifyNow = ({ check }: Verifier, now: () => number): Verifier => ({
  signer: () => undefined,
  check: (agent, request) => check(agent, request, now()),
})

/**
 * Judges by the versions of robots.txt that were read at the time, and where none was known by the file that the operator
 * names, from the time on that they name.
 */
export function judgeByFile(read: PolicyJudge, robots: ImportOptions['robots']): PolicyJudge {
  if (robots === null) return read
  const policy = createPolicy({ hostname: '', robots: { status: 200, body: robots.body } })
  return {
    ...read,
    judge(hostname, agent, target, at) {
      const judged = read.judge(hostname, agent, target, at)
      if (judged.robots_allowed !== null || at < robots.since) return judged
      const { allowed, rule, line } = policy.allows(agent, target)
      if (allowed) return { ...judged, robots_allowed: true }
      // On its first day an agent may have had a copy of an earlier file, and no text of that is known.
      const robots_grace = at < robots.since + DAY_MS ? null : false
      return { ...judged, robots_allowed: false, robots_rule: rule ?? null, robots_line: line ?? null, robots_grace }
    },
  }
}
