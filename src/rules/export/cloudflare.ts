import type { Agent } from '../../agents/agent.js'
import { refusalOf } from '../refusal.js'
import type { ExportedRules } from './exported-rules.js'
import { header } from './header.js'

/** A text between quotes in an expression; `wildcard` has a star of its own, and a backslash before others. */
const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

const PLACE = 'Each expression is a custom rule, in this order.'

/**
 * Returns rules as expressions for custom rules of Cloudflare's WAF, in their order: "Skip" for a rule that lets pass, "Block"
 * with a response for the others. Expressions without patterns know agents by a part of their name, and `*` there crosses
 * segments.
 */
export function toCloudflare(exported: ExportedRules, catalog: readonly Agent[]): string {
  const leftOut = [...exported.leftOut, 'An agent whose name contains the name of another is matched with it.']
  const rules = exported.rules.map(({ rule, agents }) => {
    const tokens = catalog.filter(({ id }) => agents.includes(id)).flatMap(({ ua_tokens }) => ua_tokens)
    const names = [...new Set(tokens.map((token) => token.toLowerCase()))]
    const who = names.map((name) => `lower(http.user_agent) contains ${quoted(name)}`).join(' or ')
    const where = rule.paths
      .map((path) => `http.request.uri.path wildcard ${quoted(path.replaceAll('**', '*'))}`)
      .join(' or ')
    const conditions = [
      ...(who === '' ? [] : [`(${who})`]),
      ...(where === '' ? [] : [`(${where})`]),
      ...(rule.methods.length === 0 ? [] : [`http.request.method in {${rule.methods.map(quoted).join(' ')}}`]),
      `not http.request.uri.path in {${ALWAYS.map(quoted).join(' ')}}`,
      'not starts_with(http.request.uri.path, "/.well-known/")',
      'not http.request.uri.path contains "sitemap"',
    ]
    const status = refusalOf(rule, undefined, 0)?.status
    const action = status === undefined ? 'Skip all remaining custom rules' : `Block with status ${status}`
    return `\n# ${rule.id} ${rule.name}\n# ${action}\n${conditions.join('\n  and ')}\n`
  })
  return `${header('#', PLACE, { rules: exported.rules, leftOut })}${rules.join('')}`
}

const ALWAYS = ['/robots.txt', '/llms.txt', '/llms-full.txt']
