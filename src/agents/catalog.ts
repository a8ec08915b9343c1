import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { Agent } from './agent.js'

export { type Agent, PURPOSES } from './agent.js'

const File = z.object({ meta: z.object({ generated: z.iso.date() }), agents: z.array(Agent).min(1) })

export interface Catalog {
  /**
   * The date of its facts and a digest of them, since one day can see two; stored with each row, so that rows can be
   * classified again under a later one.
   */
  readonly version: string
  readonly agents: readonly Agent[]
  readonly get: (id: string) => Agent | undefined
}

/** The catalog from the text of its file. Throws where an entry is not well formed or an id stands twice. */
export function parseCatalog(json: string): Catalog {
  const { meta, agents } = File.parse(JSON.parse(json))
  const byId = new Map(agents.map((agent) => [agent.id, agent]))
  if (byId.size !== agents.length) throw new Error('an agent id stands twice in the catalog')
  const digest = createHash('sha256').update(JSON.stringify(agents)).digest('hex').slice(0, 8)
  return { version: `${meta.generated}-${digest}`, agents, get: (id) => byId.get(id) }
}

let shipped: Catalog | undefined

/** The catalog that ships with the package, read and parsed once. */
export function loadCatalog(): Catalog {
  shipped ??= parseCatalog(readFileSync(new URL('./catalog.json', import.meta.url), 'utf8'))
  return shipped
}
