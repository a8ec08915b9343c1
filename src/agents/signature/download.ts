import type { Outbound } from '../../outbound/outbound.js'
import type { Copy } from './kept.js'
import { type Keys, readDirectory } from './keys.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const SHORTEST = 300_000
const TYPE = 'application/http-message-signatures-directory+json'
const LIMIT = 256 << 10
const TIMEOUT = 10_000

/** A directory's copy with its keys ready for use. */
export type Downloaded = Copy & { read: Keys }

/**
 * Fetches a directory: status 200 and nothing else, no redirects, at most 256 KB in 10 s. Throws an error whose message
 * says in one line what is wrong with it.
 */
export async function download(url: string, outbound: Outbound, now: () => number): Promise<Downloaded> {
  const answer = await outbound(url, { headers: { accept: TYPE }, limit: LIMIT, timeout: TIMEOUT, redirects: 0 })
  if (answer.status !== 200) throw new Error(`the directory answers ${answer.status}, not 200`)
  if (answer.truncated) throw new Error(`the directory is over ${LIMIT} bytes`)
  const type = answer.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  // Some hosts serve files by their extension; a page of HTML is still none.
  if (type !== TYPE && type !== 'application/json')
    throw new Error(`the directory is of type ${type ?? 'none'}, not ${TYPE}`)
  let read: ReturnType<typeof readDirectory>
  try {
    read = readDirectory(new TextDecoder('utf-8', { fatal: true }).decode(answer.body))
  } catch (error) {
    throw new Error('the directory is no set of at most 100 keys', { cause: error })
  }
  return {
    directory: url,
    refreshed_at: now(),
    lifetime: lifetimeOf(answer.headers['cache-control']),
    others: read.others,
    keys: [...read.keys.values()].map(({ jwk }) => jwk),
    read: read.keys,
  }
}

/** Milliseconds for which a copy need not be renewed: 5 minutes to a day, an hour where nothing is said. */
function lifetimeOf(cacheControl: string | undefined): number {
  if (cacheControl === undefined) return HOUR
  if (/(?:^|[\s,])no-(?:store|cache)\b/i.test(cacheControl)) return SHORTEST
  const age = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(cacheControl)?.[1]
  return age === undefined ? HOUR : Math.min(Math.max(Number(age) * 1_000, SHORTEST), DAY)
}
