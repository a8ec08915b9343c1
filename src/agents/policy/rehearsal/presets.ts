import type { Agent, Catalog } from '../../catalog.js'
import { parseRobots } from '../parse-robots.js'

/** The texts of robots.txt that are made from the catalogue. */
export const PRESETS = ['search_not_training', 'assistants_only', 'nothing', 'everything'] as const
type PresetName = (typeof PRESETS)[number]

interface PresetTerms {
  title: string
  /** Whether agents of this purpose may read; undefined: as agents that the text does not name. */
  allows(purpose: Agent['purpose']): boolean | undefined
  /** Whether agents that the text does not name may read. */
  others: boolean
  signal: string
  usage: string
}

const TERMS: { readonly [P in PresetName]: PresetTerms } = {
  search_not_training: {
    title: 'Search and assistants may read; training may not.',
    allows: (purpose) => (purpose === 'training' ? false : undefined),
    others: true,
    signal: 'search=yes, ai-input=yes, ai-train=no',
    usage: 'train-ai=n',
  },
  assistants_only: {
    title: 'Only assistants may read.',
    allows: (purpose) => purpose === 'assistant',
    others: false,
    signal: 'search=no, ai-input=yes, ai-train=no',
    usage: 'train-ai=n, search=n',
  },
  nothing: {
    title: 'No agent may read.',
    allows: () => false,
    others: false,
    signal: 'search=no, ai-input=no, ai-train=no',
    usage: 'train-ai=n, search=n',
  },
  everything: {
    title: 'Every agent may read.',
    allows: () => undefined,
    others: true,
    signal: 'search=yes, ai-input=yes, ai-train=yes',
    usage: 'train-ai=y, search=y',
  },
}

/**
 * Writes each preset for the catalogue, with the `Sitemap` lines of the present text, and where training is refused also its
 * `License` lines. Agents with names in robots.txt are named by their purpose; one that does not obey `*` is always named.
 */
export const createPresets = (catalog: Pick<Catalog, 'agents' | 'version'>, present: string) =>
  PRESETS.map((name) => ({ name, text: presetText(TERMS[name], catalog, present) }))

function presetText(terms: PresetTerms, { agents, version }: Pick<Catalog, 'agents' | 'version'>, present: string) {
  const { sitemaps, licenses } = parseRobots(present)
  const named = agents.flatMap(({ robots_tokens: tokens = [], purpose, honors_wildcard_group }) => {
    const may = terms.allows(purpose)
    if (tokens.length === 0 || (may === undefined && terms.others)) return []
    const isSame = (may ?? terms.others) === terms.others
    return isSame && honors_wildcard_group ? [] : [{ tokens, may: may ?? terms.others }]
  })
  const tokensThat = (may: boolean) => named.flatMap((agent) => (agent.may === may ? agent.tokens : []))
  const allowed = new Map(tokensThat(true).map((token) => [token.toLowerCase(), token]))
  // A name that two agents share is refused only if neither may read.
  const refused = new Map(
    tokensThat(false).flatMap((token) => (allowed.has(token.toLowerCase()) ? [] : [[token.toLowerCase(), token]])),
  )
  const preferences = [`Content-Signal: ${terms.signal}`, `Content-Usage: ${terms.usage}`]
  const group = (names: readonly string[], rule: string) =>
    names.length === 0 ? [] : ['', ...names.map((one) => `User-agent: ${one}`), ...preferences, rule]
  const kept = [
    ...(/ai-train=no/.test(terms.signal) ? licenses.map(({ url }) => `License: ${url}`) : []),
    ...sitemaps.map((url) => `Sitemap: ${url}`),
  ]
  return [
    `# ${terms.title}`,
    `# Agents by their purpose, from the catalogue of ${version.slice(0, 10)}.`,
    ...group(['*'], terms.others ? 'Allow: /' : 'Disallow: /'),
    ...group([...allowed.values()], 'Allow: /'),
    ...group([...refused.values()], 'Disallow: /'),
    ...(kept.length > 0 ? ['', ...kept] : []),
    '',
  ].join('\n')
}
