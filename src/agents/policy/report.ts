import { type Agent, type Catalog, UNDOCUMENTED } from '../catalog.js'
import { type AgentGroup, createPolicy, type Decision, type Policy, type RobotsView } from './policy.js'
import { isAssumedGone, type PolicyVersion, standingOf } from './version.js'

/** Bounds on what is shown of a hostile file. The rest is counted as a problem. */
const MAX_GROUPS = 1_000
const MAX_RULES = 2_000
const MAX_LINKS = 2_000
const MAX_PROBLEMS = 100
const MAX_VERSIONS = 100
/** After so many milliseconds of work other events are handled, because the same process writes rows. */
const MAX_SLICE_MS = 5

interface PolicyReportInput {
  hostname: string
  agents: readonly (Agent | undefined)[]
  /** Path and query that `allowed` is about. */
  path: string
  robots: readonly PolicyVersion[]
  llms: readonly PolicyVersion[]
  policyOf: (version: PolicyVersion) => Policy | undefined
}

const toIso = (at: number): string => new Date(at).toISOString()

const fileFields = ({ url, status, reason, last_seen, first_seen, truncated, sha256 }: PolicyVersion) => ({
  url,
  status,
  standing: standingOf(status),
  fetched_at: toIso(last_seen),
  first_seen: toIso(first_seen),
  ...(reason !== undefined && { reason }),
  ...(truncated && { truncated }),
  ...(sha256 !== '' && { sha256 }),
})

/** Builds the answer of the policy endpoint: both files as parsed, what they say to each agent, and their versions. */
export async function createPolicyReport(input: PolicyReportInput) {
  const { hostname, robots, llms, policyOf, agents, path } = input
  const robotsNow = robots.at(-1)
  const llmsNow = llms.at(-1)
  // As for rows, a file that was unreachable for 30 days counts as non-existent (RFC 9309 2.3.1.4).
  const gone =
    robotsNow && standingOf(robotsNow.status) === 'unreachable' && isAssumedGone(robotsNow, robotsNow.last_seen)
  const rules =
    robotsNow && (gone ? createPolicy({ hostname, robots: { status: 404, body: '' } }) : policyOf(robotsNow))
  return {
    hostname,
    ...(robotsNow && { robots: { ...fileFields(robotsNow), ...robotsFields(rules?.robots ?? null) } }),
    ...(llmsNow && { llms: { ...fileFields(llmsNow), ...llmsFields(policyOf(llmsNow), rules) } }),
    agents: rules ? await agentDecisions(rules, agents, path) : [],
    path,
    versions: [...robots, ...llms]
      .sort((a, b) => b.first_seen - a.first_seen)
      .slice(0, MAX_VERSIONS)
      .map(({ kind, first_seen, last_seen, status, sha256 }) => ({
        kind,
        fetched_at: toIso(first_seen),
        last_seen: toIso(last_seen),
        status,
        ...(sha256 !== '' && { sha256 }),
      })),
  }
}

function robotsFields(view: RobotsView | null) {
  if (view === null) return { groups: [], sitemaps: [], licenses: [], problems: [] }
  let left = MAX_RULES
  const groups = view.groups.slice(0, MAX_GROUPS).map(({ rules, ...group }) => {
    const shown = rules.slice(0, left)
    left -= shown.length
    return { ...group, rules: shown }
  })
  const total = view.groups.reduce((sum, group) => sum + group.rules.length, 0)
  const hidden = view.groups.length - MAX_GROUPS
  const cut = [
    ...(hidden > 0 ? [{ problem: `${hidden} more groups are not shown` }] : []),
    ...(total > MAX_RULES ? [{ problem: `only the first ${MAX_RULES} of ${total} rules are shown` }] : []),
  ]
  return {
    groups,
    sitemaps: view.sitemaps.slice(0, MAX_GROUPS),
    licenses: view.licenses.slice(0, MAX_GROUPS),
    problems: [...cut, ...view.problems.slice(0, MAX_PROBLEMS)],
  }
}

/** Marks each link of the site itself that robots.txt disallows for agents that are not in the catalog. */
function llmsFields(policy: Policy | undefined, rules: Policy | undefined) {
  const llms = policy?.llms
  if (!llms) return { sections: [], problems: [] }
  const { title, summary } = llms
  let left = MAX_LINKS
  const sections = llms.sections.map(({ links, ...section }) => {
    const shown = links.slice(0, Math.max(0, left))
    left -= links.length
    return {
      ...section,
      links: shown.map((link) => {
        const { pathname, search } = new URL(link.url)
        const disallowed = !link.offsite && rules?.allows(undefined, pathname + search).allowed === false
        return { ...link, ...(disallowed && { disallowed }) }
      }),
    }
  })
  return {
    ...(title !== undefined && { title }),
    ...(summary !== undefined && { summary }),
    sections,
    problems: [
      ...(left < 0 ? [{ problem: `${-left} more links are not shown` }] : []),
      ...llms.problems.slice(0, MAX_PROBLEMS),
    ],
  }
}

/** Returns what robots.txt decides about the path for each agent. */
async function agentDecisions(policy: Policy, agents: readonly (Agent | undefined)[], path: string) {
  const decisions: (AgentGroup & Omit<Decision, 'group'> & { agent_id: string; robots_token: string })[] = []
  let from = performance.now()
  for (const agent of agents) {
    if (performance.now() - from > MAX_SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      from = performance.now()
    }
    const { allowed, reason, rule, line } = policy.allows(agent, path)
    decisions.push({
      agent_id: agent?.id ?? 'other',
      robots_token: agent?.robots_tokens?.[0] ?? '*',
      ...policy.groupOf(agent),
      allowed,
      reason,
      ...(rule !== undefined && { rule }),
      ...(line !== undefined && { line }),
    })
  }
  return decisions
}

/** Returns every agent that robots.txt can name, and undefined for agents that are not in the catalog. */
export const agentsForRobots = (catalog: Catalog): (Agent | undefined)[] => [
  ...catalog.agents.filter((agent) => (agent.robots_tokens?.length ?? 0) > 0),
  undefined,
]

/**
 * Finds an agent by its id, its token or its name, in any case. If the catalog has none, returns an agent with that token,
 * so that any name in robots.txt can be tried. Returns undefined for `*` and `other`.
 */
export function findAgent(catalog: Catalog, name: string): Agent | undefined {
  const lower = name.toLowerCase()
  if (name === '*' || lower === 'other') return undefined
  const isName = (text: string) => text.toLowerCase() === lower
  return (
    catalog.get(lower) ??
    catalog.agents.find((agent) => agent.robots_tokens?.some(isName)) ??
    catalog.agents.find((agent) => isName(agent.name)) ?? {
      id: lower,
      name,
      operator: 'Unknown',
      purpose: 'other',
      docs_url: UNDOCUMENTED,
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
