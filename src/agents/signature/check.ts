import type { Agent } from '../catalog.js'
import type { Request } from '../verdict.js'
import { signatureBase } from './base.js'
import { type AgentField, LONGEST, readAgentField, readSignatures, type Signed } from './fields.js'
import { type Keys, proves } from './keys.js'
import type { Nonces } from './nonces.js'

/** A directory as a check needs it. */
export interface Held {
  agent: Agent
  /** Its URL, which together with a key is an identity; the same key elsewhere is another. */
  directory: string
  /** Absent: never fetched, or so long ago that it says nothing any more. */
  keys?: Keys
  /** It also publishes keys of kinds that we cannot use. */
  others: boolean
  /** That a key is not among them was true a moment ago. */
  fresh: boolean
}

export interface Knowledge {
  /** Whose directory an origin has, as `https://example.com`; `undefined`: no agent's. */
  directoryOf(origin: string): Held | undefined
  nonces: Nonces
}

/** What one signature says; `key_unknown` where its directory has to be asked again before anybody can tell. */
export type Finding =
  | { state: 'valid'; held: Held }
  | { state: 'invalid' | 'undecidable'; reason: string; held?: Held }
  | { state: 'key_unknown'; held: Held }

/** Of more signatures the rest is not looked at: each may cost a check. */
const MOST_SIGNATURES = 4
/** How far a signer's clock may be ahead of ours. */
const SKEW = 60_000
const DAY = 86_400_000

/** Whether a request carries one tagged `web-bot-auth`, as far as a look tells; of a long field nobody knows what was cut. */
export function carries({ headers }: Request): boolean {
  const input = headers?.['signature-input']
  return input !== undefined && (input.includes('web-bot-auth') || input.length > LONGEST)
}

/**
 * The findings on each signature of a request that carries the tag, up to the first valid one; empty where the tag was
 * somewhere else. RFC 9421 3.2 with the rules of draft-ietf-webbotauth-httpsig-protocol.
 */
export function findings(request: Request, at: number, knowledge: Knowledge): Finding[] {
  const { headers = {} } = request
  const input = headers['signature-input'] ?? ''
  const signature = headers.signature ?? ''
  const agent = headers['signature-agent'] ?? ''
  if (input.length > LONGEST || signature.length > LONGEST || agent.length > LONGEST)
    return [{ state: 'undecidable', reason: 'too_long' }]
  const tagged = readSignatures(input, signature, MOST_SIGNATURES)
  if (tagged === undefined) return [{ state: 'invalid', reason: 'malformed' }]
  const field = agent === '' ? undefined : readAgentField(agent)
  const found: Finding[] = []
  for (const signed of tagged) {
    const finding = examine(signed, field, request, at, knowledge)
    found.push(finding)
    if (finding.state === 'valid') break
  }
  return found
}

function examine(
  signed: Signed,
  field: AgentField | undefined,
  request: Request,
  at: number,
  { directoryOf, nonces }: Knowledge,
): Finding {
  const named = covers(signed, field)
  const held = named?.url === undefined ? undefined : directoryOf(originOf(named.url))
  const claim = held && { held }
  const wrong = terms(signed, at)
  if (wrong !== undefined) return { state: 'invalid', reason: wrong, ...claim }
  if (field === undefined) return { state: 'undecidable', reason: 'signature_agent_missing' }
  if (named === undefined) return { state: 'invalid', reason: 'signature_agent_not_covered' }
  if (held === undefined) return { state: 'undecidable', reason: 'directory_unknown' }
  if (held.keys === undefined) return { state: 'key_unknown', held }
  const key = held.keys.get(signed.keyid ?? '')
  if (key === undefined) {
    if (!held.fresh) return { state: 'key_unknown', held }
    return held.others
      ? { state: 'undecidable', reason: 'key_unsupported', held }
      : { state: 'invalid', reason: 'key_unknown', held }
  }
  if (at < key.from || at > key.until) return { state: 'invalid', reason: 'key_expired', held }
  if (signed.alg !== undefined && signed.alg !== key.alg) return { state: 'invalid', reason: 'alg_mismatch', held }

  const scheme = request.signed?.scheme === 'https' ? 'https' : 'http'
  const base = signatureBase(signed, request, scheme)
  if ('state' in base) return { ...base, held }
  if (!proves(key, base.text, signed.signature)) {
    // Whoever ends TLS in front of us may not say so.
    const secure = scheme === 'https' ? base : signatureBase(signed, request, 'https')
    if ('state' in secure || secure.text === base.text || !proves(key, secure.text, signed.signature))
      return { state: 'invalid', reason: 'signature_mismatch', held }
  }
  // Without a nonce, the signer means it to be used again: pages and their parts fetched within a second carry the very
  // same Ed25519 signature.
  if (signed.nonce !== undefined) {
    const nonce = `${held.directory} ${signed.keyid} ${signed.nonce}`
    if (!nonces.use(nonce, at, (signed.expires ?? 0) * 1_000)) return { state: 'invalid', reason: 'replayed', held }
  }
  return { state: 'valid', held }
}

/** What is wrong with a signature by its own words; undefined: nothing. */
function terms({ components, created, expires, keyid }: Signed, at: number): string | undefined {
  if (created === undefined) return 'created_missing'
  if (expires === undefined) return 'expires_missing'
  if (keyid === undefined) return 'keyid_missing'
  if (expires <= created) return 'expires_before_created'
  if ((expires - created) * 1_000 > DAY) return 'window_too_long'
  if (created * 1_000 > at + SKEW) return 'created_in_future'
  if (expires * 1_000 <= at) return 'expired'
  if (!components.some(({ name }) => name === '@authority' || name === '@target-uri')) return 'authority_not_covered'
  return undefined
}

/**
 * The URL that a signature vouches for: of a dictionary the member it covers, and of several that of its own label; of
 * a bare string that string. No `url`: it is of a type we do not know, or nobody can tell which. Undefined: it covers
 * none, and whoever copied the signature could have put any there.
 */
function covers(
  { label, components }: Signed,
  field: AgentField | undefined,
): { url?: string | undefined } | undefined {
  const covered = components.filter(({ name, unknown }) => name === 'signature-agent' && unknown.length === 0)
  if (field === undefined || covered.length === 0) return undefined
  const whole = covered.some(({ key }) => key === undefined)
  if (field.form === 'string') return whole ? { url: field.url } : undefined
  const members = whole ? [...field.members.keys()] : covered.map(({ key }) => key ?? '')
  const [only] = members
  if (members.includes(label)) return { url: field.members.get(label) }
  return members.length === 1 && only !== undefined ? { url: field.members.get(only) } : {}
}

/** A URL that is an origin and no more in the one spelling that the table of directories has; what is none is left alone. */
export const originOf = (url: string): string => url.toLowerCase().replace(/^(https:\/\/[^/?#@]*?)(?::443)?\/?$/, '$1')
