import { createHash } from 'node:crypto'
import type { Exchange } from './exchange.js'
import { hostnameOf } from './observe-request.js'

/** A policy file whose bytes changed: the hostname it was asked of, its path, and the time of the request, epoch ms. */
export type OnPolicyChange = (hostname: string, path: string, at: number) => void

/** The two files whose change is worth noticing at once. */
export const isPolicyPath = (path: string): boolean => path === '/robots.txt' || path === '/llms.txt'

/** One such body on its way to a client. */
export interface PolicyBodyHash {
  update(chunk: Uint8Array): void
  /** It was whole. */
  end(): void
}

export interface PolicyChangeDetector {
  /** Of an answer 200, whose fields these are. Undefined where its body says nothing. */
  hashBody(exchange: Exchange, fields: readonly string[]): PolicyBodyHash | undefined
  /** The file is not there (any more): told where a body of it has passed since it last was not. */
  reportMissing(exchange: Exchange): void
}

/** Bytes that are looked at: what comes behind is no part of a policy (RFC 9309 2.5). */
const MAX_HASHED_BYTES = 512 * 1024
/** Files remembered: a stranger may ask with any `Host`, and gets a body told once more at worst. */
const MAX_FILES = 256

/** Content codings of a file that are told apart; more are a stranger's doing. */
const MAX_CODINGS_PER_FILE = 8

/**
 * Notices that a policy file changed from the bytes that pass: one hash for each hostname, file and content coding.
 * The body is never held up; a body that was seen last time costs a hash and nothing else. A file that is taken away is
 * a change, too: until it is noticed, agents would be held to rules that are no more.
 */
export function createPolicyChangeDetector(seen: OnPolicyChange): PolicyChangeDetector {
  /** By hostname and path, the last hash in each coding; none where the last answer was that there is no such file. */
  const last = new Map<string, Map<string, string>>()
  const hashesOf = (key: string): Map<string, string> => {
    const known = last.get(key)
    if (known !== undefined) return known
    if (last.size >= MAX_FILES) last.clear()
    const made = new Map<string, string>()
    last.set(key, made)
    return made
  }
  const tell: OnPolicyChange = (hostname, path, at) => {
    try {
      seen(hostname, path, at)
    } catch {
      // Whoever wanted to know is told at the next interval; the site goes on.
    }
  }
  return {
    hashBody({ method, path, host, arrivedAt: arrived }, fields) {
      if (method !== 'GET') return undefined
      const hostname = hostnameOf(host)
      const coding = contentCoding(fields)
      const hash = createHash('sha256')
      let room = MAX_HASHED_BYTES
      return {
        update(chunk) {
          if (room <= 0) return
          hash.update(chunk.length > room ? chunk.subarray(0, room) : chunk)
          room -= chunk.length
        },
        end() {
          const sha256 = hash.digest('base64')
          const hashes = hashesOf(`${hostname} ${path}`)
          if (hashes.get(coding) === sha256) return
          if (hashes.size >= MAX_CODINGS_PER_FILE) hashes.clear()
          hashes.set(coding, sha256)
          tell(hostname, path, arrived)
        },
      }
    },
    reportMissing({ path, host, arrivedAt: arrived }) {
      const hostname = hostnameOf(host)
      const hashes = last.get(`${hostname} ${path}`)
      if (hashes === undefined || hashes.size === 0) return
      hashes.clear()
      tell(hostname, path, arrived)
    },
  }
}

function contentCoding(fields: readonly string[]): string {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() === 'content-encoding') return fields[i + 1] ?? ''
  }
  return ''
}
