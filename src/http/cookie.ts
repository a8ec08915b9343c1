import { parse, serialize } from 'hono/utils/cookie'
import { LIFETIME_MS } from '../manage/sessions.js'

/** The cookie of a session (spec 5.4). */
export const SESSION = 'service_session'

/** A session's token in a `Cookie` header; undefined where there is none. */
export const cookieOf = (header: string | null): string | undefined =>
  header?.includes(SESSION) ? parse(header, SESSION)[SESSION] : undefined

/** `Set-Cookie` of a session for whoever sent `request`, over HTTPS for HTTPS alone; without a token it ends it. */
export const sessionCookie = (request: Request, token: string | undefined): string =>
  serialize(SESSION, token ?? '', {
    path: '/',
    httpOnly: true,
    sameSite: 'Lax',
    secure: new URL(request.url).protocol === 'https:',
    maxAge: token === undefined ? 0 : LIFETIME_MS / 1_000,
  })
