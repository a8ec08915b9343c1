import type { Agent } from '../../agents/agent.js'
import { isAbout, isSpared, namesAgent } from '../decide.js'
import type { DecidingRule } from '../rule.js'
import type { ExportedRules } from './exported-rules.js'
import { header } from './header.js'

const PLACE = 'These groups belong into robots.txt.'

/**
 * Returns rules as groups of a robots.txt (RFC 9309), for agents that obey it. Agents with equal lines share a group; the
 * longest path decides there, not the order.
 */
export function toRobots(exported: ExportedRules, catalog: readonly Agent[]): string {
  const rules = exported.rules
    .map(({ rule }) => rule)
    .filter(({ methods }) => methods.length === 0 || methods.includes('GET'))
  const others = linesFor(rules, undefined)
  const groups = new Map<string, string[]>()
  for (const agent of catalog) {
    const [token] = agent.robots_tokens ?? []
    if (token === undefined) continue
    const lines = linesFor(rules, agent)
    if (lines.length === 0 && others.length === 0) continue
    const text = (lines.length === 0 ? ['Disallow:'] : lines).join('\n')
    groups.set(text, [...(groups.get(text) ?? []), token])
  }
  if (others.length > 0) groups.set(others.join('\n'), [...(groups.get(others.join('\n')) ?? []), '*'])
  const leftOut = [
    ...exported.leftOut,
    'The order of the rules: in robots.txt the longest path decides. "*" also crosses segments there.',
  ]
  const texts = [...groups].map(
    ([lines, tokens]) => `\n${[...new Set(tokens)].map((token) => `User-agent: ${token}\n`).join('')}${lines}\n`,
  )
  return header('#', PLACE, { rules: exported.rules, leftOut }) + texts.join('')
}

function linesFor(rules: readonly DecidingRule[], agent: Agent | undefined): string[] {
  const lines = rules
    .filter((rule) => isAbout(rule, agent) && (rule.action === 'allow' || !isSpared(agent) || namesAgent(rule, agent)))
    .flatMap((rule) => (rule.paths.length === 0 ? ['/**'] : rule.paths).map((path) => lineFor(rule, path)))
  return lines.some((line) => line.startsWith('Disallow')) ? [...new Set(lines)] : []
}

/** A rule's pattern matches the whole path, and that of robots.txt its beginning. */
function lineFor({ action }: DecidingRule, path: string): string {
  const pattern = path.endsWith('**') ? path.slice(0, -2) : `${path}$`
  return `${action === 'allow' ? 'Allow' : 'Disallow'}: ${pattern.replaceAll('**', '*').replace(/^\*/, '/*').replaceAll('#', '%23').replaceAll(' ', '%20')}`
}
