import { createHmac } from 'node:crypto'

/** Returns the header `x-service-signature` for a body sent at `at` (epoch ms): HMAC-SHA256 over `seconds.body`. */
export function signBody(key: string, at: number, body: string): string {
  const t = Math.floor(at / 1000)
  return `t=${t},v1=${createHmac('sha256', key).update(`${t}.`).update(body).digest('hex')}`
}
