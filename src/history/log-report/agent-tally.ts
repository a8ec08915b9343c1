import type { Agent } from '../../agents/catalog.js'
import type { Identification } from '../../agents/identify.js'
import { UNKNOWN_AGENT } from '../../agents/identify.js'
import type { Policy } from '../../agents/policy/policy.js'
import { detachedCopy } from '../../base/text-limits.js'
import type { AgentLine, AgentTotals, DisobedientAgent, LogReport } from './report.js'

/** The counts of one agent while lines are read; times in milliseconds since 1970. */
export interface AgentTally extends AgentTotals {
  readonly agent: Agent | undefined
  readonly info: Pick<Agent, 'id' | 'name' | 'operator' | 'purpose'>
  first: number
  last: number
  disallowed: number
  /** The rules that disallowed requests, by line, in the order of their first; each with the path of that request. */
  readonly disobeyed: Map<number, { requests: number; rule: string; line: number; pathname: string }>
}

const noTotals = (): AgentTotals => ({ requests: 0, bytes: 0, client_errors: 0, server_errors: 0 })

/** Decisions are cached by agent and target until the targets have this many characters: some 250,000 targets. */
const MAX_CACHED_CHARACTERS = 16_000_000

/** Requests without a user agent: no browser sends one, and the client says no name. */
const NO_USER_AGENT = { ...UNKNOWN_AGENT, id: 'no-user-agent', name: 'No user agent' } as const

/** Creates the counts of all agents of a log, judged by `robots` if it is given. */
export function createAgentTallies(robots: Policy | undefined) {
  const tallies = new Map<string, AgentTally>()
  const decisions = new Map<AgentTally, Map<string, ReturnType<Policy['allows']>>>()
  let characters = 0
  const decide = (policy: Policy, tally: AgentTally, target: string) => {
    const before = decisions.get(tally)?.get(target)
    if (before !== undefined) return before
    if (characters >= MAX_CACHED_CHARACTERS) {
      decisions.clear()
      characters = 0
    }
    // The policy takes one character per octet.
    const decision = policy.allows(tally.agent, Buffer.from(target).toString('latin1'))
    const ofAgent = decisions.get(tally) ?? new Map<string, typeof decision>()
    decisions.set(tally, ofAgent.set(detachedCopy(target), decision))
    characters += target.length
    return decision
  }
  return {
    tallyOf({ agent }: Identification, userAgent: string): AgentTally {
      const info = agent ?? (userAgent === '' ? NO_USER_AGENT : UNKNOWN_AGENT)
      const known = tallies.get(info.id)
      if (known !== undefined) return known
      const tally = {
        agent,
        info,
        ...noTotals(),
        first: Infinity,
        last: -Infinity,
        disallowed: 0,
        disobeyed: new Map(),
      }
      tallies.set(info.id, tally)
      return tally
    },
    /** Judges one request; `target` is path and query. */
    judge(tally: AgentTally, target: string, pathname: string): void {
      if (robots === undefined || target === '') return
      const { allowed, rule = '', line = 0 } = decide(robots, tally, target)
      if (allowed) return
      tally.disallowed++
      const same = tally.disobeyed.get(line)
      if (same) same.requests++
      else tally.disobeyed.set(line, { requests: 1, rule, line, pathname: detachedCopy(pathname) })
    },
    finish: () => finish([...tallies.values()].sort(byRequests), robots !== undefined),
    robotsReport: (source: string): NonNullable<LogReport['robots']> => {
      const rules = [...tallies.values()].flatMap(toDisobedient).sort(byRequests)
      const agents = [...tallies.values()]
        .flatMap((tally) =>
          toDisobedient(tally)
            .slice(0, 1)
            .map((first) => ({ ...first, requests: tally.disallowed })),
        )
        .sort(byRequests)
      return { source, requests: agents.reduce((sum, { requests }) => sum + requests, 0), agents, rules }
    },
  }
}

/** Adds one response. */
export function addResponse(totals: AgentTotals, status: number, bytes: number): void {
  totals.requests++
  totals.bytes += bytes
  if (status >= 500) totals.server_errors++
  else if (status >= 400) totals.client_errors++
}

const byRequests = (a: { requests: number }, b: { requests: number }) => b.requests - a.requests

function finish(tallies: readonly AgentTally[], isJudged: boolean) {
  const all = noTotals()
  const operators = new Map<string, AgentTotals & { purposes: Set<string> }>()
  const purposes = new Map<string, AgentTotals>()
  for (const tally of tallies) {
    const { operator, purpose } = tally.info
    const ofOperator = operators.get(operator) ?? { ...noTotals(), purposes: new Set() }
    ofOperator.purposes.add(purpose)
    operators.set(operator, ofOperator)
    const ofPurpose = purposes.get(purpose) ?? noTotals()
    purposes.set(purpose, ofPurpose)
    for (const totals of [all, ofOperator, ofPurpose]) addTotals(totals, tally)
  }
  const named = tallies.filter(({ agent }) => agent !== undefined)
  return {
    agents: {
      ...all,
      agents: named.length,
      operators: new Set(named.map(({ info }) => info.operator)).size,
      unnamed: tallies.find(({ info }) => info === UNKNOWN_AGENT)?.requests ?? 0,
    },
    by_agent: tallies.map((tally) => toLine(tally, isJudged)),
    by_operator: Array.from(operators, ([operator, { purposes, ...totals }]) => ({
      operator,
      purposes: [...purposes],
      ...totals,
    })).sort(byRequests),
    by_purpose: Array.from(purposes, ([purpose, totals]) => ({ purpose, ...totals })).sort(byRequests),
  }
}

function addTotals(sum: AgentTotals, added: AgentTotals): void {
  sum.requests += added.requests
  sum.bytes += added.bytes
  sum.client_errors += added.client_errors
  sum.server_errors += added.server_errors
}

const toLine = (tally: AgentTally, isJudged: boolean): AgentLine => ({
  agent_id: tally.info.id,
  name: tally.info.name,
  operator: tally.info.operator,
  purpose: tally.info.purpose,
  requests: tally.requests,
  bytes: tally.bytes,
  client_errors: tally.client_errors,
  server_errors: tally.server_errors,
  first_seen: new Date(tally.first).toISOString(),
  last_seen: new Date(tally.last).toISOString(),
  ...(isJudged && { disallowed: tally.disallowed }),
})

/** The rules that an agent did not obey, the first of the log first. */
const toDisobedient = ({ agent, info, disobeyed }: AgentTally): DisobedientAgent[] =>
  [...disobeyed.values()].map((rule) => ({
    agent_id: info.id,
    name: info.name,
    operator: info.operator,
    respects_robots: agent?.respects_robots ?? 'unknown',
    ...rule,
  }))
