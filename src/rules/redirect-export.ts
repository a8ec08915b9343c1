import { canonicalPath } from './redirect.js'
import type { ActiveRedirect } from './rule-set.js'

export const REDIRECT_TARGETS = ['nginx', 'caddy', 'apache'] as const
export type RedirectTarget = (typeof REDIRECT_TARGETS)[number]

/**
 * Returns the redirects as configuration of another server. Paths and targets contain no control character, space or
 * quotation mark: `canonicalPath` and the URL parser have encoded them.
 */
export function exportRedirects(target: RedirectTarget, redirects: readonly ActiveRedirect[]): string {
  const { comment, format } = EXPORTS[target]
  const head = comment.map((line) => `# ${line}\n`).join('')
  // A line break could end a directive, whatever the quotation marks around it say.
  const [safe, unsafe] = [redirects.filter((one) => !isUnsafe(one)), redirects.filter(isUnsafe)]
  const left = unsafe.map(({ from }) => `# Left out, because its path has a control character: ${from}\n`).join('')
  return `${head}${left}\n${format(safe.map((each) => ({ ...each, to: encodeTarget(each.to) })))}`
}

const isUnsafe = ({ from }: ActiveRedirect): boolean => /\p{Cc}/u.test(decodedPath(from))

/** Encodes what has a meaning in configuration files and none in a URL. */
const encodeTarget = (to: string): string =>
  to.replace(
    /[\s"'\\`{}<>|^]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )

const EXPORTS: Record<
  RedirectTarget,
  { comment: readonly string[]; format(redirects: readonly ActiveRedirect[]): string }
> = {
  nginx: {
    comment: [
      'Redirects of missing pages, for the server block of nginx. They act only where the origin answers 404 or 410,',
      'and there for every method.',
      'Write what serves the site into readership-origin.conf beside nginx.conf, for example:',
      '  proxy_pass http://127.0.0.1:3000;',
      '  try_files $uri $uri/ =404;',
    ],
    format: (redirects) =>
      redirects
        .map(({ from, to, status }, i) => {
          const query = to.includes('?') || to.includes('#') ? '' : '$is_args$args'
          return `location = "${nginxText(decodedPath(from))}" {
  proxy_intercept_errors on;
  error_page 404 410 = @readership_redirect_${i + 1};
  include readership-origin.conf;
}
location @readership_redirect_${i + 1} { return ${status} "${nginxTarget(to)}${query}"; }
`
        })
        .join(''),
  },
  caddy: {
    comment: [
      'Redirects of missing pages, for Caddy. They act only where the origin answers 404 or 410.',
      'Put this text before the sites of the Caddyfile, and into the reverse_proxy of the site: import readership_redirects',
    ],
    format: (redirects) => `(readership_redirects) {
	@readership_missing status 404 410
	handle_response @readership_missing {
${redirects.map(caddyRedirect).join('')}		copy_response
	}
}
`,
  },
  apache: {
    comment: [
      'Redirects of missing pages, for a virtual host of Apache with mod_rewrite. They act where no such file exists; before',
      'a ProxyPass they act always, because Apache redirects before it asks the origin: remove one when its page returns.',
    ],
    format: (redirects) => `RewriteEngine On
${redirects
  .map(({ from, to, status }) => {
    return `RewriteCond %{REQUEST_METHOD} ^(?:GET|HEAD)$
RewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-f
RewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-d
RewriteRule "^${apachePattern(decodedPath(from))}$" "${apacheTarget(to)}" [R=${status},NE,L]
`
  })
  .join('')}`,
  },
}

function caddyRedirect({ from, to, status }: ActiveRedirect, i: number): string {
  const matcher = (name: string, query: string) => `		@readership_${i + 1}${name} {
			method GET HEAD
			expression \`{http.request.orig_uri.path} == "${celText(decodedPath(from))}"${query}\`
		}
`
  const redir = (name: string, query: string) => `		redir @readership_${i + 1}${name} "${to}${query}" ${status}\n`
  if (to.includes('?') || to.includes('#')) return matcher('', '') + redir('', '')
  const query = '{http.request.orig_uri.query}'
  return (
    matcher('_query', ` && ${query} != ""`) +
    redir('_query', `?${query}`) +
    matcher('', ` && ${query} == ""`) +
    redir('', '')
  )
}
/** Writes what has a meaning in the expression, or in the file around it, as a number. */
const celText = (text: string): string =>
  text.replace(/[^\w/.~-]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** A server compares the decoded path. */
function decodedPath(from: string): string {
  try {
    return decodeURIComponent(canonicalPath(from))
  } catch {
    return from
  }
}
const nginxText = (text: string): string => text.replace(/[\\"]/g, '\\$&')
/** A dollar sign begins a variable, and nginx has no way to escape one. */
const nginxTarget = (to: string): string => to.replaceAll('$', '%24')
/** Writes bytes that have a meaning in the pattern, or that mod_rewrite cannot read between quotation marks, as numbers. */
const apachePattern = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[^\w/~-]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
const apacheTarget = (to: string): string => to.replace(/[\\%$]/g, '\\$&')
