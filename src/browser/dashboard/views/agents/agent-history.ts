import { showsAgents } from '../../parts/agent-side.js'
import { type Result, useRead } from '../../state/data.js'
import { filtersWith } from '../../state/filters.js'
import { envelope } from '../../state/question.js'
import { useVersions, type Version, type Versions } from '../../state/versions.js'

/** The answers that the lanes of one agent draw. */
export interface Lanes {
  /** The versions of robots.txt with the agent's first read of each, newest first. */
  versions: Versions
  /** Pages that it read. */
  pages: Result<'/api/stats/timeseries'>
  /** Its reads of robots.txt. */
  policy: Result<'/api/agents/timeseries'>
  /** Its fetches that the robots.txt of their time disallowed. */
  disallowed: Result<'/api/agents/timeseries'>
  /** Its violations by severity, the worst first. */
  violations: Result<'/api/policy/violations/agents'>
}

export function useLanes(id: string): Lanes {
  const only = { dimension: 'agent_id', op: 'is', value: id }
  const ask = (...more: { dimension: string; op: string; value: string | boolean }[]) =>
    showsAgents() ? { ...envelope('agent'), filters: filtersWith(only, ...more), compare: undefined } : undefined
  const ofAgent = ask()
  return {
    versions: useVersions(ofAgent),
    pages: useRead('/api/stats/timeseries', ofAgent && { ...ofAgent, metric: 'pageviews' }),
    policy: useRead('/api/agents/timeseries', ask({ dimension: 'pathname', op: 'is', value: '/robots.txt' })),
    disallowed: useRead('/api/agents/timeseries', ask({ dimension: 'robots_allowed', op: 'is', value: false })),
    violations: useRead('/api/policy/violations/agents', ofAgent && { ...ofAgent, limit: 10 }),
  }
}

/** The agent's first read of a version; the read is narrowed to one agent, so the list has at most one. */
export const firstRead = (version: Version | undefined): string | undefined => version?.agents?.at(0)?.first_read

/** Versions of robots.txt that were active in a window, oldest first. */
export function inForce(versions: readonly Version[], from: number, to: number): Version[] {
  return versions
    .filter(
      ({ kind, since, until }) =>
        kind === 'robots' && Date.parse(since) < to && (until === undefined || Date.parse(until) > from),
    )
    .sort((a, b) => Date.parse(a.since) - Date.parse(b.since))
}
