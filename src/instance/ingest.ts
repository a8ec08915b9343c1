import { createDevices } from '../capture/device.js'
import { readPayload } from '../capture/payload.js'
import { edgeRoute } from '../http/edge/edge.js'
import { createReplay } from '../http/edge/replay.js'
import { createRoom } from '../http/edge/room.js'
import { evaluationRoute } from '../http/flags/evaluation.js'
import { createExposures } from '../http/flags/exposures.js'
import { createDoors } from '../http/track/doors.js'
import { nodeDoors } from '../http/track/node.js'
import { trackRoutes } from '../http/track/routes.js'
import { createTurns } from '../http/turns.js'
import type { Core } from './core.js'

/** Invalid signatures that one address may send in a minute. */
const MAX_INVALID_SIGNATURES = 60
/** Bytes that bodies of other servers may take in memory together, and each of them. */
const MAX_EDGE_BYTES = { total: 64 << 20, each: 32 << 20 }

/** The endpoints that accept data: from the tracker, from other servers, and exposures of flags. */
export function createIngest({ engine, manage, recorder, log, now, clock, newLimit }: Core) {
  const { sites, ingestKeys, drops, flags } = manage
  const hits = newLimit()
  const rejected = newLimit({ per: MAX_INVALID_SIGNATURES })
  const doors = createDoors({
    sites: sites.list,
    record: (hit) => recorder.record(hit),
    drop: drops.add,
    limit: hits,
    now: clock,
    log: (error) => log.error({ err: error }, 'a hit could not be accepted'),
  })
  return {
    /** Answers tracker requests on Node's own objects. */
    hit: nodeDoors(doors),
    trackRoutes: trackRoutes(doors),
    edgeRoute: edgeRoute({
      engine,
      sites,
      keys: ingestKeys,
      replay: createReplay({ store: engine.events, now }),
      turns: createTurns(),
      room: createRoom(MAX_EDGE_BYTES),
      now,
      within: newLimit().take,
      misfits: { spent: (ip) => rejected.spent(0, ip), add: (ip) => void rejected.take(0, ip) },
      decode: readPayload,
      drop: (site, reason, count) => drops.add(site, 'edge', reason, count),
    }),
    evaluationRoute: evaluationRoute({
      sites: sites.list,
      flags,
      record: (hit) => recorder.record(hit),
      device: createDevices({ clock: () => performance.now() }),
      isNew: createExposures({ now: clock }),
      limits: { evaluations: newLimit(), hits },
    }),
  }
}
