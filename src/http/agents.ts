import { z } from 'zod'
import { VERIFICATIONS } from '../agents/verdict.js'
import type { Engine } from '../engine/engine.js'
import { answer, queryOf, type Route } from './route.js'

/** What one step of `agents reclassify` did. */
export const Reclassified = z.object({
  catalog_version: z.string(),
  rows: z.int(),
  changed: z.int(),
  remaining: z.int(),
  moves: z.array(z.object({ from: z.string(), to: z.string(), rows: z.int() })),
})

/** What a check of a claim found; null for the user agent of a person. */
export const Claim = z
  .object({
    agent_id: z.string(),
    verified: z.boolean().nullable(),
    verification: z.enum(VERIFICATIONS),
    ranges: z.object({ count: z.int(), source: z.string(), refreshed_at: z.string(), stale: z.boolean() }).optional(),
  })
  .nullable()
export type Claim = z.infer<typeof Claim>

const ClaimQuery = z.object({ user_agent: z.string(), ip: z.union([z.ipv4(), z.ipv6()], 'must be an IP address') })

/** What the operator may do with agents; all of it is the worker's work. */
export const agentControl = (engine: Pick<Engine, 'ask'>): Route[] => [
  {
    method: 'post',
    path: '/control/agents/reclassify',
    access: 'operator',
    tag: 'control',
    summary: 'One bounded step of identifying stored rows again; asked again while some remain',
    data: Reclassified,
    run: async () => answer(Reclassified.parse(await engine.ask('reclassify'))),
  },
  {
    method: 'get',
    path: '/control/agents/identify',
    access: 'operator',
    tag: 'control',
    summary: 'Whether a claim is verified for an address',
    query: ClaimQuery,
    data: Claim,
    run: async (call) => answer(Claim.parse(await engine.ask('identify', queryOf(call, ClaimQuery)))),
  },
]
