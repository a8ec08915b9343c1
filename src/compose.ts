import { randomBytes } from 'node:crypto'
import { lookup, Resolver } from 'node:dns/promises'
import { z } from 'zod'
import { loadCatalog } from './agents/catalog.js'
import { listing } from './agents/listing.js'
import { Holding } from './agents/ranges/holding.js'
import type { Config } from './config.js'
import { alertRoutes } from './http/alerts.js'
import { createApp, type Peer } from './http/app.js'
import { askBlocked } from './http/blocked.js'
import { dropRoutes } from './http/drops.js'
import { edgeRoute } from './http/edge/edge.js'
import { createReplay } from './http/edge/replay.js'
import { createRoom } from './http/edge/room.js'
import { createTurns } from './http/edge/turns.js'
import type { Pdf } from './http/export/pdf.js'
import { drawFor, exportRoutes } from './http/export.js'
import { managedRoutes } from './http/managed.js'
import { createMetrics } from './http/metrics.js'
import { depsOf, readRoutes } from './http/reads.js'
import { reportRoutes } from './http/reports.js'
import { routes } from './http/routes.js'
import { createScript } from './http/script.js'
import { createDoors } from './http/track/doors.js'
import { createLimit } from './http/track/limit.js'
import { nodeDoors } from './http/track/node.js'
import { trackRoutes } from './http/track/routes.js'
import { createAlerts } from './manage/alerts.js'
import { createDrops } from './manage/drops.js'
import { createFunnels } from './manage/funnels.js'
import { createGoals } from './manage/goals.js'
import { createIngestKeys } from './manage/ingest-keys.js'
import { createKeys } from './manage/keys.js'
import { createMembers } from './manage/members.js'
import { createOrgs } from './manage/orgs.js'
import { createPeople } from './manage/people.js'
import { createReports } from './manage/reports.js'
import { createSegments } from './manage/segments.js'
import { createSessions } from './manage/sessions.js'
import { noShares } from './manage/shares.js'
import { createSites } from './manage/sites.js'
import { createUsers } from './manage/users.js'
import { createMailer } from './notify/mail.js'
import { startNotify } from './notify/notify.js'
import { createPost } from './outbound/post.js'
import { createResolve } from './outbound/resolve.js'
import type { Instance, InstanceDeps } from './readership.js'
import { readPayload } from './record/payload.js'
import { createRecorder } from './record/recorder.js'
import { createSiteOf } from './record/site.js'
import type { Engine, EngineStatus } from './worker/engine.js'

/** Settings of what people sign in to, and of what is sent to them. */
export type Accounted = 'public_url' | 'smtp' | 'mail_from' | 'disable_registration' | 'private_webhooks'

/** Signatures a minute from one address that do not fit; then it waits. */
const MISFITS = 60
/** Counts that are kept in memory are written this often, ms. */
const COUNTS_INTERVAL = 10_000
const SITES_INTERVAL = 10_000
/** Policies seen to change that the worker has not heard of yet; of more it is not told, and finds them at its interval. */
const MOST_TOLD = 64

const systemNames = async (hostname: string) => (await lookup(hostname, { all: true })).map(({ address }) => address)

/** Puts the parts of an instance together over an engine that runs. */
export async function compose(
  engine: Engine,
  {
    cors_origins = [],
    pdf,
    public_url,
    smtp,
    mail_from,
    private_webhooks = false,
  }: { pdf: Pdf } & Partial<Pick<Config, 'cors_origins' | Accounted>>,
  deps: InstanceDeps,
): Promise<Instance> {
  const { log, now = () => new Date(), version = '0' } = deps
  const recorder = createRecorder({ send: (batch) => engine.record(batch), now: () => now().getTime(), log })
  const { records } = engine
  const sites = createSites(records)
  const keys = createKeys({ records, sites, now, random: randomBytes })
  const sessions = createSessions({ records, now, random: randomBytes })
  const users = createUsers(records)
  const members = createMembers(records)
  const orgs = createOrgs(records)
  const people = createPeople({ sessions, users, members, orgs })
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
  /** Reads as the instance itself asks them: of every site. */
  const asks = (signal: AbortSignal) =>
    depsOf(read, {
      principal: { kind: 'operator' },
      access: 'stats:read',
      request: new Request('http://localhost/', { signal }),
    })
  const from = mail_from ?? `readership@${public_url === undefined ? 'localhost' : new URL(public_url).hostname}`
  const mailer = smtp === undefined ? undefined : createMailer({ smtp, from })
  const alerts = createAlerts({ records, random: randomBytes })
  const reports = createReports(records)
  const notify = startNotify({
    ...{ records, alerts, reports, sites, asks, now, log, random: randomBytes },
    ready: () => health().state === 'ready',
    mail: mailer?.send,
    post: createPost({
      // Names of the local network are known to the system alone.
      resolve: private_webhooks ? systemNames : createResolve(new Resolver()),
      ...{ version, anywhere: private_webhooks },
    }),
    draw: drawFor({ ...read, pdf }, asks),
  })
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
      ...alertRoutes({ sites, alerts, notify, asks, now }),
      ...reportRoutes({ sites, reports, notify }),
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
    credentials: { keys, people, shares: noShares },
    version,
    now,
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
      await notify.close()
      mailer?.close()
      await recorder.close()
      await keys.flush().catch((error) => log.warn({ err: error }, 'the last use of keys is lost'))
      await drops.flush().catch((error) => log.warn({ err: error }, 'the last counts of what was dropped are lost'))
      await engine.close()
    },
  }
}
