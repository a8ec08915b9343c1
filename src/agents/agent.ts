import { z } from 'zod'

/** The purposes for which agents fetch pages. */
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
const suffix = z.string().regex(/^(?:\.[a-z0-9-]+){2,}$/, 'must be a dot and a hostname')
const mask = z.string().regex(/^[a-z0-9*-]+(?:\.[a-z0-9-]+){2,}$/, 'must be a hostname, with * only in its first label')

/** Stands in the place of a link if no page of the operator about the agent is known. */
export const UNDOCUMENTED = 'undocumented'

/** One known agent as `catalog.json` writes it. The file's `meta.fields` explain each field. */
export const Agent = z
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
    docs_url: url.or(z.literal(UNDOCUMENTED)).default(UNDOCUMENTED),
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
        further: z.array(url).min(1).optional(),
        status: z.enum(['documented', 'experimental', 'listed', 'observed', 'preview']),
      })
      .optional(),
    client_side: z.boolean(),
    status: z.enum(['active', 'legacy']),
    note: text.optional(),
  })
  .refine((agent) => (agent.ua_match === 'never' || agent.ua_match === 'signature-only') === !agent.ua_tokens.length, {
    message: 'must be empty if no User-Agent identifies the agent, and not empty otherwise',
    path: ['ua_tokens'],
  })
export type Agent = z.infer<typeof Agent>

/** Returns the ways in which the operator lets others verify that a request is this agent's; empty if it publishes none. */
export function verificationMethods(agent: Agent): ('ranges' | 'rdns' | 'web_bot_auth')[] {
  if (agent.client_side) return []
  const methods: ('ranges' | 'rdns' | 'web_bot_auth')[] = []
  if (agent.ranges_url !== undefined) methods.push('ranges')
  if (agent.rdns_suffixes !== undefined) methods.push('rdns')
  if (agent.web_bot_auth !== undefined) methods.push('web_bot_auth')
  return methods
}

/** Returns the hosts of the agent's signature directories. */
export const signingHosts = ({ web_bot_auth }: Agent): string[] =>
  web_bot_auth === undefined
    ? []
    : [web_bot_auth.signature_agent, ...(web_bot_auth.further ?? [])].flatMap((url) =>
        URL.canParse(url) ? new URL(url).hostname : [],
      )
