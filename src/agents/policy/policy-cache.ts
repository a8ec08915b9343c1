import { createRecentCache } from '../../base/cache.js'
import { createPolicy, type Policy } from './policy.js'
import { type PolicyVersion, standingOf } from './version.js'

/** Parsed policies are cached up to this length of text: parsing the longest takes tens of milliseconds. */
const MAX_CACHED_CHARS = 8 << 20
const MAX_CACHED_POLICIES = 512

/**
 * Returns a function that parses a version into a policy, with a cache. The policy of a robots.txt version has no llms.txt
 * and vice versa, because each file changes without the other. The function returns undefined for a served version whose text is not in memory.
 */
export function createPolicyCache(): (version: PolicyVersion) => Policy | undefined {
  const cache = createRecentCache<PolicyVersion, { policy: Policy; chars: number }>(MAX_CACHED_POLICIES, {
    of: ({ chars }) => chars,
    limit: MAX_CACHED_CHARS,
  })
  return (version) => {
    const cached = cache.get(version)
    if (cached !== undefined) return cached.policy
    const { hostname, kind, status, body, url } = version
    if (standingOf(status) === 'served' && body === undefined) return undefined
    const file = { status, body: body ?? '', url }
    const policy = createPolicy(
      kind === 'robots' ? { hostname, robots: file } : { hostname, robots: { status: 404, body: '' }, llms: file },
    )
    cache.set(version, { policy, chars: file.body.length })
    return policy
  }
}
