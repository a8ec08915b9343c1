import { constants, createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'

/** The members that are used of a public key in a directory (RFC 7517, 7518 and 8037). */
const Ed25519 = z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string().regex(/^[\w-]{43}$/) })
const Rsa = z.object({
  kty: z.literal('RSA'),
  n: z.string().regex(/^[\w-]{342,1366}$/),
  e: z.string().regex(/^[\w-]{2,6}$/),
})
const KeyTerms = z.object({
  use: z.literal('sig').optional(),
  alg: z.string().optional(),
  /** Seconds since 1970; milliseconds in directories of earlier drafts. */
  nbf: z.number().optional(),
  exp: z.number().optional(),
})
export const Jwk = z.discriminatedUnion('kty', [Ed25519.extend(KeyTerms.shape), Rsa.extend(KeyTerms.shape)])
export type Jwk = z.infer<typeof Jwk>

const Directory = z.object({ keys: z.array(z.unknown()).max(100) })

interface Key {
  jwk: Jwk
  /** The name that RFC 9421 registers. */
  alg: 'ed25519' | 'rsa-pss-sha512'
  /** Milliseconds since 1970, both inclusive. */
  from: number
  until: number
  key: KeyObject
}

/** Keys by thumbprint, which is computed here. The key ids that a directory states are ignored. */
export type Keys = ReadonlyMap<string, Key>

/** The example keys of RFC 9421 B.1.2 and B.1.4. Their private keys are public, so they must not confirm anything. */
const PUBLISHED_EXAMPLE_KEYS = new Set([
  'oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA',
  'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U',
])

/**
 * Reads the usable keys of a directory, at most 100. `others` counts entries of other kinds and malformed entries:
 * signatures by those keys cannot be checked. Throws if the body is not a key set.
 */
export function readDirectory(body: string): { keys: Keys; others: number } {
  const { keys: entries } = Directory.parse(JSON.parse(body))
  const jwks = entries.map((entry) => Jwk.safeParse(entry)).flatMap(({ data }) => (data === undefined ? [] : [data]))
  const keys = readKeys(jwks)
  for (const example of PUBLISHED_EXAMPLE_KEYS) keys.delete(example)
  return { keys, others: entries.length - keys.size }
}

export function readKeys(jwks: readonly Jwk[]): Map<string, Key> {
  const keys = new Map<string, Key>()
  for (const jwk of jwks) {
    const key = readKey(jwk)
    if (key !== undefined) keys.set(thumbprint(jwk), key)
  }
  return keys
}

const ALGORITHMS = {
  OKP: { alg: 'ed25519', names: ['ed25519', 'eddsa'] },
  RSA: { alg: 'rsa-pss-sha512', names: ['rsa-pss-sha512', 'ps512'] },
} as const

function readKey(jwk: Jwk): Key | undefined {
  const { alg, names } = ALGORITHMS[jwk.kty]
  const named = jwk.alg?.toLowerCase()
  if (named !== undefined && !names.some((name) => name === named)) return undefined
  const { nbf, exp } = jwk
  try {
    const key = createPublicKey({ key: material(jwk), format: 'jwk' })
    if (jwk.kty === 'RSA' && !isStrong(key)) return undefined
    return {
      jwk,
      alg,
      key,
      from: nbf === undefined ? Number.NEGATIVE_INFINITY : instant(nbf),
      until: exp === undefined ? Number.POSITIVE_INFINITY : instant(exp),
    }
  } catch {
    return undefined
  }
}

/** A key below 2,048 bits could be broken. Above 8,192 bits, or with a long exponent, a check costs too much. */
function isStrong(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  return modulusLength >= 2_048 && modulusLength <= 8_192 && publicExponent >= 3n && publicExponent <= 0xffff_ffffn
}

/** Returns milliseconds. A time in seconds reaches this bound only in the year 5138. */
const instant = (time: number): number => (Math.abs(time) < 1e11 ? time * 1_000 : time)

/** Returns the members of a thumbprint in their order (RFC 7638 3.2, RFC 8037 2). */
const material = (jwk: Jwk): JsonWebKey =>
  jwk.kty === 'OKP' ? { crv: jwk.crv, kty: jwk.kty, x: jwk.x } : { e: jwk.e, kty: jwk.kty, n: jwk.n }

/** Returns the SHA-256 of a key's required members, base64url (RFC 7638). */
export const thumbprint = (jwk: Jwk): string =>
  createHash('sha256')
    .update(JSON.stringify(material(jwk)))
    .digest('base64url')

/** Returns true if `signature` over `base` was made with the private key of `key`. Never throws. */
export function verifySignature({ alg, key }: Key, base: string, signature: Uint8Array): boolean {
  const data = Buffer.from(base, 'latin1')
  try {
    if (alg === 'ed25519') return verify(null, data, key, signature)
    const padding = constants.RSA_PKCS1_PSS_PADDING
    return verify('sha512', data, { key, padding, saltLength: 64 }, signature)
  } catch {
    return false
  }
}
