import { createPolicy, type Policy } from './policy.js'
import { type PolicyVersion, standingOf } from './version.js'

/** Characters of text whose parsed form is kept: parsing the longest takes tens of milliseconds. */
const MAX_CACHED_CHARS = 8 << 20
/** And how many, however short. */
const MAX_CACHED_POLICIES = 512

/**
 * Versions as parsed, the last used ones kept. A version of robots.txt knows nothing of llms.txt, and the other way
 * round: each changes without the other.
 */
export function createPolicyCache(): (version: PolicyVersion) => Policy | undefined {
  const kept = new Map<PolicyVersion, Policy>()
  let size = 0
  return (version) => {
    const known = kept.get(version)
    if (known !== undefined) {
      if (kept.size > 1) {
        kept.delete(version)
        kept.set(version, known)
      }
      return known
    }
    const { hostname, kind, status, body } = version
    if (standingOf(status) === 'served' && body === undefined) return undefined
    const file = { status, body: body ?? '' }
    const made = createPolicy(
      kind === 'robots' ? { hostname, robots: file } : { hostname, robots: { status: 404, body: '' }, llms: file },
    )
    kept.set(version, made)
    size += bodyLength(version)
    for (const [oldest] of kept) {
      if (kept.size === 1 || (size <= MAX_CACHED_CHARS && kept.size <= MAX_CACHED_POLICIES)) break
      kept.delete(oldest)
      size -= bodyLength(oldest)
    }
    return made
  }
}

/** Not of the body, which may be let go of meanwhile. */
const bodyLengths = new WeakMap<PolicyVersion, number>()
function bodyLength(version: PolicyVersion): number {
  const known = bodyLengths.get(version)
  if (known !== undefined) return known
  const length = version.body?.length ?? 0
  bodyLengths.set(version, length)
  return length
}
