import type { Catalog } from '../agents/catalog.js'
import type { Refreshed } from '../agents/ranges/holding.js'
import type { Ranges } from '../agents/ranges/ranges.js'
import type { HeldDirectory, Signatures } from '../agents/signature/signatures.js'
import type { Verifier } from '../agents/verdict.js'
import { createClaims } from './identify.js'

/** What the site's process may ask about verification (`Desk` of the worker). */
export function createAgentDesk(deps: {
  catalog: Catalog
  verifier: Verifier
  ranges: Ranges
  signatures: Signatures
  offline: boolean
  now: () => number
}) {
  const { ranges, signatures, offline } = deps
  return {
    /** Fetches every list of addresses and every directory of keys now. */
    refresh: async () => {
      const lists = ranges.refresh()
      const directories = offline ? signatures.held() : await signatures.refresh()
      return [...(await lists), ...directories.map((held) => keysOf(held, offline))]
    },
    holdings: async () => ranges.holdings(),
    identify: createClaims({
      ...deps,
      ranges: (agent_id) => ranges.holdings().find((held) => held.agent_id === agent_id),
    }),
  }
}

/** A directory of keys beside the lists of addresses. */
const keysOf = ({ agent_ids, directory, keys, refreshed_at, error }: HeldDirectory, offline: boolean): Refreshed => ({
  of: 'keys',
  agents: agent_ids,
  source: directory,
  count: keys,
  status: offline ? 'offline' : error === undefined ? 'updated' : 'failed',
  ...(refreshed_at === undefined ? {} : { refreshed_at }),
  ...(error === undefined ? {} : { error }),
})
