import { randomBytes } from 'node:crypto'
import { lookup, Resolver } from 'node:dns/promises'
import { z } from 'zod'
import { loadCatalog } from '../agents/catalog.js'
import { listing } from '../agents/listing.js'
import { Holding } from '../agents/ranges/holding.js'
import { createDevices } from '../capture/device.js'
import { readPayload } from '../capture/payload.js'
import { createRecorder } from '../capture/recorder.js'
import { createSiteOf } from '../capture/site.js'
import type { Config } from '../config.js'
import type { Engine, EngineStatus } from '../engine/engine.js'
import type { Pdf } from '../export/pdf.js'
import { createLinkTo } from '../http/account/address.js'
import { createAccountLimits } from '../http/account/limits.js'
import { createPost } from '../http/account/post.js'
import { accountRoutes } from '../http/account/routes.js'
import { alertRoutes } from '../http/alerts.js'
import { createApp, type Peer } from '../http/app.js'
import { auditRoutes } from '../http/audit.js'
import { askBlocked } from '../http/blocked.js'
import { dropRoutes } from '../http/drops.js'
import { edgeRoute } from '../http/edge/edge.js'
import { createReplay } from '../http/edge/replay.js'
import { createRoom } from '../http/edge/room.js'
import { drawFor, exportRoutes } from '../http/export.js'
import { evaluationRoute } from '../http/flags/evaluation.js'
import { createExposures } from '../http/flags/exposures.js'
import { flagRoutes } from '../http/flags/routes.js'
import { invitationRoutes } from '../http/invitations.js'
import { managedRoutes } from '../http/managed.js'
import { memberRoutes } from '../http/members.js'
import { createMetrics } from '../http/metrics.js'
import { orgRoutes } from '../http/orgs.js'
import { depsOf, readRoutes } from '../http/reads.js'
import { reportRoutes } from '../http/reports.js'
import { routes } from '../http/routes.js'
import { createScript } from '../http/script.js'
import { createShareAccess, TRIES } from '../http/share/access.js'
import { shareRoutes } from '../http/share/routes.js'
import { createDoors } from '../http/track/doors.js'
import { createLimit } from '../http/track/limit.js'
import { nodeDoors } from '../http/track/node.js'
import { trackRoutes } from '../http/track/routes.js'
import { createTurns } from '../http/turns.js'
import { visitorRoutes } from '../http/visitors.js'
import { createAccounts } from '../manage/accounts/accounts.js'
import { createManage } from '../manage/manage.js'
import { createPasswords } from '../manage/passwords.js'
import { createRemovals, Removed } from '../manage/removals.js'
import { atMost } from '../notify/at-most.js'
import { createMailer } from '../notify/mail.js'
import { startNotify } from '../notify/notify.js'
import { createPoster } from '../outbound/post.js'
import { createResolve } from '../outbound/resolve.js'
import type { Instance, InstanceDeps } from './readership.js'

/** Settings of what people sign in to, and of what is sent to them. */
export type Accounted = 'public_url' | 'smtp' | 'mail_from' | 'disable_registration' | 'private_webhooks'

/** Signatures a minute from one address that do not fit; then it waits. */
const MISFITS = 60
/** Counts that are kept in memory are written this often, ms. */
const COUNTS_INTERVAL = 10_000
const SITES_INTERVAL = 10_000
const UPKEEP_INTERVAL = 3_600_000
const REMOVALS_INTERVAL = 60_000
/** At the end, for what is on its way to the store: one that is full takes nothing, and the engine has a time of its own for it, ms. */
const DRAIN = 5_000
/** Policies seen to change that the worker has not heard of yet; of more it is not told, and finds them at its interval. */
const MOST_TOLD = 64

const systemNames = async (hostname: string) => (await lookup(hostname, { all: true })).map(({ address }) => address)

