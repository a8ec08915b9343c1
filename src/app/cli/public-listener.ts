import { once } from 'node:events'
import type { ProxyCounts } from '../../api/metrics.js'
import { scriptName } from '../../api/tracker-script.js'
import { clientAddress, isLocatable, isTrusted, parseAddress, parseTrust, type Trust } from '../../base/address.js'
import type { Log } from '../../base/log.js'
import type { SampledPage } from '../../capture/sampled-page.js'
import { readCertificate, type TlsCertificate } from '../../site/proxy/certificate.js'
import { isUnderBasePath } from '../../site/proxy/node-handler.js'
import { schemeOf } from '../../site/proxy/observe-request.js'
import { createProxy } from '../../site/proxy/proxy.js'
import type { Incoming, Outgoing } from '../../site/proxy/response-writer.js'
import { createTlsListener } from '../../site/proxy/tls-listener.js'
import { createUpgrader } from '../../site/proxy/upgrade.js'
import type { LiveRules } from '../../site/rules/live-rules.js'
import { type Config, isShipping } from '../config.js'
import type { Instance } from '../instance/instance.js'
import { Failure } from './terminal.js'

/** The client of a request of the service, as the listener knows it. */
export interface ServiceClient {
  ip: string
  scheme: 'http' | 'https'
}

/** The listener of the site, which also serves the exposed parts of readership under the base path. */
export interface PublicListener {
  stats(): ProxyCounts
  /** Returns the port it listens on. Rejects with Node's error if it cannot listen. */
  listen(host: string, port: number): Promise<number>
  /** Reads the certificate again; if it is unusable, the previous one stays in use. */
  reload(): Promise<void>
  /** Waits up to `graceMs` for running requests. */
  close(graceMs: number): Promise<void>
}

/** Parses `--trust-proxy`; throws `Failure` (wrong usage) that names an invalid value. */
export function parseTrustedProxies(config: Config): Trust {
  try {
    return parseTrust(config.trust_proxy)
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error), 2)
  }
}

/** Reads the certificate of `--tls-cert` and `--tls-key`, if set; throws `Failure` if it is unusable. */
export async function loadCertificate({ tls_cert, tls_key }: Config): Promise<TlsCertificate | undefined> {
  if (tls_cert === undefined || tls_key === undefined) return undefined
  try {
    return await readCertificate(tls_cert, tls_key)
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error))
  }
}

/** Returns the address of a request's client; forwarding headers count only from trusted peers. */
export const requestAddress = ({ socket, headers }: Incoming, trust: Trust): string =>
  clientAddress(socket.remoteAddress, joinHeader(headers['x-forwarded-for']), trust)

/** Returns the scheme that a request's client uses: from a trusted peer's header, else the listener's own `proto`. */
export const requestScheme = (req: Incoming, proto: 'http' | 'https', trust: Trust): 'http' | 'https' =>
  schemeOf(req, { proto, trusted: isTrusted(req.socket.remoteAddress ?? '', trust) })

interface PublicListenerDeps {
  origin: URL
  trust: Trust
  certificate: TlsCertificate | undefined
  instance: Pick<Instance, 'record' | 'siteOf' | 'policySeen' | 'pageSampled'> & Partial<Pick<Instance, 'noteHostname'>>
  /** Responds to a request under the base path. */
  serve(req: Incoming, res: Outgoing, client: ServiceClient): void
  /** The rules for agents. */
  rules?: Pick<LiveRules, 'decide' | 'redirect'>
  log: Log
  /** Number of files this process may open; undefined if the system does not say. */
  openFiles?: number | undefined
}

