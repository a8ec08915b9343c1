import { resolve } from 'node:path'
import { loadCatalog } from '../../agents/catalog.js'
import { listenAdmin, listenControl, socketPath } from '../../api/server.js'
import { isLoopbackHost } from '../../base/address.js'
import { createDeferred } from '../../base/deferred.js'
import type { Log } from '../../base/log.js'
import { createLiveRules } from '../../site/rules/live-rules.js'
import { ON_SERVERS } from '../../storage/backup/backups.js'
import { type Config, isShipping } from '../config.js'
import type { Instance, InstanceDeps } from '../instance/instance.js'
import { createOpeningInstance } from '../instance/opening-instance.js'
import {
  dashboardUrl,
  exposedDashboardUrl,
  listenerUrl,
  networkUrl,
  reachedSiteUrl,
  serviceUrl,
  siteUrl,
} from './client.js'
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
  if (config.role === 'reader')
    throw new Failure('A proxy stores what it sees: the role reader is for serve. Ship rows with --collector.', 2)
  const origin = new URL(config.origin)
  if (isOwnAddress(origin, config)) throw new Failure(`The origin ${config.origin} is this proxy's own address.`, 2)
  const trust = parseTrustedProxies(config)
  const certificate = await loadCertificate(config)
  await runUntilStopped({ config, terminal }, async (log, socket, addClose, fail) => {
    let listener: PublicListener | SiteProcesses | undefined
    const rules = createLiveRules({ agents: () => loadCatalog().agents, now: () => Date.now() })
    const deps = {
      log,
      rules,
      version: terminal.version,
      proxy: () => listener?.stats(),
      ruleCounts: () => {
        const decisions = listener && 'ruleCounts' in listener ? listener.ruleCounts() : rules.counts()
        return { decisions, active: rules.size() }
      },
      otherRecorders: () => (listener && 'recorders' in listener ? listener.recorders : undefined),
      status: () => ({
        origin: config.origin,
        dashboard: exposedDashboardUrl(config),
        settings: judgedSettings(config),
        listeners: { site: siteUrl(config) + config.base_path, service: listenerUrl(config) },
      }),
      site: () => reachedSiteUrl(config),
      service: () => serviceUrl(config),
      address: () => networkUrl(config),
    }
    const control = createControl(socket)
    const onOpen = createOnOpen(control, log)
    const instance: Instance & { open?(): Promise<void> } = isShipping(config)
      ? await openSpool(config, deps)
      : createOpeningInstance(config, { ...deps, onOpen })
    addClose(isShipping(config) ? 'the spool' : 'the store', () => instance.close())
    const { openFiles } = terminal
    const site =
      config.workers > 1
        ? createSiteProcesses(config, { instance, rules, log, terminal })
        : createPublicListener(config, {
            origin,
            trust,
            certificate,
            instance,
            rules,
            log,
            openFiles,
            serve: createPublicService(instance, config),
          })
    listener = site
    addClose('the site', () => site.close(SITE_GRACE_MS))
    terminal.onSignal('SIGHUP', () => void site.reload())
    logUncaughtErrors(terminal, log)
    const port = await site.listen(config.host, config.port).catch((error) => {
      throw listenFailure(error, config.host, config.port, '--port')
    })
    addClose('the control socket', control.close)
    const service = await openServiceListener(instance, config, addClose)
    addClose('the streams', async () => instance.endStreams())
    if (isShipping(config)) await control.open(instance)
    void instance.open?.().catch(fail)
    const at = siteUrl({ ...config, port })
    const exposed = config.expose.includes('api') ? ` and ${at}${config.base_path}/` : ''
    const pages = isShipping(config) ? `service ${service}` : `dashboard and API ${service}/${exposed}`
    log.info(
      { pid: terminal.pid },
      `listening: site ${at} for ${config.origin}, ${pages}, data ${config.data}${isShipping(config) ? `, rows to ${config.collector} as site ${config.site}` : ''}`,
    )
  })
  // A connection that node:cluster accepted while the last process closed stays in its queue, and keeps this process alive.
  if (config.workers > 1) terminal.exit(0)
}

/** Opens the spool of a proxy whose rows are stored elsewhere; its code is loaded for such a proxy alone. */
async function openSpool(config: Config & { collector: string }, deps: InstanceDeps): Promise<Instance> {
  const { openShipping } = await import('../instance/open-shipping.js')
  return openShipping(config, deps)
}

/** Returns whether the proxy itself listens at the origin, so that each request would loop. */
const isOwnAddress = (origin: URL, { port }: Pick<Config, 'port'>): boolean =>
  (isLoopbackHost(origin.hostname) || /^(0\.0\.0\.0|\[::\])$/.test(origin.hostname)) &&
  Number(origin.port || (origin.protocol === 'https:' ? 443 : 80)) === port

