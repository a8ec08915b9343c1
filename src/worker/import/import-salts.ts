import { createHmac } from 'node:crypto'
import type { SiteSettings } from '../../capture/site.js'
import { type HeldSalt, type PeriodSalts, saltPeriodOf } from '../ingest/salts.js'
import { SESSION_TIMEOUT_MS } from '../ingest/session-memory.js'

type Policy = SiteSettings['visitor_salt']

interface ImportSaltDeps {
  /** Returns the salt that recorded visitors of that time have ids by; undefined if it is destroyed. */
  held: (policy: Policy, at: number) => HeldSalt | undefined
  /** Salts of other periods are made from it, so that two imports agree. */
  secret: Buffer
  /** Whether rows are stored around that time already. */
  isOccupied: (at: number) => boolean
}

/**
 * Creates the salts of an import: those of recorded rows where they are held still, else an import's own. A visit that
 * continues across a change of salts in rows that are stored is found by `next`, which nothing else needs.
 */
export function createImportSalts({ held, secret, isOccupied }: ImportSaltDeps) {
  const saltsOfImport = new Map<string, Buffer>()
  const latest = new Map<Policy, { from: number; to: number; salts: PeriodSalts }>()
  const saltOf = (policy: Policy, at: number): Buffer => {
    const salt = held(policy, at)
    if (salt !== undefined) return salt.secret
    const { key } = saltPeriodOf(policy, at)
    const known = saltsOfImport.get(key) ?? createHmac('sha256', secret).update(key).digest()
    saltsOfImport.set(key, known)
    return known
  }
  return {
    /** Returns as `SaltStore.at`. */
    at(policy: Policy, at: number): PeriodSalts {
      const cached = latest.get(policy)
      if (cached && cached.from <= at && at < cached.to) return cached.salts
      const { start, end } = saltPeriodOf(policy, at)
      const [early, late] = [start + SESSION_TIMEOUT_MS, end - SESSION_TIMEOUT_MS + 1]
      const salts = {
        secret: saltOf(policy, at),
        previous: at < early ? saltOf(policy, start - 1) : null,
        next: at >= late && isOccupied(at) ? saltOf(policy, end) : null,
      }
      const [from, to] = at < early ? [start, early] : at < late ? [early, late] : [late, end]
      latest.set(policy, { from, to, salts })
      return salts
    },
  }
}
