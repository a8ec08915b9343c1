import type { Config } from '../config.js'
import { listenAdmin, listenControl, socketPath } from '../http/server.js'
import type { Instance, InstanceDeps } from '../instance/instance.js'
import { openInstance } from '../instance/open-instance.js'
import { isShipping, openShipping } from '../instance/open-shipping.js'
import type { CommandCall } from './command.js'
import { logSignInLink, serviceUrl } from './first-link.js'
import { createCloseStack, listenFailure, logUncaughtErrors, makeDataDirectory, stopSignal } from './lifecycle.js'
import { createLog } from './log.js'
import {
  createPublicListener,
  loadCertificate,
  type PublicListener,
  parseTrustedProxies,
  requestAddress,
  requestScheme,
} from './public-listener.js'
import { Failure } from './terminal.js'

/** What runs may go on for so long after the signal to stop. */
const CLOSE_GRACE_MS = 30_000

/** `readership proxy`, until a signal ends it. */
export async function runProxy({ config, terminal }: CommandCall): Promise<void> {
  if (config.origin === undefined) throw new Failure('The origin is missing: readership proxy http://localhost:3000', 2)
  const origin = new URL(config.origin)
  if (isOwnAddress(origin, config)) throw new Failure(`The origin ${config.origin} is this proxy's own address.`, 2)
  const trust = parseTrustedProxies(config)
  const pair = await loadCertificate(config)
  const log = createLog(terminal, config.log_level)
  // From here on: whoever connects before the last part is open is served, and is not cut off.
  const stop = stopSignal(terminal, log)
  const socket = socketPath(config.data)
  // Its directory may have been there before, and be open to others: the files are not.
  process.umask(0o077)
  makeDataDirectory(config.data)
  const open = createCloseStack(log)
  let front: PublicListener | undefined
  try {
    const deps: InstanceDeps = {
      log,
      version: terminal.version,
      proxy: () => front?.stats(),
      status: () => ({ origin: config.origin }),
      service: serviceUrl(config),
    }
    const instance = isShipping(config) ? await openShipping(config, deps) : await openInstance(config, deps)
    open.add(isShipping(config) ? 'the spool' : 'the store', () => instance.close())
    const made = createPublicListener(config, { origin, trust, pair, instance, log, openFiles: terminal.openFiles })
    front = made
    open.add('the site', () => made.close(CLOSE_GRACE_MS))
    terminal.onSignal('SIGHUP', () => void made.reload())
    logUncaughtErrors(terminal, log)
    const port = await made.listen(config.host, config.port).catch((error) => {
      throw listenFailure(error, config.host, config.port, '--port')
    })
    const service = await openServiceListeners(instance, config, socket, open.add)
    const scheme = config.tls_cert ? 'https' : 'http'
    log.info(
      { pid: terminal.pid },
      `listening: site ${scheme}://${urlHost(config.host)}:${port} for ${config.origin}, service ${service}, data ${config.data}${isShipping(config) ? `, rows to ${config.collector} as site ${config.site}` : ''}`,
    )
    await logSignInLink(instance, log)
    await stop
  } finally {
    await open.close()
  }
  log.info({}, 'stopped')
}

/** Whether the origin is what we listen on ourselves: each request would come round again. */
const isOwnAddress = (origin: URL, { port }: Pick<Config, 'port'>): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/.test(origin.hostname) &&
  Number(origin.port || (origin.protocol === 'https:' ? 443 : 80)) === port

/** `readership serve`, until a signal ends it. */
export async function runServe({ config, terminal }: CommandCall): Promise<void> {
  if (isShipping(config))
    throw new Failure('serve answers from a store of its own, and a collector is set: leave collector out.', 2)
  const log = createLog(terminal, config.log_level)
  const stop = stopSignal(terminal, log)
  const socket = socketPath(config.data)
  process.umask(0o077)
  makeDataDirectory(config.data)
  const open = createCloseStack(log)
  try {
    const listener = { ...config, admin_host: config.host, admin_port: config.port }
    const instance = await openInstance(config, { log, version: terminal.version, service: serviceUrl(listener) })
    open.add('the store', () => instance.close())
    logUncaughtErrors(terminal, log)
    const at = await openServiceListeners(instance, listener, socket, open.add)
    log.info({ pid: terminal.pid }, `listening: service ${at}, data ${config.data}`)
    await logSignInLink(instance, log)
    await stop
  } finally {
    await open.close()
  }
  log.info({}, 'stopped')
}

/** Opens the admin listener and the control socket; answers where the service is. */
async function openServiceListeners(
  instance: Instance,
  config: Config,
  socket: string,
  add: (name: string, close: () => Promise<void>) => void,
): Promise<string> {
  const { admin_host: host, admin_port: port } = config
  const trust = parseTrustedProxies(config)
  const admin = await listenAdmin((request, peer) => instance.fetch(request, peer), host, port, {
    handleTrack: (req, res, taken) => instance.hit(req, res, taken),
    client: (req) => requestAddress(req, trust),
    scheme: (req) => requestScheme(req, 'http', trust),
  }).catch((error) => {
    throw listenFailure(error, host, port, '--admin-port')
  })
  add('the service', () => admin.close(1_000))
  const control = await listenControl((request) => instance.control(request), socket)
  add('the control socket', () => control.close())
  return admin.at
}

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)
