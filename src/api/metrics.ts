import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { RecorderStats } from '../capture/recorder.js'
import type { ScheduleStatus } from '../storage/backup/manifest.js'
import type { DropReason, IngestEndpoint } from '../storage/drops.js'
import type { WorkerClientStatus } from '../worker-client/worker-client.js'
import type { StoredSize } from './instance-status.js'
import { addSharedMetrics } from './shared-metrics.js'

/** The proxy's counters since its start. */
export interface ProxyCounts {
  /** Responses by status class: `2xx`, `3xx` ... */
  statuses: Readonly<Record<string, number>>
  /** Failures of the origin by kind: `refused`, `timeout` ... */
  failures: Readonly<Partial<Record<string, number>>>
  /** Requests in progress. */
  active: number
  /**
   * Requests by how their client became known. `direct`: its peer is the client. `forwarded`: a trusted peer named it.
   * `unnamed`: a trusted peer named none. `ignored`: a peer named one that is not trusted.
   */
  addresses?: Readonly<Partial<Record<'direct' | 'forwarded' | 'unnamed' | 'ignored', number>>>
  /** The last peer of a private network that was not believed. */
  ignored_peer?: string
}

/** The counters that metrics are read from at each scrape, so that no hot path depends on this file. */
export interface MetricSources {
  health(): WorkerClientStatus
  recorder(): RecorderStats
  /** Drops of the ingest endpoints, over all sites. */
  ingestDrops?(): readonly { door: IngestEndpoint; reason: DropReason; count: number }[]
  /** Whether this process stores rows, as every process with a store of its own does. */
  isWriter(): boolean
  /** Undefined without a proxy. */
  proxy(): ProxyCounts | undefined
  /** Reads the size of a store in a file; undefined while it is not known. */
  size?(): Promise<StoredSize | undefined>
  /** Absent without --backup-dir. */
  backups?(): ScheduleStatus
  /** Reads what the worker shares with other processes; absent if it shares nothing. */
  shared?: () => Promise<unknown>
  /** Brings the counters up to date that other processes report. */
  refresh?(): Promise<void>
}

export interface Metrics {
  /** Returns the metrics in Prometheus text format, and its content type. */
  render(): Promise<{ text: string; type: string }>
}

/** Creates a registry with the default metrics of the process, and helpers that add metrics read at each scrape. */
export function createMetricRegistry(refresh?: MetricSources['refresh']) {
  const registry = new Registry()
  const registers = [registry]
  let isScraped = false

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

  const render: Metrics['render'] = async () => {
    // CPU, RSS, heap, event-loop delay (p50, p90, p99) and garbage collection of this process, under their usual names.
    // From the first scrape on: their samples wake the process a hundred times a second.
    if (!isScraped) collectDefaultMetrics({ register: registry })
    isScraped = true
    await refresh?.()
    return { text: await registry.metrics(), type: registry.contentType }
  }
  return { counter, gauge, registers, render }
}

export function addIngestDrops(registers: Registry[], ingestDrops: MetricSources['ingestDrops']) {
  new Counter({
    name: 'readership_door_drops_total',
    help: 'Received hits and rows that became no row, by ingest endpoint and reason; those that the worker dropped are also in readership_drops_total.',
    labelNames: ['door', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { door, reason, count } of ingestDrops?.() ?? []) this.inc({ door, reason }, count)
    },
  })
}

export function addProxyMetrics(
  { counter, gauge }: Pick<ReturnType<typeof createMetricRegistry>, 'counter' | 'gauge'>,
  proxy: MetricSources['proxy'],
) {
  const statuses = () => proxy()?.statuses ?? {}
  counter('readership_requests_total', 'Responses of the proxy, by class of status.', 'status', statuses)
  counter('readership_origin_errors_total', 'Failures of the origin, by kind.', 'kind', () => proxy()?.failures ?? {})
  gauge('readership_requests_active', 'Requests in progress.', () => proxy()?.active ?? 0)
}

/** Adds the sizes of a store in a file; what is not known has no line. */
function addSizeMetrics(registers: Registry[], read: NonNullable<MetricSources['size']>) {
  const addPerTable = (name: string, help: string, key: 'bytes' | 'growth_bytes') =>
    new Gauge({
      ...{ name, help, labelNames: ['table'], registers },
      async collect() {
        const size = await read()
        this.reset()
        for (const one of size?.tables ?? []) this.set({ table: one.table }, one[key])
      },
    })
  addPerTable('readership_table_bytes', 'Blocks of the file that a table takes.', 'bytes')
  addPerTable(
    'readership_table_growth_bytes',
    'Growth of a table in a day, by its rows of the last week.',
    'growth_bytes',
  )
  new Gauge({
    name: 'readership_store_bytes',
    help: 'Blocks of the file by use: with rows and log, or free for new rows; and --max-disk as limit.',
    labelNames: ['use'],
    registers,
    async collect() {
      const size = await read()
      this.reset()
      if (!size) return
      this.set({ use: 'used' }, size.used_bytes)
      this.set({ use: 'free' }, size.free_bytes)
      if (size.max_bytes !== undefined) this.set({ use: 'limit' }, size.max_bytes)
    },
  })
}

/** Adds the daily backups; what is not known has no line. */
function addBackupMetrics(registers: Registry[], read: NonNullable<MetricSources['backups']>) {
  const add = (name: string, help: string, find: (status: ScheduleStatus) => number | undefined) => {
    const kind = name.endsWith('_total') ? Counter : Gauge
    new kind({
      ...{ name, help, registers },
      collect(this: Counter | Gauge) {
        const value = find(read())
        this.reset()
        if (value === undefined) this.remove()
        else this.inc(value)
      },
    })
  }
  add(
    'readership_backup_last_success_timestamp_seconds',
    'When the newest backup in --backup-dir was taken, in seconds since 1970.',
    ({ last }) => last && Date.parse(last.taken_at) / 1000,
  )
  add('readership_backup_bytes', 'Size of the newest backup, with the files that it shares.', ({ last }) => last?.bytes)
  add('readership_backup_failures_total', 'Backups to --backup-dir that failed.', ({ failures }) => failures)
}

/** The metrics of one instance with a store. */
export function createMetrics(sources: MetricSources): Metrics {
  const { counter, gauge, registers, render } = createMetricRegistry(sources.refresh)
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
  gauge('readership_writer', '1 in the process that writes, of those that share a store.', () =>
    sources.isWriter() ? 1 : 0,
  )
  gauge('readership_recorder_on', '0 while recording is switched off after repeated faults.', () =>
    recorder().on ? 1 : 0,
  )
  gauge('readership_worker_restarts', 'Restarts of the worker.', () => health().restarts)
  const ofWorker = (key: 'resident_bytes' | 'cpu_seconds') => () => health().worker?.[key] ?? 0
  gauge(
    'readership_worker_resident_memory_bytes',
    'Resident memory of the worker process, which holds the store; within 1 MB, 0 while no worker runs.',
    ofWorker('resident_bytes'),
  )
  gauge(
    'readership_worker_cpu_seconds',
    'CPU time of the worker process since its start; within 0.05 s, 0 while no worker runs.',
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
  if (sources.size) addSizeMetrics(registers, sources.size)
  if (sources.backups) addBackupMetrics(registers, sources.backups)
  if (sources.shared) addSharedMetrics(registers, sources.shared, () => performance.now())
  return { render }
}
