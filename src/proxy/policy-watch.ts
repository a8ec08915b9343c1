import { createHash } from 'node:crypto'
import type { Exchange } from './exchange.js'
import { hostnameOf } from './facts.js'

/** A policy file whose bytes changed: the hostname it was asked of, its path, and the time of the request, epoch ms. */
export type PolicySeen = (hostname: string, path: string, at: number) => void

/** The two files whose change is worth noticing at once. */
export const isPolicy = (path: string): boolean => path === '/robots.txt' || path === '/llms.txt'

/** One such body on its way to a client. */
export interface PolicyDigest {
  update(chunk: Uint8Array): void
  /** It was whole. */
  end(): void
}

export interface PolicyWatch {
  /** `fields` are the response's. Undefined where its body says nothing. */
  digest(exchange: Exchange, fields: readonly string[]): PolicyDigest | undefined
}

/** Bytes that are looked at: what comes behind is no part of a policy (RFC 9309 2.5). */
const LIMIT = 512 * 1024
/** Bodies remembered: a stranger may ask with any `Host`, and gets a body told once more at worst. */
const REMEMBERED = 256

/**
 * Notices that a policy file changed from the bytes that pass: one hash for each hostname, file and content coding.
 * The body is never held up; a body that was seen last time costs a hash and nothing else.
 */
export function createPolicyWatch(seen: PolicySeen): PolicyWatch {
  const last = new Map<string, string>()
  return {
    digest({ method, path, host, arrived }, fields) {
      if (method !== 'GET') return undefined
      const hostname = hostnameOf(host)
      const key = `${hostname} ${path} ${codingOf(fields)}`
      const hash = createHash('sha256')
      let room = LIMIT
      return {
        update(chunk) {
          if (room <= 0) return
          hash.update(chunk.length > room ? chunk.subarray(0, room) : chunk)
          room -= chunk.length
        },
        end() {
          const sha256 = hash.digest('base64')
          if (last.get(key) === sha256) return
          if (last.size >= REMEMBERED) last.clear()
          last.set(key, sha256)
          try {
            seen(hostname, path, arrived)
          } catch {
            // Whoever wanted to know is told at the next interval; the site goes on.
          }
        },
      }
    },
  }
}

function codingOf(fields: readonly string[]): string {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() === 'content-encoding') return fields[i + 1] ?? ''
  }
  return ''
}
