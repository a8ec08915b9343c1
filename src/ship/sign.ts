import { createHmac } from 'node:crypto'

/** `x-service-signature` of a body sent at `at`, in milliseconds since 1970 (spec 5.6 rules 2 and 3). */
export function signature(key: string, at: number, body: string): string {
  const t = Math.floor(at / 1000)
  return `t=${t},v1=${createHmac('sha256', key).update(`${t}.`).update(body).digest('hex')}`
}
