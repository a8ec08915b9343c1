import type { Agent, Catalog } from '../catalog.js'

/** A published list. Several agents may share one. */
export interface ListSource {
  url: string
  format: string
  agents: readonly string[]
}

/** Returns the lists in which an agent's addresses are published. */
export const listsOfAgent = (agent: Agent): { url: string; format: string }[] => [
  ...(agent.ranges_url === undefined || agent.ranges_format === undefined
    ? []
    : [{ url: agent.ranges_url, format: agent.ranges_format }]),
  ...(agent.ranges_extra ?? []),
]

/** Returns every list of the catalog, each URL once. */
export function sourcesOfCatalog({ agents }: Catalog): ListSource[] {
  const sources = new Map<string, { url: string; format: string; agents: string[] }>()
  for (const agent of agents) {
    if (agent.client_side) continue
    for (const list of listsOfAgent(agent)) {
      const source = sources.get(list.url) ?? { ...list, agents: [] }
      source.agents.push(agent.id)
      sources.set(list.url, source)
    }
  }
  return [...sources.values()]
}
