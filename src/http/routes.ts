import { z } from 'zod'
import { Holding, Refreshed } from '../agents/ranges/holding.js'
import type { Engine, EngineStatus } from '../engine/engine.js'
import type { IngestKeys } from '../manage/ingest-keys.js'
import type { Keys } from '../manage/keys.js'
import type { Sites } from '../manage/sites.js'
import { agentControl } from './agents.js'
import { keyRoutes } from './keys.js'
import type { Metrics } from './metrics.js'
import { answer, queryOf, type Route } from './route.js'
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
  metrics: Metrics
  /** What the operator may know of the running instance: listeners, version, counters. */
  status(): Record<string, unknown>
}

const text = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } })

/** Every route but the reads, which are generated (src/http/reads.ts): who may call what is in its line. */
export const routes = ({ engine, health, keys, sites, ingestKeys, metrics, status }: Service): Route[] => [
  ...siteRoutes({ sites, ingestKeys }),
  ...keyRoutes(keys),
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
