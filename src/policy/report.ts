import type { Agent, Catalog } from '../agents/catalog.js'
import { type AgentGroup, createPolicy, type Policy, type RobotsView } from './policy.js'
import { isAssumedGone, type PolicyKind, type PolicyVersion, standingOf } from './version.js'

/** Of a hostile file no more than this is shown; what is left out is counted as a problem. */
const MAX_GROUPS = 1_000
const MAX_RULES = 2_000
const MAX_LINKS = 2_000
const MAX_PROBLEMS = 100
const MAX_VERSIONS = 100
/** Milliseconds of work between two turns of the event loop: rows are written by the same process. */
const MAX_SLICE_MS = 5

/** What is asked of a hostname's policy. */
export interface PolicyReportInput {
  hostname: string
  agents: readonly (Agent | undefined)[]
  /** Path and query that `allowed` is about. */
  path: string
  robots: readonly PolicyVersion[]
  llms: readonly PolicyVersion[]
  policyOf: (version: PolicyVersion) => Policy | undefined
}

const toIso = (at: number): string => new Date(at).toISOString()

const fileFields = ({ url, status, reason, last_seen, first_seen, truncated }: PolicyVersion) => ({
  url,
  status,
  standing: standingOf(status),
  fetched_at: toIso(last_seen),
  first_seen: toIso(first_seen),
  ...(reason === undefined ? {} : { reason }),
  ...(truncated ? { truncated } : {}),
})

/** Robots.txt and llms.txt as parsed, for each agent (contract 5, policy), from the versions that are known. */
export async function createPolicyReport(question: PolicyReportInput) {
  const { hostname, robots, llms, policyOf, agents, path } = question
  const robotsNow = robots.at(-1)
  const llmsNow = llms.at(-1)
  const rules = robotsNow && (isGone(robotsNow) ? createPolicy(missingRobots(hostname)) : policyOf(robotsNow))
  return {
    hostname,
    ...(robotsNow
      ? { robots: { ...fileFields(robotsNow), ...shaFields(robotsNow), ...robotsFields(rules?.robots ?? null) } }
      : {}),
    ...(llmsNow
      ? { llms: { ...fileFields(llmsNow), ...shaFields(llmsNow), ...llmsFields(policyOf(llmsNow), rules) } }
      : {}),
    agents: rules ? await agentDecisions(rules, agents, path) : [],
    path,
    versions: [...robots, ...llms]
      .sort((a, b) => b.first_seen - a.first_seen)
      .slice(0, MAX_VERSIONS)
      .map((version) => ({
        kind: version.kind satisfies PolicyKind,
        fetched_at: toIso(version.first_seen),
        last_seen: toIso(version.last_seen),
        status: version.status,
        ...shaFields(version),
      })),
  }
}
export type PolicyReport = Awaited<ReturnType<typeof createPolicyReport>>

/** Rows are judged so, too: what could not be reached for 30 days keeps nobody out (RFC 9309 2.3.1.4). */
const isGone = (version: PolicyVersion): boolean =>
  standingOf(version.status) === 'unreachable' && isAssumedGone(version, version.last_seen)
const missingRobots = (hostname: string) => ({ hostname, robots: { status: 404, body: '' } })

const shaFields = ({ sha256 }: PolicyVersion) => (sha256 === '' ? {} : { sha256 })

function robotsFields(view: RobotsView | null) {
  if (view === null) return { groups: [], sitemaps: [], problems: [] }
  let left = MAX_RULES
  const groups = view.groups.slice(0, MAX_GROUPS).map(({ rules, ...group }) => {
    const shown = rules.slice(0, left)
    left -= shown.length
    return { ...group, rules: shown }
  })
  const all = view.groups.reduce((sum, group) => sum + group.rules.length, 0)
  const cut = [
    ...(view.groups.length > MAX_GROUPS
      ? [{ problem: `${view.groups.length - MAX_GROUPS} more groups are not shown` }]
      : []),
    ...(all > MAX_RULES ? [{ problem: `only the first ${MAX_RULES} of ${all} rules are shown` }] : []),
  ]
  return {
    groups,
    sitemaps: view.sitemaps.slice(0, MAX_GROUPS),
    problems: [...cut, ...view.problems.slice(0, MAX_PROBLEMS)],
  }
}

/** With each link of the site itself whether robots.txt keeps agents in no catalog from it: the two contradict then. */
function llmsFields(policy: Policy | undefined, rules: Policy | undefined) {
  const llms = policy?.llms
  if (!llms) return { sections: [], problems: [] }
  let left = MAX_LINKS
  const sections = llms.sections.map(({ links, ...section }) => {
    const shown = links.slice(0, Math.max(0, left))
    left -= links.length
    return {
      ...section,
      links: shown.map((link) => {
        const target = link.offsite ? undefined : targetOf(link.url)
        const disallowed = target !== undefined && rules !== undefined && !rules.allows(undefined, target).allowed
        return { ...link, ...(disallowed ? { disallowed } : {}) }
      }),
    }
  })
  return {
    ...(llms.title === undefined ? {} : { title: llms.title }),
    ...(llms.summary === undefined ? {} : { summary: llms.summary }),
    sections,
    problems: [
      ...(left < 0 ? [{ problem: `${-left} more links are not shown` }] : []),
      ...llms.problems.slice(0, MAX_PROBLEMS),
    ],
  }
}

function targetOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { pathname, search } = new URL(url)
  return pathname + search
}

async function agentDecisions(policy: Policy, agents: readonly (Agent | undefined)[], path: string) {
  const found: (AgentDecision & AgentGroup)[] = []
  let from = performance.now()
  for (const agent of agents) {
    if (performance.now() - from > MAX_SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      from = performance.now()
    }
    const { allowed, reason, rule, line } = policy.allows(agent, path)
    found.push({
      agent_id: agent?.id ?? 'other',
      robots_token: agent?.robots_tokens?.[0] ?? '*',
      ...policy.groupOf(agent),
      allowed,
      reason,
      ...(rule === undefined ? {} : { rule }),
      ...(line === undefined ? {} : { line }),
    })
  }
  return found
}

/** What robots.txt says to one agent about the path that was asked. */
export interface AgentDecision {
  agent_id: string
  robots_token: string
  allowed: boolean
  reason: string
  rule?: string
  line?: number
}

/** Every agent that robots.txt can name, and behind them what is in no catalog. */
export const agentsForRobots = (catalog: Catalog): (Agent | undefined)[] => [
  ...catalog.agents.filter((agent) => (agent.robots_tokens?.length ?? 0) > 0),
  undefined,
]

/**
 * The agent that `name` is: an id, or a token or name in any case; else one of its own that is in no catalog but has
 * that token.
 */
export function findAgent(catalog: Catalog, name: string): Agent | undefined {
  const lower = name.toLowerCase()
  if (name === '*' || lower === 'other') return undefined
  const is = (text: string) => text.toLowerCase() === lower
  return (
    catalog.get(lower) ??
    catalog.agents.find((agent) => agent.robots_tokens?.some(is)) ??
    catalog.agents.find((agent) => is(agent.name)) ?? {
      id: lower,
      name,
      operator: 'Unknown',
      purpose: 'other',
      ua_tokens: [],
      ua_match: 'never',
      robots_tokens: [name],
      robots_only: false,
      honors_wildcard_group: true,
      respects_robots: 'unknown',
      client_side: false,
      status: 'active',
    }
  )
}