/** Returns the settings that `doctor` judges, and no secret. */
const judgedSettings = (config: Config) => {
  const { trust_proxy, inject, public_url, memory_limit } = config
  const file = (name: 'tls_cert' | 'tls_key' | 'geoip' | 'ingest_key_file') =>
    config[name] === undefined ? {} : { [name]: resolve(config[name]) }
  return {
    trust_proxy,
    inject,
    public_url,
    memory_limit,
    // The commands that read them run in other directories.
    ...file('tls_cert'),
    ...file('tls_key'),
    ...file('geoip'),
    ...file('ingest_key_file'),
  }
}

/** Runs `readership serve` until a signal stops it. */
export async function runServe({ config, terminal }: CommandCall): Promise<void> {
  if (isShipping(config)) throw new Failure('serve stores rows itself: remove the setting collector.', 2)
  await runUntilStopped({ config, terminal }, async (log, socket, addClose, fail) => {
    const service = { ...config, admin_host: config.host, admin_port: config.port }
    const control = createControl(socket)
    // Listens at once, so that a supervisor sees a process that migrates its files as alive, and not as ready.
    const instance = createOpeningInstance(config, {
      isTriedOnce: true,
      onOpen: createOnOpen(control, log),
      log,
      version: terminal.version,
      status: () => ({
        dashboard: dashboardUrl(config, listenerUrl(service)),
        settings: judgedSettings(config),
        listeners: { service: listenerUrl(service) },
      }),
      service: () => serviceUrl(service),
      address: () => networkUrl(service),
    })
    addClose('the store', () => instance.close())
    logUncaughtErrors(terminal, log)
    addClose('the control socket', control.close)
    const url = await openServiceListener(instance, service, addClose)
    addClose('the streams', async () => instance.endStreams())
    void instance.open().catch(fail)
    log.info({ pid: terminal.pid }, `listening: dashboard and API ${url}/, data ${config.data}`)
  })
}

/** Returns the function that opens the operator's socket and logs a link to sign in, once the store is open. */
const createOnOpen = (control: ReturnType<typeof createControl>, log: Log) => async (opened: Instance) => {
  await control.open(opened)
  log.info({}, 'the store is open')
  // Not awaited: requests of the service need not wait for the link.
  void logSignInLink(opened, log).catch((error) => log.error({ err: error }, 'no sign-in link could be made'))
}

const describeStore = ({ data, store, control }: Config): string => {
  const servers = [store && '--store', control && '--control'].filter(Boolean).join(' and ')
  return servers === '' ? data : `${data}, and the servers of ${servers}`
}

/** Refuses backups that nothing would take, or that would be among the files of the store. */
function checkBackups({ backup_dir, data, store, control }: Config): void {
  if (backup_dir === undefined) return
  if (store !== undefined || control !== undefined) throw new Failure(`--backup-dir: ${ON_SERVERS}`, 2)
  if (resolve(backup_dir) === resolve(data))
    throw new Failure('--backup-dir names the data directory itself: name another directory.', 2)
}

/** Starts an instance, waits for a stop signal or a failure, and closes in reverse order what `start` has opened. */
async function runUntilStopped(
  { config, terminal }: Pick<CommandCall, 'config' | 'terminal'>,
  start: (log: Log, socket: string, addClose: AddClose, fail: (error: unknown) => void) => Promise<void>,
): Promise<void> {
  checkBackups(config)
  const log = createLog(terminal, config.log_level)
  // Registered before anything opens, so that a signal during the start also closes everything in order.
  const stop = stopSignal(terminal, log)
  const socket = socketPath(config.data)
  // Keeps new files private even if the data directory exists already and other users may read it.
  process.umask(0o077)
  makeDataDirectory(config.data)
  const closeStack = createCloseStack(log)
  // Logged at once, because a store that was not closed takes seconds to open.
  log.info({}, `opening ${describeStore(config)}`)
  try {
    const failed = createDeferred<never>()
    await Promise.all([start(log, socket, closeStack.add, failed.reject), Promise.race([stop, failed.promise])])
  } finally {
    await closeStack.close()
  }
  log.info({}, 'stopped')
}

/** The operator's socket: opened when the store is, and closed before it. */
function createControl(socket: string) {
  let listener: { close(): Promise<void> } | undefined
  let isClosed = false
  return {
    async open(instance: Instance): Promise<void> {
      if (isClosed) return
      listener = await listenControl((request) => instance.control(request), socket)
      if (isClosed) await listener.close()
    },
    async close(): Promise<void> {
      isClosed = true
      await listener?.close()
    },
  }
}

/** Opens the service's listener and returns its URL. */
async function openServiceListener(instance: Instance, config: Config, addClose: AddClose): Promise<string> {
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
  return admin.at
}
