import { createPolicy, type Policy } from './policy.js'
import { standingOf, type Version } from './timeline.js'

/** Characters of text whose parsed form is kept: parsing the longest takes tens of milliseconds. */
const KEPT = 8 << 20
/** And how many, however short. */
const COUNT = 512

/**
 * Versions as parsed, the last used ones kept. A version of robots.txt knows nothing of llms.txt, and the other way
 * round: each changes without the other.
 */
export function createPolicies(): (version: Version) => Policy | undefined {
  const kept = new Map<Version, Policy>()
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
    size += lengthOf(version)
    for (const [oldest] of kept) {
      if (kept.size === 1 || (size <= KEPT && kept.size <= COUNT)) break
      kept.delete(oldest)
      size -= lengthOf(oldest)
    }
    return made
  }
}

/** Not of the body, which may be let go of meanwhile. */
const lengths = new WeakMap<Version, number>()
function lengthOf(version: Version): number {
  const known = lengths.get(version)
  if (known !== undefined) return known
  const length = version.body?.length ?? 0
  lengths.set(version, length)
  return length
}
