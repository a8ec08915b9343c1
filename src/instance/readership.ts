import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { z } from 'zod'
import type { Observation } from '../capture/observation.js'
import { type Config, ConfigError, loadConfig } from '../config.js'
import { startEngine } from '../engine/client.js'
import { createPdf } from '../export/pdf.js'
import type { ProxyCounts } from '../http/metrics.js'
import { listenControl, socketPath } from '../http/server.js'
import type { Taken } from '../http/track/node.js'
import { createIngestKeys } from '../manage/ingest-keys.js'
import { bootstrap } from '../manage/orgs.js'
import { createSites } from '../manage/sites.js'
import type { Send } from '../notify/mail-shape.js'
import { userAgent } from '../outbound/guard.js'
import { plainAddress } from '../proxy/hop.js'
import { type Accounted, compose } from './compose.js'
import { isShipping, openShipping } from './shipping.js'

/** What the proxy and every adapter are written against: three functions, no framework in sight. */
export interface Readership {
  /** Never throws, never waits: a site must not be slower or fail because it is measured. */
  record(observation: Observation): void
  /** The HTTP API of the spec as one web-standard function. */
  fetch(request: Request, peer: { ip: string }): Promise<Response>
  /**
   * `fetch` for Node's own requests, and only for what browsers send all the time: answers and gives true, or leaves the
   * request alone and gives false. Nothing is lost without it but time.
   */
  hit?(req: IncomingMessage | Http2ServerRequest, res: ServerResponse | Http2ServerResponse, taken: Taken): boolean
  close(): Promise<void>
}

const OPTIONS = [
  ...(['data', 'domain', 'memory_limit', 'min_free_disk', 'geoip', 'pdf_font', 'ranges', 'offline', 'origin'] as const),
  ...(['cors_origins', 'public_url', 'smtp', 'mail_from', 'disable_registration', 'private_webhooks'] as const),
  ...(['collector', 'site', 'ingest_key', 'ingest_key_file', 'spool_limit'] as const),
] as const

/** What an application that mounts readership may set; the rest is for the proxy. Defaults as everywhere. */
export type ReadershipOptions = Partial<Pick<Config, (typeof OPTIONS)[number]>> & { log?: Log }

/**
 * Readership inside an application, for the adapters: the store is opened in `data`, and the commands reach it through
 * the control socket there. With a `collector` there is no store: what is recorded waits in `data` until it is shipped.
 * Throws `ConfigError` for an option that is wrong, and one line where the store or the spool cannot be opened.
 */
export async function openReadership({ log = toConsole, ...options }: ReadershipOptions = {}): Promise<Readership> {
  const known: readonly string[] = OPTIONS
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new ConfigError(`${unknown} is no option of openReadership.`, unknown)
  const config = loadConfig({ flags: options, env: {}, read: () => undefined })
  const socket = socketPath(config.data)
  const deps = { log, version, status: () => (config.origin === undefined ? {} : { origin: config.origin }) }
  const instance = isShipping(config) ? await openShipping(config, deps) : await openInstance(config, deps)
  try {
    const control = await listenControl((request) => instance.control(request), socket)
    return {
      record(observation) {
        // What it asks of the application for its policies is no readership of it.
        if (observation.user_agent === OWN && isLoopback(plainAddress(observation.ip))) return
        instance.record(observation)
      },
      fetch: (request, peer) => instance.fetch(request, peer),
      hit: (req, res, taken) => instance.hit(req, res, taken),
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
  .parse(JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')))

const OWN = userAgent(version)
const isLoopback = (ip: string): boolean => ip === '::1' || ip.startsWith('127.')

/** In somebody else's application only what needs them is said. */
const toConsole: Log = {
  info() {},
  warn: (details, message) => console.warn(`readership: ${message}`, details),
  error: (details, message) => console.error(`readership: ${message}`, details),
}

/** An instance as its own process sees it: what the operator may do is apart from what the world may. */
export interface Instance extends Required<Readership> {
  /** The service for the operator: what comes through the control socket. */
  control(request: Request): Promise<Response>
  /** Another robots.txt or llms.txt than before went to a client, who asked at `at` (epoch ms). Never throws. */
  policySeen(hostname: string, path: string, at: number): void
  /** The id of the site a hostname (lower case, without port) belongs to, as known at most ten seconds ago. */
  siteOf(hostname: string): number | undefined
}

/** Where an instance says what happened. */
export interface Log {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

export interface InstanceDeps {
  log: Log
  version?: string
  now?(): Date
  /** Counters of the proxy in front, where there is one. */
  proxy?(): ProxyCounts | undefined
  /** `startEngine`, unless a test has another. */
  start?: typeof startEngine
  /** What more the operator may know: the origin. */
  status?(): Record<string, unknown>
  /** What carries mails; absent: nothing does, and the operator hands links on. */
  send?: Send
  /** Where the service listens, as a URL; absent: nobody knows, and without `public_url` links are paths. */
  service?: string
}

/**
 * Opens the data directory and puts the parts together. Rejects with an error whose message is one line where the
 * store cannot be opened: it is another process's, or its directory cannot be written.
 */
export async function openInstance(
  config: Pick<
    Config,
    'data' | 'domain' | 'memory_limit' | 'min_free_disk' | 'geoip' | 'ranges' | 'offline' | 'origin'
  > &
    Partial<Pick<Config, 'cors_origins' | 'pdf_font' | Accounted>>,
  deps: InstanceDeps,
): Promise<Instance> {
  const { log, start = startEngine, now = () => new Date() } = deps
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const { data, memory_limit, min_free_disk, geoip, ranges, offline, origin } = config
  const pdf = createPdf(config.pdf_font)
  let isStart = true
  const engine = await start({
    ...{ data, memory_limit, min_free_disk, geoip, ranges, offline, origin },
    version: deps.version,
    log,
    async prepare(records) {
      await bootstrap(records, { domains: config.domain, timezone, now: now() })
      const sites = createSites(records)
      // Once: behind a death of the worker they are the owner's, who may have taken some away since.
      if (isStart) await sites.addDomains(1, config.domain)
      isStart = false
      const known = (await sites.list()).map(({ id }) => id)
      await createIngestKeys({ records, now, random: randomBytes }).provide(known)
    },
  })
  try {
    return await compose(engine, { ...config, pdf }, deps)
  } catch (error) {
    await engine.close()
    throw error
  }
}
