import { z } from 'zod'
import { createByteBudget } from '../../api/byte-budget.js'
import { createReplayGuard } from '../../api/edge/replay-guard.js'
import { edgeRoute } from '../../api/edge/route.js'
import { edgeRulesRoute } from '../../api/edge/rules-route.js'
import { createUnconfirmed } from '../../api/edge/unconfirmed.js'
import { createExposureDedupe, evaluationRoute } from '../../api/flags.js'
import { createKeyLock } from '../../api/key-lock.js'
import { createTrackEndpoints } from '../../api/track/endpoints.js'
import { createNodeTrackHandler } from '../../api/track/node-handler.js'
import { trackRoutes } from '../../api/track/routes.js'
import { createDeviceReader } from '../../capture/device.js'
import { readPayload } from '../../capture/payload.js'
import type { createRuleArea } from './active-rules.js'
import type { Core } from './core.js'

/** Invalid signatures that one address may send in a minute. */
const MAX_INVALID_SIGNATURES = 60
/** Bytes that bodies of other servers may take in memory together, and each of them. */
const MAX_EDGE_BYTES = { total: 64 << 20, each: 32 << 20 }

const Country = z.string().nullable()

/** The endpoints that accept data: from the tracker, from other servers, and exposures of flags. */
export function createIngest(
  { workerClient, manage, recorder, log, now, clock, after, newLimit }: Core,
  { fronts, rulesOf }: Pick<ReturnType<typeof createRuleArea>, 'fronts' | 'rulesOf'>,
) {
  const { sites, ingestKeys, drops, refusedHostnames, flags } = manage
  const hits = newLimit()
  const rejected = newLimit({ per: MAX_INVALID_SIGNATURES })
  const endpoints = createTrackEndpoints({
    sites: sites.list,
    record: (hit) => recorder.record(hit),
    drop: drops.add,
    refuse: refusedHostnames.add,
    limit: hits,
    now: clock,
    log: (error) => log.error({ err: error }, 'a hit could not be accepted'),
  })
  const replay = createReplayGuard({ store: workerClient.events, now })
  workerClient.onRestart(replay.reload)
  const isRejected = {
    spent: (ip: string) => rejected.isExhausted(0, ip),
    add: (ip: string) => void rejected.take(0, ip),
  }
  return {
    /** Answers tracker requests on Node's own objects. */
    hit: createNodeTrackHandler(endpoints),
    trackRoutes: trackRoutes(endpoints),
    edgeRoute: edgeRoute({
      workerClient,
      sites,
      keys: ingestKeys,
      replay,
      unconfirmed: createUnconfirmed(),
      lock: createKeyLock(),
      budget: createByteBudget(MAX_EDGE_BYTES),
      now,
      after,
      takeRequest: newLimit().take,
      rejected: isRejected,
      decode: readPayload,
      drop: (site, reason, count) => drops.add(site, 'edge', reason, count),
      refuse: refusedHostnames.add,
    }),
    edgeRulesRoute: edgeRulesRoute({
      ...{ sites, keys: ingestKeys, fronts, rulesOf, rejected: isRejected, now },
      takeRequest: newLimit().take,
    }),
    evaluationRoute: evaluationRoute({
      sites: sites.list,
      flags,
      record: (hit) => recorder.record(hit),
      device: createDeviceReader({ clock: () => performance.now() }),
      country: async (ip) => Country.parse(await workerClient.call('country', ip)),
      isNew: createExposureDedupe({ now: clock }),
      limits: { evaluations: newLimit(), hits },
    }),
  }
}
