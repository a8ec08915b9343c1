import type { Outbound } from '../../base/outbound/outbound.js'
import type { CachedDirectory } from './directory-cache.js'
import { type Keys, readDirectory } from './keys.js'

const DEFAULT_LIFETIME_MS = 3_600_000
const MAX_LIFETIME_MS = 24 * DEFAULT_LIFETIME_MS
const MIN_LIFETIME_MS = 300_000
const DIRECTORY_TYPE = 'application/http-message-signatures-directory+json'
const MAX_DIRECTORY_BYTES = 256 << 10
const DOWNLOAD_TIMEOUT_MS = 10_000

/** A copy of a directory with its keys ready for use. */
export type DirectoryCopy = CachedDirectory & { usableKeys: Keys }

/**
 * Fetches a directory: status 200 only, no redirects, at most 256 KB in 10 s. Throws an error whose message says in one
 * line what is wrong.
 */
export async function downloadDirectory(url: string, outbound: Outbound, now: () => number): Promise<DirectoryCopy> {
  const { status, headers, body, truncated } = await outbound(url, {
    headers: { accept: DIRECTORY_TYPE },
    limit: MAX_DIRECTORY_BYTES,
    timeout: DOWNLOAD_TIMEOUT_MS,
    redirects: 0,
  })
  if (status !== 200) throw new Error(`the directory answered ${status} instead of 200`)
  if (truncated) throw new Error(`the directory is larger than ${MAX_DIRECTORY_BYTES} bytes`)
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  // Some hosts choose the type by the file's extension. An HTML page is refused.
  if (type !== DIRECTORY_TYPE && type !== 'application/json')
    throw new Error(`the directory has content type ${type ?? 'none'} instead of ${DIRECTORY_TYPE}`)
  let directory: ReturnType<typeof readDirectory>
  try {
    directory = readDirectory(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    throw new Error('the directory is not a set of at most 100 keys', { cause: error })
  }
  return {
    directory: url,
    refreshed_at: now(),
    lifetime: lifetimeOf(headers['cache-control']),
    others: directory.others,
    keys: [...directory.keys.values()].map(({ jwk }) => jwk),
    usableKeys: directory.keys,
  }
}

/** Returns the milliseconds for which a copy is fresh: 5 minutes to a day, or an hour if the response states nothing. */
function lifetimeOf(cacheControl: string | undefined): number {
  if (cacheControl === undefined) return DEFAULT_LIFETIME_MS
  if (/(?:^|[\s,])no-(?:store|cache)\b/i.test(cacheControl)) return MIN_LIFETIME_MS
  const age = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(cacheControl)?.[1]
  if (age === undefined) return DEFAULT_LIFETIME_MS
  return Math.min(Math.max(Number(age) * 1_000, MIN_LIFETIME_MS), MAX_LIFETIME_MS)
}
