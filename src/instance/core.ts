import { randomBytes } from 'node:crypto'
import { createRecorder } from '../capture/recorder.js'
import { createSiteLookup } from '../capture/site.js'
import type { Engine, EngineStatus } from '../engine/engine.js'
import { createRateLimit } from '../http/rate-limit.js'
import { createManage } from '../manage/manage.js'
import { createRemovals, RemovalProgress } from '../manage/removals.js'
import type { Log } from './instance.js'

export type Core = ReturnType<typeof createCore>

/** The parts that every area of an instance uses: the recorder, the records, the sites by hostname and the removals. */
export function createCore(engine: Engine, { log, now }: { log: Log; now: () => Date }) {
  const { records } = engine
  const clock = () => now().getTime()
  const recorder = createRecorder({ send: (batch) => engine.record(batch), now: clock, log })
  let siteOf = createSiteLookup([])
  const refreshSites = async () => {
    siteOf = createSiteLookup(await manage.sites.list())
  }
  const manage = createManage({
    records,
    now,
    random: randomBytes,
    async onSitesChanged() {
      // A deleted site's rows are removed from now on.
      removals.wake()
      // The change is written even where it cannot be read back; the timer reads it again.
      await refreshSites().catch(() => {})
    },
  })
  const { sites, drops } = manage
  const removals = createRemovals({
    records,
    sites,
    now,
    remove: async (leaving) => RemovalProgress.parse(await engine.call('remove', leaving)),
    forget: async (key) => void (await engine.call('forget_removals', key)),
    onSiteDeleted: drops.forgetSite,
    settle: () => recorder.flush(),
    after(ms, run) {
      const timer = setTimeout(run, ms).unref()
      return () => clearTimeout(timer)
    },
    log: (message, error) => log.warn({ err: error }, message),
  })
  engine.onRestart(() => void manage.invalidate())
  engine.onDrop(({ site, door, reason, count }) => drops.add(site, door, reason, count))
  return {
    engine,
    recorder,
    manage,
    removals,
    log,
    now,
    clock,
    refreshSites,
    /** Returns the site that a hostname belongs to. */
    siteOf: (hostname: string) => siteOf(hostname),
    /** Makes a rate limit: by default the number of hits that a site accepts from one address in a minute. */
    newLimit: (bounds: { per?: number; window?: number } = {}) =>
      createRateLimit({ now: clock, random: randomBytes, ...bounds }),
    /** Returns the engine's status; a recorder that switched itself off makes it degraded. */
    health(): EngineStatus {
      const status = engine.status()
      if (status.state !== 'ready' || recorder.stats().on) return status
      return {
        ...status,
        state: 'degraded',
        reason: 'recording is off after repeated faults; it is retried automatically',
      }
    },
  }
}