/** Puts the parts of an instance together over an engine that runs. */
export async function compose(
  engine: Engine,
  config: { pdf: Pdf } & Partial<Pick<Config, 'cors_origins' | Accounted>>,
  deps: InstanceDeps,
): Promise<Instance> {
  const { cors_origins = [], pdf, public_url, disable_registration: closed = false, private_webhooks = false } = config
  const { log, now = () => new Date(), version = '0', service } = deps
  const recorder = createRecorder({ send: (batch) => engine.record(batch), now: () => now().getTime(), log })
  const { records } = engine
  let siteOf = createSiteOf([])
  const look = async () => {
    siteOf = createSiteOf(await sites.list())
  }
  const manage = createManage({
    ...{ records, now, random: randomBytes },
    async siteChanged() {
      // Where one was deleted, its rows leave from now on.
      removals.wake()
      // It was written all the same where it cannot be read back: that is tried again.
      await look().catch(() => {})
    },
  })
  engine.onReopened(() => void manage.forget())
  const { sites, keys, ingestKeys, sessions, users, members, orgs, invitations, people } = manage
  const { audit, drops, managed, flags, shares, alerts, reports } = manage
  const passwords = createPasswords()
  const limits = createAccountLimits({ now: () => now().getTime(), random: randomBytes })
  const { mayTry } = limits
  const accounts = createAccounts({
    ...{ records, users, members, orgs, invitations, sessions, passwords, now, mayTry },
    ...{ random: randomBytes, turn: manage.turn },
  })
  await accounts.registration.provideFirst()
  const { smtp, mail_from } = config
  const from = mail_from ?? `readership@${public_url === undefined ? 'localhost' : new URL(public_url).hostname}`
  const mailer = smtp === undefined ? undefined : createMailer({ smtp, from })
  const send = deps.send ?? mailer?.send
  const post = createPost({ send, now, log })
  const linkTo = createLinkTo({ public_url, service })
  if (send !== undefined && public_url === undefined)
    log.warn(
      {},
      `public_url is not set: links in mails begin with ${service ?? 'nothing'}, which only this machine reaches`,
    )
  engine.onDropped(({ site, door, reason, count }) => drops.add(site, door, reason, count))
  const newLimit = (of: { per?: number; window?: number } = {}) =>
    createLimit({ now: () => now().getTime(), random: randomBytes, ...of })
  const misfits = newLimit({ per: MISFITS })
  const hits = newLimit()
  const doors = createDoors({
    sites: sites.list,
    record: (hit) => recorder.record(hit),
    drop: drops.add,
    limit: hits,
    now: () => now().getTime(),
    log: (error) => log.error({ err: error }, 'a hit could not be taken'),
  })
  const removals = createRemovals({
    ...{ records, sites, now },
    remove: async (leaving) => Removed.parse(await engine.ask('remove', leaving)),
    forget: async (key) => void (await engine.ask('forget_removed', key)),
    gone: drops.forget,
    settle: () => recorder.settle(),
    after(ms, run) {
      const timer = setTimeout(run, ms).unref()
      return () => clearTimeout(timer)
    },
    log: (message, error) => log.warn({ err: error }, message),
  })
  const shareAccess = createShareAccess({
    ...{ shares, now, random: randomBytes, verify: passwords.verify },
    limits: {
      each: newLimit({ per: TRIES.each, window: TRIES.window }),
      all: newLimit({ per: TRIES.all, window: TRIES.window }),
    },
  })
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
  const notify = startNotify({
    ...{ records, alerts, reports, sites, asks, now, log, random: randomBytes },
    ready: () => health().state === 'ready',
    settle: () => recorder.settle(),
    lost() {
      const { queue_full = 0, recorder_off = 0, fault = 0 } = recorder.stats().drops
      return { rows: queue_full + recorder_off + fault, files: engine.status().losses?.length ?? 0 }
    },
    mail: send,
    post: createPoster({
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
      ...shareRoutes({
        ...{ sites, shares, goals: managed.goals, access: shareAccess, store: engine.events, hash: passwords.hash },
        ...{ now, random: randomBytes },
      }),
      // Before the flags, of which none has the id `evaluate`.
      evaluationRoute({
        ...{ sites: sites.list, flags, record: (hit) => recorder.record(hit) },
        device: createDevices({ clock: () => performance.now() }),
        isNew: createExposures({ now: () => now().getTime() }),
        limits: { evaluations: newLimit(), hits },
      }),
      ...flagRoutes({ sites, flags }),
      ...alertRoutes({ sites, alerts, notify, asks, now }),
      ...reportRoutes({ sites, reports, notify }),
      ...trackRoutes(doors),
      ...routes({
        engine,
        health,
        keys,
        sites,
        ingestKeys,
        metrics,
        status: () => ({ version, started_at: started.toISOString(), ...deps.status?.() }),
      }),
      ...dropRoutes({ sites, drops }),
      ...orgRoutes({ orgs, joined: members.forget }),
      ...memberRoutes({ orgs, members, users }),
      ...invitationRoutes({
        ...{ orgs, invitations, send: async (mail) => post.behind(async () => mail) },
        link: (request, token) => linkTo(request, '/invitation', token),
        log: (error) => log.warn({ err: error }, 'an invitation could not be mailed; its link was answered'),
      }),
      ...auditRoutes({ orgs, audit }),
      ...visitorRoutes({ sites, removals }),
      ...accountRoutes({
        ...{ accounts, invitations, people, users, members, orgs, sessions, passwords },
        ...{ limits, post, linkTo, closed },
      }),
    ],
    credentials: { keys, people, shares: shareAccess },
    version,
    now,
    cors_origins,
    log: (error) => log.error({ err: error }, 'a request failed'),
  })
  const flushing = setInterval(() => {
    keys.flush().catch((error) => log.warn({ err: error }, 'the use of keys could not be written; it is kept'))
    sessions.flush().catch((error) => log.warn({ err: error }, 'the use of sessions could not be written; it is kept'))
    drops.flush().catch((error) => log.warn({ err: error }, 'what was dropped could not be written; it is kept'))
  }, COUNTS_INTERVAL)
  flushing.unref()
  await look()
  // What is known stays where it cannot be asked.
  const looking = setInterval(() => void look().catch(() => {}), SITES_INTERVAL)
  looking.unref()
  const tend = () =>
    manage
      .upkeep(now())
      .catch((error) => log.warn({ err: error }, 'what time takes from the records stays until the next hour'))
  let tended = tend()
  const tending = setInterval(() => {
    tended = tend()
  }, UPKEEP_INTERVAL)
  tending.unref()
  removals.tick()
  const removing = setInterval(removals.tick, REMOVALS_INTERVAL)
  removing.unref()

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
      clearInterval(tending)
      clearInterval(removing)
      removals.close()
      await tended
      await Promise.all([notify.close(), post.close()])
      mailer?.close()
      const stored = recorder.close()
      await atMost(DRAIN, stored)
      await keys.flush().catch((error) => log.warn({ err: error }, 'the last use of keys is lost'))
      await drops.flush().catch((error) => log.warn({ err: error }, 'the last counts of what was dropped are lost'))
      await sessions.flush().catch((error) => log.warn({ err: error }, 'the last use of sessions is lost'))
      const { fault: before = 0 } = recorder.stats().drops
      await engine.close()
      // What the store did not take is given up by now.
      await stored
      const { fault = 0 } = recorder.stats().drops
      if (fault > before) log.error({ rows: fault - before }, 'rows that waited for the store are lost')
    },
  }
}
