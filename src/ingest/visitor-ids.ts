import { hash } from 'node:crypto'

/** A person in one salt period, and in its neighbours where a visit may go over the change of salts. */
export interface VisitorIds {
  visitor_id: bigint
  /** The id in the period before, within the first half hour of a period. */
  before: bigint | undefined
  /** The id in the period after, within the last half hour of one that is over. */
  after: bigint | undefined
}

export const allVisitorIds = ({ visitor_id, before, after }: VisitorIds): bigint[] =>
  [visitor_id, before, after].filter((id) => id !== undefined)

/**
 * Who a person is within one period: 64 bits of a keyed SHA-256 over site, address and user agent (contract 3).
 * `address` is `addressKey`'s text. Nothing is remembered between calls, so that no address stays in memory.
 */
export const hashVisitorId = (secret: Buffer, site: number, address: string, userAgent: string): bigint =>
  keyedHash(secret, `visitor\0${site}\0${address}\0${userAgent}`)

/** Where an agent's fetch came from, without saying where: the same secret, another domain of values. */
export const hashAddress = (secret: Buffer, site: number, address: string): bigint =>
  keyedHash(secret, `address\0${site}\0${address}`)

/**
 * The secret first, and a quarter of the digest: without the rest nobody can carry the hash on, which is what HMAC is
 * there to prevent and costs four times as much.
 */
const keyedHash = (secret: Buffer, text: string): bigint =>
  BigInt(`0x${hash('sha256', secret.toString('hex') + text, 'hex').slice(0, 16)}`)
