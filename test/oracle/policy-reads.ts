import type { AgentEventRow } from '../../src/storage/rows.js'
import { rank } from './compare.js'
import { groupBy } from './site-rows.js'

const urlKey = ({ hostname, pathname }: AgentEventRow) => JSON.stringify([hostname, pathname])

/** A version of a file, times in milliseconds. */
export interface FileVersion {
  file: string
  since: number
  until: number
  served: boolean
}

/** Recounts the reads of robots.txt's versions, and the fetches of one path. */
export function recountPolicyReads(
  rows: readonly AgentEventRow[],
  obeys: ReadonlyMap<string, string>,
  [from, to]: readonly [number, number],
) {
  const iso = (times: readonly number[], pick: (...all: number[]) => number) => new Date(pick(...times)).toISOString()
  const agentsOf = (own: readonly AgentEventRow[]) => [...groupBy(own, (row) => row.agent_id)]

  function versionReads(hostname: string, { file, since, until, served }: FileVersion) {
    const own = rows.filter((row) => {
      const at = row.timestamp.getTime()
      const learnt = served ? row.status < 400 : row.status >= 300
      const isRead = row.hostname === hostname && row.pathname === file && row.method === 'GET' && learnt
      return isRead && row.verification !== 'spoofed' && at >= since && at < Math.min(until, to)
    })
    const times = own.map((row) => row.timestamp.getTime())
    const agents = agentsOf(own).map(([agent_id, same]) => {
      const at = same.map((row) => row.timestamp.getTime())
      const read = { first_read: iso(at, Math.min), last_read: iso(at, Math.max) }
      return { agent_id, name: agent_id, reads: same.length, ...read }
    })
    return {
      reads: own.length,
      readers: agents.length,
      ...(own.length > 0 ? { first_read: iso(times, Math.min), last_read: iso(times, Math.max) } : {}),
      agents: rank(
        agents,
        (agent) => [-Date.parse(agent.first_read)],
        (agent) => [agent.agent_id],
      ),
    }
  }

  function pathFetches(hostname: string, pathname: string) {
    const within = rows.filter(
      ({ timestamp, ...row }) =>
        row.hostname === hostname &&
        row.pathname === pathname &&
        timestamp.getTime() >= from &&
        timestamp.getTime() < to,
    )
    return new Map(
      agentsOf(within).map(([agent, own]) => {
        const disallowed = own.filter((row) => row.robots_allowed === false)
        const [worst] = recountViolations(disallowed, obeys).violationsByPage()
        return [
          agent,
          {
            fetches: own.length,
            spoofed: own.filter((row) => row.verification === 'spoofed').length,
            disallowed: disallowed.length,
            ...(worst ? { severity: worst.severity } : {}),
            last_seen: iso(
              own.map((row) => row.timestamp.getTime()),
              Math.max,
            ),
          },
        ]
      }),
    )
  }

  return { versionReads, pathFetches }
}

