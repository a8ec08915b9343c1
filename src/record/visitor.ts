import { createHmac } from 'node:crypto'

/**
 * Who a person is within one period: 64 bits of HMAC-SHA-256 over site, address and user agent (contract 3). `address`
 * is `addressKey`'s text. Nothing is remembered between calls, so that no address stays in memory.
 */
export const visitorId = (secret: Buffer, site: number, address: string, userAgent: string): bigint =>
  keyed(secret, `visitor\0${site}\0${address}\0${userAgent}`)

/** Where an agent's fetch came from, without saying where: the same secret, another domain of values. */
export const addressHash = (secret: Buffer, site: number, address: string): bigint =>
  keyed(secret, `address\0${site}\0${address}`)

const keyed = (secret: Buffer, text: string): bigint =>
  createHmac('sha256', secret).update(text).digest().readBigUInt64BE(0)
