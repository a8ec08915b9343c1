import { z } from 'zod'
import { createTableCache } from '../../manage/table-cache.js'
import { sql } from '../../storage/sql.js'
import type { Store } from '../../storage/store.js'
import { parseSignature, SIGNATURE_TOLERANCE_S, type Signature } from './signature.js'

/** The one spelling of a signature under which it is stored. */
export const formatSignature = ({ t, v1 }: Signature): string => `t=${t},v1=${v1.toString('hex')}`

/** Half of the digest is enough to tell two signatures apart, and takes half the memory. */
const signatureKey = ({ v1 }: Signature): string => v1.toString('base64url', 0, 16)
const minuteOf = ({ t }: Signature): number => Math.floor(Number(t) / 60)

const DeliverySignature = z.object({ site_id: z.number(), signature: z.string() })
const HighestNumber = z.object({ number: z.number().nullable() })

export type ReplayGuard = ReturnType<typeof createReplayGuard>

/**
 * Remembers which deliveries were accepted: signatures for as long as their time is valid, and each sender's highest
 * number. The store knows those of earlier runs; its errors are thrown as `database_error`. `most` signatures take some
 * 25 MB: 600 requests a minute of forty servers, for ten minutes. One site may use half of them.
 */
export function createReplayGuard(deps: { store: Pick<Store, 'query'>; now(): Date; most?: number; senders?: number }) {
  const { store, now, most = 250_000, senders = 10_000 } = deps
  /** Signatures by the minute of their time, so that a whole minute can be forgotten at once. */
  const minutes = new Map<number, Map<string, number>>()
  const countBySite = new Map<number, number>()
  /** Highest numbers by site and sender, least recently used first; the store knows the others. */
  const numbers = new Map<string, number>()
  let size = 0

  const count = (site: number, by: number) => {
    size += by
    const left = (countBySite.get(site) ?? 0) + by
    if (left > 0) countBySite.set(site, left)
    else countBySite.delete(site)
  }
  const accept = (site: number, signature: Signature): void => {
    const minute = minuteOf(signature)
    const known = minutes.get(minute) ?? new Map<string, number>()
    minutes.set(minute, known)
    if (!known.has(signatureKey(signature))) count(site, 1)
    known.set(signatureKey(signature), site)
  }
  const forgetExpired = () => {
    const past = now().getTime() / 1000 - SIGNATURE_TOLERANCE_S
    for (const [minute, known] of minutes)
      if ((minute + 1) * 60 <= past) {
        minutes.delete(minute)
        for (const site of known.values()) count(site, -1)
      }
  }
  const stored = createTableCache(async () => {
    // A signature that arrived as early as allowed is valid for twice the tolerance, to the second.
    const since = new Date(now().getTime() - (2 * SIGNATURE_TOLERANCE_S + 1) * 1000)
    const rows = await store.query(sql`
      select site_id, signature from deliveries where accepted_at >= ${since} and signature is not null`)
    for (const row of rows) {
      const { site_id, signature: text } = DeliverySignature.parse(row)
      const signature = parseSignature(text)
      if (signature) accept(site_id, signature)
    }
  })
  return {
    accept,
    /** Reads again what the store knows: another process may have stored deliveries since. */
    reload(): void {
      stored.invalidate()
      numbers.clear()
    },
    async isAccepted(signature: Signature): Promise<boolean> {
      await stored.get()
      return minutes.get(minuteOf(signature))?.has(signatureKey(signature)) ?? false
    },
    /** Whether no more signatures of the site can be remembered, so that none may be accepted. None is forgotten early. */
    isFull(site: number): boolean {
      forgetExpired()
      return size >= most || (countBySite.get(site) ?? 0) >= most / 2
    },
    /** Returns 0 for a new sender. Only certain while the sender's lock is held: a delivery may be stored meanwhile. */
    async highestNumber(site: number, sender: string): Promise<number> {
      const known = numbers.get(`${site} ${sender}`)
      if (known !== undefined) return known
      const [row] = await store.query(sql`
        select max(number) as number from deliveries where site_id = ${site} and sender = ${sender}`)
      return HighestNumber.parse(row).number ?? 0
    },
    /** Call it with the sender's lock held, and never with less than `highestNumber` returned. */
    raiseNumber(site: number, sender: string, number: number): void {
      const key = `${site} ${sender}`
      numbers.delete(key)
      numbers.set(key, number)
      const [oldest] = numbers.keys()
      if (numbers.size > senders && oldest !== undefined) numbers.delete(oldest)
    },
  }
}
