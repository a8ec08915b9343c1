import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import type { Verifier } from '../agents/claim-check.js'
import type { Verdict, VerifiableRequest } from '../agents/verdict.js'
import { createRecentCache } from '../base/cache.js'
import { MINUTE_MS } from '../base/time-units.js'
import type { ClaimVerdict } from '../capture/decision.js'

/** Verdicts that were sent lately; the site's process keeps about as many. */
const MAX_SENT = 50_000
/** A verdict is sent again after this time, because the site's process forgets it after an hour. */
const RENEWAL_MS = 10 * MINUTE_MS

/**
 * Sends the verdicts on claims to the site's process while its rules ask for them: once for each address and agent in ten
 * minutes, and again if the verdict changes. A claim that could not be checked has no verdict.
 */
export function createVerdictNotes(post: (verdicts: ClaimVerdict[]) => void, now: () => number) {
  let sent: ReturnType<typeof createRecentCache<string, { identity: string; at: number }>> | undefined
  let waiting: ClaimVerdict[] = []
  const flush = () => {
    const verdicts = waiting
    waiting = []
    if (sent !== undefined) post(verdicts)
  }
  const note = (agent_id: string, { ip, headers }: VerifiableRequest, verdict: Verdict): void => {
    const identity = identityOf(verdict)
    if (sent === undefined || identity === undefined) return
    const isSigned = headers?.['signature-input'] !== undefined
    const key = `${ip} ${agent_id} ${isSigned}`
    const known = sent.get(key)
    const at = now()
    if (known?.identity === identity && Math.abs(at - known.at) < RENEWAL_MS) return
    sent.set(key, { identity, at })
    // One message for the claims of a batch.
    if (waiting.length === 0) setImmediate(flush)
    waiting.push({ ip, agent_id, isSigned, identity })
  }
  return {
    /** Begins or ends to send verdicts. */
    setNoting(on: boolean): void {
      sent = on ? createRecentCache(MAX_SENT) : undefined
    },
    /** Returns the verifier that notes each verdict. */
    noting: (verifier: Verifier): Verifier => ({
      ...verifier,
      check(agent, request, at) {
        const checked = verifier.check(agent, request, at)
        // The site's process knows by itself that other agents cannot be verified.
        if (sent === undefined || agent === undefined || agent.client_side) return checked
        note(agent.id, request, checked.now)
        void checked.later?.then((verdict) => note(agent.id, request, verdict))
        return checked
      },
    }),
  }
}

const Claim = z.object({ ip: z.string(), agent_id: z.string() })

/** Returns the function that checks a claim without a signature for a request that waits; null: it could not be checked. */
export const createClaimIdentity =
  (deps: { catalog: Catalog; verifier: Pick<Verifier, 'check'>; now: () => number }) =>
  async (argument: unknown): Promise<ClaimVerdict['identity'] | null> => {
    const { ip, agent_id } = Claim.parse(argument)
    const request = { method: 'GET', hostname: '', pathname: '/', ip }
    const checked = deps.verifier.check(deps.catalog.get(agent_id), request, deps.now())
    return identityOf((await checked.later) ?? checked.now) ?? null
  }

const identityOf = ({ verified, verification }: Verdict): ClaimVerdict['identity'] | undefined => {
  if (verified === true) return 'verified'
  return verification === 'spoofed' || verification === 'unverifiable' ? verification : undefined
}
