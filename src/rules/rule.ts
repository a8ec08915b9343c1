import { z } from 'zod'
import { PURPOSES } from '../agents/agent.js'
import { HOUR_MS } from '../base/time-units.js'
import { PathPattern } from '../capture/path-pattern.js'

/** The effect of a rule on a fetch: `allow` ends the list; the others answer in place of the origin. */
export const RULE_ACTIONS = ['allow', 'block', 'pay', 'limit', 'gone'] as const
export type RuleAction = (typeof RULE_ACTIONS)[number]

/** `rehearse`: counted, without an effect on the site. */
export const RULE_STATES = ['off', 'rehearse', 'on'] as const
export type RuleState = (typeof RULE_STATES)[number]

/** The verdict on a claim to be an agent. A claim that could not be checked yet has none of these. */
export const IDENTITIES = ['verified', 'spoofed', 'unverifiable'] as const
export type Identity = (typeof IDENTITIES)[number]

/** Published lists of addresses change by the day, and addresses change hands: a verdict on an address lasts for this long. */
export const VERDICT_LIFETIME_MS = HOUR_MS

/** A text of the owner's, which the refused agent reads. */
const Body = z.string().max(20_000, 'A text has at most 20,000 characters.')
const names = (most: number) => z.array(z.string().trim().min(1).max(200)).max(most)

/** A number of fetches or bytes that pass in each minute, hour or day (UTC) before the rule refuses. */
export const RuleBudget = z.strictObject({
  limit: z.int().min(1).max(1e15).describe('Fetches or bytes that pass in one window.'),
  unit: z.enum(['fetches', 'bytes']),
  per: z.enum(['minute', 'hour', 'day']).describe('The window; it begins with each full minute, hour or day of UTC.'),
  by: z.enum(['agent', 'operator', 'address']).describe('The agents, operators or addresses that share one budget.'),
})
export type RuleBudget = z.infer<typeof RuleBudget>

/** The fields of a rule that say which fetches it matches and what these get. */
export const ruleFields = {
  agents: names(500)
    .default([])
    .describe('Agents by `agent_id`. With `operators` and `purposes`: any of them; all three empty: any agent.'),
  operators: names(200).default([]),
  // Text, so that a rule stays readable whose purpose has left the catalogue: it matches nothing then.
  purposes: names(50)
    .default([])
    .describe(`Of: ${PURPOSES.map((purpose) => `\`${purpose}\``).join(', ')}.`),
  except: names(500).default([]).describe('Agents by `agent_id` that the rule never matches.'),
  identity: z
    .array(z.enum(IDENTITIES))
    .max(IDENTITIES.length)
    .default([])
    .describe(
      'Empty: whatever is known of the claim. The first fetch of an address whose claim is not checked yet passes.',
    ),
  disallowed: z.boolean().default(false).describe('Only fetches that the active robots.txt disallows.'),
  paths: z
    .array(PathPattern)
    .max(200)
    .default([])
    .describe('Empty: every path. `*` matches within a segment, `**` across segments.'),
  methods: z
    .array(z.string().regex(/^[A-Z]{1,20}$/, 'A method in capital letters.'))
    .max(20)
    .default([])
    .describe('Empty: every method.'),
  budget: RuleBudget.optional(),
  action: z.enum(RULE_ACTIONS),
  text: z
    .strictObject({ plain: Body.optional(), html: Body.optional(), json: Body.optional() })
    .default({})
    .describe('The text that a refused agent reads, by its `Accept`.'),
  license_url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .max(2_000)
    .optional()
    .describe(
      'The licence that `pay` offers: a `Link` with `rel="license"` and `WWW-Authenticate: License` (RSL 1.0).',
    ),
  strict: z
    .boolean()
    .default(false)
    .describe('The first fetch of an address waits up to 200 ms until its claim is checked.'),
  refuse_search_engines: z
    .boolean()
    .default(false)
    .describe('The owner knows that the rule refuses search engines, and wants it.'),
  state: z.enum(RULE_STATES).default('rehearse'),
  until: z.iso.datetime().optional().describe('From then on the rule counts as off.'),
} as const

/** The part of a rule that decides: everything but its record's fields. `id` names it in rows; a text that is tried has 0 and counts down. */
export const DecidingRule = z.object({ id: z.int(), name: z.string(), ...ruleFields })
export type DecidingRule = z.infer<typeof DecidingRule>

/** Every fetch of an agent is compared with them, so their number bounds what a decision costs. */
export const MAX_PATHS_OF_SITE = 2_000
/** Returns the number of paths of these rules. */
export const countPaths = (rules: readonly Pick<DecidingRule, 'paths'>[]): number =>
  rules.reduce((sum, { paths }) => sum + paths.length, 0)
