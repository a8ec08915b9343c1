import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'

export const PURPOSES = [
  'training',
  'search',
  'assistant',
  'seo',
  'social',
  'feed',
  'monitor',
  'archive',
  'security',
  'advertising',
  'data',
  'library',
  'headless',
  'other',
] as const

const text = z.string().trim().min(1)
const url = z.url({ protocol: /^https?$/ })
const suffix = z.string().regex(/^(?:\.[a-z0-9-]+){2,}$/, 'a dot and a host name')
const mask = z.string().regex(/^[a-z0-9*-]+(?:\.[a-z0-9-]+){2,}$/, 'a host name with * in its first label')

/** One known agent, as `catalog.json` writes it; its `meta.fields` say what each field means. */
const Agent = z
  .strictObject({
    id: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
    name: text,
    operator: text,
    operator_url: url.optional(),
    purpose: z.enum(PURPOSES),
    ua_tokens: z.array(text),
    ua_match: z.enum(['token', 'substring', 'exact-ua', 'never', 'signature-only']),
    ua_exclude: z.array(text).optional(),
    robots_tokens: z.array(text).optional(),
    robots_only: z.boolean(),
    robots_fallback: z.array(text).min(1).optional(),
    honors_wildcard_group: z.boolean(),
    respects_robots: z.enum(['yes', 'no', 'unknown']),
    docs_url: url.optional(),
    ranges_url: url.optional(),
    ranges_format: text.optional(),
    ranges_extra: z
      .array(z.strictObject({ url, format: text }))
      .min(1)
      .optional(),
    rdns_suffixes: z.array(suffix).min(1).optional(),
    rdns_masks: z.array(mask).min(1).optional(),
    asn: z.array(z.int().positive()).min(1).optional(),
    web_bot_auth: z
      .strictObject({
        signature_agent: text,
        directory: url.nullable(),
        status: z.enum(['documented', 'experimental', 'listed', 'observed', 'preview']),
      })
      .optional(),
    client_side: z.boolean(),
    status: z.enum(['active', 'legacy']),
    note: text.optional(),
  })
  .refine((agent) => (agent.ua_match === 'never' || agent.ua_match === 'signature-only') === !agent.ua_tokens.length, {
    message: 'an agent has tokens unless no User-Agent identifies it',
    path: ['ua_tokens'],
  })
export type Agent = z.infer<typeof Agent>

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
