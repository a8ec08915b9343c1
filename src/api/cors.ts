import type { MiddlewareHandler } from 'hono'

/** Seconds for which a browser may cache a preflight; browsers cap the value at between two hours and a day. */
const PREFLIGHT_MAX_AGE_S = '7200'

/**
 * Lets pages of these origins read responses, errors included, with an API key and never with cookies. Origins are
 * compared exactly. Other origins get the same response without CORS headers, so the browser keeps it from the page.
 */
export const corsForOrigins =
  (origins: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    const preflight = c.req.method === 'OPTIONS'
    if (preflight) c.res = new Response(null, { status: 204 })
    else await next()
    // On every response: a cache must not give one origin's response to another.
    c.header('vary', 'Origin', { append: true })
    const origin = c.req.header('origin')
    if (origin === undefined || !origins.includes(origin)) return
    c.header('access-control-allow-origin', origin)
    if (preflight) {
      c.header('access-control-allow-methods', 'GET')
      c.header('access-control-allow-headers', 'authorization')
      c.header('access-control-max-age', PREFLIGHT_MAX_AGE_S)
    } else c.header('access-control-expose-headers', 'Retry-After, Content-Disposition')
  }

/** Lets pages of any origin call a route and read its responses, errors included. Cookies are never allowed. */
export const corsForAnyOrigin =
  (method: string, headers: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    const preflight = c.req.method === 'OPTIONS'
    if (preflight) c.res = new Response(null, { status: 204 })
    else await next()
    c.header('access-control-allow-origin', '*')
    if (preflight) {
      c.header('access-control-allow-methods', method.toUpperCase())
      c.header('access-control-allow-headers', headers.join(', '))
      c.header('access-control-max-age', PREFLIGHT_MAX_AGE_S)
    } else c.header('access-control-expose-headers', 'Retry-After')
  }
