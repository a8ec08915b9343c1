import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { listenControl, socketPath } from '../../api/server.js'
import { isLoopbackHost } from '../../base/address.js'
import type { Log } from '../../base/log.js'
import { describeUnknownOption } from '../../base/option-names.js'
import { userAgent } from '../../base/outbound/guarded-outbound.js'
import type { MountPoint, OpenReadership } from '../../capture/readership-interface.js'
import { BASE_PATH } from '../../site/proxy/node-handler.js'
import { createLiveRules } from '../../site/rules/live-rules.js'
import { ConfigError, isShipping, loadConfig, type SettingName } from '../config.js'
import { openInstance } from './open-instance.js'
import { openShipping } from './open-shipping.js'
import type { ReadershipOptions } from './readership-options.js'

/** Each option is a setting of the command line; the compiler refuses this list if an option is missing here or there. */
const OPTIONS = {
  data: true,
  domain: true,
  memory_limit: true,
  min_free_disk: true,
  max_disk: true,
  backup_dir: true,
  backup_keep: true,
  geoip: true,
  pdf_font: true,
  ranges: true,
  offline: true,
  origin: true,
  spam_referrers: true,
  trusted_referrers: true,
  cors_origins: true,
  public_url: true,
  smtp: true,
  mail_from: true,
  disable_registration: true,
  private_webhooks: true,
  rules: true,
  collector: true,
  site: true,
  ingest_key: true,
  ingest_key_file: true,
  spool_limit: true,
} satisfies Record<Exclude<keyof ReadershipOptions, 'log'>, true> & Partial<Record<SettingName, true>>

/**
 * Opens readership inside an application, for the adapters. The store is opened in `data`, and the command line reaches
 * it through the control socket there. With a `collector` there is no store: rows wait in `data` until they are shipped.
 * Throws `ConfigError` for a wrong option, and an error of one line where the store or the spool cannot be opened.
 */
export async function openReadership({ log = toConsole, ...options }: ReadershipOptions = {}): Promise<OpenReadership> {
  const unknown = describeUnknownOption('openReadership', options, [...Object.keys(OPTIONS), 'log'])
  if (unknown !== undefined) throw new ConfigError(unknown, 'options')
  const config = loadConfig({ flags: options, env: {}, read: () => undefined })
  const socket = socketPath(config.data)
  // `origin` names the site itself, so until the first request its pages are expected there.
  let service = config.origin === undefined ? undefined : config.origin.replace(/\/$/, '') + BASE_PATH
  const rules = createLiveRules({ agents: () => loadCatalog().agents, now: () => Date.now() })
  const deps = {
    log,
    rules,
    ruleCounts: () => ({ decisions: rules.counts(), active: rules.size() }),
    version,
    status: () => (config.origin === undefined ? {} : { origin: config.origin }),
    site: () => config.origin,
    service: () => service,
  }
  const instance = isShipping(config)
    ? await openShipping(config, deps)
    : await openInstance(config, { ...deps, inApplication: true })
  try {
    const control = await listenControl((request) => instance.control(request), socket)
    return {
      record(observation) {
        // readership asks the application for robots.txt and llms.txt: these requests are not the site's traffic.
        if (isOwnRequest(observation)) return
        instance.record(observation)
        instance.noteHostname(observation.hostname)
      },
      decide: (request) => (isOwnRequest(request) ? undefined : rules.decide?.(request)),
      redirect: (request) => (isOwnRequest(request) ? undefined : rules.redirect?.({ ...request, status: 404 })),
      fetch: (request, peer) => instance.fetch(request, peer),
      hit: (req, res, to) => instance.hit(req, res, to),
      mounted(at) {
        if (isShipping(config)) return
        service = localUrl(at) ?? service
        const url = (config.public_url ?? requestUrl(at) ?? service ?? at.basePath).replace(/\/$/, '')
        log.info({}, `dashboard at ${url}/; to sign in, run: npx readership login-link --data ${config.data}`)
      },
      endStreams: () => instance.endStreams(),
      async close() {
        await control.close()
        await instance.close()
      },
    }
  } catch (error) {
    await instance.close()
    throw error
  }
}

const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')))

const USER_AGENT = userAgent(version)
const isOwnRequest = ({ user_agent, ip }: { user_agent: string; ip: string }): boolean =>
  user_agent === USER_AGENT && isLoopbackHost(ip)

/**
 * Returns the service's URL by the port of the application's own socket. Links with a token begin with it, and never with
 * a request's `Host`: the sender of the first request could send the operator's token elsewhere.
 */
const localUrl = ({ scheme, port, basePath }: MountPoint): string | undefined =>
  port === undefined ? undefined : `${scheme}://localhost:${port}${basePath}`

/**
 * Returns the service's URL as the first request named it; undefined unless its host is a plain name or address. A name of
 * this machine without a port is not a URL of the service, unless the application listens on the default port: a client left
 * the port out.
 */
function requestUrl({ scheme, host, port, basePath }: MountPoint): string | undefined {
  if (!/^([\w.-]{1,253}|\[[\da-f:.]{2,45}\])(:\d{1,5})?$/i.test(host)) return undefined
  const isDefaultPort = port === undefined || port === (scheme === 'https' ? 443 : 80)
  return LOCAL_NAME.test(host) && !isDefaultPort ? undefined : `${scheme}://${host}${basePath}`
}
const LOCAL_NAME = /^(localhost|127\.[\d.]+|\[::1\])$/i

/** Details of information are left out, because the console is the application's. */
const toConsole: Log = {
  info: (_, message) => console.info(`readership: ${message}`),
  warn: (details, message) => console.warn(`readership: ${message}`, details),
  error: (details, message) => console.error(`readership: ${message}`, details),
}
