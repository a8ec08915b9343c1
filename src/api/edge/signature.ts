import { createHmac, timingSafeEqual } from 'node:crypto'

/** The ingest signature of a request, as its header states it. */
export interface Signature {
  /** Unix seconds in decimal digits, as sent: the text is part of what is signed. */
  t: string
  v1: Buffer
}

/** Seconds that `t` may differ from the server's clock, either way. */
export const SIGNATURE_TOLERANCE_S = 300

/**
 * Parses `t=<unix seconds>,v1=<64 hex digits>`, in either order. Other entries are ignored: they may belong to a later
 * version. Returns undefined if one of the two is missing, malformed or repeated.
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

/** Used for sites without a key, and for unknown sites: refusing them takes as long as refusing a wrong signature. */
const PLACEHOLDER_KEYS = ['']

/** Whether the body was signed with one of the keys. */
export function isSigned({ t, v1 }: Signature, body: Uint8Array, keys: readonly string[]): boolean {
  let signed = false
  for (const key of keys.length > 0 ? keys : PLACEHOLDER_KEYS) {
    const digest = createHmac('sha256', key).update(`${t}.`).update(body).digest()
    if (timingSafeEqual(digest, v1) && key !== '') signed = true
  }
  return signed
}
