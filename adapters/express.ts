import type { Request, RequestHandler } from 'express'
import { type MountOptions, mount, type Readership } from '../src/index.js'

/**
 * Express middleware: `site.use(middleware(readership))`, before anything that writes. It records every exchange, and the
 * service responds under the base path. Client address and host are Express's own (`req.ip`, `req.hostname`), so set its
 * `trust proxy` if a proxy stands in front.
 */
export function middleware(readership: Readership, options: MountOptions = {}): RequestHandler {
  const handle = mount(readership, options)
  return (req, res, next) => {
    // `originalUrl`, because a router removes its own path from `req.url`.
    if (!handle(req, res, req.ip ?? '', { url: req.originalUrl, host: hostOf(req) })) next()
  }
}

/** Returns `Host` with its port, or the public name from a trusted proxy. Only Express 5 keeps the port in `req.host`. */
function hostOf(req: Request): string {
  const { host = '' } = req.headers
  const name: string | undefined = req.hostname
  return name === undefined || host.replace(/:\d*$/, '') === name ? host : name
}
