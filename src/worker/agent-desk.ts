import type { Catalog } from '../agents/catalog.js'
import type { Ranges } from '../agents/ranges/ranges.js'
import type { Signatures } from '../agents/signature/signatures.js'
import type { Verifier } from '../agents/verdict.js'
import { createClaims } from './identify.js'

/** What the main thread may ask about verification (`Desk` of the worker). */
export function createAgentDesk(deps: {
  catalog: Catalog
  verifier: Verifier
  ranges: Ranges
  signatures: Signatures
  now: () => number
}) {
  const { ranges, signatures } = deps
  return {
    /** Fetches every list and every directory of keys now. */
    refresh: async () => {
      const [lists, directories] = await Promise.all([ranges.refresh(), signatures.refresh()])
      return { lists, directories }
    },
    holdings: async () => ({ lists: ranges.holdings(), directories: signatures.held() }),
    identify: createClaims({
      ...deps,
      ranges: (agent_id) => ranges.holdings().find((held) => held.agent_id === agent_id),
    }),
  }
}
