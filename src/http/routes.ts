import { z } from 'zod'
import { Holding, Refreshed } from '../agents/ranges/holding.js'
import type { IngestKeys } from '../manage/ingest-keys.js'
import { Key, type Keys, KeyUsage, NewKey } from '../manage/keys.js'
import type { Sites } from '../manage/sites.js'
import type { Engine, EngineStatus } from '../worker/engine.js'
import { agentControl } from './agents.js'
import type { Metrics } from './metrics.js'
import { answer, bodyOf, Id, idOf, queryOf, type Route, Total } from './route.js'
import { siteRoutes } from './sites.js'
import { TailQuery, tail } from './tail.js'

/** What the routes answer from. */
export interface Service {
  engine: Pick<Engine, 'events' | 'tail' | 'ask'>
  /** Whether what is seen is stored, and if not why. */
  health(): EngineStatus
  keys: Keys
  sites: Sites
  ingestKeys: IngestKeys
  now(): Date
  metrics: Metrics
  /** What the operator may know of the running instance: listeners, version, counters. */
  status(): Record<string, unknown>
}

const OfOrg = z.object({ org: Id.optional().describe('Only of this organisation.') })
const text = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } })

/** Every route but the reads, which are generated (src/http/reads.ts): who may call what is in its line. */
export const routes = ({ engine, health, keys, sites, ingestKeys, now, metrics, status }: Service): Route[] => [
  ...siteRoutes({ sites, ingestKeys, now }),
  {
    method: 'get',
    path: '/api/keys',
    access: 'admin',
    tag: 'keys',
    summary: 'API keys by prefix and name',
    query: OfOrg,
    data: z.array(Key),
    meta: Total,
    run: async (call) => {
      const all = await keys.list(queryOf(call, OfOrg).org)
      return answer(all, { total: all.length })
    },
  },
  {
    method: 'post',
    path: '/api/keys',
    access: 'admin',
    tag: 'keys',
    summary: 'Make a key; the only answer that carries its secret',
    body: NewKey,
    data: Key.extend({ secret: z.string() }),
    status: 201,
    run: async (call) => answer(await keys.create(await bodyOf(call, NewKey)), undefined, 201),
  },
  {
    method: 'delete',
    path: '/api/keys/{id}',
    access: 'admin',
    tag: 'keys',
    summary: 'Revoke a key, effective immediately',
    status: 204,
    run: async (call) => {
      await keys.revoke(idOf(call))
      return new Response(null, { status: 204 })
    },
  },
  {
    method: 'get',
    path: '/api/keys/{id}/usage',
    access: 'admin',
    tag: 'keys',
    summary: 'When a key was last used, and how much',
    data: KeyUsage,
    run: async (call) => answer(await keys.usage(idOf(call))),
  },
  {
    method: 'get',
    path: '/healthz',
    access: 'public',
    tag: 'service',
    summary: 'The process serves',
    type: 'text/plain',
    run: async () => text('ok\n', 'text/plain'),
  },
  {
    method: 'get',
    path: '/readyz',
    access: 'public',
    tag: 'service',
    summary: 'Rows are being stored; 503 with the reason while they are not',
    data: z.object({ state: z.string(), reason: z.string().optional() }),
    run: async () => {
      const { state, reason } = health()
      return Response.json(
        { data: { state, ...(reason === undefined ? {} : { reason }) } },
        { status: state === 'ready' ? 200 : 503 },
      )
    },
  },
  {
    method: 'get',
    path: '/metrics',
    access: 'public',
    tag: 'service',
    summary: 'Counters and gauges for Prometheus',
    type: 'text/plain',
    run: async () => {
      const { text: body, type } = await metrics.render()
      return text(body, type)
    },
  },
  {
    method: 'get',
    path: '/control/status',
    access: 'operator',
    tag: 'control',
    summary: 'State of the running instance',
    run: async () => answer({ ...status(), store: health() }),
  },
  {
    method: 'post',
    path: '/control/agents/refresh',
    access: 'operator',
    tag: 'control',
    summary: "Fetch the agents' published addresses now",
    data: z.array(Refreshed),
    run: async () => answer(z.array(Refreshed).parse(await engine.ask('refresh'))),
  },
  {
    method: 'get',
    path: '/control/agents/holdings',
    access: 'operator',
    tag: 'control',
    summary: "What is held of the agents' published addresses",
    data: z.array(Holding),
    run: async () => answer(z.array(Holding).parse(await engine.ask('holdings'))),
  },
  {
    method: 'get',
    path: '/control/tail',
    access: 'operator',
    tag: 'control',
    summary: 'Rows as they are committed, as NDJSON',
    query: TailQuery,
    type: 'application/x-ndjson',
    run: async (call) =>
      new Response(tail(engine, queryOf(call, TailQuery)), { headers: { 'content-type': 'application/x-ndjson' } }),
  },
  ...agentControl(engine),
]
