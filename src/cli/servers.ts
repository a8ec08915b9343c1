import type { Config } from '../config.js'
import { listenAdmin, listenControl, socketPath } from '../http/server.js'
import type { Instance, Log } from '../instance/instance.js'
import { openInstance } from '../instance/open-instance.js'
import { isShipping, openShipping } from '../instance/open-shipping.js'
import { dashboardUrl, exposedDashboardUrl, serviceUrl, urlHost } from './client.js'
import type { CommandCall } from './command.js'
import {
  type AddClose,
  createCloseStack,
  listenFailure,
  logUncaughtErrors,
  makeDataDirectory,
  stopSignal,
} from './lifecycle.js'
import { createLog } from './log.js'
import { logSignInLink } from './login-link.js'
import {
  createPublicListener,
  loadCertificate,
  type PublicListener,
  parseTrustedProxies,
  requestAddress,
  requestScheme,
} from './public-listener.js'
import { createPublicService } from './public-service.js'
import { createSiteProcesses, type SiteProcesses } from './site-processes/start.js'
import { Failure } from './terminal.js'

/** After a stop signal, requests of the site may continue for this long. */
const SITE_GRACE_MS = 30_000
/** The same for requests of the service. */
const SERVICE_GRACE_MS = 1_000

/** Runs `readership proxy` until a signal stops it. */
export async function runProxy({ config, terminal }: CommandCall): Promise<void> {
  if (config.origin === undefined)
    throw new Failure('The origin is missing: give its URL, as in readership proxy http://localhost:3000', 2)
  const origin = new URL(config.origin)
  if (isOwnAddress(origin, config)) throw new Failure(`The origin ${config.origin} is this proxy's own address.`, 2)
  const trust = parseTrustedProxies(config)
  const certificate = await loadCertificate(config)
  await runUntilStopped({ config, terminal }, async (log, socket, addClose) => {
    let listener: PublicListener | SiteProcesses | undefined
    const deps = {
      log,
      version: terminal.version,
      proxy: () => listener?.stats(),
      others: () => (listener && 'recorders' in listener ? listener.recorders : undefined),
      status: () => ({ origin: config.origin, dashboard: exposedDashboardUrl(config) }),
      service: () => serviceUrl(config),
    }
    const instance = isShipping(config) ? await openShipping(config, deps) : await openInstance(config, deps)
    addClose(isShipping(config) ? 'the spool' : 'the store', () => instance.close())
    const { openFiles } = terminal
    const site =
      config.workers > 1
        ? createSiteProcesses(config, { instance, log, terminal })
        : createPublicListener(config, {
            ...{ origin, trust, certificate, instance, log, openFiles },
            serve: createPublicService(instance, config),
          })
    listener = site
    addClose('the site', () => site.close(SITE_GRACE_MS))
    terminal.onSignal('SIGHUP', () => void site.reload())
    logUncaughtErrors(terminal, log)
    const port = await site.listen(config.host, config.port).catch((error) => {
      throw listenFailure(error, config.host, config.port, '--port')
    })
    const service = await openServiceListeners(instance, config, socket, addClose)
    const siteUrl = `${config.tls_cert ? 'https' : 'http'}://${urlHost(config.host)}:${port}`
    const exposed = config.expose.includes('api') ? ` and ${siteUrl}${config.base_path}/` : ''
    const pages = isShipping(config) ? `service ${service}` : `dashboard and API ${service}/${exposed}`
    log.info(
      { pid: terminal.pid },
      `listening: site ${siteUrl} for ${config.origin}, ${pages}, data ${config.data}${isShipping(config) ? `, rows to ${config.collector} as site ${config.site}` : ''}`,
    )
    return instance
  })
  // A connection that node:cluster accepted while the last process closed stays in its queue, and keeps this process alive.
  if (config.workers > 1) terminal.exit(0)
}

/** Returns whether the proxy itself listens at the origin, so that each request would loop. */
const isOwnAddress = (origin: URL, { port }: Pick<Config, 'port'>): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/.test(origin.hostname) &&
  Number(origin.port || (origin.protocol === 'https:' ? 443 : 80)) === port

/** Runs `readership serve` until a signal stops it. */
export async function runServe({ config, terminal }: CommandCall): Promise<void> {
  if (isShipping(config)) throw new Failure('serve stores rows itself: remove the setting collector.', 2)
  await runUntilStopped({ config, terminal }, async (log, socket, addClose) => {
    const service = { ...config, admin_host: config.host, admin_port: config.port }
    const instance = await openInstance(config, {
      log,
      version: terminal.version,
      status: () => ({ dashboard: dashboardUrl(config, `http://${urlHost(config.host)}:${config.port}`) }),
      service: () => serviceUrl(service),
    })
    addClose('the store', () => instance.close())
    logUncaughtErrors(terminal, log)
    const url = await openServiceListeners(instance, service, socket, addClose)
    log.info({ pid: terminal.pid }, `listening: dashboard and API ${url}/, data ${config.data}`)
    return instance
  })
}

/** Starts an instance, waits for a stop signal, and closes in reverse order what `start` has opened. */
async function runUntilStopped(
  { config, terminal }: Pick<CommandCall, 'config' | 'terminal'>,
  start: (log: Log, socket: string, addClose: AddClose) => Promise<Instance>,
): Promise<void> {
  const log = createLog(terminal, config.log_level)
  // Registered before anything opens, so that a signal during the start also closes everything in order.
  const stop = stopSignal(terminal, log)
  const socket = socketPath(config.data)
  // Keeps new files private even if the data directory exists already and other users may read it.
  process.umask(0o077)
  makeDataDirectory(config.data)
  const closeStack = createCloseStack(log)
  // Logged at once, because a store that was not closed takes seconds to open.
  log.info({}, `opening ${config.data}`)
  try {
    const instance = await start(log, socket, closeStack.add)
    await logSignInLink(instance, log)
    await stop
  } finally {
    await closeStack.close()
  }
  log.info({}, 'stopped')
}

/** Opens the service's listener and the control socket. Returns the service's URL. */
async function openServiceListeners(
  instance: Instance,
  config: Config,
  socket: string,
  addClose: AddClose,
): Promise<string> {
  const { admin_host: host, admin_port: port } = config
  const trust = parseTrustedProxies(config)
  const admin = await listenAdmin((request, peer) => instance.fetch(request, peer), host, port, {
    handleTrack: (req, res, context) => instance.hit(req, res, context),
    client: (req) => requestAddress(req, trust),
    scheme: (req) => requestScheme(req, 'http', trust),
  }).catch((error) => {
    throw listenFailure(error, host, port, '--admin-port')
  })
  addClose('the service', () => admin.close(SERVICE_GRACE_MS))
  const control = await listenControl((request) => instance.control(request), socket)
  addClose('the control socket', () => control.close())
  addClose('the streams', async () => instance.endStreams())
  return admin.at
}
