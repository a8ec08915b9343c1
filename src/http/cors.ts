import type { MiddlewareHandler } from 'hono'

/** Seconds for which a browser may remember that it may ask; none remembers for longer than a day, most for two hours. */
const PREFLIGHT_MAX_AGE_S = '7200'

/**
 * Lets pages of these origins read what is answered, failures too, with a key that they send themselves and never with
 * a cookie. An origin counts as the browser writes it, byte for byte; what any other is answered is the same without a
 * word about origins, which is how a browser knows to keep it from the page.
 */
export const corsForOrigins =
  (origins: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    const preflight = c.req.method === 'OPTIONS'
    if (preflight) c.res = new Response(null, { status: 204 })
    else await next()
    // Whoever is answered: a cache on the way must not hand one origin's answer to another.
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

/** Lets pages of any origin call a route and read its answer, failures too (spec 4.7); what they send is their own. */
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
