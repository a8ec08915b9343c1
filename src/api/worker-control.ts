import { z } from 'zod'
import { RangesStatus, RefreshResult } from '../agents/ranges/status.js'
import { VERIFICATION_STATUSES } from '../agents/verdict.js'
import type { WorkerClient } from '../worker-client/worker-client.js'
import { parseQuery, type Route, routeMaker } from './route.js'

/** The result of one step of `agents reclassify`. */
export const ReclassifyResult = z.object({
  catalog_version: z.string(),
  rows: z.int(),
  changed: z.int(),
  remaining: z.int(),
  moves: z.array(z.object({ from: z.string(), to: z.string(), rows: z.int() })),
})

/** How a user agent is classified, and whether its claim is verified for an address; null for a person's browser. */
export const AgentIdentification = z
  .object({
    agent_id: z.string(),
    verified: z.boolean().nullable(),
    verification: z.enum(VERIFICATION_STATUSES),
    ranges: z.object({ count: z.int(), source: z.string(), refreshed_at: z.string(), stale: z.boolean() }).optional(),
  })
  .nullable()
export type AgentIdentification = z.infer<typeof AgentIdentification>

/** The files of places in use, each with the day of its facts. */
export const GeoSources = z.array(z.object({ name: z.string(), date: z.string() }))

const IdentifyQuery = z.object({
  user_agent: z.string(),
  ip: z.union([z.ipv4(), z.ipv6()], 'ip must be an IP address.'),
})

/** `/control/agents/*` and `/control/geoip/*`, for the operator. The worker does the work. */
export function workerControlRoutes(workerClient: Pick<WorkerClient, 'call'>): Route[] {
  const route = routeMaker('control')
  return [
    route('post', '/control/agents/refresh', 'operator', {
      summary: 'Fetch the published IP ranges of agents now',
      data: z.array(RefreshResult),
      run: async () => z.array(RefreshResult).parse(await workerClient.call('refresh')),
    }),
    route('get', '/control/agents/holdings', 'operator', {
      summary: 'List the stored IP ranges of agents and their age',
      data: z.array(RangesStatus),
      run: async () => z.array(RangesStatus).parse(await workerClient.call('holdings')),
    }),
    route('post', '/control/agents/reclassify', 'operator', {
      summary: 'Identify stored rows again, one bounded step; repeat while rows remain',
      data: ReclassifyResult,
      run: async () => ReclassifyResult.parse(await workerClient.call('reclassify')),
    }),
    route('get', '/control/agents/identify', 'operator', {
      summary: 'Identify a user agent and verify its claim for an address',
      query: IdentifyQuery,
      data: AgentIdentification,
      run: async (call) =>
        AgentIdentification.parse(await workerClient.call('identify', parseQuery(call, IdentifyQuery))),
    }),
    route('post', '/control/geoip/reload', 'operator', {
      summary: 'Read the file of --geoip again',
      data: GeoSources,
      mayConflict: true,
      run: async () => GeoSources.parse(await workerClient.call('reload_geoip')),
    }),
  ]
}
