import { z } from 'zod'
import { ScheduleStatus } from '../storage/backup/manifest.js'
import { GeoSources } from './worker-control.js'

const Instant = z.iso.datetime()
const Counts = z.record(z.string(), z.number())

/** From this share of `--max-disk` on, the operator is warned. */
export const DISK_WARNING_SHARE = 0.8

/** The operator is warned of older backups. */
export const MAX_BACKUP_AGE_S = 2 * 86_400

/** The size of a store in a file, as `StoreSize` says; `max_bytes` is `--max-disk`. */
export const StoredSize = z.object({
  used_bytes: z.int(),
  free_bytes: z.int(),
  max_bytes: z.int().optional(),
  tables: z.array(z.object({ table: z.string(), rows: z.int(), bytes: z.int(), growth_bytes: z.int() })),
})
export type StoredSize = z.infer<typeof StoredSize>

/** The state of a running instance, as `GET /control/status` returns it to the operator. */
export const InstanceStatus = z.object({
  version: z.string(),
  started_at: Instant,
  /** The instance's clock. */
  now: Instant,
  origin: z.string().optional(),
  /** The dashboard's address on the site's listener, if it is served there. */
  dashboard: z.url().optional(),
  collector: z.string().optional(),
  /** The URLs of the listeners, the site's with the base path. They and the settings, which `doctor` judges, are a server's. */
  listeners: z.object({ site: z.url().optional(), service: z.url() }).optional(),
  settings: z
    .object({
      trust_proxy: z.array(z.string()),
      inject: z.boolean(),
      tls_cert: z.string().optional(),
      tls_key: z.string().optional(),
      public_url: z.string().optional(),
      geoip: z.string().optional(),
      memory_limit: z.string().optional(),
      ingest_key_file: z.string().optional(),
    })
    .optional(),
  /** Whether rows are stored, or kept for the collector; `trouble`: why the collector accepts none. */
  store: z.object({
    state: z.string(),
    reason: z.string().optional(),
    trouble: z.string().optional(),
    losses: z.array(z.string()).optional(),
    restarts: z.int().optional(),
    /** The worker's process, absent while it does not run. */
    worker: z.object({ pid: z.int() }).optional(),
  }),
  /** Engines of rows and records, with the schema of a file or the size on a server; absent while the worker does not respond, and with a collector. */
  engines: z
    .object({
      rows: z.string(),
      rows_schema: z.int().optional(),
      rows_bytes: z.number().optional(),
      records: z.string(),
      records_schema: z.int().optional(),
      records_bytes: z.number().optional(),
    })
    .optional(),
  /** The process's part in a fleet, and the lease as it read it last; absent where records are this process's own. */
  fleet: z
    .object({
      role: z.enum(['writer', 'reader']),
      /** The writer's URL, if it has one and is another process. */
      writer: z.string().optional(),
      epoch: z.number(),
      /** Whether the writer was seen to renew the lease lately. */
      held: z.boolean(),
      age_seconds: z.number(),
    })
    .optional(),
  /** `stored` and `dropped` since the start; with a collector, `stored` are the rows that it has committed. */
  rows: z.object({
    stored: z.int(),
    /** The mean of the last minute; absent in the first ten seconds. */
    a_second: z.number().optional(),
    waiting: z.int(),
    dropped: Counts,
  }),
  requests: z
    .object({
      active: z.int(),
      statuses: Counts,
      failures: Counts,
      /** As in `ProxyCounts`. */
      addresses: Counts,
      ignored_peer: z.string().optional(),
    })
    .optional(),
  memory: z.object({ site_bytes: z.int(), worker_bytes: z.int().optional() }),
  /** The data directory: its files, a directory as one, and the free space of its disk. */
  data: z.object({
    directory: z.string(),
    files: z.array(z.object({ name: z.string(), bytes: z.int() })),
    free_bytes: z.int(),
  }),
  /** Absent with a store on a server, and while the worker does not respond. */
  size: StoredSize.optional(),
  /** Absent without --backup-dir. */
  backups: ScheduleStatus.optional(),
  spool: z.object({ rows: z.int(), bytes: z.int(), limit_bytes: z.int() }).optional(),
  /** When a sidecar's collector last confirmed the rules for agents, and why it does not now. */
  rules: z.object({ confirmed_at: Instant, trouble: z.string().optional() }).optional(),
  /** The robots.txt of each hostname: absent while the worker does not respond, and with a collector. */
  robots: z
    .array(
      z.object({
        hostname: z.string(),
        site: z.int().optional(),
        standing: z.enum(['served', 'unavailable', 'unreachable', 'unknown']),
        checked_at: Instant.optional(),
      }),
    )
    .optional(),
  /** The published addresses of agents: how many agents, how many of them with an incomplete or old list. */
  ranges: z.object({ agents: z.int(), stale: z.int(), oldest: Instant.optional() }).optional(),
  geo: GeoSources.optional(),
  /** The last time of the past week in which not everything was recorded. */
  gap: z.object({ start: Instant, end: Instant, reason: z.string() }).optional(),
  last_error: z.object({ at: Instant, message: z.string() }).optional(),
})
export type InstanceStatus = z.infer<typeof InstanceStatus>
