import { z } from 'zod'
import { Count, Instant } from '../../analytics/reads/shapes.js'

/** Fetches that a folder lists one by one; the digest is over all. */
export const MAX_FETCHES = 1_000
/** Fetches of robots.txt that a folder lists. */
export const MAX_READS = 200

const Fetch = z.object({
  at: Instant,
  method: z.string(),
  hostname: z.string(),
  pathname: z.string(),
  status: z.int(),
  bytes: Count,
  content_type: z.string().nullable(),
  user_agent: z.string().describe('As sent, up to 512 characters.'),
  verification: z.string().describe('How the identity was checked at the time, and with which result.'),
  proof: z
    .string()
    .nullable()
    .describe('The list of addresses or directory of keys that confirmed it: its URL, or the name of a local file.'),
  proof_at: Instant.nullable().describe('When this instance had last confirmed that copy to be current.'),
  robots: z
    .enum(['disallowed', 'disallowed_in_grace', 'allowed', 'not_judged'])
    .describe('By the robots.txt that was active at the time. In grace: a version of the last 24 hours allowed it.'),
  pattern: z.string().nullable().describe('The pattern of robots.txt that decided.'),
  line: Count.nullable(),
  action: z.string().nullable().describe('The action of the rule of this site that decided.'),
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

const Read = z.object({
  at: Instant,
  hostname: z.string(),
  status: z.int(),
  user_agent: z.string(),
  verification: z.string(),
})
export type RobotsRead = z.infer<typeof Read>

const Sum = { fetches: Count, first: Instant, last: Instant }

/** The facts about one agent in one window, as a folder of evidence states them. */
export const EvidenceDocument = z
  .object({
    format: z.literal('readership-evidence-1'),
    made_at: Instant,
    made_by: z.string().describe('The program and its version.'),
    site: z.object({ id: z.int(), name: z.string(), timezone: z.string() }),
    agent: z.object({
      agent_id: z.string(),
      name: z.string(),
      operator: z.string().nullable(),
      docs_url: z.string().nullable(),
      respects_robots: z
        .enum(['yes', 'no', 'unknown'])
        .nullable()
        .describe('The statement of its operator about robots.txt.'),
      catalog_version: z.string(),
    }),
    window: z.object({ start: Instant, end: Instant }),
    statements: z.array(z.string()).describe('The facts below as sentences.'),
    counts: z.object({
      fetches: Count.describe('Fetches that robots.txt disallowed at the time, or that a rule of the site refused.'),
      listed: Count,
      left_out: Count.describe('Fetches that `fetches` does not list; the digest includes them.'),
      rows_sha256: z
        .string()
        .describe('SHA-256 over all fetches in their order, each as compact JSON as in `fetches`, and a line feed.'),
      bytes: Count,
      disallowed: Count.describe('Disallowed by robots.txt, grace included.'),
      in_grace: Count,
      refused: Count.describe('Refused by a rule of the site.'),
      after_reading: Count.describe('Disallowed fetches with `read_active_version`.'),
      spoofed: Count.describe('Fetches under this name whose identity was refuted. The folder leaves them out.'),
      imported: Count,
      first: Instant.nullable(),
      last: Instant.nullable(),
    }),
    rules: z.array(
      z.object({
        ...Sum,
        hostname: z.string(),
        pattern: z.string().nullable().describe('Null: everything was disallowed without a pattern.'),
        line: Count.nullable(),
        line_text: z.string().nullable(),
        sha256: z.string().nullable().describe('The version in `robots_txt`; null: it is not stored any more.'),
      }),
    ),
    own_rules: z.array(
      z.object({
        ...Sum,
        id: z.int(),
        action: z.string(),
        name: z.string().nullable().describe('Null: the rule was deleted.'),
        changed_at: Instant.nullable(),
        definition: z.unknown().describe('The rule as it is when the folder is made.'),
      }),
    ),
    robots_txt: z.array(
      z.object({
        hostname: z.string(),
        sha256: z.string().describe('The digest of the bytes as served.'),
        since: Instant,
        until: Instant.describe('When the next version began, or 24 hours after the last fetch of this one.'),
        status: z.int(),
        text: z.string().nullable().describe('Null: too old or too long to be here.'),
        is_exact: z.boolean().describe('Whether the UTF-8 bytes of `text` have this digest.'),
      }),
    ),
    robots_reads: z.array(Read).describe('Fetches of robots.txt under this name, from 30 days before the window on.'),
    robots_reads_left_out: Count,
    identity: z.array(
      z.object({
        ...Sum,
        verification: z.string(),
        proof: z.string().nullable(),
        proof_from: Instant.nullable().describe('The oldest and newest copy that confirmed.'),
        proof_to: Instant.nullable(),
        oldest_s: z.number().nullable().describe('The greatest age of that copy at a fetch; negative: fetched later.'),
      }),
    ),
    served: z.array(z.object({ status: z.int(), content_type: z.string().nullable(), fetches: Count, bytes: Count })),
    user_agents: z.array(z.object({ user_agent: z.string(), fetches: Count })).describe('The 20 with most fetches.'),
    fetches: z.array(Fetch).describe(`The first ${MAX_FETCHES}, the oldest first.`),
    not_recorded: z.array(z.object({ start: Instant, end: Instant, reason: z.string() })),
    limits: z.array(z.string()).describe('Facts that the record cannot tell.'),
  })
  .meta({ id: 'EvidenceDocument' })
export type EvidenceDocument = z.infer<typeof EvidenceDocument>

/** The facts of a document before its sentences are written. */
export type Facts = Omit<EvidenceDocument, 'statements' | 'limits'>
