import type { Redirection } from '../capture/decision.js'
import type { ActiveRedirect } from './rule-set.js'

/** The redirects of a site by the path of the missing page. */
export type Redirects = ReadonlyMap<string, ActiveRedirect>

export const indexRedirects = (redirects: readonly ActiveRedirect[]): Redirects =>
  new Map(redirects.map((redirect) => [canonicalPath(redirect.from), redirect]))

/** Methods whose answer may be a redirect of a missing page: any other one may have changed something. */
export const isRedirectable = (status: number, method: string): boolean =>
  isMissing(status) && (method === 'GET' || method === 'HEAD')

export const isMissing = (status: number): boolean => status === 404 || status === 410

/**
 * Returns the headers of a redirect. A page may come back, and its redirect may be removed: no cache may go on redirecting
 * (RFC 9111 5.2.2.4).
 */
export const redirectionHeaders = ({ location }: Redirection) =>
  [
    ['location', location],
    ['cache-control', 'no-cache'],
  ] as const

/**
 * Returns status and `Location` of a missing page; undefined without a redirect, and for one that leads back to the page.
 * `target` is the request target, whose query is kept unless the redirect has one of its own.
 */
export function redirectOf(
  redirects: Redirects,
  { target, host }: { target: string; host: string },
): Redirection | undefined {
  const mark = target.indexOf('?')
  const path = canonicalPath(mark < 0 ? target : target.slice(0, mark))
  const redirect = redirects.get(path)
  if (redirect === undefined) return undefined
  const { to, status } = redirect
  const own = /^https?:\/\/([^/?#]*)([^?#]*)/i.exec(to)
  if (own && own[1]?.toLowerCase() === host.toLowerCase() && canonicalPath(own[2] || '/') === path) return undefined
  const query = mark < 0 ? '' : target.slice(mark)
  const isPlain = /^\?[\x21-\x7e]+$/.test(query) && !query.includes('#')
  if (!isPlain || to.includes('?')) return { status, location: to }
  const hash = to.indexOf('#')
  return { status, location: hash < 0 ? to + query : to.slice(0, hash) + query + to.slice(hash) }
}

/**
 * Returns one spelling of a path: letters, digits and `-._~` that are percent-encoded are decoded, and what may not stand
 * in a path is encoded (RFC 3986 6.2.2, 3.3).
 */
export function canonicalPath(path: string): string {
  if (/^[\w\-.~!$&'()*+,;=:@/]*$/.test(path)) return path
  return path
    .replace(/%([0-9a-f]{2})/gi, (encoded, hex: string) => {
      const character = String.fromCharCode(Number.parseInt(hex, 16))
      return /[\w\-.~]/.test(character) ? character : encoded.toUpperCase()
    })
    .replace(/[^\w\-.~!$&'()*+,;=:@/%]+/g, encodeText)
}

/** Encodes text as a browser does; half a surrogate pair becomes U+FFFD. */
const encodeText = (text: string): string => encodeURIComponent(Buffer.from(text).toString())
