import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import type { Verifier } from '../agents/claim-check.js'
import { createIdentify } from '../agents/identify.js'
import type { Ranges } from '../agents/ranges/ranges.js'
import type { RefreshResult } from '../agents/ranges/status.js'
import type { DirectoryStatus, Signatures } from '../agents/signature/signatures.js'
import type { Verdict } from '../agents/verdict.js'

/** Functions about verification that the site's process may call. */
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
    /** Fetches every list of address ranges and every key directory now. */
    refresh: async () => {
      const lists = ranges.refresh()
      const directories = offline ? signatures.directories() : await signatures.refresh()
      return [...(await lists), ...directories.map((directory) => formatKeySource(directory, offline))]
    },
    holdings: async () => ranges.status(),
    identify: createClaimCheck({
      ...deps,
      ranges: (agent_id) => ranges.status().find((list) => list.agent_id === agent_id),
    }),
  }
}

/** A key directory in the form of a list of address ranges. */
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

/** The published address ranges of one agent, as they are cached. */
interface PublishedRanges {
  /** How many prefixes. */
  count: number
  source: string
  /** ISO-8601: when the list was last known to be current. */
  refreshed_at: string
  /** Too old or incomplete: the list refutes nothing. */
  stale: boolean
}

interface CheckedClaim extends Verdict {
  agent_id: string
  ranges?: PublishedRanges
}

const Argument = z.object({ user_agent: z.string(), ip: z.string() })

/**
 * Returns a function that checks a user agent and an address as a fetch is checked, and waits for the verdict: at most as
 * long as reverse DNS may take. It returns null for a person. Only ranges and reverse DNS count, because there is no
 * request that could have a signature.
 */
export function createClaimCheck(deps: {
  catalog: Catalog
  verifier: Pick<Verifier, 'check'>
  ranges: (agent_id: string) => PublishedRanges | undefined
  now: () => number
}): (argument: unknown) => Promise<CheckedClaim | null> {
  const identify = createIdentify(deps.catalog)
  return async (argument) => {
    const { user_agent, ip } = Argument.parse(argument)
    const identified = identify(user_agent)
    if (identified === undefined) return null
    const request = { method: 'GET', hostname: '', pathname: '/', ip }
    const checked = deps.verifier.check(identified.agent, request, deps.now())
    const verdict = (await checked.later) ?? checked.now
    const agent_id = identified.agent?.id ?? 'other'
    const list = deps.ranges(agent_id)
    if (list === undefined) return { agent_id, ...verdict }
    const { count, source, refreshed_at, stale } = list
    return { agent_id, ...verdict, ranges: { count, source, refreshed_at, stale } }
  }
}
