import { refusalOf } from '../refusal.js'
import type { ExportedRules } from './exported-rules.js'
import { header } from './header.js'

/** A text between single quotes, which HAProxy takes as it is; a line break is one between double quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''").replace(/\r?\n/g, `'"\\n"'`)}'`

const PLACE = 'It belongs into a frontend.'

/**
 * Returns rules as HAProxy reads them in a `frontend`. The last pattern of an agent that matches names it, so they stand in
 * turned order. HAProxy compares the path as it was requested.
 */
export function toHaproxy(exported: ExportedRules): string {
  const { agents, rules } = exported
  const decided = '{ var(txn.readership_rule) -m found }'
  const answers = rules.flatMap(({ rule }) => {
    const refusal = refusalOf(rule, 'text/plain', 0)
    if (refusal === undefined) return []
    const headers = refusal.headers.filter(([name]) => name !== 'content-type' && name !== 'vary')
    const fields = headers.map(([name, value]) => ` hdr ${name} ${quoted(value.replaceAll('%', '%%'))}`).join('')
    return `http-request return status ${refusal.status} content-type text/plain string ${quoted(refusal.body.trimEnd())}${fields} if { var(txn.readership_rule) -m int ${rule.id} }\n`
  })
  return `${header('#', PLACE, exported)}${agents
    .toReversed()
    .map(
      ({ pattern, rules: about }) =>
        `http-request set-var(txn.readership_agent) str(${quoted(about)}) if { req.hdr(user-agent) -m reg -i ${quoted(pattern)} }\n`,
    )
    .join('')}http-request set-var-fmt(txn.readership_fetch) ${quoted('%[var(txn.readership_agent)]:%[method]:%[path]')}
http-request set-var(txn.readership_rule) int(0) if { var(txn.readership_fetch) -m reg ${quoted(exported.neverRefused)} }
${rules
  .flatMap(({ rule, patterns }) =>
    patterns.map(
      (pattern) =>
        `http-request set-var(txn.readership_rule) int(${rule.id}) if !${decided} { var(txn.readership_fetch) -m reg ${quoted(pattern)} }\n`,
    ),
  )
  .join('')}${answers.join('')}`
}
