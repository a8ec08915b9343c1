import type { IncomingMessage } from 'node:http'
import type { Config } from '../config.js'
import type { ProxyCounts } from '../http/metrics.js'
import { publicPart } from '../http/public.js'
import { nodeHandler } from '../http/server.js'
import { clientAddress, isTrusted, parseTrust } from '../proxy/address.js'
import { requestHead } from '../proxy/headers.js'
import { plainAddress } from '../proxy/hop.js'
import { createProxy, type ProxyOptions } from '../proxy/listener.js'
import { createUpgrader } from '../proxy/upgrade.js'
import type { Instance, Log } from '../readership.js'
import { Failure } from './terminal.js'

type Incoming = Parameters<ProxyOptions['clientAddress']>[0]

/** The public listener: the site, and under the base path what of readership is exposed. */
export interface Front {
  listen(host: string, port: number): Promise<number>
  stats(): ProxyCounts
  close(grace: number): Promise<void>
}

/** Reads `--trust-proxy`; throws `Failure` (usage) naming the value that is none. */
export function trustOf(config: Config) {
  try {
    return parseTrust(config.trust_proxy)
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error), 2)
  }
}

/** Puts the proxy's parts together: forwarding, upgrades, addresses and our own paths. */
export function createFront(config: Config, origin: URL, instance: Instance, log: Log): Front {
  const trust = trustOf(config)
  const address = (req: Incoming) =>
    clientAddress(req.socket.remoteAddress, listed(req.headers['x-forwarded-for']), trust)
  const trusts = (peer: string) => isTrusted(peer, trust)
  const record: Instance['record'] = (observation) => instance.record(observation)
  const headersTimeout = config.origin_headers_timeout * 1000
  const idleTimeout = config.origin_idle_timeout * 1000

  const upgrader = createUpgrader({
    origin,
    requestHeaders(req: IncomingMessage) {
      const peer = plainAddress(req.socket.remoteAddress ?? '')
      const proto = 'encrypted' in req.socket && req.socket.encrypted === true ? 'https' : 'http'
      const { fields, hosts } = requestHead(req.rawHeaders, { peer, trusted: trusts(peer), proto, crumbs: false })
      return [...hosts.flatMap((host) => ['Host', host]), ...fields]
    },
    clientAddress: address,
    headersTimeout,
    idleTimeout,
    record,
    ordinary: (socket) => proxy.server.emit('connection', socket),
    onError: (kind, error) => {
      if (kind === 'fault') log.error({ err: error }, 'an upgrade failed by our fault')
    },
  })
  const ours = publicPart((request, peer) => instance.fetch(request, peer), config.base_path, config.expose)
  const proxy = createProxy({
    origin,
    record,
    clientAddress: address,
    trusts,
    own: (path) => path.startsWith(`${config.base_path}/`) || path === config.base_path,
    handle: nodeHandler((request, incoming) => ours(request, { ip: address(incoming), operator: false })),
    upgrade: (req, socket, head) => upgrader.upgrade(req, socket, head),
    headersTimeout,
    bodyIdleTimeout: idleTimeout,
  })

  return {
    stats: () => proxy.stats(),
    async listen(host, port) {
      await new Promise<void>((resolve, reject) => {
        proxy.server.once('error', reject)
        proxy.server.listen({ host, port }, () => {
          proxy.server.off('error', reject)
          resolve()
        })
      })
      const bound = proxy.server.address()
      return typeof bound === 'object' && bound ? bound.port : port
    },
    async close(grace) {
      await Promise.all([proxy.close(grace), upgrader.close()])
    },
  }
}

const listed = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(',') : value
