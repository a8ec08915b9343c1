import { refusalOf } from '../refusal.js'
import type { ExportedRules } from './exported-rules.js'
import { header } from './header.js'

const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
/** A value may hold variables: a dollar sign is one that holds a dollar sign. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of nginx
const value = (text: string): string => quoted(text).replaceAll('$', '${readership_dollar}')

const LICENCE_HEADERS = `# nginx adds no header of http { } to a server that adds one of its own: repeat those here.
add_header Link $readership_link always;
add_header WWW-Authenticate $readership_authenticate always;
`

const PLACE = 'The first part belongs into http { }, the second into server { }.'

/**
 * Returns rules as nginx reads them: the first part belongs into `http`, the second into `server`. nginx compares the decoded
 * path with repeated slashes merged (`$uri`).
 */
export function toNginx(exported: ExportedRules): string {
  const answers = exported.rules.flatMap(({ rule }) => {
    const refusal = refusalOf(rule, 'text/plain', 0)
    return refusal === undefined ? [] : [{ rule, refusal, headers: new Map(refusal.headers) }]
  })
  const map = (from: string, to: string, lines: readonly string[]): string =>
    `map ${from} $${to} {\n${lines.map((line) => `    ${line};\n`).join('')}    default "";\n}\n`
  const headerMap = (name: string, to: string): string =>
    map(
      '$readership_rule',
      to,
      answers.flatMap(({ rule, headers }) => {
        const text = headers.get(name)
        return text === undefined ? [] : [`${rule.id} ${value(text)}`]
      }),
    )
  return `${header('#', PLACE, exported)}# In http { }
geo $readership_dollar { default "$"; }
${map(
  '$http_user_agent',
  'readership_agent',
  exported.agents.map(({ pattern, rules }) => `${quoted(`~*${pattern}`)} ${quoted(rules)}`),
)}${map('"$readership_agent:$request_method:$uri"', 'readership_rule', [
  `${quoted(`~${exported.neverRefused}`)} ""`,
  ...exported.rules.flatMap(({ rule, patterns }) => patterns.map((pattern) => `${quoted(`~${pattern}`)} ${rule.id}`)),
])}${headerMap('link', 'readership_link')}${headerMap('www-authenticate', 'readership_authenticate')}
# In server { }
${answers.some(({ headers }) => headers.has('link')) ? LICENCE_HEADERS : ''}${answers
  .map(
    ({ rule, refusal }) => `if ($readership_rule = ${rule.id}) {
    return ${refusal.status} ${value(refusal.body)};
}
`,
  )
  .join('')}`
}
