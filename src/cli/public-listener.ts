import { once } from 'node:events'
import { clientAddress, isTrusted, parseTrust, type Trust } from '../address.js'
import type { Config } from '../config.js'
import { createPublicApp } from '../http/app.js'
import type { ProxyCounts } from '../http/metrics.js'
import { scriptName } from '../http/tracker-script.js'
import type { Instance, Log } from '../instance/instance.js'
import { readCertificate, type TlsCertificate } from '../proxy/certificate.js'
import { isUnderBasePath, toNodeHandler } from '../proxy/node-handler.js'
import { schemeOf } from '../proxy/observe-request.js'
import { createProxy, type ProxyOptions } from '../proxy/proxy.js'
import { createTlsListener } from '../proxy/tls-listener.js'
import { createUpgrader } from '../proxy/upgrade.js'
import { Failure } from './terminal.js'

type Incoming = Parameters<ProxyOptions['clientAddress']>[0]

/** The public listener: the site, and under the base path what of readership is exposed. */
export interface PublicListener {
  listen(host: string, port: number): Promise<number>
  stats(): ProxyCounts
  /** Reads the certificate again; one that is no good leaves the old one in use. */
  reload(): Promise<void>
  close(grace: number): Promise<void>
}

/** `--trust-proxy`; throws `Failure` (usage) naming the value that is none. */
export function parseTrustedProxies(config: Config): Trust {
  try {
    return parseTrust(config.trust_proxy)
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error), 2)
  }
}

/** The certificate of `--tls-cert` and `--tls-key`, where they are given; throws `Failure` naming what is wrong. */
export async function loadCertificate({ tls_cert, tls_key }: Config): Promise<TlsCertificate | undefined> {
  if (tls_cert === undefined || tls_key === undefined) return undefined
  try {
    return await readCertificate(tls_cert, tls_key)
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error))
  }
}

/** The address of a request's client, through trusted hops only. */
export const requestAddress = ({ socket, headers }: Incoming, trust: Trust): string =>
  clientAddress(socket.remoteAddress, joinHeader(headers['x-forwarded-for']), trust)

/** What is known of the connection of a request. */
const connectionInfo = ({ socket }: Incoming, proto: 'http' | 'https', trust: Trust) => ({
  proto,
  trusted: isTrusted(socket.remoteAddress ?? '', trust),
})

/** What a request's client speaks, by the word of trusted hops only; a listener's own is `proto`. */
export const requestScheme = (req: Incoming, proto: 'http' | 'https', trust: Trust): 'http' | 'https' =>
  schemeOf(req, connectionInfo(req, proto, trust))

/** Puts the proxy's parts together: forwarding, upgrades, addresses and our own paths. */
export function createPublicListener(
  config: Config,
  deps: {
    origin: URL
    trust: Trust
    pair: TlsCertificate | undefined
    instance: Instance
    log: Log
    /** Files this process may have open; undefined where the system does not say. */
    openFiles?: number | undefined
  },
): PublicListener {
  const { origin, trust, pair, instance, log, openFiles } = deps
  const address = (req: Incoming) => requestAddress(req, trust)
  const trusts = (peer: string) => isTrusted(peer, trust)
  const record: Instance['record'] = (observation) => instance.record(observation)
  const script = (hostname: string) => {
    const site = instance.siteOf(hostname)
    return site === undefined ? undefined : `${config.base_path}/${scriptName()}?site=${site}`
  }
  const isServicePath = (path: string) => isUnderBasePath(config.base_path, path)
  const headersTimeout = config.origin_headers_timeout * 1000
  const idleTimeout = config.origin_idle_timeout * 1000

  const upgrader = createUpgrader({
    origin,
    clientAddress: address,
    isTrustedPeer: trusts,
    isServicePath,
    headersTimeout,
    idleTimeout,
    record,
    handleAsOrdinary: (socket) => proxy.server.emit('connection', socket),
    onError: (kind, error) => {
      if (kind === 'fault') log.error({ err: error }, 'an upgrade failed by our fault')
    },
  })
  const scheme = pair ? 'https' : 'http'
  const handleServiceRequest = toNodeHandler(
    {
      fetch: createPublicApp((request, peer) => instance.fetch(request, peer), config.expose),
      hit: (req, res, taken) => instance.hit(req, res, taken),
    },
    { basePath: config.base_path },
  )
  const proxy = createProxy({
    origin,
    record,
    clientAddress: address,
    isTrustedPeer: trusts,
    isServicePath,
    serve: (req, res) => void handleServiceRequest(req, res, address(req), { hop: connectionInfo(req, scheme, trust) }),
    onPolicyChange: (hostname, path, at) => instance.policySeen(hostname, path, at),
    ...(config.inject ? { scriptFor: script } : {}),
    upgrade: (req, socket, head) => upgrader.upgrade(req, socket, head),
    headersTimeout,
    bodyIdleTimeout: idleTimeout,
    ...(openFiles === undefined ? {} : { maxConnections: connectionLimit(openFiles) }),
  })

  const tls =
    pair &&
    createTlsListener({ certificate: pair, http1: proxy.server, handler: (req, res) => proxy.handler(req, res) })
  const server = tls?.server ?? proxy.server

  return {
    stats: () => proxy.stats(),
    async listen(host, port) {
      server.listen({ host, port })
      await once(server, 'listening')
      const bound = server.address()
      return typeof bound === 'object' && bound ? bound.port : port
    },
    async reload() {
      if (!tls) return
      const said = await tls.reload(async () => (await loadCertificate(config)) ?? pair)
      if (said.ok)
        log.info({}, `the certificate was read again; it is good until ${said.certificate.expires.toISOString()}`)
      else log.error({}, `the certificate was not read again: ${said.reason}`)
    },
    async close(grace) {
      await Promise.all([tls?.close(grace), proxy.close(grace), upgrader.close(grace)])
    },
  }
}

/** Some clients' connections need one to the origin as well; the rest is the store's and the service's. */
export const connectionLimit = (openFiles: number): number =>
  Math.max(16, Math.min(20_000, Math.floor(((openFiles - 128) * 2) / 3)))

const joinHeader = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(',') : value
