import { join } from 'node:path'
import { loadCatalog } from '../agents/catalog.js'
import { openListCache } from '../agents/ranges/list-cache.js'
import { createRanges } from '../agents/ranges/ranges.js'
import { listsOfAgent } from '../agents/ranges/sources.js'
import type { RangesStatus } from '../agents/ranges/status.js'
import type { Config } from '../config.js'
import { OutboundError } from '../outbound/outbound.js'

/**
 * What is held of the agents' published addresses, from the files themselves, whether an instance runs or not; and of how
 * many agents it could be. Throws one line where a file of `--ranges` cannot be used.
 */
export function cachedRanges({ data, ranges }: Config, at: number): { held: RangesStatus[]; of: number } {
  const catalog = loadCatalog()
  const { status: holdings } = createRanges({
    catalog,
    outbound: async () => {
      throw new OutboundError('offline', 'nothing is fetched to look at what is held')
    },
    cache: openListCache(join(data, 'agents')),
    localPaths: ranges,
    offline: true,
    now: () => at,
    random: () => 0,
    log: () => {},
  })
  const of = catalog.agents.filter((agent) => !agent.client_side && listsOfAgent(agent).length > 0).length
  return { held: holdings(), of }
}
