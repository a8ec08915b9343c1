import { z } from 'zod'
import type { Engine } from '../engine/engine.js'
import type { ReadDependencies } from '../query/read.js'

const BlockedPatterns = z.array(z.object({ hostname: z.string(), patterns: z.array(z.string()) }))

/** What policies block, as the worker that keeps them says: a large robots.txt is never parsed on this thread. */
export const createBlockedPaths =
  (engine: Pick<Engine, 'call'>): NonNullable<ReadDependencies['blockedUrls']> =>
  async (site, operator) => {
    const within = BlockedPatterns.parse(await engine.call('blocked_within', { site, operator }))
    if (within.length === 0) return undefined
    return {
      candidates: within,
      areBlocked: async (urls) => {
        const asked = urls.map(({ hostname, pathname }) => ({ hostname, pathname }))
        return z.array(z.boolean()).parse(await engine.call('blocked', { site, operator, urls: asked }))
      },
    }
  }
