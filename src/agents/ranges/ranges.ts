import type { Address } from '../../address.js'
import type { Agent } from '../catalog.js'
import { type LocalList, readLocalLists } from './local-lists.js'
import { createPrefixSet } from './prefix-set.js'
import { createPublishedLists, type PublishedList, type PublishedListsDeps, type RangeList } from './published-lists.js'
import { listsOfAgent } from './sources.js'
import type { RangesStatus, RefreshResult } from './status.js'

/**
 * What an agent's lists say of an address. `outside`: they are whole and fresh, and it is in none. `silent`: they are
 * fresh, but pages for people, which may not name all. `unknown`: one is missing or stale. `none`: it has no list.
 */
export type RangeLookup = 'inside' | 'outside' | 'silent' | 'unknown' | 'none'

export interface Ranges {
  /** `at`: when the request came, in milliseconds since 1970. */
  ask(agent: Agent, address: Address, at: number): RangeLookup
  /** What is held, of every agent of which something is. */
  status(): RangesStatus[]
  /** Fetches every list now, and reads the operator's own files again. Never rejects. */
  refresh(): Promise<RefreshResult[]>
  /** Fetches what is due; call it every second or so. */
  tick(): void
}

export interface RangesDeps extends PublishedListsDeps {
  /** Files and directories of `--ranges`. */
  localPaths: readonly string[]
  offline: boolean
}

/** From then on a list says nothing (contract 3: stale). */
export const STALE_AFTER_MS = 7 * 86_400_000

/**
 * The published addresses of the catalog's agents: from the operator's own files where there are some, otherwise fetched.
 * Throws one line that names the file where one of the operator's cannot be used.
 */
export function createRanges(deps: RangesDeps): Ranges {
  const { catalog, now } = deps
  const fetched = createPublishedLists(deps)
  let own = readLocalLists(deps.localPaths, catalog)
  let lists = listsOfAll()
  for (const file of own.ignored) deps.log('warn', `ranges: ${file} is named after no agent and no published list`)

  /** Which lists speak for which agent: the operator's own before those that are fetched. */
  function listsOfAll(): Map<string, readonly RangeList[]> {
    const known = new Map<LocalList, RangeList>()
    const listOf = (copy: LocalList): RangeList => {
      const { file: source, prose, at, prefixes } = copy
      const list = known.get(copy) ?? {
        source,
        own: true,
        prose,
        at: Math.min(at, now()),
        set: createPrefixSet(prefixes),
      }
      known.set(copy, list)
      return list
    }
    return new Map(
      catalog.agents
        .filter((agent) => !agent.client_side)
        .map((agent) => {
          const whole = own.byAgent.get(agent.id)
          if (whole) return [agent.id, [listOf(whole)]]
          const each = listsOfAgent(agent).map(({ url }) => {
            const copy = own.byUrl.get(url)
            return copy ? listOf(copy) : fetched.get(url)
          })
          return [agent.id, each.filter((list) => list !== undefined)]
        }),
    )
  }

  const isWanted = (list: PublishedList) => list.agents.some((id) => lists.get(id)?.includes(list))

  return {
    ask(agent, address, at) {
      const mine = lists.get(agent.id) ?? []
      if (mine.length === 0) return 'none'
      let unknown = false
      let silent = false
      for (const { set, at: of, own, prose } of mine) {
        // A list that is newer than the request by as much says nothing of who was not in it then.
        unknown ||= set === undefined || Math.abs(at - of) > STALE_AFTER_MS
        silent ||= prose
        if (set?.has(address) && (own || at - of <= STALE_AFTER_MS)) return 'inside'
      }
      return unknown ? 'unknown' : silent ? 'silent' : 'outside'
    },
    status: () =>
      [...lists].flatMap(([agent_id, all]) => {
        const here = all.filter(({ set }) => set !== undefined)
        if (here.length === 0) return []
        const oldest = Math.min(...here.map(({ at }) => at))
        return {
          agent_id,
          count: here.reduce((sum, { set }) => sum + (set?.count ?? 0), 0),
          refreshed_at: new Date(oldest).toISOString(),
          source: here.map(({ source }) => source).join(' '),
          stale: here.length < all.length || now() - oldest > STALE_AFTER_MS,
        }
      }),
    async refresh() {
      const told: RefreshResult[] = []
      try {
        own = readLocalLists(deps.localPaths, catalog)
        lists = listsOfAll()
      } catch (error) {
        const says = error instanceof Error ? error.message : String(error)
        told.push({
          of: 'addresses',
          agents: [],
          source: deps.localPaths.join(' '),
          count: 0,
          status: 'failed',
          error: says,
        })
      }
      told.push(...localResults(lists), ...(await fetched.refresh(isWanted)))
      return told
    },
    tick() {
      if (!deps.offline) fetched.tick(isWanted)
    },
  }
}

/** The operator's own lists, each once with all whose it is. */
function localResults(lists: ReadonlyMap<string, readonly RangeList[]>): RefreshResult[] {
  const agents = new Map<RangeList, string[]>()
  for (const [id, all] of lists)
    for (const list of all) if (list.own) agents.set(list, [...(agents.get(list) ?? []), id])
  return [...agents].map(([{ source, set, at }, ids]) => ({
    agents: ids,
    source,
    count: set?.count ?? 0,
    refreshed_at: new Date(at).toISOString(),
    of: 'addresses' as const,
    status: 'file',
  }))
}
