import { ApiError } from '../base/errors.js'
import type { ShipperStats } from '../site/shipping/shipper.js'
import type { App } from './app.js'
import { renderError } from './error-response.js'
import {
  addIngestDrops,
  addProxyMetrics,
  addRuleMetrics,
  createMetricRegistry,
  type MetricAdder,
  type MetricSources,
} from './metrics.js'
import type { Peer } from './route.js'
import { textResponse } from './service-routes.js'

/** The dependencies of the service of an instance that ships its rows. */
interface ShippingSources extends Pick<MetricSources, 'ingestDrops' | 'proxy' | 'rules' | 'refresh'> {
  /** The URL of the collector, which stores the rows. */
  collector: string
  shipping(): ShipperStats
  /** Seconds since the collector last confirmed the rules for agents. */
  rulesAge?(): number
  /** State for the operator, as `InstanceStatus`. */
  status(): Promise<Record<string, unknown>>
}

/** The service of an instance without a store: health and metrics. All other paths refer to the collector with 404. */
export function createShippingApp(source: ShippingSources): App {
  const metrics = createMetricRegistry(source.refresh)
  addShippingMetrics(metrics, source)
  const health = () => {
    const { state, reason, trouble } = source.shipping()
    return { state, ...(reason === undefined ? {} : { reason }), ...(trouble === undefined ? {} : { trouble }) }
  }
  const respond = async (request: Request, { operator }: Peer): Promise<Response> => {
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
          const { text, type } = await metrics.render()
          return textResponse(text, type)
        }
        case '/control/status':
          if (operator) return Response.json({ data: { ...(await source.status()), store: health() } })
      }
    // Only the operator sees the collector's address.
    const collector = operator ? source.collector : 'its collector'
    throw new ApiError(
      'not_found',
      `This instance stores no rows. It ships them to ${collector}; send the request there.`,
    )
  }
  return async (request, peer) => {
    const response = await respond(request, peer).catch((error) => renderError(error, () => {}))
    response.headers.set('cache-control', 'no-store')
    response.headers.set('x-content-type-options', 'nosniff')
    return response
  }
}

/** Adds all metrics of an instance that ships its rows. */
export function addShippingMetrics(
  registry: MetricAdder,
  source: Pick<ShippingSources, 'shipping' | 'ingestDrops' | 'proxy' | 'rules' | 'rulesAge'>,
): void {
  const { shipping, ingestDrops, proxy, rules, rulesAge } = source
  const { addEach, addOne } = registry
  const of = (name: 'shipped' | 'losses' | 'attempts') => () => Object.entries(shipping()[name])
  addEach('readership_shipped_rows_total', 'Rows that the collector has committed.', 'list', of('shipped'))
  const drops = 'Observations that became no row, and rows lost, by reason.'
  addEach('readership_drops_total', drops, 'reason', of('losses'))
  addEach('readership_ship_requests_total', 'Requests to the collector, by outcome.', 'outcome', of('attempts'))
  addOne('readership_spool_rows', 'Rows that wait for the collector.', () => shipping().waiting)
  addOne('readership_spool_bytes', 'Bytes on disk of the rows that wait.', () => shipping().spool_bytes)
  const isKept = () => Number(shipping().state === 'ready')
  addOne('readership_spool_ready', '1 while rows are kept on disk, 0 while they wait in memory only.', isKept)
  const isAccepted = () => Number(shipping().trouble === undefined)
  addOne('readership_collector_ready', '0 while the collector accepts no rows.', isAccepted)
  addIngestDrops(registry, ingestDrops)
  addProxyMetrics(registry, proxy)
  if (rules) addRuleMetrics(registry, rules)
  const age = 'Seconds since the collector last confirmed the rules for agents, or since the start.'
  if (rulesAge) addOne('readership_rules_age_seconds', age, rulesAge)
}
