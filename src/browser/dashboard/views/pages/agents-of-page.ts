import type { DataOf } from '../../client/index.js'
import { claimedName } from '../../parts/claimed-name.js'
import { place } from '../../state/address.js'
import { useOne } from '../../state/question.js'

type PolicyAgent = DataOf<'/api/policy'>['agents'][number]
type Severity = DataOf<'/api/policy/violations'>[number]['severity']

/** One agent that read the page. */
export interface PageAgent {
  id: string
  name: string
  operator: string | undefined
  fetches: number
  comparison: unknown
  lastSeen: string
  /** Its permission by today's robots.txt; absent for agents that robots.txt cannot name. */
  policy: PolicyAgent | undefined
  /** Fetches that the robots.txt of their time disallowed, and the most serious class among them. */
  disallowed: number
  severity: Severity | undefined
}

/** Agents that read a page in the window, and what robots.txt says to each about it. */
export function useAgentsOfPage(pathname: string, filters: string) {
  const isAsked = place.value.show !== 'human'
  const answer = useOne('/api/agents/breakdown', 'agent', { filters, dimension: 'agent_id', limit: 200 }, isAsked)
  const policy = useOne('/api/policy', 'agent', { filters: undefined, compare: undefined, path: pathname }, isAsked)
  const violations = useOne('/api/policy/violations', 'agent', { filters, compare: undefined, limit: 500 }, isAsked)
  const rows = (answer.data ?? []).map((row): PageAgent => {
    const id = `${row.value ?? ''}`
    const disobeyed = (violations.data ?? []).filter(({ agent_id }) => agent_id === id)
    return {
      id,
      name: claimedName(row.name ?? id, row),
      operator: row.operator,
      fetches: row.fetches ?? 0,
      comparison: row.comparison,
      lastSeen: row.last_seen,
      policy: policy.data?.agents.find(({ agent_id }) => agent_id === id),
      disallowed: disobeyed.reduce((sum, { fetches }) => sum + fetches, 0),
      // The read lists the most serious class first.
      severity: disobeyed[0]?.severity,
    }
  })
  return {
    answers: [answer, policy, violations] as const,
    rows,
    policy: policy.data,
    hostname: policy.data?.hostname,
    disallowed: rows.reduce((sum, row) => sum + row.disallowed, 0),
    judged: violations.data !== undefined,
  }
}
