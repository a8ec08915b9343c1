import type { IncomingMessage, ServerResponse } from 'node:http'
import { type MountOptions, mount, type Readership } from '../src/index.js'

/** The members of Express's request that this adapter reads. Its types need no `@types/express` therefore. */
interface ExpressRequest extends IncomingMessage {
  readonly ip?: string | undefined
  readonly hostname: string
  readonly originalUrl: string
}

/**
 * Express middleware: `site.use(middleware(readership))`, before anything that writes. It records every exchange, and the
 * service responds under the base path. Client address and host are Express's own (`req.ip`, `req.hostname`), so set its
 * `trust proxy` if a proxy stands in front.
 */
export function middleware(readership: Readership, options: MountOptions = {}) {
  const handle = mount(readership, options)
  return (req: ExpressRequest, res: ServerResponse, next: (error?: unknown) => void): void => {
    // `originalUrl`, because a router removes its own path from `req.url`.
    const onWait = (passes: Promise<boolean>) => void passes.then((isPassed) => isPassed && next())
    if (!handle(req, res, req.ip ?? '', { url: req.originalUrl, host: hostOf(req), onWait })) next()
  }
}

/** Returns `Host` with its port, or the public name from a trusted proxy. Only Express 5 keeps the port in `req.host`. */
function hostOf(req: ExpressRequest): string {
  const { host = '' } = req.headers
  const name: string | undefined = req.hostname
  return name === undefined || host.replace(/:\d*$/, '') === name ? host : name
}
