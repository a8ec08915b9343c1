import { parseAddress } from '../address.js'
import type { Agent } from './catalog.js'
import type { RangeLookup, Ranges } from './ranges/ranges.js'
import { listsOfAgent } from './ranges/sources.js'
import type { Rdns, RdnsResult } from './rdns.js'
import { VERDICTS, type Verdict, type VerifiableRequest, type Verifier } from './verdict.js'

/** What is known of a request's Web Bot Auth signature. */
export interface SignatureResult {
  /** `invalid`: it is false, expired or repeated. `undecidable`: its keys could not be had. */
  state: 'none' | 'valid' | 'invalid' | 'pending' | 'undecidable'
  /** Whose key it is, or says it is. */
  agent?: Agent | undefined
  /** What it comes to where it is `pending`; never rejects, never pending again. */
  later?: Promise<SignatureResult> | undefined
}

interface VerifierDeps {
  /** Asked of one request object twice it must answer the same: a nonce that is seen twice has been replayed. */
  signatures?: { check(request: VerifiableRequest, at: number): SignatureResult }
  ranges: Pick<Ranges, 'ask'>
  /** Absent: no DNS (`--offline`). */
  rdns?: Rdns
}

/**
 * What one published way says: `open` is a way that could not be asked and might confirm yet; `silent` one that was
 * asked and proves nothing; undefined one that the operator does not publish.
 */
type Evidence = 'confirms' | 'refutes' | 'open' | 'silent' | undefined

const NO_SIGNATURE: SignatureResult = { state: 'none' }

/**
 * Checks claims in the order Web Bot Auth, published ranges, reverse DNS; the first that confirms decides. `spoofed`
 * needs a way that refutes and none that might still confirm: a list that is missing or stale, or a DNS that does not
 * answer, is no evidence (contract 3).
 */
export function createVerifier({ signatures, ranges, rdns }: VerifierDeps): Verifier {
  const signedOf = (request: VerifiableRequest, at: number): SignatureResult =>
    signatures?.check(request, at) ?? NO_SIGNATURE

  return {
    signer(request, at) {
      const { state, agent } = signedOf(request, at)
      return state === 'valid' ? agent : undefined
    },
    check(agent, request, at) {
      if (!agent || agent.client_side) return { now: VERDICTS.unverifiable }
      const signed = signedOf(request, at)
      const signature = signatureEvidence(signed, agent)
      if (signature === 'confirms') return { now: VERDICTS.web_bot_auth }
      const address = parseAddress(request.ip)
      const listed = address ? ranges.ask(agent, address, at) : listsOfAgent(agent).length > 0 ? 'unknown' : 'none'
      if (listed === 'inside') return { now: VERDICTS.ranges }
      const list = rangeEvidence(listed, agent)
      const named = !agent.rdns_suffixes ? undefined : address && rdns ? rdns.lookUp(agent, address) : 'transient'
      const later = signed.state === 'pending' && signature === 'open' ? signed.later : undefined
      const now = verdictOf(signature, list, typeof named === 'string' ? dnsEvidence(named) : named && 'open')
      if (!later && typeof named !== 'object') return { now }
      return { now, later: settleLater(agent, list, later ?? signed, named) }
    },
  }
}

async function settleLater(
  agent: Agent,
  list: Evidence,
  signed: SignatureResult | Promise<SignatureResult>,
  named: RdnsResult | Promise<RdnsResult> | undefined,
): Promise<Verdict> {
  try {
    const [signature, name] = await Promise.all([signed, named])
    return verdictOf(signatureEvidence(signature, agent), list, name && dnsEvidence(name))
  } catch {
    return VERDICTS.indeterminate
  }
}

/** Only an operator that signs can be asked for a signature, and any of its keys speaks for it. */
function signatureEvidence({ state, agent }: SignatureResult, claimed: Agent): Evidence {
  const theirs = agent === undefined ? claimed.web_bot_auth !== undefined : agent.operator === claimed.operator
  if (state === 'valid') return agent && theirs ? 'confirms' : 'silent'
  if (claimed.web_bot_auth === undefined && !(agent && theirs)) return undefined
  if (!theirs || state === 'none') return 'silent'
  return state === 'invalid' ? 'refutes' : 'open'
}

function rangeEvidence(listed: RangeLookup, agent: Agent): Evidence {
  if (listed === 'inside') return 'confirms'
  if (listed === 'outside') return 'refutes'
  // A page for people that does not name an address leaves the question open, unless another way answers it.
  if (listed === 'silent') return agent.rdns_suffixes ? 'silent' : 'open'
  return listed === 'unknown' ? 'open' : undefined
}

const dnsEvidence = (confirmed: RdnsResult): Evidence =>
  (({ true: 'confirms', false: 'refutes', transient: 'open' }) as const)[confirmed]

function verdictOf(signature: Evidence, list: Evidence, name: Evidence): Verdict {
  if (signature === 'confirms') return VERDICTS.web_bot_auth
  if (list === 'confirms') return VERDICTS.ranges
  if (name === 'confirms') return VERDICTS.rdns
  const said = [signature, list, name]
  if (said.includes('open')) return VERDICTS.indeterminate
  return said.includes('refutes') ? VERDICTS.spoofed : VERDICTS.unverifiable
}
