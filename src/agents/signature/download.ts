import type { Outbound } from '../../outbound/outbound.js'
import type { Copy } from './directory-cache.js'
import { type Keys, readDirectory } from './keys.js'

const DEFAULT_LIFETIME_MS = 3_600_000
const MAX_LIFETIME_MS = 24 * DEFAULT_LIFETIME_MS
const MIN_LIFETIME_MS = 300_000
const DIRECTORY_TYPE = 'application/http-message-signatures-directory+json'
const MAX_DIRECTORY_BYTES = 256 << 10
const DOWNLOAD_TIMEOUT_MS = 10_000

/** A directory's copy with its keys ready for use. */
export type DirectoryCopy = Copy & { read: Keys }

/**
 * Fetches a directory: status 200 and nothing else, no redirects, at most 256 KB in 10 s. Throws an error whose message
 * says in one line what is wrong with it.
 */
export async function downloadDirectory(url: string, outbound: Outbound, now: () => number): Promise<DirectoryCopy> {
  const answer = await outbound(url, {
    headers: { accept: DIRECTORY_TYPE },
    limit: MAX_DIRECTORY_BYTES,
    timeout: DOWNLOAD_TIMEOUT_MS,
    redirects: 0,
  })
  if (answer.status !== 200) throw new Error(`the directory answers ${answer.status}, not 200`)
  if (answer.truncated) throw new Error(`the directory is over ${MAX_DIRECTORY_BYTES} bytes`)
  const type = answer.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  // Some hosts serve files by their extension; a page of HTML is still none.
  if (type !== DIRECTORY_TYPE && type !== 'application/json')
    throw new Error(`the directory is of type ${type ?? 'none'}, not ${DIRECTORY_TYPE}`)
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
  if (cacheControl === undefined) return DEFAULT_LIFETIME_MS
  if (/(?:^|[\s,])no-(?:store|cache)\b/i.test(cacheControl)) return MIN_LIFETIME_MS
  const age = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(cacheControl)?.[1]
  return age === undefined
    ? DEFAULT_LIFETIME_MS
    : Math.min(Math.max(Number(age) * 1_000, MIN_LIFETIME_MS), MAX_LIFETIME_MS)
}
