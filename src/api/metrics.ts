import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { z } from 'zod'
import { waitAtMost } from '../base/wait-at-most.js'
import type { RecorderStats } from '../capture/recorder.js'
import type { ScheduleStatus } from '../storage/backup/manifest.js'
import type { DropCounts, DropReason, IngestEndpoint } from '../storage/drops.js'
import type { WorkerClientStatus } from '../worker-client/status.js'
import type { StoredSize } from './instance-status.js'

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

/** Decisions of the rules for agents in this process and its site processes, since their start. */
export interface RuleCounts {
  /** `paused` and `rehearse` had no effect. */
  decisions: readonly {
    site: number
    rule: number
    action: string
    state: 'on' | 'rehearse' | 'paused'
    count: number
  }[]
  /** Rules that are on or in rehearsal. */
  active: number
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
  /** Absent in a process that serves no site. */
  rules?(): RuleCounts
  /** Reads the size of a store in a file; undefined while it is not known. */
  size?(): Promise<StoredSize | undefined>
  /** Reads the free space of the data directory's disk; `limit` is --min-free-disk. */
  disk?(): Promise<{ free: number; limit: number | undefined }>
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

type Value = number | undefined
type Read<T> = () => T | Promise<T>

/**
 * Creates a registry with the default metrics of the process, and functions that add a metric whose values are read at each
 * scrape: a counter if its name ends in `_total`, else a gauge. A value that is not known has no line.
 */
export function createMetricRegistry(refresh?: MetricSources['refresh']) {
  const registry = new Registry()
  let isScraped = false
  /** Adds a metric with several labels: `read` gives each value with its labels. */
  const add = (
    name: string,
    help: string,
    labelNames: string[],
    read: Read<Iterable<readonly [labels: Record<string, string>, value: Value]>>,
  ) => {
    const kind = name.endsWith('_total') ? Counter : Gauge
    new kind({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect(this: Counter | Gauge) {
        const values = await read()
        this.reset()
        for (const [labels, value] of values)
          if (value === undefined) this.remove(labels)
          else this.inc(labels, value)
      },
    })
  }
  return {
    add,
    /** Adds a metric with one label: `read` gives the values by label. */
    addEach: (name: string, help: string, label: string, read: Read<Iterable<readonly [string, Value]>>) =>
      add(name, help, [label], async () => [...(await read())].map(([key, value]) => [{ [label]: key }, value])),
    /** Adds a metric of one value. */
    addOne: (name: string, help: string, read: Read<Value>) => add(name, help, [], async () => [[{}, await read()]]),
    async render(): ReturnType<Metrics['render']> {
      // CPU, RSS, heap, event-loop delay (p50, p90, p99) and garbage collection of this process, under their usual names.
      // From the first scrape on: their samples wake the process a hundred times a second.
      if (!isScraped) collectDefaultMetrics({ register: registry })
      isScraped = true
      await refresh?.()
      return { text: await registry.metrics(), type: registry.contentType }
    },
  }
}
export type MetricRegistry = ReturnType<typeof createMetricRegistry>
/** The functions that add a metric, each with its name, its description and its labels. */
export type MetricAdder = Omit<MetricRegistry, 'render'>

export const addIngestDrops = ({ add }: MetricAdder, ingestDrops: MetricSources['ingestDrops']) =>
  add(
    'readership_door_drops_total',
    'Received hits and rows that became no row, by ingest endpoint and reason; those that the worker dropped are also in readership_drops_total.',
    ['door', 'reason'],
    () => (ingestDrops?.() ?? []).map(({ count, ...labels }) => [labels, count]),
  )

export function addProxyMetrics({ addEach, addOne }: MetricAdder, proxy: MetricSources['proxy']) {
  const statuses = () => Object.entries(proxy()?.statuses ?? {})
  addEach('readership_requests_total', 'Responses of the proxy, by class of status.', 'status', statuses)
  const failures = () => Object.entries(proxy()?.failures ?? {})
  addEach('readership_origin_errors_total', 'Failures of the origin, by kind.', 'kind', failures)
  addOne('readership_requests_active', 'Requests in progress.', () => proxy()?.active ?? 0)
}

/** Adds the decisions of rules for agents. */
export function addRuleMetrics({ add, addOne }: MetricAdder, rules: NonNullable<MetricSources['rules']>) {
  add(
    'readership_rule_decisions_total',
    'Fetches of agents that a rule decided, or would have decided in rehearsal or while rules are paused.',
    ['site', 'rule', 'action', 'state'],
    () =>
      rules().decisions.map(({ site, rule, count, ...labels }) => [
        { site: String(site), rule: String(rule), ...labels },
        count,
      ]),
  )
  addOne('readership_rules_in_force', 'Rules that are on or in rehearsal.', () => rules().active)
}

/** Adds the sizes of a store in a file. */
function addSizeMetrics({ addEach }: MetricAdder, read: NonNullable<MetricSources['size']>) {
  const ofTables = (key: 'bytes' | 'growth_bytes') => async () =>
    ((await read())?.tables ?? []).map((one) => [one.table, one[key]] as const)
  addEach('readership_table_bytes', 'Blocks of the file that a table takes.', 'table', ofTables('bytes'))
  const growth = 'Growth of a table in a day, by its rows of the last week.'
  addEach('readership_table_growth_bytes', growth, 'table', ofTables('growth_bytes'))
  addEach(
    'readership_store_bytes',
    'Blocks of the file by use: with rows and log, or free for new rows; and --max-disk as limit.',
    'use',
    async () => {
      const { used_bytes: used, free_bytes: free, max_bytes: limit } = (await read()) ?? {}
      return Object.entries({ used, free, limit })
    },
  )
}

/** Adds the daily backups. */
function addBackupMetrics({ addOne }: MetricAdder, read: NonNullable<MetricSources['backups']>) {
  addOne(
    'readership_backup_last_success_timestamp_seconds',
    'When the newest backup in --backup-dir was taken, in seconds since 1970.',
    () => {
      const { last } = read()
      return last && Date.parse(last.taken_at) / 1000
    },
  )
  const size = 'Size of the newest backup, with the files that it shares.'
  addOne('readership_backup_bytes', size, () => read().last?.bytes)
  addOne('readership_backup_failures_total', 'Backups to --backup-dir that failed.', () => read().failures)
}

/** The metrics of one instance with a store. */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = createMetricRegistry(sources.refresh)
  addInstanceMetrics(registry, sources)
  return { render: registry.render }
}

