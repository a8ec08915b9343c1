import { z } from 'zod'
import { DIFFERENCES } from '../../agents/policy/rehearsal/differing-lines.js'
import { Count, Instant } from '../../analytics/reads/shapes.js'
import { windowFields } from './run.js'

/** Longer than the 500 KiB that agents read, so that a longer text is answered with its faults. */
const MAX_TEXT_CHARS = 600_000
/** JSON may write a character in six bytes. */
export const MAX_TEXT_BODY_BYTES = 4 << 20

export const TextBody = z.strictObject({
  ...windowFields,
  hostname: z.string().min(1).max(255).optional().describe("Only this hostname; default all of the site's."),
  text: z.string().max(MAX_TEXT_CHARS, 'A text has at most 600,000 characters.').describe('The robots.txt to try.'),
})
const TallyShape = z.object({
  fetches: Count,
  pages: Count.describe('Pages with such fetches.'),
  bytes: Count,
})
const Hidden = { llms: Count.describe('Links of llms.txt.'), sitemap: Count.describe('Pages of sitemaps.') }
export const RehearsedText = z.object({
  hostnames: z.array(z.string()).describe('Those whose fetches were judged: a robots.txt of theirs is known.'),
  fetches: Count.describe('Fetches that were judged; spoofed ones are left out.'),
  bytes: Count,
  disallowed: Count.describe('Fetches that the text would have disallowed, by the robots.txt of today or not.'),
  newly_disallowed: TallyShape.describe('By the text, and not by the robots.txt of today.'),
  newly_allowed: TallyShape.describe('The other way round.'),
  agents: z.array(
    z.object({
      agent_id: z.string(),
      name: z.string(),
      operator: z.string().optional(),
      purpose: z.string().optional(),
      fetches: Count,
      newly_disallowed: TallyShape,
      newly_allowed: TallyShape,
      after: z
        .object({
          ignored: Count.describe('Fetches that robots.txt disallowed at their time, without those of the day after.'),
          breaches: Count.describe('Those of a verified agent that says it obeys robots.txt.'),
          reads: Count.describe('Fetches of robots.txt.'),
          read_at: Instant.optional().describe('When it first read the robots.txt of today.'),
        })
        .describe('How it behaved after the rules of the window.'),
    }),
  ),
  lines: z.array(z.object({ line: z.int(), fetches: Count })).describe('Fetches that each line would have decided.'),
  search_engines: z
    .array(z.object({ agent_id: z.string(), name: z.string(), fetches: Count, pages: Count }))
    .describe('Search engines with fetches or a front page that the text newly disallows.'),
  hidden: z
    .object({
      ...Hidden,
      pages: z.array(z.object({ hostname: z.string(), pathname: z.string(), llms: z.boolean(), sitemap: z.boolean() })),
      named: z.array(z.object({ agents: z.array(z.string()), total: Count, ...Hidden })),
    })
    .describe('Listed pages that the text hides from agents that it does not name, and from those that it names.'),
  differing: z
    .array(
      z.object({
        line: z.int().optional(),
        text: z.string().optional(),
        kind: z.enum(DIFFERENCES),
        detail: z.string().optional(),
      }),
    )
    .describe('Lines that parsers read differently or not at all.'),
  problems: z.array(z.object({ line: z.int().optional(), problem: z.string() })),
  since: Instant.optional().describe('Since when the robots.txt of today applies.'),
  limits: z
    .array(
      z.object({
        kind: z.enum(['query', 'spoofed', 'no_policy']),
        fetches: Count,
      }),
    )
    .describe(
      'Fetches that rows say too little of. `query`: rows have no query, which a pattern of the text could match; `spoofed` and `no_policy` (no robots.txt of the hostname is known): not judged.',
    ),
})
export type RehearsedText = z.output<typeof RehearsedText>
