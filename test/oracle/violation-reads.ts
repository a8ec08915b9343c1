import type { AgentEventRow } from '../../src/rows.js'
import { rank } from './compare.js'
import { groupBy } from './site-rows.js'

const urlKey = ({ hostname, pathname }: AgentEventRow) => JSON.stringify([hostname, pathname])

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

  return { violations, violationsByAgent, violationsByPage }
}
