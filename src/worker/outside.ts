import { Resolver } from 'node:dns/promises'
import type { Names } from '../agents/rdns.js'
import type { WorkerOptions } from '../engine/protocol.js'
import { createOutbound } from '../outbound/guard.js'
import type { Outbound } from '../outbound/outbound.js'
import { createResolve } from '../outbound/resolve.js'

/** What the worker asks of the world beyond the origin. */
export interface Outside {
  outbound: Outbound
  /** Absent: no DNS. */
  names?: Names
}

/** The internet, guarded; nothing of it with `--offline`. */
export function openOutside({ offline, version }: Pick<WorkerOptions, 'offline' | 'version'>): Outside {
  const names = new Resolver({ timeout: 1_000, tries: 2 })
  const outbound = createOutbound({ resolve: createResolve(names), offline, version })
  return offline ? { outbound } : { outbound, names }
}
