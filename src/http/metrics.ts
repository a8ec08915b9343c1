import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { DropCounts, DropReason, IngestEndpoint } from '../capture/drops.js'
import type { EngineStatus } from '../engine/engine.js'

/** What the proxy counts, since its start. */
export interface ProxyCounts {
  /** By class of the recorded status: `2xx`, `3xx` ... */
  statuses: Readonly<Record<string, number>>
  /** By kind: `refused`, `timeout` ... */
  failures: Readonly<Partial<Record<string, number>>>
  /** Exchanges under way. */
  active: number
}

/** Plain counters, asked for when somebody scrapes: no hot path knows this file. */
export interface MetricSources {
  health(): EngineStatus
  recorder(): { waiting: number; drops: DropCounts; on: boolean }
  /** What the doors dropped, for whichever site. */
  ingestDrops?(): readonly { door: IngestEndpoint; reason: DropReason; count: number }[]
  /** Nothing where there is no proxy. */
  proxy(): ProxyCounts | undefined
}

export interface Metrics {
  /** The Prometheus text format, and its content type. */
  render(): Promise<{ text: string; type: string }>
}

/** Counters and gauges that ask when somebody scrapes, beside those that every process has. */
export function createMetricRegistry() {
  const registry = new Registry()
  const registers = [registry]
  // CPU, RSS, heap, event-loop delay (p50, p90, p99), garbage collection: under their usual names, of this process.
  collectDefaultMetrics({ register: registry })

  const counter = (
    name: string,
    help: string,
    label: string,
    values: () => Readonly<Partial<Record<string, number>>>,
  ) =>
    new Counter({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset()
        for (const [key, value] of Object.entries(values())) this.inc({ [label]: key }, value)
      },
    })
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value())
      },
    })

  const render: Metrics['render'] = async () => ({ text: await registry.metrics(), type: registry.contentType })
  return { counter, gauge, registers, render }
}

/** Of the doors, where there are any. */
export function addIngestDrops(registers: Registry[], doors: MetricSources['ingestDrops']) {
  new Counter({
    name: 'readership_door_drops_total',
    help: 'Hits and rows from outside that became no row, by door and reason; what the worker dropped of them is in readership_drops_total too.',
    labelNames: ['door', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { door, reason, count } of doors?.() ?? []) this.inc({ door, reason }, count)
    },
  })
}

/** Of the proxy in front, where there is one. */
export function addProxyMetrics(
  { counter, gauge }: Pick<ReturnType<typeof createMetricRegistry>, 'counter' | 'gauge'>,
  proxy: MetricSources['proxy'],
) {
  counter(
    'readership_requests_total',
    'Responses of the proxy, by class of status.',
    'status',
    () => proxy()?.statuses ?? {},
  )
  counter('readership_origin_errors_total', 'Failures of the origin, by kind.', 'kind', () => proxy()?.failures ?? {})
  gauge('readership_requests_active', 'Exchanges under way.', () => proxy()?.active ?? 0)
}

/** The metrics of one instance (issue 2, Terminal). */
export function createMetrics(sources: MetricSources): Metrics {
  const { counter, gauge, registers, render } = createMetricRegistry()
  const { health, recorder, proxy } = sources
  counter('readership_rows_total', 'Rows committed, by audience.', 'audience', () => health().rows)
  counter('readership_drops_total', 'Observations that became no row, by reason.', 'reason', () => {
    const drops: Record<string, number> = { ...health().drops }
    for (const [reason, n] of Object.entries(recorder().drops)) drops[reason] = (drops[reason] ?? 0) + n
    return drops
  })
  addIngestDrops(registers, sources.ingestDrops)
  gauge('readership_queue_depth', 'Observations that wait for the store.', () => recorder().waiting)
  gauge('readership_store_ready', '1 while rows are stored, 0 while degraded.', () =>
    health().state === 'ready' ? 1 : 0,
  )
  gauge('readership_recorder_on', '0 while recording is switched off after repeated faults.', () =>
    recorder().on ? 1 : 0,
  )
  gauge('readership_worker_restarts', 'Times the worker was started again.', () => health().restarts)
  const ofWorker = (key: 'resident_bytes' | 'cpu_seconds') => () => health().worker?.[key] ?? 0
  const seen = 'as of the last second; 0 while there is none'
  gauge(
    'readership_worker_resident_memory_bytes',
    `Resident memory of the worker's process, which has the store; ${seen}.`,
    ofWorker('resident_bytes'),
  )
  gauge(
    'readership_worker_cpu_seconds',
    `CPU of the worker's process since it began; ${seen}.`,
    ofWorker('cpu_seconds'),
  )
  new Gauge({
    name: 'readership_flush_seconds',
    help: 'Duration of the last 100 commits.',
    labelNames: ['quantile'],
    registers,
    collect() {
      this.reset()
      const times = health().flush_ms.toSorted((a, b) => a - b)
      for (const q of [0.5, 0.9, 0.99, 1]) {
        const at = times[Math.max(0, Math.ceil(q * times.length) - 1)]
        if (at !== undefined) this.set({ quantile: String(q) }, at / 1000)
      }
    },
  })
  addProxyMetrics({ counter, gauge }, proxy)
  return { render }
}
