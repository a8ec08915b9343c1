import { z } from 'zod'
import { RangesStatus, RefreshResult } from '../agents/ranges/status.js'
import type { Engine, EngineStatus } from '../engine/engine.js'
import type { IngestKeys } from '../manage/ingest-keys.js'
import type { Keys } from '../manage/keys.js'
import type { Sites } from '../manage/sites.js'
import { agentControlRoutes } from './agent-control.js'
import { keyRoutes } from './keys.js'
import type { Metrics } from './metrics.js'
import { jsonResponse, parseQuery, type Route } from './route.js'
import { siteRoutes } from './sites.js'
import { createTailStream, TailQuery } from './tail.js'

/** What the routes answer from. */
export interface ServiceDeps {
  engine: Pick<Engine, 'events' | 'tail' | 'call'>
  /** Whether what is seen is stored, and if not why. */
  health(): EngineStatus
  keys: Keys
  sites: Sites
  ingestKeys: IngestKeys
  metrics: Metrics
  /** What the operator may know of the running instance: listeners, version, counters. */
  status(): Record<string, unknown>
}

const textResponse = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } })

/** Every route but the reads, which are generated (src/http/reads.ts): who may call what is in its line. */
export const serviceRoutes = ({ engine, health, keys, sites, ingestKeys, metrics, status }: ServiceDeps): Route[] => [
  ...siteRoutes({ sites, ingestKeys }),
  ...keyRoutes(keys),
  {
    method: 'get',
    path: '/healthz',
    access: 'public',
    tag: 'service',
    summary: 'The process serves',
    contentType: 'text/plain',
    run: async () => textResponse('ok\n', 'text/plain'),
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
    contentType: 'text/plain',
    run: async () => {
      const { text: body, type } = await metrics.render()
      return textResponse(body, type)
    },
  },
  {
    method: 'get',
    path: '/control/status',
    access: 'operator',
    tag: 'control',
    summary: 'State of the running instance',
    run: async () => jsonResponse({ ...status(), store: health() }),
  },
  {
    method: 'post',
    path: '/control/agents/refresh',
    access: 'operator',
    tag: 'control',
    summary: "Fetch the agents' published addresses now",
    data: z.array(RefreshResult),
    run: async () => jsonResponse(z.array(RefreshResult).parse(await engine.call('refresh'))),
  },
  {
    method: 'get',
    path: '/control/agents/holdings',
    access: 'operator',
    tag: 'control',
    summary: "What is held of the agents' published addresses",
    data: z.array(RangesStatus),
    run: async () => jsonResponse(z.array(RangesStatus).parse(await engine.call('holdings'))),
  },
  {
    method: 'get',
    path: '/control/tail',
    access: 'operator',
    tag: 'control',
    summary: 'Rows as they are committed, as NDJSON',
    query: TailQuery,
    contentType: 'application/x-ndjson',
    run: async (call) =>
      new Response(createTailStream(engine, parseQuery(call, TailQuery)), {
        headers: { 'content-type': 'application/x-ndjson' },
      }),
  },
  ...agentControlRoutes(engine),
]
