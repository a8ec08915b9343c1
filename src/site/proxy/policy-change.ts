import { createHash } from 'node:crypto'
import type { Exchange } from './exchange.js'
import { hostnameOf } from './observe-request.js'

/** Receives a policy file whose bytes changed: the hostname it was requested from, its path, the request's epoch ms. */
export type OnPolicyChange = (hostname: string, path: string, at: number) => void

/** Returns whether a path is one of the two policy files. */
export const isPolicyPath = (path: string): boolean => path === '/robots.txt' || path === '/llms.txt'

/** Hashes one policy file on its way to a client. */
export interface PolicyBodyHash {
  update(chunk: Uint8Array): void
  /** The body is complete. */
  end(): void
}

export type PolicyChangeDetector = ReturnType<typeof createPolicyChangeDetector>

/** Bytes to hash: later ones are not part of a policy (RFC 9309 2.5). */
const MAX_HASHED_BYTES = 512 * 1024
/** Bounds memory, because a client may send any `Host`. A file that was forgotten is reported once more. */
const MAX_FILES = 256
/** Content codings to distinguish for one file; only a client that invents codings exceeds it. */
const MAX_CODINGS_PER_FILE = 8

/**
 * Detects changed policy files from the bytes that pass: one hash for each hostname, file and content coding. The body is
 * never held up, and an unchanged one costs only its hash. A file that disappears counts as a change too: until it is
 * noticed, agents would be judged by rules that no longer exist.
 */
export function createPolicyChangeDetector(onChange: OnPolicyChange) {
  /** By hostname and path: the last hash in each coding; no hash if the file was missing last time. */
  const files = new Map<string, Map<string, string>>()
  const hashesOf = (key: string): Map<string, string> => {
    let hashes = files.get(key)
    if (hashes === undefined) {
      if (files.size >= MAX_FILES) files.clear()
      hashes = new Map()
      files.set(key, hashes)
    }
    return hashes
  }
  const notify: OnPolicyChange = (hostname, path, at) => {
    try {
      onChange(hostname, path, at)
    } catch {
      // The change is found again at the next scheduled fetch; the site goes on.
    }
  }
  return {
    /** Begins to hash a 200 response with these fields. Returns undefined unless the request was a GET. */
    hashBody({ method, path, host, arrivedAt }: Exchange, fields: readonly string[]): PolicyBodyHash | undefined {
      if (method !== 'GET') return undefined
      const hostname = hostnameOf(host)
      const coding = contentCoding(fields)
      const hash = createHash('sha256')
      let left = MAX_HASHED_BYTES
      return {
        update(chunk) {
          if (left <= 0) return
          hash.update(chunk.length > left ? chunk.subarray(0, left) : chunk)
          left -= chunk.length
        },
        end() {
          const sha256 = hash.digest('base64')
          const hashes = hashesOf(`${hostname} ${path}`)
          if (hashes.get(coding) === sha256) return
          if (hashes.size >= MAX_CODINGS_PER_FILE) hashes.clear()
          hashes.set(coding, sha256)
          notify(hostname, path, arrivedAt)
        },
      }
    },
    /** Reports a file that is missing, if a body of it has passed since it was last missing. */
    reportMissing({ path, host, arrivedAt }: Exchange): void {
      const hostname = hostnameOf(host)
      const hashes = files.get(`${hostname} ${path}`)
      if (hashes === undefined || hashes.size === 0) return
      hashes.clear()
      notify(hostname, path, arrivedAt)
    },
  }
}

function contentCoding(fields: readonly string[]): string {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() === 'content-encoding') return fields[i + 1] ?? ''
  }
  return ''
}
