import { hash64 } from './hash64.js'

/** A person's id in one salt period, and in its neighbours if a visit may continue across the change of salts. */
export interface VisitorIds {
  visitor_id: bigint
  /** The id in the previous period, within the first half hour of a period. */
  previous: bigint | undefined
  /** The id in the next period, within the last half hour of one that is over. */
  next: bigint | undefined
}

export const allVisitorIds = ({ visitor_id, previous, next }: VisitorIds): bigint[] =>
  [visitor_id, previous, next].filter((id) => id !== undefined)

/**
 * Returns a person's id within one period: 64 bits of a keyed SHA-256 over site, address and user agent. `address` is the
 * text of `addressKey`. Results are not cached, so that no address stays in memory.
 */
export const hashVisitorId = (secret: Buffer, site: number, address: string, userAgent: string): bigint =>
  keyedHash(secret, `visitor\0${site}\0${address}\0${userAgent}`)

/** Hashes the address of an agent's fetch with the same secret, in a value space of its own. */
export const hashAddress = (secret: Buffer, site: number, address: string): bigint =>
  keyedHash(secret, `address\0${site}\0${address}`)

/**
 * Puts the secret first and keeps a quarter of the digest: without the rest, the hash cannot be extended. HMAC prevents
 * the same attack at four times the cost.
 */
function keyedHash(secret: Buffer, text: string): bigint {
  let prefix = prefixes.get(secret)
  if (prefix === undefined) {
    prefix = secret.toString('hex')
    prefixes.set(secret, prefix)
  }
  return hash64(prefix + text)
}

/** Secrets as they are hashed. */
const prefixes = new WeakMap<Buffer, string>()
