import { refusalOf } from '../refusal.js'
import type { ExportedRules } from './exported-rules.js'
import { header } from './header.js'

/** A value between quotes: Caddy removes a backslash before a quote or a brace, which would begin a placeholder, and no other. */
const quoted = (text: string): string => `"${text.replace(/["{}]/g, '\\$&').replace(/\\$/, '\\ ')}"`
const pattern = (text: string): string => `\`${text.replaceAll('`', '\\x60')}\``

const PLACE = 'It stands before the sites; `import readership` stands first in a site.'

/** Returns rules as a snippet of Caddy's: `import readership` stands first in a site. Caddy compares the decoded path. */
export function toCaddy(exported: ExportedRules): string {
  const map = (from: string, to: string, lines: readonly (readonly [pattern: string, value: string])[]): string =>
    `    map ${from} ${to} {\n${lines.map(([match, value]) => `        ${pattern(`~${match}`)} ${quoted(value)}\n`).join('')}        default ""\n    }\n`
  const answers = exported.rules.flatMap(({ rule }) => {
    const refusal = refusalOf(rule, undefined, 0)
    if (refusal === undefined) return []
    const headers = refusal.headers
      .filter(([name]) => name !== 'vary')
      .map(([name, value]) => `    header @readership_${rule.id} ${name} ${quoted(value)}\n`)
    return `    @readership_${rule.id} vars {readership_rule} ${rule.id}
${headers.join('')}    respond @readership_${rule.id} ${quoted(refusal.body)} ${refusal.status}
`
  })
  return `${header('#', PLACE, exported)}(readership) {
${map(
  '{http.request.header.User-Agent}',
  '{readership_agent}',
  exported.agents.map(({ pattern, rules }) => [`(?i)${pattern}`, rules]),
)}${map('"{readership_agent}:{http.request.method}:{http.request.uri.path}"', '{readership_rule}', [
  [exported.neverRefused, ''],
  ...exported.rules.flatMap(({ rule, patterns }) => patterns.map((pattern) => [pattern, String(rule.id)] as const)),
])}${answers.join('')}}
`
}
