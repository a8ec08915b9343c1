import { refusalOf } from '../refusal.js'
import type { ExportedRules } from './exported-rules.js'
import { header } from './header.js'

const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
/** A pattern between quotes: Apache removes one backslash before a quote, and leaves all others. */
const pattern = (text: string): string => `"${text.replaceAll('"', '\\"')}"`

const FETCH = '"%{ENV:readership_agent}:%{REQUEST_METHOD}:%{REQUEST_URI}"'

const PLACE = 'It belongs into the configuration of the server or of a virtual host.'

/**
 * Returns rules as Apache reads them in the server's configuration or a virtual host, with mod_setenvif, mod_rewrite and
 * mod_headers. The last pattern of an agent that matches names it, so they stand in turned order. Apache sends its own pages
 * for the statuses.
 */
export function toApache(exported: ExportedRules): string {
  const { agents, rules } = exported
  const headers = rules.flatMap(({ rule }) =>
    (refusalOf(rule, undefined, 0)?.headers ?? []).flatMap(([name, value]) =>
      name === 'link' || name === 'www-authenticate'
        ? [`Header always set ${name} ${quoted(value)} "expr=%{reqenv:readership_rule} == '${rule.id}'"\n`]
        : [],
    ),
  )
  const decisions = rules.map(({ rule, patterns }, i) => {
    const status = refusalOf(rule, undefined, 0)?.status
    const flags = status === undefined ? `S=${rules.length - i - 1}` : `R=${status},L,E=readership_rule:${rule.id}`
    const conditions = patterns.map(
      (one, n) => `RewriteCond ${FETCH} ${pattern(one)}${n < patterns.length - 1 ? ' [OR]' : ''}\n`,
    )
    return `${conditions.join('')}RewriteRule "^" "-" [${flags}]\n`
  })
  const leftOut = [...exported.leftOut, ...(rules.length > 0 ? ['The texts of the rules: Apache sends its own.'] : [])]
  return `${header('#', PLACE, { rules, leftOut })}${agents
    .toReversed()
    .map((one) =>
      one.rules === ''
        ? `SetEnvIfNoCase User-Agent ${pattern(one.pattern)} !readership_agent\n`
        : `SetEnvIfNoCase User-Agent ${pattern(one.pattern)} readership_agent=${one.rules}\n`,
    )
    .join('')}RewriteEngine On
RewriteCond ${FETCH} ${pattern(exported.neverRefused)}
RewriteRule "^" "-" [S=${rules.length}]
${decisions.join('')}${headers.join('')}`
}
