import type { Catalog } from '../agents/catalog.js'
import type { Ranges } from '../agents/ranges/ranges.js'
import type { RefreshResult } from '../agents/ranges/status.js'
import type { DirectoryStatus, Signatures } from '../agents/signature/signatures.js'
import type { Verifier } from '../agents/verdict.js'
import { createClaimCheck } from './claim-check.js'

/** What the site's process may ask about verification (`Desk` of the worker). */
export function createAgentApi(deps: {
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
      const directories = offline ? signatures.directories() : await signatures.refresh()
      return [...(await lists), ...directories.map((held) => formatKeySource(held, offline))]
    },
    holdings: async () => ranges.status(),
    identify: createClaimCheck({
      ...deps,
      ranges: (agent_id) => ranges.status().find((held) => held.agent_id === agent_id),
    }),
  }
}

/** A directory of keys beside the lists of addresses. */
const formatKeySource = (
  { agent_ids, directory, keys, refreshed_at, error }: DirectoryStatus,
  offline: boolean,
): RefreshResult => ({
  of: 'keys',
  agents: agent_ids,
  source: directory,
  count: keys,
  status: offline ? 'offline' : error === undefined ? 'updated' : 'failed',
  ...(refreshed_at === undefined ? {} : { refreshed_at }),
  ...(error === undefined ? {} : { error }),
})
