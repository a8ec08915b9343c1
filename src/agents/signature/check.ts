import { hash } from 'node:crypto'
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

/** A directory of keys as a check needs it. */
export interface KeyDirectory {
  agent: Agent
  /** Its URL. A key is an identity only together with the URL; the same key elsewhere is another identity. */
  url: string
  /** Absent if the directory was never fetched or its copy is too old. */
  keys?: Keys | undefined
  /** When the copy was fetched; milliseconds since 1970. */
  refreshed_at?: number | undefined
  /** True if the directory also publishes keys of unsupported kinds. */
  others: boolean
  /** True if the copy was fetched within the last minute, so a missing key is really missing. */
  fresh: boolean
}

interface CheckContext {
  /** Returns the directory of an origin such as `https://example.com`, or undefined if no agent has it. */
  directoryOf(origin: string): KeyDirectory | undefined
  nonces: ReturnType<typeof createNonces>
}

/**
 * The result of checking one signature. Only `invalid` is a failed check: the signature is not by the key that it names, or
 * is used again. `unusable`: the signature itself allows no check. `undecidable`: something else that the check needs is
 * missing here. `key_unknown`: the directory must be fetched again to decide.
 */
export type SignatureFinding =
  | { state: 'valid'; directory: KeyDirectory; longLived: boolean }
  | { state: 'invalid' | 'unusable'; reason: string; directory?: KeyDirectory | undefined }
  | { state: 'undecidable'; reason: string; directory?: KeyDirectory | undefined; host?: string | undefined }
  | { state: 'key_unknown'; directory: KeyDirectory }

/** Further signatures of a request are ignored, since each may cost a check. */
const MAX_SIGNATURES = 4
const MAX_CLOCK_SKEW_MS = 60_000
/** The draft recommends that a signature is valid for at most a day; it does not require that. */
const RECOMMENDED_LIFETIME_S = 86_400
const MAX_NONCES = 100_000

/**
 * Remembers the nonces of valid signatures until they expire, at most `most`. If there are more, the oldest is forgotten,
 * and its signature could be replayed; but only holders of a known agent's key can add nonces. Stores digests, so long
 * nonces need no more memory. A restart forgets all.
 */
export function createNonces(most = MAX_NONCES) {
  const expiries = new Map<string, number>()
  return {
    /** Returns true at the first use. `at` and `expires` are milliseconds since 1970. */
    use(text: string, at: number, expires: number): boolean {
      const nonce = hash('sha256', text, 'base64')
      for (const [oldest, expiry] of expiries) {
        if (expiry >= at && expiries.size < most) break
        expiries.delete(oldest)
      }
      const expiry = expiries.get(nonce)
      if (expiry !== undefined && expiry >= at) return false
      expiries.delete(nonce)
      expiries.set(nonce, expires)
      return true
    },
  }
}

/** Returns true if a signature may be tagged `web-bot-auth`. A long field may have been cut, so it counts as tagged. */
export function mayCarrySignature({ headers }: VerifiableRequest): boolean {
  const input = headers?.['signature-input']
  return input !== undefined && (input.includes('web-bot-auth') || input.length > MAX_FIELD_CHARS)
}

/**
 * Checks the tagged signatures of a request, up to the first valid one; empty if none is tagged. Follows RFC 9421 3.2 with
 * the rules of draft-ietf-webbotauth-httpsig-protocol.
 */
export function checkSignatures(request: VerifiableRequest, at: number, context: CheckContext): SignatureFinding[] {
  const { 'signature-input': input = '', signature = '', 'signature-agent': agent = '' } = request.headers ?? {}
  if ([input, signature, agent].some((field) => field.length > MAX_FIELD_CHARS))
    return [{ state: 'undecidable', reason: 'too_long' }]
  const tagged = readSignatures(input, signature, MAX_SIGNATURES)
  if (tagged === undefined) return [{ state: 'unusable', reason: 'malformed' }]
  const field = agent === '' ? undefined : readSignatureAgent(agent)
  const findings: SignatureFinding[] = []
  for (const signed of tagged) {
    const finding = checkSignature(signed, field, request, at, context)
    findings.push(finding)
    if (finding.state === 'valid') break
  }
  return findings
}

