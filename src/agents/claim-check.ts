import { parseAddress } from '../base/address.js'
import { memoize } from '../base/cache.js'
import { type Agent, UNDOCUMENTED } from './catalog.js'
import type { RangeLookup, Ranges } from './ranges/ranges.js'
import { listsOfAgent } from './ranges/sources.js'
import type { Rdns, RdnsResult } from './rdns.js'
import type { SignatureCheck } from './signature/signatures.js'
import { provenBy, VERDICTS, type Verdict, type VerifiableRequest } from './verdict.js'

interface VerifierDeps {
  /** Must return the same result if it is called twice with one request: a nonce that occurs twice is a replay. */
  signatures?: { check(request: VerifiableRequest, at: number): SignatureCheck }
  ranges: Pick<Ranges, 'lookUp'> & Partial<Pick<Ranges, 'confirmingList'>>
  /** Absent if DNS must not be used (`--offline`). */
  rdns?: Rdns
}

/**
 * The result of one published way to verify. Only a check that failed `refutes`. `open`: it could not be tried and might
 * still confirm. `unusable`: the request does not allow to try it. `silent`: it was tried and proves nothing. Undefined:
 * the operator does not publish this way.
 */
type Evidence = 'confirms' | 'refutes' | 'open' | 'unusable' | 'silent' | undefined

/** The verdict that is known at once and, if more may be known soon, a promise that never rejects and ends in bounded time. */
export interface ClaimCheck {
  now: Verdict
  later?: Promise<Verdict>
}

const NO_SIGNATURE: SignatureCheck = { state: 'none' }

/** Hosts are chosen by clients. */
const MAX_UNLISTED_SIGNERS = 256

/** An agent that is in no catalog, named by the host of its signature directory, from which nothing is fetched. */
const unlistedSigner = memoize(
  MAX_UNLISTED_SIGNERS,
  (host): Agent => ({
    id: host,
    name: host,
    operator: host,
    purpose: 'other',
    docs_url: UNDOCUMENTED,
    status: 'active',
    ua_tokens: [],
    ua_match: 'signature-only',
    client_side: false,
    robots_only: false,
    honors_wildcard_group: true,
    respects_robots: 'unknown',
    web_bot_auth: { signature_agent: `https://${host}`, directory: null, status: 'observed' },
  }),
)

export type Verifier = ReturnType<typeof createVerifier>

/**
 * Checks claims by Web Bot Auth, published ranges and reverse DNS, in this order; the first that confirms decides. A claim
 * is `spoofed` only if one way refutes it and no other might still confirm it. A missing or stale list, or a DNS that does
 * not answer, is not evidence.
 */
export function createVerifier({ signatures, ranges, rdns }: VerifierDeps) {
  const checkSignature = (request: VerifiableRequest, at: number): SignatureCheck =>
    signatures?.check(request, at) ?? NO_SIGNATURE

  return {
    /**
     * Returns the agent that signed the request (Web Bot Auth). `proven`: the signature is valid, whatever the user agent says.
     * Otherwise nothing could decide yet: browsers do not sign, so the directory that the signature names is a claim.
     */
    signer(request: VerifiableRequest, at: number): { agent: Agent; proven: boolean } | undefined {
      const { state, agent, host } = checkSignature(request, at)
      if (state === 'valid') return agent && { agent, proven: true }
      if (state !== 'pending' && state !== 'undecidable') return undefined
      const claimed = agent ?? (host === undefined ? undefined : unlistedSigner(host))
      return claimed && { agent: claimed, proven: false }
    },
    /** Checks that the request is this agent's. `at` is its arrival in milliseconds since 1970. Never throws, never waits. */
    check(agent: Agent | undefined, request: VerifiableRequest, at: number): ClaimCheck {
      if (!agent || agent.client_side) return { now: VERDICTS.unverifiable }
      const signed = checkSignature(request, at)
      const signature = signatureEvidence(signed, agent)
      if (signature === 'confirms') return { now: provenBy(VERDICTS.web_bot_auth, signed.proof) }
      const address = parseAddress(request.ip)
      const listed = address ? ranges.lookUp(agent, address, at) : listsOfAgent(agent).length > 0 ? 'unknown' : 'none'
      if (address && listed === 'inside')
        return { now: provenBy(VERDICTS.ranges, ranges.confirmingList?.(agent, address, at)) }
      const list = rangeEvidence(listed, agent)
      const name = !agent.rdns_suffixes ? undefined : address && rdns ? rdns.lookUp(agent, address) : 'transient'
      const later = signed.state === 'pending' && signature === 'open' ? signed.later : undefined
      const now = verdictOf(signature, list, typeof name === 'string' ? dnsEvidence(name) : name && 'open')
      if (!later && typeof name !== 'object') return { now }
      return { now, later: settleLater(agent, list, later ?? signed, name) }
    },
  }
}

async function settleLater(
  agent: Agent,
  list: Evidence,
  signed: SignatureCheck | Promise<SignatureCheck>,
  named: RdnsResult | Promise<RdnsResult> | undefined,
): Promise<Verdict> {
  try {
    const [signature, name] = await Promise.all([signed, named])
    const verdict = verdictOf(signatureEvidence(signature, agent), list, name && dnsEvidence(name))
    return verdict === VERDICTS.web_bot_auth ? provenBy(verdict, signature.proof) : verdict
  } catch {
    return VERDICTS.indeterminate
  }
}

/** Only an operator that signs can be expected to sign. Any of the operator's keys confirms any of its agents. */
function signatureEvidence({ state, agent }: SignatureCheck, claimed: Agent): Evidence {
  const sameOperator = agent === undefined ? claimed.web_bot_auth !== undefined : agent.operator === claimed.operator
  if (state === 'valid') return agent && sameOperator ? 'confirms' : 'silent'
  if (claimed.web_bot_auth === undefined && !(agent && sameOperator)) return undefined
  if (!sameOperator || state === 'none') return 'silent'
  return state === 'invalid' ? 'refutes' : state === 'unusable' ? 'unusable' : 'open'
}

function rangeEvidence(listed: RangeLookup, agent: Agent): Evidence {
  if (listed === 'inside') return 'confirms'
  if (listed === 'outside') return 'refutes'
  // A help page that does not mention the address leaves the question open, unless reverse DNS can answer it.
  if (listed === 'silent') return agent.rdns_suffixes ? 'silent' : 'open'
  return listed === 'unknown' ? 'open' : undefined
}

const dnsEvidence = (result: RdnsResult): Evidence =>
  (({ true: 'confirms', false: 'refutes', transient: 'open' }) as const)[result]

function verdictOf(signature: Evidence, list: Evidence, name: Evidence): Verdict {
  if (signature === 'confirms') return VERDICTS.web_bot_auth
  if (list === 'confirms') return VERDICTS.ranges
  if (name === 'confirms') return VERDICTS.rdns
  const evidence = [signature, list, name]
  if (evidence.includes('open')) return VERDICTS.indeterminate
  if (evidence.includes('refutes')) return VERDICTS.spoofed
  return evidence.includes('unusable') ? VERDICTS.indeterminate : VERDICTS.unverifiable
}
