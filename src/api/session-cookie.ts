import { parse, serialize } from 'hono/utils/cookie'
import { SESSION_LIFETIME_MS } from '../manage/login-sessions.js'

/** The name of the session cookie. */
export const SESSION_COOKIE = 'service_session'

/** Reads the session token from a `Cookie` header. */
export const readSessionToken = (header: string | null): string | undefined =>
  header?.includes(SESSION_COOKIE) ? parse(header, SESSION_COOKIE)[SESSION_COOKIE] : undefined

/** Builds `Set-Cookie` for a session, `Secure` if the request came over HTTPS; without a token the cookie is removed. */
export const sessionCookie = (request: Request, token: string | undefined): string =>
  serialize(SESSION_COOKIE, token ?? '', {
    path: '/',
    httpOnly: true,
    sameSite: 'Lax',
    secure: new URL(request.url).protocol === 'https:',
    maxAge: token === undefined ? 0 : SESSION_LIFETIME_MS / 1_000,
  })

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Whether `Origin` is the service's own. Only the host is compared: a proxy that terminates TLS changes the scheme.
 */
const isOwnOrigin = (origin: string, url: string): boolean =>
  URL.canParse(origin) && new URL(origin).host === new URL(url).host

/**
 * Whether a request that the browser authenticates by cookie is safe, or comes from one of our own pages: by
 * `Sec-Fetch-Site` if the browser sends it, otherwise by `Origin`. A request without either proves nothing.
 */
export function isProvenSameOrigin({ method, headers, url }: Request): boolean {
  if (SAFE_METHODS.includes(method)) return true
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  return origin !== null && isOwnOrigin(origin, url)
}

/**
 * Whether the browser says that a page of another origin sent the request. Routes with the credential in the body are
 * open to programs, which send neither header, but a foreign page must not sign its visitors in to another account.
 */
export function isKnownCrossOrigin({ headers, url }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site !== 'same-origin' && site !== 'none'
  const origin = headers.get('origin')
  return origin !== null && !isOwnOrigin(origin, url)
}
