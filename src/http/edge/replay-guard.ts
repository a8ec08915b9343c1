import { z } from 'zod'
import { createTableCache } from '../../manage/table-cache.js'
import { sql } from '../../sql.js'
import type { Store } from '../../store.js'
import { parseSignature, SIGNATURE_TOLERANCE_S, type Signature } from './signature.js'

/**
 * What was accepted and must not be again: signatures for as long as their time would let them in, and each sender's
 * highest number. What it says of the time before this start the store knows; all of it throws `database_error` while
 * the store does not answer.
 */
export interface ReplayGuard {
  isAccepted(signature: Signature): Promise<boolean>
  /** No more signatures of the site can be remembered just now: none may be accepted. None is forgotten early. */
  isFull(site: number): boolean
  accept(site: number, signature: Signature): void
  /** 0 of a sender who never sent. What the store is asked for may be stored meanwhile: it is certain only in the sender's turn. */
  highestNumber(site: number, sender: string): Promise<number>
  /** In the sender's turn only, and never to less than `highest` said in it. */
  raiseNumber(site: number, sender: string, number: number): void
}

/** As it is stored: one spelling of a header. */
export const formatSignature = ({ t, v1 }: Signature): string => `t=${t},v1=${v1.toString('hex')}`

/** Half of the digest tells any two apart, at half the memory. */
const signatureKey = ({ v1 }: Signature): string => v1.toString('base64url', 0, 16)
const minuteOf = ({ t }: Signature): number => Math.floor(Number(t) / 60)

const DeliverySignature = z.object({ site_id: z.number(), signature: z.string() })
const HighestNumber = z.object({ number: z.number().nullable() })

/** `most` signatures take some 25 MB: 600 requests a minute of forty servers, for ten minutes. Of one site half of them. */
export function createReplayGuard(deps: {
  store: Pick<Store, 'query'>
  now(): Date
  most?: number
  senders?: number
}): ReplayGuard {
  const { store, now, most = 250_000, senders = 10_000 } = deps
  /** By the minute of their time, so that they go together. */
  const minutes = new Map<number, Map<string, number>>()
  const ofSite = new Map<number, number>()
  /** The one heard of last is the last; one that is not here is in the store. */
  const numbers = new Map<string, number>()
  let size = 0

  const count = (site: number, by: number) => {
    size += by
    const left = (ofSite.get(site) ?? 0) + by
    if (left > 0) ofSite.set(site, left)
    else ofSite.delete(site)
  }
  const accept = (site: number, signature: Signature) => {
    const minute = minuteOf(signature)
    const known = minutes.get(minute) ?? new Map<string, number>()
    minutes.set(minute, known)
    if (!known.has(signatureKey(signature))) count(site, 1)
    known.set(signatureKey(signature), site)
  }
  const forget = () => {
    const past = now().getTime() / 1000 - SIGNATURE_TOLERANCE_S
    for (const [minute, known] of minutes)
      if ((minute + 1) * 60 <= past) {
        minutes.delete(minute)
        for (const site of known.values()) count(site, -1)
      }
  }
  const stored = createTableCache(async () => {
    // One that came as early as it may is good for as long again behind its time; to the second, as its time is.
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
    async isAccepted(signature) {
      await stored.get()
      return minutes.get(minuteOf(signature))?.has(signatureKey(signature)) ?? false
    },
    isFull(site) {
      forget()
      return size >= most || (ofSite.get(site) ?? 0) >= most / 2
    },
    async highestNumber(site, sender) {
      const known = numbers.get(`${site} ${sender}`)
      if (known !== undefined) return known
      const [row] = await store.query(sql`
        select max(number) as number from deliveries where site_id = ${site} and sender = ${sender}`)
      return HighestNumber.parse(row).number ?? 0
    },
    raiseNumber(site, sender, number) {
      const key = `${site} ${sender}`
      numbers.delete(key)
      numbers.set(key, number)
      const [oldest] = numbers.keys()
      if (numbers.size > senders && oldest !== undefined) numbers.delete(oldest)
    },
  }
}
