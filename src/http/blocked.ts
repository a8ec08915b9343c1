import { z } from 'zod'
import type { Engine } from '../engine/engine.js'
import type { Deps } from '../query/read.js'

const Within = z.array(z.object({ hostname: z.string(), patterns: z.array(z.string()) }))

/** What policies block, as the worker that keeps them says: a large robots.txt is never parsed on this thread. */
export const askBlocked =
  (engine: Pick<Engine, 'ask'>): NonNullable<Deps['blocked']> =>
  async (site, operator) => {
    const within = Within.parse(await engine.ask('blocked_within', { site, operator }))
    if (within.length === 0) return undefined
    return {
      within,
      blocks: async (urls) => {
        const asked = urls.map(({ hostname, pathname }) => ({ hostname, pathname }))
        return z.array(z.boolean()).parse(await engine.ask('blocked', { site, operator, urls: asked }))
      },
    }
  }
