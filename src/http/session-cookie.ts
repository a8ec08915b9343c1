import { parse, serialize } from 'hono/utils/cookie'
import { SESSION_LIFETIME_MS } from '../manage/login-sessions.js'

/** The cookie of a session (spec 5.4). */
export const SESSION_COOKIE = 'service_session'

/** A session's token in a `Cookie` header; undefined where there is none. */
export const readSessionToken = (header: string | null): string | undefined =>
  header?.includes(SESSION_COOKIE) ? parse(header, SESSION_COOKIE)[SESSION_COOKIE] : undefined

/** `Set-Cookie` of a session for whoever sent `request`, over HTTPS for HTTPS alone; without a token it ends it. */
export const sessionCookie = (request: Request, token: string | undefined): string =>
  serialize(SESSION_COOKIE, token ?? '', {
    path: '/',
    httpOnly: true,
    sameSite: 'Lax',
    secure: new URL(request.url).protocol === 'https:',
    maxAge: token === undefined ? 0 : SESSION_LIFETIME_MS / 1_000,
  })
