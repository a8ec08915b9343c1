import type { Agent, Catalog } from './catalog.js'
import { verificationMethods } from './verify.js'

/** An agent as the API and the terminal show it (contract 5, agents/catalog). */
interface ListedAgent {
  agent_id: string
  name: string
  operator: string
  purpose: Agent['purpose']
  docs_url?: string
  /** Its name in robots.txt, where it has one. */
  robots_token?: string
  /** Whether its operator says that it obeys robots.txt. */
  respects_robots: Agent['respects_robots']
  /** By what a claim to be it can be verified. */
  verification: ReturnType<typeof verificationMethods>
}

/** Every agent of the catalog, in its order. */
export const listAgents = (catalog: Catalog): ListedAgent[] =>
  catalog.agents.map((agent) => {
    const [robots_token] = agent.robots_tokens ?? []
    return {
      agent_id: agent.id,
      name: agent.name,
      operator: agent.operator,
      purpose: agent.purpose,
      ...(agent.docs_url === undefined ? {} : { docs_url: agent.docs_url }),
      ...(robots_token === undefined ? {} : { robots_token }),
      respects_robots: agent.respects_robots,
      verification: verificationMethods(agent),
    }
  })
