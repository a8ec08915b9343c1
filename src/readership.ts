import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { z } from 'zod'
import { loadCatalog } from './agents/catalog.js'
import { listing } from './agents/listing.js'
import { Holding } from './agents/ranges/holding.js'
import { type Config, loadConfig } from './config.js'
import { createApp, type Peer } from './http/app.js'
import { askBlocked } from './http/blocked.js'
import { dropRoutes } from './http/drops.js'
import { edgeRoute } from './http/edge/edge.js'
import { createReplay } from './http/edge/replay.js'
import { createRoom } from './http/edge/room.js'
import { createTurns } from './http/edge/turns.js'
import { createPdf, type Pdf } from './http/export/pdf.js'
import { exportRoutes } from './http/export.js'
import { managedRoutes } from './http/managed.js'
import { createMetrics, type ProxyCounts } from './http/metrics.js'
import { readRoutes } from './http/reads.js'
import { routes } from './http/routes.js'
import { createScript } from './http/script.js'
import { listenControl, socketPath } from './http/server.js'
import { createDoors } from './http/track/doors.js'
import { createLimit } from './http/track/limit.js'
import { nodeDoors, type Taken } from './http/track/node.js'
import { trackRoutes } from './http/track/routes.js'
import { createDrops } from './manage/drops.js'
import { createFunnels } from './manage/funnels.js'
import { createGoals } from './manage/goals.js'
import { createIngestKeys } from './manage/ingest-keys.js'
import { createKeys } from './manage/keys.js'
import { bootstrap } from './manage/orgs.js'
import { createSegments } from './manage/segments.js'
import { createSites } from './manage/sites.js'
import type { Observation } from './record/observation.js'
import { readPayload } from './record/payload.js'
import { createRecorder } from './record/recorder.js'
import { createSiteOf } from './record/site.js'
import { isShipping, openShipping } from './shipping.js'
import { startEngine } from './worker/client.js'
import type { Engine, EngineStatus } from './worker/engine.js'

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

/** What an application that mounts readership may set; the rest is for the proxy. Defaults as everywhere. */
export type ReadershipOptions = Partial<
  Pick<
    Config,
    | 'data'
    | 'domain'
    | 'memory_limit'
    | 'min_free_disk'
    | 'geoip'
    | 'pdf_font'
    | 'ranges'
    | 'offline'
    | 'origin'
    | 'cors_origins'
    | 'collector'
    | 'site'
    | 'ingest_key'
    | 'ingest_key_file'
    | 'spool_limit'
  >
> & { log?: Log }

/**
 * Readership inside an application, for the adapters: the store is opened in `data`, and the commands reach it through
 * the control socket there. With a `collector` there is no store: what is recorded waits in `data` until it is shipped.
 * Throws `ConfigError` for an option that is wrong, and one line where the store or the spool cannot be opened.
 */
