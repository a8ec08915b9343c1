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
