import { basename } from 'node:path'
import type { Address } from '../../base/address.js'
import type { Agent } from '../catalog.js'
import type { Proof } from '../verdict.js'
import { type LocalList, readLocalLists } from './local-lists.js'
import { createPrefixSet } from './prefix-set.js'
import { createPublishedLists, type PublishedList, type PublishedListsDeps, type RangeList } from './published-lists.js'
import { listsOfAgent } from './sources.js'
import type { RangesStatus, RefreshResult } from './status.js'

/**
 * The result of looking up an address in an agent's lists. `outside`: all lists are present and fresh, and the address is in none.
 * `silent`: the lists are fresh, but one is a help page, which may be incomplete. `unknown`: a list is missing or stale.
 * `none`: the agent has no list.
 */
export type RangeLookup = 'inside' | 'outside' | 'silent' | 'unknown' | 'none'

export interface RangesDeps extends PublishedListsDeps {
  /** Files and directories of `--ranges`. */
  localPaths: readonly string[]
  offline: boolean
}

/** Age from which a list is stale: it then proves nothing. */
const STALE_AFTER_MS = 7 * 86_400_000

export type Ranges = ReturnType<typeof createRanges>

/**
 * The published addresses of the catalog's agents, from local files where there are some, otherwise fetched. Throws an
 * error of one line that names the file if a local file cannot be used.
 */
export function createRanges(deps: RangesDeps) {
  const { catalog, now } = deps
  const published = createPublishedLists(deps)
  const readLocal = () => readLocalLists(deps.localPaths, catalog)
  const local = readLocal()
  let lists = listsByAgent(deps, local, published)
  for (const file of local.ignored) deps.log('warn', `ranges: ${file} is named after no agent and no published list`)

  const confirms = ({ set, at: refreshedAt, local }: RangeList, address: Address, at: number): boolean =>
    set?.has(address) === true && (local || at - refreshedAt <= STALE_AFTER_MS)
  const isUsed = (list: PublishedList) => list.agents.some((id) => lists.get(id)?.includes(list))

  return {
    /** Looks up the address of a request that arrived at `at`, in milliseconds since 1970. */
    lookUp(agent: Agent, address: Address, at: number): RangeLookup {
      const agentLists = lists.get(agent.id) ?? []
      if (agentLists.length === 0) return 'none'
      let unknown = false
      let silent = false
      for (const list of agentLists) {
        const { set, at: refreshedAt, helpPage } = list
        // A list that is much newer than the request does not tell which addresses were listed then.
        unknown ||= set === undefined || Math.abs(at - refreshedAt) > STALE_AFTER_MS
        silent ||= helpPage
        if (confirms(list, address, at)) return 'inside'
      }
      return unknown ? 'unknown' : silent ? 'silent' : 'outside'
    },
    /** Returns the list that has an address which `lookUp` found inside: a URL, or a local file's name without its folders. */
    confirmingList(agent: Agent, address: Address, at: number): Proof | undefined {
      const list = lists.get(agent.id)?.find((one) => confirms(one, address, at))
      return list && { source: list.local ? basename(list.source) : list.source, at: list.at }
    },
    /** Returns the status of every agent that has at least one list. */
    status: (): RangesStatus[] => [...lists].flatMap(([agent_id, all]) => statusOf(agent_id, all, now()) ?? []),
    /** Fetches every list now and reads the local files again. Never rejects. */
    async refresh(): Promise<RefreshResult[]> {
      const results: RefreshResult[] = []
      try {
        lists = listsByAgent(deps, readLocal(), published)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        const source = deps.localPaths.join(' ')
        results.push({ of: 'addresses', agents: [], source, count: 0, status: 'failed', error: message })
      }
      results.push(...localResults(lists), ...(await published.refresh(isUsed)))
      return results
    },
    /** Starts to fetch the lists that are due. Call it about once a second. */
    tick() {
      if (!deps.offline) published.tick(isUsed)
    },
  }
}

/** Chooses the lists of each agent: local lists before published ones. */
function listsByAgent(
  { catalog, now }: RangesDeps,
  local: ReturnType<typeof readLocalLists>,
  published: ReturnType<typeof createPublishedLists>,
): Map<string, readonly RangeList[]> {
  const created = new Map<LocalList, RangeList>()
  const listOf = (copy: LocalList): RangeList => {
    const { file: source, helpPage, prefixes } = copy
    const at = Math.min(copy.at, now())
    const list = created.get(copy) ?? { source, local: true, helpPage, at, set: createPrefixSet(prefixes) }
    created.set(copy, list)
    return list
  }
  return new Map(
    catalog.agents
      .filter((agent) => !agent.client_side)
      .map((agent) => {
        const whole = local.byAgent.get(agent.id)
        if (whole) return [agent.id, [listOf(whole)]]
        const each = listsOfAgent(agent).map(({ url }) => {
          const copy = local.byUrl.get(url)
          return copy ? listOf(copy) : published.get(url)
        })
        return [agent.id, each.filter((list) => list !== undefined)]
      }),
  )
}

/** Returns the status of an agent's lists; undefined if none of them is present. */
function statusOf(agent_id: string, lists: readonly RangeList[], now: number): RangesStatus | undefined {
  const present = lists.filter(({ set }) => set !== undefined)
  if (present.length === 0) return undefined
  const oldest = Math.min(...present.map(({ at }) => at))
  return {
    agent_id,
    count: present.reduce((sum, { set }) => sum + (set?.count ?? 0), 0),
    refreshed_at: new Date(oldest).toISOString(),
    source: present.map(({ source }) => source).join(' '),
    stale: present.length < lists.length || now - oldest > STALE_AFTER_MS,
  }
}

/** Returns each local list once, with all agents that it belongs to. */
function localResults(lists: ReadonlyMap<string, readonly RangeList[]>): RefreshResult[] {
  const agents = new Map<RangeList, string[]>()
  for (const [id, all] of lists)
    for (const list of all) if (list.local) agents.set(list, [...(agents.get(list) ?? []), id])
  return [...agents].map(([{ source, set, at }, ids]) => ({
    agents: ids,
    source,
    count: set?.count ?? 0,
    refreshed_at: new Date(at).toISOString(),
    of: 'addresses',
    status: 'file',
  }))
}
