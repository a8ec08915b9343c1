import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { Agent, verificationMethods } from './agent.js'

export { type Agent, signingHosts, UNDOCUMENTED, verificationMethods } from './agent.js'

const CatalogFile = z.object({ meta: z.object({ generated: z.iso.date() }), agents: z.array(Agent).min(1) })

export interface Catalog {
  /**
   * The date of the catalog's facts and a digest of them, since two catalogs can have the same date. It is stored with
   * each row, so that rows can be classified again by a newer catalog.
   */
  readonly version: string
  readonly agents: readonly Agent[]
  readonly get: (id: string) => Agent | undefined
}

/** Parses the text of a catalog file. Throws if an entry is malformed or an id occurs twice. */
export function parseCatalog(json: string): Catalog {
  const { meta, agents } = CatalogFile.parse(JSON.parse(json))
  const byId = new Map(agents.map((agent) => [agent.id, agent]))
  if (byId.size !== agents.length) throw new Error('an agent id occurs twice in the catalog')
  const digest = createHash('sha256').update(JSON.stringify(agents)).digest('hex').slice(0, 8)
  return { version: `${meta.generated}-${digest}`, agents, get: (id) => byId.get(id) }
}

let shipped: Catalog | undefined

/** Returns the catalog that ships with the package, which is read and parsed once. */
export function loadCatalog(): Catalog {
  shipped ??= parseCatalog(readFileSync(new URL('./catalog.json', import.meta.url), 'utf8'))
  return shipped
}

/** An agent as the API and the terminal show it. */
interface ListedAgent {
  agent_id: string
  name: string
  operator: string
  purpose: Agent['purpose']
  /** A page about the agent, or `undocumented`. */
  docs_url: string
  /** The first of its names in robots.txt, if it has one. */
  robots_token?: string
  /** Whether its operator says that it obeys robots.txt. */
  respects_robots: Agent['respects_robots']
  /** The ways in which a claim to be this agent can be verified. */
  verification: ReturnType<typeof verificationMethods>
}

/** Returns every agent of the catalog in the catalog's order. */
export const listAgents = (catalog: Catalog): ListedAgent[] =>
  catalog.agents.map((agent) => ({
    agent_id: agent.id,
    name: agent.name,
    operator: agent.operator,
    purpose: agent.purpose,
    docs_url: agent.docs_url,
    ...(agent.robots_tokens?.[0] && { robots_token: agent.robots_tokens[0] }),
    respects_robots: agent.respects_robots,
    verification: verificationMethods(agent),
  }))