/** Losses have a line before the first one: Prometheus sees no increase in a series that begins with it. */
const NO_LOSSES = { queue_full: 0, recorder_off: 0, fault: 0 } satisfies DropCounts

/** Adds all metrics of an instance with a store. */
export function addInstanceMetrics(registry: MetricAdder, sources: MetricSources): void {
  const { addEach, addOne } = registry
  const { health, recorder, proxy } = sources
  addEach('readership_rows_total', 'Rows committed, by audience.', 'audience', () => Object.entries(health().rows))
  addEach('readership_drops_total', 'Observations that became no row, by reason.', 'reason', () => {
    const drops: Record<string, number> = { ...NO_LOSSES, ...health().drops }
    for (const [reason, n] of Object.entries(recorder().drops)) drops[reason] = (drops[reason] ?? 0) + n
    return Object.entries(drops)
  })
  addIngestDrops(registry, sources.ingestDrops)
  addOne('readership_queue_depth', 'Observations that wait for the store.', () => recorder().waiting)
  const isReady = () => Number(health().state === 'ready')
  addOne('readership_store_ready', '1 while rows are stored, 0 while degraded.', isReady)
  const isWriter = () => Number(sources.isWriter())
  addOne('readership_writer', '1 in the process that writes, of those that share a store.', isWriter)
  const isOn = () => Number(recorder().on)
  addOne('readership_recorder_on', '0 while recording is switched off after repeated faults.', isOn)
  addOne('readership_worker_restarts', 'Restarts of the worker.', () => health().restarts)
  addOne(
    'readership_worker_resident_memory_bytes',
    'Resident memory of the worker process, which holds the store; within 1 MB, 0 while no worker runs.',
    () => health().worker?.resident_bytes ?? 0,
  )
  addOne(
    'readership_worker_cpu_seconds',
    'CPU time of the worker process since its start; within 0.05 s, 0 while no worker runs.',
    () => health().worker?.cpu_seconds ?? 0,
  )
  addEach('readership_flush_seconds', 'Duration of the last 100 commits.', 'quantile', () => {
    const times = health().flush_ms.toSorted((a, b) => a - b)
    return [0.5, 0.9, 0.99, 1].map((q) => {
      const ms = times[Math.max(0, Math.ceil(q * times.length) - 1)]
      return [String(q), ms && ms / 1000] as const
    })
  })
  addProxyMetrics(registry, proxy)
  if (sources.rules) addRuleMetrics(registry, sources.rules)
  const { disk } = sources
  const space =
    "Space of the data directory's disk: free, and --min-free-disk as limit, below which rows are not stored."
  // A disk that cannot be asked has no line; the other metrics stay.
  if (disk) addEach('readership_disk_bytes', space, 'use', async () => Object.entries(await disk().catch(() => ({}))))
  if (sources.size) addSizeMetrics(registry, sources.size)
  if (sources.backups) addBackupMetrics(registry, sources.backups)
  if (sources.shared) addSharedMetrics(registry, sources.shared, () => performance.now())
}

