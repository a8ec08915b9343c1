import { loadCatalog, UNDOCUMENTED } from '../../../src/agents/catalog.js'
import { createIdentify } from '../../../src/agents/identify.js'
import { KNOWN_AI_AGENTS } from '../../fixtures/known-ai-agents.js'
import type { TruthFigure } from '../truth.js'

/** Counts known AI agents that get the right operator, and entries of the catalog that say where they are documented. */
export function measure(): TruthFigure[] {
  const catalog = loadCatalog()
  const identify = createIdentify(catalog)
  const wrong = KNOWN_AI_AGENTS.filter(([name, operator]) => {
    const sent = /[/;]/.test(name) ? name : `Mozilla/5.0 (compatible; ${name}/1.0)`
    const found = identify(sent)?.agent?.operator.toLowerCase()
    return found === undefined || !found.startsWith(operator.toLowerCase())
  })
  const undocumented = catalog.agents.filter(({ docs_url }) => docs_url === UNDOCUMENTED)
  return [
    {
      what: 'known AI agents named with the right operator',
      count: KNOWN_AI_AGENTS.length - wrong.length,
      of: KNOWN_AI_AGENTS.length,
      aim: { atLeast: 0.97 },
      wrong: wrong.map(([name, operator]) => `${name} (${operator})`),
    },
    {
      what: 'entries of the catalog with documentation',
      count: catalog.agents.length - undocumented.length,
      of: catalog.agents.length,
      wrong: undocumented.map(({ id }) => id),
    },
  ]
}
