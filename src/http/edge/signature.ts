import { createHmac, timingSafeEqual } from 'node:crypto'

/** As a header claims it. */
export interface Signature {
  /** Unix seconds in decimal digits, as sent: they are part of what is signed. */
  t: string
  v1: Buffer
}

/** Seconds that `t` may be off, either way (spec 5.6 rule 4). */
export const SIGNATURE_TOLERANCE_S = 300

/**
 * `t=<unix seconds>,v1=<64 hex digits>`, in either order, in any case of the digits; what else is listed is somebody's
 * later version. Undefined where one of the two is missing, malformed, or there twice.
 */
export function parseSignature(header: string): Signature | undefined {
  const pairs = header.split(',').map((pair) => pair.trim())
  const only = (name: string) => {
    const [found, ...more] = pairs.filter((pair) => pair.startsWith(`${name}=`))
    return more.length === 0 ? found?.slice(name.length + 1) : undefined
  }
  const [t, v1] = [only('t'), only('v1')]
  if (t === undefined || !/^\d{1,12}$/.test(t) || v1 === undefined || !/^[\da-f]{64}$/i.test(v1)) return undefined
  return { t, v1: Buffer.from(v1, 'hex') }
}

/** Stands in where a site has no key, or is none: that takes as long to refuse as a wrong signature. */
const PLACEHOLDER_KEYS = ['']

/** Whether the body was signed with one of the keys (spec 5.6 rule 3). */
export function isSigned({ t, v1 }: Signature, body: Uint8Array, keys: readonly string[]): boolean {
  let signed = false
  for (const key of keys.length > 0 ? keys : PLACEHOLDER_KEYS) {
    const digest = createHmac('sha256', key).update(`${t}.`).update(body).digest()
    if (timingSafeEqual(digest, v1) && key !== '') signed = true
  }
  return signed
}
