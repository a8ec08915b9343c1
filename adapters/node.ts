import type { IncomingMessage, RequestListener } from 'node:http'
import { type MountOptions, mount, peerAddress, type Readership } from '../src/index.js'

export interface NodeOptions extends MountOptions {
  /** The client's address (default: the peer's). Behind a proxy: `clientAddress` and `parseTrust` of 'readership'. */
  clientAddress?(req: IncomingMessage): string
}

/**
 * `createServer(listener(readership, handler))`: the site is `handler`'s, every exchange is recorded, and the service
 * answers under the base path.
 */
export function listener(readership: Readership, handler: RequestListener, options: NodeOptions = {}): RequestListener {
  const take = mount(readership, options)
  const address = options.clientAddress ?? peerAddress
  return (req, res) => {
    if (!take(req, res, address(req))) handler(req, res)
  }
}