/** Recounts the reads about violations over the fetches that robots.txt disallowed. `obeys` is by agent. */
export function recountViolations(found: readonly AgentEventRow[], obeys: ReadonlyMap<string, string>) {
  const severities = ['breach', 'unbound', 'unclear', 'unverified', 'grace']
  const severityOf = (row: AgentEventRow): string => {
    if (row.robots_grace === true) return 'grace'
    if (row.verified !== true) return 'unverified'
    return { yes: 'breach', no: 'unbound' }[obeys.get(row.agent_id) ?? ''] ?? 'unclear'
  }

  /** Sums up the fetches of one group. */
  const summed = (rows: readonly AgentEventRow[]) => {
    const times = rows.map(({ timestamp }) => timestamp.getTime())
    const rules = [...groupBy(rows, (row) => JSON.stringify([row.robots_line ?? 0, row.robots_rule ?? ''])).values()]
    const [main = []] = rank(
      rules,
      (same) => [same.length],
      ([row]) => [row?.robots_line ?? 0, row?.robots_rule ?? ''],
    )
    const { robots_rule = null, robots_line = null } = main[0] ?? {}
    return {
      fetches: rows.length,
      ...(robots_rule === null ? {} : { rule: robots_rule }),
      ...(robots_line === null ? {} : { line: robots_line }),
      first_seen: new Date(Math.min(...times)).toISOString(),
      last_seen: new Date(Math.max(...times)).toISOString(),
    }
  }

  function violationsByAgent(only?: string) {
    const shown = found.filter((row) => !only || severityOf(row) === only)
    const groups = [...groupBy(shown, (row) => JSON.stringify([row.agent_id, severityOf(row)])).values()]
    const rows = groups.flatMap((rows) => {
      const [row] = rows
      if (!row) return []
      const { agent_id, operator } = row
      const urls = new Set(rows.map(urlKey)).size
      return { agent_id, name: agent_id, operator, severity: severityOf(row), urls, ...summed(rows) }
    })
    return rank(
      rows,
      (row) => [-severities.indexOf(row.severity), row.fetches],
      (row) => [row.agent_id],
    )
  }

  /** Sums up the fetches of each agent, severity and deciding line. */
  function violationsByRule(only?: string) {
    const shown = found.filter((row) => !only || severityOf(row) === only)
    const nameOf = (row: AgentEventRow) => [row.agent_id, severityOf(row), row.robots_rule, row.robots_line]
    const rows = [...groupBy(shown, (row) => JSON.stringify(nameOf(row))).values()].flatMap((rows) => {
      const [row] = rows
      if (!row) return []
      const { agent_id, operator } = row
      const urls = new Set(rows.map(urlKey)).size
      return { agent_id, name: agent_id, operator, severity: severityOf(row), urls, ...summed(rows) }
    })
    return rank(
      rows,
      (row) => [-severities.indexOf(row.severity), row.fetches],
      (row) => [row.agent_id, row.severity, row.rule, row.line],
    )
  }

  function violationsByPage(only?: string) {
    const shown = found.filter((row) => !only || severityOf(row) === only)
    const rows = [...groupBy(shown, urlKey).values()].map((rows) => {
      const { hostname = '', pathname = '' } = rows[0] ?? {}
      const counts = severities.map((severity) => rows.filter((row) => severityOf(row) === severity).length)
      return {
        ...{ hostname, pathname },
        severity: severities[counts.findIndex((n) => n > 0)] ?? '',
        severities: Object.fromEntries(severities.map((severity, i) => [severity, counts[i]])),
        agents: new Set(rows.map((row) => row.agent_id)).size,
        ...summed(rows),
      }
    })
    return rank(
      rows,
      (row) => [-severities.indexOf(row.severity), row.fetches],
      (row) => [row.hostname, row.pathname],
    )
  }

  function violations(only?: string) {
    const nameOf = (row: AgentEventRow) => {
      const { agent_id, operator, verified, hostname, pathname, robots_rule, robots_line } = row
      return JSON.stringify([
        agent_id,
        operator,
        verified,
        severityOf(row),
        hostname,
        pathname,
        robots_rule,
        robots_line,
      ])
    }
    const rows = [...groupBy(found, nameOf).values()].flatMap((rows) => {
      const [row] = rows
      if (!row || (only && severityOf(row) !== only)) return []
      const times = rows.map(({ timestamp }) => timestamp.getTime())
      return {
        ...{ agent_id: row.agent_id, operator: row.operator, severity: severityOf(row) },
        ...(row.verified === null ? {} : { verified: row.verified }),
        ...{ hostname: row.hostname, pathname: row.pathname },
        ...(row.robots_rule === null ? {} : { rule: row.robots_rule }),
        ...(row.robots_line === null ? {} : { line: row.robots_line }),
        fetches: rows.length,
        first_seen: new Date(Math.min(...times)).toISOString(),
        last_seen: new Date(Math.max(...times)).toISOString(),
      }
    })
    return rank(
      rows,
      (row) => [-severities.indexOf(row.severity), row.fetches],
      (row) => [
        ...[row.agent_id, row.operator, row.verified, row.severity, row.hostname, row.pathname],
        ...[row.rule, row.line],
      ],
    )
  }

  return { violations, violationsByAgent, violationsByRule, violationsByPage }
}
