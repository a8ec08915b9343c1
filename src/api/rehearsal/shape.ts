import { z } from 'zod'
import { Count, Fetches } from '../../analytics/reads/shapes.js'
import { countPaths, IDENTITIES, MAX_PATHS_OF_SITE, RULE_ACTIONS, RULE_STATES, ruleFields } from '../../rules/rule.js'
import { windowFields } from './run.js'

/** As many rules as a site may have. */
const MAX_RULES = 1_000

const TriedRule = z.strictObject({
  id: z.int().optional().describe('Names the rule in the answer; absent: 0, -1, -2 … in the order of the list.'),
  name: z.string().trim().max(200).optional(),
  ...ruleFields,
  // Further fields of a record: ignored, and accepted so that a record can be sent as it is.
  ...{ site: z.int().optional(), position: z.int().optional(), version: z.int().optional() },
  ...{ changed_at: z.string().optional(), changed_by: z.string().optional(), ended: z.boolean().optional() },
})

export const RehearsalBody = z.strictObject({
  ...windowFields,
  tz: z.string().max(100).optional().describe("IANA time zone of the days; default the site's."),
  rules: z
    .array(TriedRule)
    .max(MAX_RULES)
    .refine((rules) => countPaths(rules) <= MAX_PATHS_OF_SITE, `The rules may have at most ${MAX_PATHS_OF_SITE} paths.`)
    .optional()
    .describe("The rules in their order, in place of the site's own. Those that are off are left out."),
  rule: z.int().optional().describe('The id of a rule that is decided by even if it is off.'),
})

const Day = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .describe("A day in the site's zone, or in `tz`.")
const Readers = Count.describe(
  "Readers at risk: visits of people in the window that came from a search engine or assistant of an operator whose agents the rule would refuse, and that arrived at a page whose path the rule matches. Spoofed claims put no operator's readers at risk.",
)
const Would = Fetches.describe(
  'Fetches that the rule decides when the record is decided again: those it would refuse, or for `allow` those it lets pass.',
)
const Refused = z.object({ fetches: Fetches }).describe('Fetches that were refused when they happened.')
const AgentName = { agent_id: z.string(), name: z.string() }

const RehearsedAgent = z.object({
  ...AgentName,
  operator: z.string(),
  identity: z.enum(IDENTITIES).optional().describe('Absent: the claim could not be checked.'),
  search_engine: z.boolean(),
  would: Would,
  fetches: Fetches.describe('All fetches of the agent with this identity in the window.'),
  readers: Readers,
  after: z
    .object({
      rule: z.int().describe('The rule that first refused it; 0: its number was not kept.'),
      since: z.iso.datetime(),
      fetches_before: Fetches.describe('In a time before `since` that is as long as the time after it.'),
      fetches_after: Fetches,
      refused: Fetches.describe('The part of `fetches_after` that rules refused.'),
    })
    .optional()
    .describe('The fetches of the agent around its first refusal by a rule in the window.'),
})

const RehearsedRule = z.object({
  id: z.int(),
  name: z.string(),
  state: z.enum(RULE_STATES),
  action: z.enum(RULE_ACTIONS),
  problems: z
    .array(z.object({ field: z.string(), message: z.string() }))
    .describe('Why no site can have the rule, as its creation would say; it decides nothing then.'),
  named_search_engines: z
    .array(z.object(AgentName))
    .describe('Search engines that the rule names and would refuse: switched on, it needs `refuse_search_engines`.'),
  refused: Refused,
  would: z.object({
    fetches: Would,
    bytes: Count.describe('Bytes of their responses. Of a refused fetch: those of the URL when it was last served.'),
    duration_ms: Count.describe('Milliseconds until their responses were over, together.'),
  }),
  days: z.array(z.object({ day: Day, refused: Fetches, would: Would, readers: Readers })),
  agents: z
    .array(RehearsedAgent)
    .describe('The agents whose fetches the rule decides, those with most fetches first; at most 100.'),
  pages: z
    .array(
      z.object({
        hostname: z.string(),
        pathname: z.string(),
        would: Would,
        readers: Readers,
      }),
    )
    .describe('The pages with most of these fetches; at most 50.'),
  total_pages: Count.describe('Number of such pages.'),
  readers: Readers,
  search_engines: z.array(RehearsedAgent).describe('Verified search engines that the rule would refuse.'),
  never_decides: z
    .object({ by: z.int(), fetches: Fetches })
    .optional()
    .describe(
      'Earlier rules take every fetch that the rule matches; `by` is the one that takes most, `fetches` how many.',
    ),
})

const LIMIT_KINDS = ['unverified', 'not_recorded', 'budgets', 'first_fetch', 'query', 'weight'] as const

export const Rehearsed = z.object({
  fetches: Fetches.describe('All fetches by agents in the window.'),
  bytes: Count,
  duration_ms: Count,
  refused: Refused,
  days: z.array(
    z.object({
      day: Day,
      fetches: Fetches,
      refused: Fetches,
      would: Fetches.describe('Fetches that the rules together would refuse.'),
    }),
  ),
  rules: z.array(RehearsedRule).describe('In the order in which they decide.'),
  limits: z
    .array(
      z.object({
        kind: z
          .enum(LIMIT_KINDS)
          .describe(
            '`unverified`: claims that could not be checked, which live may be. `not_recorded`: a time without a record. `budgets`: a time in which budgets may have been used up already. `first_fetch`: fetches of an address that came first, or an hour after the one before, decided as if nothing was known of their claim; live it may be known. `query`: rows have no query, so URLs that differ in it only are one page. `weight`: refused fetches of URLs that were not served in the window, of unknown weight.',
          ),
        fetches: Fetches.optional(),
        from: z.iso.datetime().optional(),
        to: z.iso.datetime().optional(),
      }),
    )
    .describe('Facts that the record cannot tell.'),
})
export type Rehearsed = z.output<typeof Rehearsed>
