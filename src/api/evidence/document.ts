import { z } from 'zod'
import { Count, Instant } from '../../analytics/reads/shapes.js'

/** Fetches that a folder lists one by one; the digest is over all. */
export const MAX_FETCHES = 1_000

const text = z.string()
const maybe = text.nullable()
const Sum = z.object({ fetches: Count, first: Instant, last: Instant })
export type Sum = z.infer<typeof Sum>

export const Fetch = z.object({
  at: Instant,
  method: text,
  hostname: text,
  pathname: text,
  status: z.int(),
  bytes: Count,
  content_type: maybe,
  user_agent: text.describe('As sent, up to 512 characters.'),
  verification: text.describe('How the identity was checked at the time, and with which result.'),
  proof: maybe.describe(
    'The list of addresses or directory of keys that confirmed it: its URL, or the name of a local file.',
  ),
  proof_at: Instant.nullable().describe('When this instance had last confirmed that copy to be current.'),
  robots: z
    .enum(['disallowed', 'disallowed_in_grace', 'allowed', 'not_judged'])
    .describe('By the robots.txt that was active at the time. In grace: a version of the last 24 hours allowed it.'),
  pattern: maybe.describe('The pattern of robots.txt that decided.'),
  line: Count.nullable(),
  action: maybe.describe('The action of the rule of this site that decided.'),
  rule: z.int().nullable().describe('The id of that rule.'),
  robots_read_at: Instant.nullable().describe(
    'When a fetch under this name had last read the robots.txt of this hostname before, with status 200 to 299 or 304.',
  ),
  read_active_version: z
    .boolean()
    .nullable()
    .describe('Whether that fetch came while the version that decided was active; null: no version decided.'),
  imported: z.boolean().describe('Whether the fetch comes from an access log.'),
})
export type Fetch = z.infer<typeof Fetch>

/** The facts about one agent in one window, as a folder of evidence states them. */
export const EvidenceDocument = z
  .object({
    format: z.literal('readership-evidence-1'),
    made_at: Instant,
    made_by: text.describe('The program and its version.'),
    site: z.object({ id: z.int(), name: text, timezone: text }),
    agent: z.object({
      ...{ agent_id: text, name: text, operator: maybe, docs_url: maybe },
      respects_robots: z.enum(['yes', 'no', 'unknown']).describe('The statement of its operator about robots.txt.'),
    }),
    window: z.object({ start: Instant, end: Instant }),
    statements: z.array(text).describe('The facts below as sentences.'),
    counts: z.object({
      fetches: Count.describe('Fetches that robots.txt disallowed at the time, or that a rule of the site refused.'),
      left_out: Count.describe('Fetches that `fetches` does not list; the digest includes them.'),
      rows_sha256: text.describe(
        'SHA-256 over all fetches in their order, each as compact JSON as in `fetches`, and a line feed.',
      ),
      bytes: Count,
      disallowed: Count.describe('Disallowed by robots.txt, grace included.'),
      in_grace: Count,
      refused: Count.describe('Refused by a rule of the site.'),
      after_reading: Count.describe('Disallowed fetches with `read_active_version`.'),
      spoofed: Count.describe('Fetches under this name whose identity was refuted. The folder leaves them out.'),
      imported: Count,
    }),
    rules: z.array(
      Sum.extend({
        hostname: text,
        pattern: maybe.describe('Null: everything was disallowed without a pattern.'),
        line: Count.nullable(),
        sha256: maybe.describe('The version in `robots_txt`; null: it is not stored any more.'),
        line_text: maybe,
      }),
    ),
    own_rules: z.array(
      Sum.extend({
        ...{ id: z.int(), action: text, name: maybe.describe('Null: the rule was deleted.') },
        changed_at: Instant.nullable(),
        definition: z.unknown().describe('The rule as it is when the folder is made.'),
      }),
    ),
    robots_txt: z.array(
      z.object({
        hostname: text,
        sha256: text.describe('The digest of the bytes as served.'),
        since: Instant,
        until: Instant.describe('When the next version began, or 24 hours after the last fetch of this one.'),
        status: z.int(),
        text: maybe.describe('Null: too old or too long to be here.'),
        is_exact: z.boolean().describe('Whether the UTF-8 bytes of `text` have this digest.'),
      }),
    ),
    robots_reads: z
      .array(Fetch.pick({ at: true, hostname: true, status: true, verification: true, user_agent: true }))
      .describe('Fetches of robots.txt under this name, from 30 days before the window on.'),
    robots_reads_left_out: Count,
    identity: z.array(
      Sum.extend({
        ...{ verification: text, proof: maybe },
        oldest_s: z.number().nullable().describe('The greatest age of that copy at a fetch; negative: fetched later.'),
      }),
    ),
    user_agents: z.array(Sum.extend({ user_agent: text })).describe('The 20 with most fetches.'),
    served: z.array(Sum.extend({ status: z.int(), content_type: maybe })),
    fetches: z.array(Fetch).describe(`The first ${MAX_FETCHES}, the oldest first.`),
    not_recorded: z.array(z.object({ start: Instant, end: Instant, reason: text })),
    limits: z.array(text).describe('Facts that the record cannot tell.'),
  })
  .meta({ id: 'EvidenceDocument' })
export type EvidenceDocument = z.infer<typeof EvidenceDocument>

/** The facts of a document before its sentences are written. */
export type Facts = Omit<EvidenceDocument, 'statements' | 'limits'>