/** Creates the site's listener: forwarding, upgrades, TLS, client addresses and the base path. */
export function createPublicListener(config: Config, deps: PublicListenerDeps): PublicListener {
  const { origin, trust, certificate, instance, serve, log, openFiles } = deps
  const rules = deps.rules && { rules: deps.rules }
  const sources = createAddressSources(trust)
  const address = (req: Incoming) => requestAddress(req, trust)
  const siteAddress = (req: Incoming) => {
    sources.count(req.socket.remoteAddress ?? '', req.headers['x-forwarded-for'] !== undefined)
    return address(req)
  }
  const trusts = (peer: string) => isTrusted(peer, trust)
  const record: Instance['record'] = (observation) => {
    instance.record(observation)
    instance.noteHostname?.(observation.hostname)
  }
  const scriptFor = (hostname: string) => {
    const site = instance.siteOf(hostname)
    return site === undefined ? undefined : `${config.base_path}/${scriptName()}?site=${site}`
  }
  const onSampledPage = (page: SampledPage) => instance.pageSampled(page)
  const isServicePath = (path: string) => isUnderBasePath(config.base_path, path)
  const headersTimeout = config.origin_headers_timeout * 1000
  const idleTimeout = config.origin_idle_timeout * 1000

  const upgrader = createUpgrader({
    origin,
    clientAddress: siteAddress,
    isTrustedPeer: trusts,
    isServicePath,
    headersTimeout,
    idleTimeout,
    record,
    ...rules,
    handleAsOrdinary: (socket) => proxy.server.emit('connection', socket),
    onError: (kind, error) => {
      if (kind === 'fault') log.error({ err: error }, 'an upgrade failed because of an internal error')
    },
  })
  const scheme = certificate ? 'https' : 'http'
  const proxy = createProxy({
    origin,
    record,
    ...rules,
    clientAddress: siteAddress,
    isTrustedPeer: trusts,
    isServicePath,
    serve: (req, res) => serve(req, res, { ip: address(req), scheme: requestScheme(req, scheme, trust) }),
    onPolicyChange: (hostname, path, at) => instance.policySeen(hostname, path, at),
    ...(config.page_samples === 'on' && !isShipping(config) ? { onSampledPage } : {}),
    ...(config.inject ? { scriptFor } : {}),
    upgrade: (req, socket, head) => upgrader.upgrade(req, socket, head),
    headersTimeout,
    bodyIdleTimeout: idleTimeout,
    ...(openFiles === undefined ? {} : { maxConnections: connectionLimit(openFiles) }),
  })

  const tls =
    certificate &&
    createTlsListener({ certificate, http1: proxy.server, handler: (req, res) => proxy.handler(req, res) })
  const server = tls?.server ?? proxy.server

  return {
    stats: () => ({ ...proxy.stats(), ...sources.read() }),
    async listen(host, port) {
      server.listen({ host, port })
      await once(server, 'listening')
      const bound = server.address()
      return typeof bound === 'object' && bound ? bound.port : port
    },
    async reload() {
      if (!tls) return
      const result = await tls.reload(async () => (await loadCertificate(config)) ?? certificate)
      if (result.ok)
        log.info({}, `the certificate was read again; it is valid until ${result.certificate.expires.toISOString()}`)
      else log.error({}, `the certificate was not replaced: ${result.reason}`)
    },
    async close(graceMs) {
      await Promise.all([tls?.close(graceMs), proxy.close(graceMs), upgrader.close(graceMs)])
    },
  }
}

/** Returns the limit of client connections: most need one to the origin too, and the store and service need the rest. */
const connectionLimit = (openFiles: number): number =>
  Math.max(16, Math.min(20_000, Math.floor(((openFiles - 128) * 2) / 3)))

const joinHeader = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(',') : value

/**
 * Counts how the clients of the site's requests become known, so that `doctor` can say which address is believed and why.
 * No client's address is kept: the peer that is named is one of a private network, which is a proxy of the operator.
 */
export function createAddressSources(trust: Trust) {
  const counts = { direct: 0, forwarded: 0, unnamed: 0, ignored: 0 }
  let ignoredPeer: string | undefined
  return {
    count(peer: string, isNamed: boolean): void {
      if (isTrusted(peer, trust)) counts[isNamed ? 'forwarded' : 'unnamed'] += 1
      else if (!isNamed) counts.direct += 1
      else {
        counts.ignored += 1
        const address = parseAddress(peer)
        if (address && !isLocatable(address)) ignoredPeer = peer.replace(/^::ffff:/, '')
      }
    },
    read: (): Pick<ProxyCounts, 'addresses' | 'ignored_peer'> => ({
      addresses: { ...counts },
      ...(ignoredPeer !== undefined && { ignored_peer: ignoredPeer }),
    }),
  }
}
