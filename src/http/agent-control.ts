import { z } from 'zod'
import { VERIFICATION_STATUSES } from '../agents/verdict.js'
import type { Engine } from '../engine/engine.js'
import { jsonResponse, parseQuery, type Route } from './route.js'

/** What one step of `agents reclassify` did. */
export const ReclassifyResult = z.object({
  catalog_version: z.string(),
  rows: z.int(),
  changed: z.int(),
  remaining: z.int(),
  moves: z.array(z.object({ from: z.string(), to: z.string(), rows: z.int() })),
})

/** What a check of a claim found; null for the user agent of a person. */
export const AgentIdentification = z
  .object({
    agent_id: z.string(),
    verified: z.boolean().nullable(),
    verification: z.enum(VERIFICATION_STATUSES),
    ranges: z.object({ count: z.int(), source: z.string(), refreshed_at: z.string(), stale: z.boolean() }).optional(),
  })
  .nullable()
export type AgentIdentification = z.infer<typeof AgentIdentification>

const IdentifyQuery = z.object({ user_agent: z.string(), ip: z.union([z.ipv4(), z.ipv6()], 'must be an IP address') })

/** What the operator may do with agents; all of it is the worker's work. */
export const agentControlRoutes = (engine: Pick<Engine, 'call'>): Route[] => [
  {
    method: 'post',
    path: '/control/agents/reclassify',
    access: 'operator',
    tag: 'control',
    summary: 'One bounded step of identifying stored rows again; asked again while some remain',
    data: ReclassifyResult,
    run: async () => jsonResponse(ReclassifyResult.parse(await engine.call('reclassify'))),
  },
  {
    method: 'get',
    path: '/control/agents/identify',
    access: 'operator',
    tag: 'control',
    summary: 'Whether a claim is verified for an address',
    query: IdentifyQuery,
    data: AgentIdentification,
    run: async (call) =>
      jsonResponse(AgentIdentification.parse(await engine.call('identify', parseQuery(call, IdentifyQuery)))),
  },
]