function checkSignature(
  signed: SignatureInput,
  field: SignatureAgent | undefined,
  request: VerifiableRequest,
  at: number,
  { directoryOf, nonces }: CheckContext,
): SignatureFinding {
  const named = coveredAgentUrl(signed, field)
  const directory = named?.url === undefined ? undefined : directoryOf(originOf(named.url))
  const violation = termsViolation(signed, at)
  if (violation !== undefined) return { state: 'unusable', reason: violation, directory }
  if (field === undefined) return { state: 'undecidable', reason: 'signature_agent_missing' }
  if (named === undefined) return { state: 'unusable', reason: 'signature_agent_not_covered' }
  if (directory === undefined) return { state: 'undecidable', reason: 'directory_unknown', host: hostOf(named.url) }
  if (directory.keys === undefined) return { state: 'key_unknown', directory }
  const key = directory.keys.get(signed.keyid ?? '')
  if (key === undefined) {
    if (!directory.fresh) return { state: 'key_unknown', directory }
    return directory.others
      ? { state: 'undecidable', reason: 'key_unsupported', directory }
      : { state: 'unusable', reason: 'key_unknown', directory }
  }
  if (at < key.from || at > key.until) return { state: 'unusable', reason: 'key_expired', directory }
  if (signed.alg !== undefined && signed.alg !== key.alg)
    return { state: 'unusable', reason: 'alg_mismatch', directory }

  const scheme = request.signed?.scheme === 'https' ? 'https' : 'http'
  const base = signatureBase(signed, request, scheme)
  if ('state' in base) return { ...base, directory }
  if (!verifySignature(key, base.text, signed.signature)) {
    // A proxy that ends TLS in front of us may not tell that the client used https.
    const secure = scheme === 'https' ? base : signatureBase(signed, request, 'https')
    if ('state' in secure || secure.text === base.text || !verifySignature(key, secure.text, signed.signature))
      return { state: 'invalid', reason: 'signature_mismatch', directory }
  }
  // Without a nonce the signer allows reuse: a page and its parts that are fetched within a second carry the same Ed25519
  // signature.
  if (signed.nonce !== undefined) {
    const nonce = `${directory.url} ${signed.keyid} ${signed.nonce}`
    if (!nonces.use(nonce, at, (signed.expires ?? 0) * 1_000))
      return { state: 'invalid', reason: 'replayed', directory }
  }
  const { created = 0, expires = 0 } = signed
  return { state: 'valid', directory, longLived: expires - created > RECOMMENDED_LIFETIME_S }
}

/** Returns what is wrong with the parameters of a signature, or undefined. */
function termsViolation({ components, created, expires, keyid }: SignatureInput, at: number): string | undefined {
  if (created === undefined) return 'created_missing'
  if (expires === undefined) return 'expires_missing'
  if (keyid === undefined) return 'keyid_missing'
  if (expires <= created) return 'expires_before_created'
  if (created * 1_000 > at + MAX_CLOCK_SKEW_MS) return 'created_in_future'
  if (expires * 1_000 <= at) return 'expired'
  if (!components.some(({ name }) => name === '@authority' || name === '@target-uri')) return 'authority_not_covered'
  return undefined
}

/**
 * Returns the URL of `Signature-Agent` that a signature covers: the covered member of a dictionary, or of several members
 * the one with the signature's label, or the bare string. `url` is missing if the member has an unknown type or is
 * ambiguous. Returns undefined if the signature covers no URL; anyone who copied the signature could have added one.
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

/** Returns the host of an https URL, in lower case; undefined for other URLs, addresses, and names too long or without a dot. */
const hostOf = (url: string | undefined): string | undefined =>
  /^https:\/\/(?![^:/?#]{254})((?:[a-z0-9_-]{1,63}\.)+[a-z][a-z0-9-]{1,62})(?::\d+)?(?:[/?#]|$)/i
    .exec(url ?? '')?.[1]
    ?.toLowerCase()

/** Normalises a URL that is only an origin to the spelling of the directory table. Returns other URLs in lower case. */
export const originOf = (url: string): string => url.toLowerCase().replace(/^(https:\/\/[^/?#@]*?)(?::443)?\/?$/, '$1')
