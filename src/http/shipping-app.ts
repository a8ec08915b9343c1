import { ApiError } from '../errors.js'
import type { ShipperStats } from '../ship/shipper.js'
import type { Peer } from './app.js'
import { renderError } from './error-response.js'
import {
  addIngestDrops,
  addProxyMetrics,
  createMetricRegistry,
  type MetricSources,
  type Metrics,
  type ProxyCounts,
} from './metrics.js'

/** What the service of an instance that ships its rows answers from. */
export interface ShippingSources {
  /** Where the rows are. */
  collector: string
  shipping(): ShipperStats
  /** What the browsers' doors dropped. */
  ingestDrops: MetricSources['ingestDrops']
  proxy(): ProxyCounts | undefined
  /** What the operator may know: version, start, origin. */
  status(): Record<string, unknown>
}

const textResponse = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } })

/** The service of an instance without a store: its health and its counters. What was recorded is asked of the collector. */
export function createShippingApp(source: ShippingSources): (request: Request, peer: Peer) => Promise<Response> {
  const metrics = createShippingMetrics(source)
  const health = () => {
    const { state, reason, trouble } = source.shipping()
    return { state, ...(reason === undefined ? {} : { reason }), ...(trouble === undefined ? {} : { trouble }) }
  }
  const answer = async (request: Request, { operator }: Peer): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (request.method === 'GET' || request.method === 'HEAD')
      switch (pathname) {
        case '/healthz':
          return textResponse('ok\n', 'text/plain')
        case '/readyz': {
          const data = health()
          return Response.json({ data }, { status: data.state === 'ready' ? 200 : 503 })
        }
        case '/metrics': {
          const { text: body, type } = await metrics.render()
          return textResponse(body, type)
        }
        case '/control/status':
          if (operator)
            return Response.json({
              data: { ...source.status(), collector: source.collector, store: health(), shipping: source.shipping() },
            })
      }
    // Where it is, is nobody's business who comes from outside.
    const where = operator ? source.collector : 'its collector'
    throw new ApiError('not_found', `Rows are not kept here but shipped to ${where}: ask there.`)
  }
  return async (request, peer) => {
    const response = await answer(request, peer).catch((error) => renderError(error, () => {}))
    response.headers.set('cache-control', 'no-store')
    response.headers.set('x-content-type-options', 'nosniff')
    return response
  }
}

function createShippingMetrics({ shipping, ingestDrops: doors, proxy }: ShippingSources): Metrics {
  const { counter, gauge, registers, render } = createMetricRegistry()
  counter('readership_shipped_rows_total', 'Rows that the collector has committed.', 'list', () => shipping().shipped)
  counter(
    'readership_drops_total',
    'Observations that became no row, and rows lost, by reason.',
    'reason',
    () => shipping().losses,
  )
  counter(
    'readership_ship_requests_total',
    'Requests to the collector, by what they came to.',
    'outcome',
    () => shipping().attempts,
  )
  gauge('readership_spool_rows', 'Rows that wait for the collector.', () => shipping().waiting)
  gauge('readership_spool_bytes', 'Their bytes on disk.', () => shipping().spool_bytes)
  gauge('readership_spool_ready', '1 while rows are kept on disk, 0 while they wait in memory only.', () =>
    shipping().state === 'ready' ? 1 : 0,
  )
  gauge('readership_collector_ready', '0 while the collector takes no rows.', () =>
    shipping().trouble === undefined ? 1 : 0,
  )
  addIngestDrops(registers, doors)
  addProxyMetrics({ counter, gauge }, proxy)
  return { render }
}