export async function openReadership({ log = toConsole, ...options }: ReadershipOptions = {}): Promise<Readership> {
  const config = loadConfig({ flags: options, env: {}, read: () => undefined })
  const socket = socketPath(config.data)
  const deps = { log, version }
  const instance = isShipping(config) ? await openShipping(config, deps) : await openInstance(config, deps)
  try {
    const control = await listenControl((request) => instance.control(request), socket)
    return {
      record: (observation) => instance.record(observation),
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
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')))

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
}

/** Signatures a minute from one address that do not fit; then it waits. */
const MISFITS = 60
/** Counts that are kept in memory are written this often, ms. */
const COUNTS_INTERVAL = 10_000
const SITES_INTERVAL = 10_000
/** Policies seen to change that the worker has not heard of yet; of more it is not told, and finds them at its interval. */
const MOST_TOLD = 64

/**
 * Opens the data directory and puts the parts together. Rejects with an error whose message is one line where the
 * store cannot be opened: it is another process's, or its directory cannot be written.
 */
export async function openInstance(
  config: Pick<
    Config,
    'data' | 'domain' | 'memory_limit' | 'min_free_disk' | 'geoip' | 'ranges' | 'offline' | 'origin'
  > &
    Partial<Pick<Config, 'cors_origins' | 'pdf_font'>>,
  deps: InstanceDeps,
): Promise<Instance> {
  const { log, start = startEngine, now = () => new Date() } = deps
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const { cors_origins = [], pdf_font, ...store } = config
  const pdf = createPdf(pdf_font)
  const engine = await start({
    ...store,
    version: deps.version,
    log,
    async prepare(records) {
      await bootstrap(records, { domains: config.domain, timezone, now: now() })
      const sites = createSites(records)
      await sites.addDomains(1, config.domain)
      const known = (await sites.list()).map(({ id }) => id)
      await createIngestKeys({ records, now, random: randomBytes }).provide(known)
    },
  })
  try {
    return await compose(engine, { cors_origins, pdf }, deps)
  } catch (error) {
    await engine.close()
    throw error
  }
}

async function compose(
  engine: Engine,
  { cors_origins, pdf }: { cors_origins: readonly string[]; pdf: Pdf },
  deps: InstanceDeps,
): Promise<Instance> {
  const { log, now = () => new Date(), version = '0' } = deps
  const recorder = createRecorder({ send: (batch) => engine.record(batch), now: () => now().getTime(), log })
  const { records } = engine
  const sites = createSites(records)
  const keys = createKeys({ records, sites, now, random: randomBytes })
  const drops = createDrops({ records, now })
  engine.onDropped(({ site, door, reason, count }) => drops.add(site, door, reason, count))
  const newLimit = (per?: number) =>
    createLimit({ now: () => now().getTime(), random: randomBytes, ...(per === undefined ? {} : { per }) })
  const misfits = newLimit(MISFITS)
  const doors = createDoors({
    sites: sites.list,
    record: (hit) => recorder.record(hit),
    drop: drops.add,
    limit: newLimit(),
    now: () => now().getTime(),
    log: (error) => log.error({ err: error }, 'a hit could not be taken'),
  })
  const ingestKeys = createIngestKeys({ records, now, random: randomBytes })
  const managed = { goals: createGoals(records), funnels: createFunnels(records), segments: createSegments(records) }
  const started = now()
  /** The engine's state, or that nothing reaches it. */
  const health = (): EngineStatus => {
    const status = engine.status()
    if (status.state !== 'ready' || recorder.stats().on) return status
    return {
      ...status,
      state: 'degraded',
      reason: 'recording is off after repeated faults; it is tried again by itself',
    }
  }
  const metrics = createMetrics({
    health,
    recorder: () => recorder.stats(),
    doors: drops.totals,
    proxy: () => deps.proxy?.(),
  })
  const read = {
    store: engine.events,
    now,
    catalog: listing(loadCatalog()),
    sites,
    ...managed,
    blocked: askBlocked(engine),
    policy: (site: number, question: object) => engine.ask('policy', { site, ...question }),
    holdings: async () => z.array(Holding).parse(await engine.ask('holdings')),
  }
  const app = createApp({
    routes: [
      ...readRoutes(read),
      ...exportRoutes({ ...read, pdf, log: (error) => log.error({ err: error }, 'an export was cut off') }),
      edgeRoute({
        engine,
        sites,
        keys: ingestKeys,
        replay: createReplay({ store: engine.events, now }),
        turns: createTurns(),
        room: createRoom({ total: 64 << 20, each: 32 << 20 }),
        now,
        within: newLimit().take,
        misfits: { spent: (ip) => misfits.spent(0, ip), add: (ip) => void misfits.take(0, ip) },
        decode: readPayload,
        drop: (site, reason, count) => drops.add(site, 'edge', reason, count),
      }),
      ...managedRoutes({ ...managed, sites, store: engine.events }),
      ...trackRoutes(doors),
      ...routes({
        engine,
        health,
        keys,
        sites,
        ingestKeys,
        now,
        metrics,
        status: () => ({ version, started_at: started.toISOString(), ...deps.status?.() }),
      }),
      ...dropRoutes({ sites, drops }),
    ],
    keys,
    version,
    cors_origins,
    log: (error) => log.error({ err: error }, 'a request failed'),
  })
  const flushing = setInterval(() => {
    keys.flush().catch((error) => log.warn({ err: error }, 'the use of keys could not be written; it is kept'))
    drops.flush().catch((error) => log.warn({ err: error }, 'what was dropped could not be written; it is kept'))
  }, COUNTS_INTERVAL)
  flushing.unref()
  let siteOf = createSiteOf(await sites.list())
  const looking = setInterval(() => {
    // What is known stays where it cannot be asked.
    sites.list().then(
      (list) => {
        siteOf = createSiteOf(list)
      },
      () => {},
    )
  }, SITES_INTERVAL)
  looking.unref()

  const script = createScript()
  let telling = 0
  const peer = (ip: string, operator: boolean): Peer => ({ ip, operator })
  return {
    record: (observation) => recorder.record(observation),
    hit: nodeDoors(doors),
    fetch: async (request, { ip }) => script(request) ?? app(request, peer(ip, false)),
    control: (request) => app(request, peer('', true)),
    policySeen(hostname, path, at) {
      // A stranger who asks with a new `Host` each time has each told: they must not pile up before a busy worker.
      if (telling >= MOST_TOLD) return
      telling += 1
      // While the worker is started again nobody hears it; it asks by itself when it is there.
      const told = () => {
        telling -= 1
      }
      engine.ask('policy_seen', { hostname, path, at }).then(told, told)
    },
    siteOf: (hostname) => siteOf(hostname)?.id,
    async close() {
      clearInterval(flushing)
      clearInterval(looking)
      await recorder.close()
      await keys.flush().catch((error) => log.warn({ err: error }, 'the last use of keys is lost'))
      await drops.flush().catch((error) => log.warn({ err: error }, 'the last counts of what was dropped are lost'))
      await engine.close()
    },
  }
}
