import { z } from 'zod'
import type { IngestKeys } from '../manage/ingest-keys.js'
import type { Keys } from '../manage/keys.js'
import type { Sites } from '../manage/sites.js'
import type { StoreLosses } from '../manage/store-losses.js'
import type { Backups } from '../storage/backup/backups.js'
import type { WorkerClientStatus } from '../worker-client/status.js'
import type { WorkerClient } from '../worker-client/worker-client.js'
import { backupControlRoute } from './backup-control.js'
import { copyControlRoutes } from './copy-control.js'
import { keyRoutes } from './keys.js'
import type { Metrics } from './metrics.js'
import { parseQuery, type Route, routeMaker } from './route.js'
import { rowExportRoutes } from './row-export.js'
import type { TailSource } from './row-stream.js'
import { siteRoutes } from './sites.js'
import { storeControlRoutes, type VacuumResult } from './store-control.js'
import { createTailStream, TailQuery } from './tail.js'
import { workerControlRoutes } from './worker-control.js'

/** The dependencies of the service's own routes. */
export interface ServiceDeps {
  workerClient: Pick<WorkerClient, 'events' | 'records' | 'call' | 'isShared'> & TailSource
  /** Whether rows are being stored and no loss waits for the operator, and the reason if not. */
  health(): WorkerClientStatus
  losses: StoreLosses
  backups: Backups
  keys: Keys
  sites: Sites
  ingestKeys: IngestKeys
  metrics: Metrics
  /** State of the running instance for the operator, as `InstanceStatus`. */
  status(): Promise<Record<string, unknown>>
  /** The URL of the listener that serves the site; undefined on an instance that has none. */
  listener?(): string | undefined
  /** Folds the log of a store in a file into it; undefined on a server, and while the worker does not respond. */
  vacuum(): Promise<z.infer<typeof VacuumResult> | undefined>
}

/** Responds with text of a media type. */
export const textResponse = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } })

const service = routeMaker('service')
const control = routeMaker('control')

/** Sites, keys, health, metrics and control routes. */
export const serviceRoutes = ({
  workerClient,
  health,
  losses,
  backups,
  keys,
  sites,
  ingestKeys,
  metrics,
  status,
  vacuum,
  listener,
}: ServiceDeps): Route[] => [
  ...siteRoutes({ sites, ingestKeys, ...(listener && { listener }) }),
  ...keyRoutes(keys),
  service('get', '/healthz', 'public', {
    summary: 'Liveness: the process responds',
    contentType: 'text/plain',
    run: async () => textResponse('ok\n', 'text/plain'),
  }),
  service('get', '/readyz', 'public', {
    summary: 'Readiness: rows are being stored and none were lost; 503 with the reason otherwise',
    data: z.object({ state: z.string(), reason: z.string().optional() }),
    run: async () => {
      const { state, reason } = health()
      return Response.json(
        { data: { state, ...(reason === undefined ? {} : { reason }) } },
        { status: state === 'ready' ? 200 : 503 },
      )
    },
  }),
  service('get', '/metrics', 'public', {
    summary: 'Counters and gauges for Prometheus',
    contentType: 'text/plain',
    run: async () => {
      const { text, type } = await metrics.render()
      return textResponse(text, type)
    },
  }),
  control('get', '/control/status', 'operator', {
    summary: 'State of the running instance',
    run: status,
  }),
  control('get', '/control/tail', 'operator', {
    summary: 'Follow rows as they are stored, as NDJSON',
    query: TailQuery,
    contentType: 'application/x-ndjson',
    run: async (call) =>
      new Response(
        createTailStream(
          workerClient,
          parseQuery(call, TailQuery),
          (await sites.list()).map(({ id }) => id),
        ),
        { headers: { 'content-type': 'application/x-ndjson' } },
      ),
  }),
  ...storeControlRoutes(losses, sites, vacuum),
  ...copyControlRoutes(workerClient, losses),
  backupControlRoute(backups),
  ...rowExportRoutes({ events: workerClient.events, sites, backups }),
  ...workerControlRoutes(workerClient),
]
