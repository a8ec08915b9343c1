import type { IncomingMessage, RequestListener } from 'node:http'
import { type MountOptions, mount, peerAddress, type Readership } from '../src/index.js'

/** Options of `listener`. */
export interface NodeOptions extends MountOptions {
  /** Returns the client's address (default: the peer's). Behind a proxy, use `clientAddress` and `parseTrust`. */
  clientAddress?(req: IncomingMessage): string
}

/**
 * Listener for Node's server: `createServer(listener(readership, handler))`. `handler` serves the site, every exchange is
 * recorded, and the service responds under the base path.
 */
export function listener(readership: Readership, handler: RequestListener, options: NodeOptions = {}): RequestListener {
  const handle = mount(readership, options, ['clientAddress'])
  const address = options.clientAddress ?? peerAddress
  return (req, res) => {
    const onWait = (passes: Promise<boolean>) => void passes.then((isPassed) => isPassed && handler(req, res))
    if (!handle(req, res, address(req), { onWait })) handler(req, res)
  }
}
