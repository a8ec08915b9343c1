import { hash } from 'node:crypto'

/**
 * The nonces of valid signatures, until these expire. At most `most`: of more, the oldest is forgotten, and its
 * signature could be used again. Only who holds a key of a known agent can fill it, and not with long ones: what is kept
 * is a digest. A restart forgets all.
 */
export function createNonces(most: number) {
  const until = new Map<string, number>()
  return {
    /** Whether this is its first use. `at` and `expires` are milliseconds since 1970. */
    use(text: string, at: number, expires: number): boolean {
      const nonce = hash('sha256', text, 'base64')
      for (const [oldest, end] of until) {
        if (end >= at && until.size < most) break
        until.delete(oldest)
      }
      const end = until.get(nonce)
      if (end !== undefined && end >= at) return false
      until.delete(nonce)
      until.set(nonce, expires)
      return true
    },
  }
}
export type Nonces = ReturnType<typeof createNonces>
