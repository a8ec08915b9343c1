import { Resolver } from 'node:dns/promises'
import type { DnsResolver } from '../agents/rdns.js'
import type { WorkerOptions } from '../engine/protocol.js'
import { createOutbound } from '../outbound/guarded-outbound.js'
import type { Outbound } from '../outbound/outbound.js'
import { createResolve } from '../outbound/resolve.js'

/** What the worker asks of the world beyond the origin. */
export interface Network {
  outbound: Outbound
  /** Absent: no DNS. */
  names?: DnsResolver
}

/** The internet, guarded; nothing of it with `--offline`. */
export function openNetwork({ offline, version }: Pick<WorkerOptions, 'offline' | 'version'>): Network {
  const names = new Resolver({ timeout: 1_000, tries: 2 })
  const outbound = createOutbound({ resolve: createResolve(names), offline, version })
  return offline ? { outbound } : { outbound, names }
}
