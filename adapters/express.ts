import type { Request, RequestHandler } from 'express'
import { type MountOptions, mount, type Readership } from '../src/index.js'

/**
 * `site.use(middleware(readership))`, before anything that writes: every exchange that passes is recorded, and the
 * service answers under the base path. Client address and host are Express's own (`req.ip`, `req.hostname`): set its
 * `trust proxy` behind a proxy.
 */
export function middleware(readership: Readership, options: MountOptions = {}): RequestHandler {
  const take = mount(readership, options)
  return (req, res, next) => {
    // A router that this is mounted on has taken its own path off req.url.
    if (!take(req, res, req.ip ?? '', { url: req.originalUrl, host: hostOf(req) })) next()
  }
}

/**
 * `Host` with its port, unless a proxy that Express trusts knows the public name; `req.host` has the port in Express 5
 * only.
 */
function hostOf(req: Request): string {
  const { host = '' } = req.headers
  const name: string | undefined = req.hostname
  return name === undefined || host.replace(/:\d*$/, '') === name ? host : name
}
