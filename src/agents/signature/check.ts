import type { Agent } from '../catalog.js'
import type { VerifiableRequest } from '../verdict.js'
import { signatureBase } from './base.js'
import {
  MAX_FIELD_CHARS,
  readSignatureAgent,
  readSignatures,
  type SignatureAgent,
  type SignatureInput,
} from './header-fields.js'
import { type Keys, verifySignature } from './keys.js'
import type { Nonces } from './nonces.js'

/** A directory as a check needs it. */
export interface KeyDirectory {
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

interface CheckContext {
  /** Whose directory an origin has, as `https://example.com`; `undefined`: no agent's. */
  directoryOf(origin: string): KeyDirectory | undefined
  nonces: Nonces
}

/** What one signature says; `key_unknown` where its directory has to be asked again before anybody can tell. */
export type SignatureFinding =
  | { state: 'valid'; held: KeyDirectory }
  | { state: 'invalid' | 'undecidable'; reason: string; held?: KeyDirectory }
  | { state: 'key_unknown'; held: KeyDirectory }

/** Of more signatures the rest is not looked at: each may cost a check. */
const MAX_SIGNATURES = 4
/** How far a signer's clock may be ahead of ours. */
const MAX_CLOCK_SKEW_MS = 60_000
const MAX_LIFETIME_MS = 86_400_000

/** Whether a request carries one tagged `web-bot-auth`, as far as a look tells; of a long field nobody knows what was cut. */
export function mayCarrySignature({ headers }: VerifiableRequest): boolean {
  const input = headers?.['signature-input']
  return input !== undefined && (input.includes('web-bot-auth') || input.length > MAX_FIELD_CHARS)
}

/**
 * The findings on each signature of a request that carries the tag, up to the first valid one; empty where the tag was
 * somewhere else. RFC 9421 3.2 with the rules of draft-ietf-webbotauth-httpsig-protocol.
 */
export function checkSignatures(request: VerifiableRequest, at: number, knowledge: CheckContext): SignatureFinding[] {
  const { headers = {} } = request
  const input = headers['signature-input'] ?? ''
  const signature = headers.signature ?? ''
  const agent = headers['signature-agent'] ?? ''
  if (input.length > MAX_FIELD_CHARS || signature.length > MAX_FIELD_CHARS || agent.length > MAX_FIELD_CHARS)
    return [{ state: 'undecidable', reason: 'too_long' }]
  const tagged = readSignatures(input, signature, MAX_SIGNATURES)
  if (tagged === undefined) return [{ state: 'invalid', reason: 'malformed' }]
  const field = agent === '' ? undefined : readSignatureAgent(agent)
  const found: SignatureFinding[] = []
  for (const signed of tagged) {
    const finding = checkSignature(signed, field, request, at, knowledge)
    found.push(finding)
    if (finding.state === 'valid') break
  }
  return found
}

function checkSignature(
  signed: SignatureInput,
  field: SignatureAgent | undefined,
  request: VerifiableRequest,
  at: number,
  { directoryOf, nonces }: CheckContext,
): SignatureFinding {
  const named = coveredAgentUrl(signed, field)
  const held = named?.url === undefined ? undefined : directoryOf(originOf(named.url))
  const claim = held && { held }
  const wrong = termsViolation(signed, at)
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
  if (!verifySignature(key, base.text, signed.signature)) {
    // Whoever ends TLS in front of us may not say so.
    const secure = scheme === 'https' ? base : signatureBase(signed, request, 'https')
    if ('state' in secure || secure.text === base.text || !verifySignature(key, secure.text, signed.signature))
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
function termsViolation({ components, created, expires, keyid }: SignatureInput, at: number): string | undefined {
  if (created === undefined) return 'created_missing'
  if (expires === undefined) return 'expires_missing'
  if (keyid === undefined) return 'keyid_missing'
  if (expires <= created) return 'expires_before_created'
  if ((expires - created) * 1_000 > MAX_LIFETIME_MS) return 'window_too_long'
  if (created * 1_000 > at + MAX_CLOCK_SKEW_MS) return 'created_in_future'
  if (expires * 1_000 <= at) return 'expired'
  if (!components.some(({ name }) => name === '@authority' || name === '@target-uri')) return 'authority_not_covered'
  return undefined
}

/**
 * The URL that a signature vouches for: of a dictionary the member it covers, and of several that of its own label; of
 * a bare string that string. No `url`: it is of a type we do not know, or nobody can tell which. Undefined: it covers
 * none, and whoever copied the signature could have put any there.
 */
function coveredAgentUrl(
  { label, components }: SignatureInput,
  field: SignatureAgent | undefined,
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