const Lease = z.object({ held: z.boolean(), epoch: z.number(), age_seconds: z.number() })

/** The engines, with the versions of the schemas of those that are files, and the lease, as the worker describes them. */
export const FleetStatus = z.object({
  engines: z.object({
    rows: z.string(),
    rows_schema: z.int().optional(),
    records: z.string(),
    records_schema: z.int().optional(),
  }),
  lease: Lease.optional(),
})

/** The lease and the servers, as the worker describes them. */
export const SharedStatus = z.object({
  lease: Lease.optional(),
  server: z
    .object({
      parts: z.record(z.string(), z.number()),
      bytes: z.number().optional(),
      unfinished_mutations: z.number(),
      replication_delay_seconds: z.number().optional(),
      commits: z.object({ count: z.number(), rows: z.number(), seconds: z.number() }).optional(),
    })
    .optional(),
  /** The size of the records on a server. */
  records_bytes: z.number().optional(),
})
type SharedStatus = z.infer<typeof SharedStatus>

/** Scrapes within this time get the same answer, so that several scrapers cost the server one query. */
const CACHE_MS = 5_000
/** A scrape waits no longer. */
const WAIT_MS = 3_000

/** Returns a function that gives the status as it was read within `CACHE_MS`; it lacks what cannot be had at present. */
function createStatusCache(read: () => Promise<unknown>, clock: () => number) {
  let status: SharedStatus = {}
  let reading: { since: number; done: Promise<void> } | undefined
  const refresh = async () => {
    const found = await read().catch(() => ({}))
    status = SharedStatus.safeParse(found).data ?? {}
  }
  return async (): Promise<SharedStatus> => {
    if (!reading || clock() - reading.since > CACHE_MS) {
      status = {}
      reading = { since: clock(), done: refresh() }
    }
    await waitAtMost(WAIT_MS, reading.done)
    return status
  }
}

/** Adds the metrics of what several processes share. `read` returns the worker's `shared_status`, and may reject. */
export function addSharedMetrics(
  { addEach, addOne }: MetricAdder,
  read: () => Promise<unknown>,
  clock: () => number,
): void {
  const readStatus = createStatusCache(read, clock)
  const add = (name: string, help: string, find: (status: SharedStatus) => number | undefined) =>
    addOne(name, help, async () => find(await readStatus()))
  add(
    'readership_lease_held',
    '1 while some process has the right to write, and was seen to renew it within 10 s.',
    ({ lease }) => lease && Number(lease.held),
  )
  add('readership_lease_epoch', 'How often the right to write has been taken.', ({ lease }) => lease?.epoch)
  add(
    'readership_lease_renewal_age_seconds',
    'Time since this process last read a renewal of the right to write; the holder renews it every 2 s.',
    ({ lease }) => lease?.age_seconds,
  )
  add(
    'readership_clickhouse_commits_total',
    'Commits that the worker has written to ClickHouse since it started.',
    ({ server }) => server?.commits?.count,
  )
  add('readership_clickhouse_rows_total', 'Rows of these commits.', ({ server }) => server?.commits?.rows)
  add(
    'readership_clickhouse_commit_seconds_total',
    'Time that ClickHouse took for these commits.',
    ({ server }) => server?.commits?.seconds,
  )
  addEach(
    'readership_clickhouse_parts',
    'Active parts, by table; hundreds in a month of one table mean that merges do not keep up.',
    'table',
    async () => Object.entries((await readStatus()).server?.parts ?? {}),
  )
  add(
    'readership_clickhouse_mutations_unfinished',
    'Mutations that have not ended: erasures rewrite parts.',
    ({ server }) => server?.unfinished_mutations,
  )
  add(
    'readership_clickhouse_replication_delay_seconds',
    'The largest delay of a replicated table on the server.',
    ({ server }) => server?.replication_delay_seconds,
  )
}
