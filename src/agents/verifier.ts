import { parseAddress } from '../address.js'
import type { Agent } from './catalog.js'
import type { Found, Ranges } from './ranges/ranges.js'
import { listsOf } from './ranges/source.js'
import type { Confirmed, Rdns } from './rdns.js'
import { type Request, VERDICT, type Verdict, type Verifier } from './verdict.js'

/** What is known of a request's Web Bot Auth signature. */
export interface Signed {
  /** `invalid`: it is false, expired or repeated. `undecidable`: its keys could not be had. */
  state: 'none' | 'valid' | 'invalid' | 'pending' | 'undecidable'
  /** Whose key it is, or says it is. */
  agent?: Agent | undefined
  /** What it comes to where it is `pending`; never rejects, never pending again. */
  later?: Promise<Signed> | undefined
}

export interface VerifierDeps {
  /** Asked of one request object twice it must answer the same: a nonce that is seen twice has been replayed. */
  signatures?: { check(request: Request, at: number): Signed }
  ranges: Pick<Ranges, 'ask'>
  /** Absent: no DNS (`--offline`). */
  rdns?: Rdns
}

/**
 * What one published way says: `open` is a way that could not be asked and might confirm yet; `silent` one that was
 * asked and proves nothing; undefined one that the operator does not publish.
 */
type Said = 'confirms' | 'refutes' | 'open' | 'silent' | undefined

const NONE: Signed = { state: 'none' }

/**
 * Checks claims in the order Web Bot Auth, published ranges, reverse DNS; the first that confirms decides. `spoofed`
 * needs a way that refutes and none that might still confirm: a list that is missing or stale, or a DNS that does not
 * answer, is no evidence (contract 3).
 */
export function createVerifier({ signatures, ranges, rdns }: VerifierDeps): Verifier {
  const signedOf = (request: Request, at: number): Signed => signatures?.check(request, at) ?? NONE

  return {
    signer(request, at) {
      const { state, agent } = signedOf(request, at)
      return state === 'valid' ? agent : undefined
    },
    check(agent, request, at) {
      if (!agent || agent.client_side) return { now: VERDICT.unverifiable }
      const signed = signedOf(request, at)
      const signature = bySignature(signed, agent)
      if (signature === 'confirms') return { now: VERDICT.web_bot_auth }
      const address = parseAddress(request.ip)
      const listed = address ? ranges.ask(agent, address, at) : listsOf(agent).length > 0 ? 'unknown' : 'none'
      if (listed === 'inside') return { now: VERDICT.ranges }
      const list = byList(listed, agent)
      const named = !agent.rdns_suffixes ? undefined : address && rdns ? rdns.ask(agent, address) : 'transient'
      const later = signed.state === 'pending' && signature === 'open' ? signed.later : undefined
      const now = verdictOf(signature, list, typeof named === 'string' ? byName(named) : named && 'open')
      if (!later && typeof named !== 'object') return { now }
      return { now, later: settle(agent, list, later ?? signed, named) }
    },
  }
}

async function settle(
  agent: Agent,
  list: Said,
  signed: Signed | Promise<Signed>,
  named: Confirmed | Promise<Confirmed> | undefined,
): Promise<Verdict> {
  try {
    const [signature, name] = await Promise.all([signed, named])
    return verdictOf(bySignature(signature, agent), list, name && byName(name))
  } catch {
    return VERDICT.indeterminate
  }
}

/** Only an operator that signs can be asked for a signature, and any of its keys speaks for it. */
function bySignature({ state, agent }: Signed, claimed: Agent): Said {
  const theirs = agent === undefined ? claimed.web_bot_auth !== undefined : agent.operator === claimed.operator
  if (state === 'valid') return agent && theirs ? 'confirms' : 'silent'
  if (claimed.web_bot_auth === undefined && !(agent && theirs)) return undefined
  if (!theirs || state === 'none') return 'silent'
  return state === 'invalid' ? 'refutes' : 'open'
}

function byList(listed: Found, agent: Agent): Said {
  if (listed === 'inside') return 'confirms'
  if (listed === 'outside') return 'refutes'
  // A page for people that does not name an address leaves the question open, unless another way answers it.
  if (listed === 'silent') return agent.rdns_suffixes ? 'silent' : 'open'
  return listed === 'unknown' ? 'open' : undefined
}

const byName = (confirmed: Confirmed): Said =>
  (({ true: 'confirms', false: 'refutes', transient: 'open' }) as const)[confirmed]

function verdictOf(signature: Said, list: Said, name: Said): Verdict {
  if (signature === 'confirms') return VERDICT.web_bot_auth
  if (list === 'confirms') return VERDICT.ranges
  if (name === 'confirms') return VERDICT.rdns
  const said = [signature, list, name]
  if (said.includes('open')) return VERDICT.indeterminate
  return said.includes('refutes') ? VERDICT.spoofed : VERDICT.unverifiable
}
