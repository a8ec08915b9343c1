import type { Agent, Catalog } from '../agents/catalog.js'
import { type AgentGroup, createPolicy, type Policy, type RobotsView } from './policy.js'
import { isForsaken, type Kind, standingOf, type Version } from './timeline.js'

/** Of a hostile file no more than this is shown; what is left out is counted as a problem. */
const GROUPS = 1_000
const RULES = 2_000
const LINKS = 2_000
const PROBLEMS = 100
const VERSIONS = 100
/** Milliseconds of work between two turns of the event loop: rows are written by the same process. */
const SLICE = 5

/** What is asked of a hostname's policy. */
export interface Question {
  hostname: string
  agents: readonly (Agent | undefined)[]
  /** Path and query that `allowed` is about. */
  path: string
  robots: readonly Version[]
  llms: readonly Version[]
  policyOf: (version: Version) => Policy | undefined
}

const instant = (at: number): string => new Date(at).toISOString()

const head = ({ url, status, reason, last_seen, first_seen, truncated }: Version) => ({
  url,
  status,
  standing: standingOf(status),
  fetched_at: instant(last_seen),
  first_seen: instant(first_seen),
  ...(reason === undefined ? {} : { reason }),
  ...(truncated ? { truncated } : {}),
})

/** Robots.txt and llms.txt as parsed, for each agent (contract 5, policy), from the versions that are known. */
export async function reportOf(question: Question) {
  const { hostname, robots, llms, policyOf, agents, path } = question
  const robotsNow = robots.at(-1)
  const llmsNow = llms.at(-1)
  const rules = robotsNow && (isGivenUp(robotsNow) ? createPolicy(goneFrom(hostname)) : policyOf(robotsNow))
  return {
    hostname,
    ...(robotsNow ? { robots: { ...head(robotsNow), ...shaOf(robotsNow), ...robotsOf(rules?.robots ?? null) } } : {}),
    ...(llmsNow ? { llms: { ...head(llmsNow), ...shaOf(llmsNow), ...llmsOf(policyOf(llmsNow), rules) } } : {}),
    agents: rules ? await agentsOf(rules, agents, path) : [],
    path,
    versions: [...robots, ...llms]
      .sort((a, b) => b.first_seen - a.first_seen)
      .slice(0, VERSIONS)
      .map((version) => ({
        kind: version.kind satisfies Kind,
        fetched_at: instant(version.first_seen),
        last_seen: instant(version.last_seen),
        status: version.status,
        ...shaOf(version),
      })),
  }
}
export type Report = Awaited<ReturnType<typeof reportOf>>

/** Rows are judged so, too: what could not be reached for 30 days keeps nobody out (RFC 9309 2.3.1.4). */
const isGivenUp = (version: Version): boolean =>
  standingOf(version.status) === 'unreachable' && isForsaken(version, version.last_seen)
const goneFrom = (hostname: string) => ({ hostname, robots: { status: 404, body: '' } })

const shaOf = ({ sha256 }: Version) => (sha256 === '' ? {} : { sha256 })

function robotsOf(view: RobotsView | null) {
  if (view === null) return { groups: [], sitemaps: [], problems: [] }
  let left = RULES
  const groups = view.groups.slice(0, GROUPS).map(({ rules, ...group }) => {
    const shown = rules.slice(0, left)
    left -= shown.length
    return { ...group, rules: shown }
  })
  const all = view.groups.reduce((sum, group) => sum + group.rules.length, 0)
  const cut = [
    ...(view.groups.length > GROUPS ? [{ problem: `${view.groups.length - GROUPS} more groups are not shown` }] : []),
    ...(all > RULES ? [{ problem: `only the first ${RULES} of ${all} rules are shown` }] : []),
  ]
  return {
    groups,
    sitemaps: view.sitemaps.slice(0, GROUPS),
    problems: [...cut, ...view.problems.slice(0, PROBLEMS)],
  }
}

/** With each link of the site itself whether robots.txt keeps agents in no catalog from it: the two contradict then. */
function llmsOf(policy: Policy | undefined, rules: Policy | undefined) {
  const llms = policy?.llms
  if (!llms) return { sections: [], problems: [] }
  let left = LINKS
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
      ...llms.problems.slice(0, PROBLEMS),
    ],
  }
}

function targetOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { pathname, search } = new URL(url)
  return pathname + search
}

async function agentsOf(policy: Policy, agents: readonly (Agent | undefined)[], path: string) {
  const found: (AgentAnswer & AgentGroup)[] = []
  let from = performance.now()
  for (const agent of agents) {
    if (performance.now() - from > SLICE) {
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
export interface AgentAnswer {
  agent_id: string
  robots_token: string
  allowed: boolean
  reason: string
  rule?: string
  line?: number
}

/** Every agent that robots.txt can name, and behind them what is in no catalog. */
export const nameable = (catalog: Catalog): (Agent | undefined)[] => [
  ...catalog.agents.filter((agent) => (agent.robots_tokens?.length ?? 0) > 0),
  undefined,
]

/**
 * The agent that `name` is: an id, or a token or name in any case; else one of its own that is in no catalog but has
 * that token.
 */
export function agentNamed(catalog: Catalog, name: string): Agent | undefined {
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
