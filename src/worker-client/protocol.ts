import type { PolicyChange } from '../agents/policy/change.js'
import type { Code } from '../base/errors.js'
import type { ClaimVerdict } from '../capture/decision.js'
import type { PackedBatch } from '../capture/packed-batch.js'
import type { CommitPosition } from '../storage/commit-position.js'
import type { EndpointDrop } from '../storage/drops.js'
import type { EdgeDelivery } from '../storage/edge-delivery.js'
import type { AgentEventRow, EventRow } from '../storage/rows.js'
import type { Param } from '../storage/sql.js'
import type { QueryScope, ReadTimeouts, ResultRow } from '../storage/store.js'

/** The worker's settings, its first message. */
export interface WorkerOptions {
  /** The data directory. */
  data: string
  /** Memory for queries and buffers of the event store, as DuckDB writes sizes; by default `defaultMemoryLimit`. */
  memory_limit: string
  /** Threads of one read. */
  threads: number
  /** Bytes, by default 512 MB. While less disk is free, rows wait and are not stored. */
  min_free_disk: number
  /** Bytes that the store may take in the data directory. At the limit, rows wait and are not stored. */
  max_disk?: number | undefined
  /** A MaxMind database of places. */
  geoip?: string | undefined
  /** Version of readership, sent as part of the user agent. */
  version: string
  /** Files or directories with published address ranges that the operator supplies. */
  ranges: readonly string[]
  /** Hosts to add to the shipped list of referrer spam, and hosts to take off it. */
  spam_referrers: readonly string[]
  trusted_referrers: readonly string[]
  /** No request except to the origin, and no DNS query. */
  offline: boolean
  /** The site whose robots.txt and llms.txt apply; without one, fetches are judged by no policy. */
  origin?: string | undefined
  /** The hostnames that the settings name; the first site has them as soon as it is created. */
  domain: readonly string[]
  /** The origin is the application that readership is a part of, which listens only after readership was opened. */
  in_application: boolean
  /** Absent values are the store's defaults. */
  limits?: Partial<ReadTimeouts> | undefined
  /** Milliseconds to wait for files that another process has open. */
  lock_ms?: number | undefined
  /** The database of hits and fetches, `clickhouse://…`; without it they are in the data directory. */
  store?: string | undefined
  /** The database of the records, `postgres://…`; without it they are in the data directory. */
  control?: string | undefined
  /** Whether this process may become the writer of the shared records, and whether it must be one to work. */
  role: 'writer' | 'reader' | 'both'
  /** Names the site's process among those that share the records, however often its worker is started. */
  instance: string
  /** The URL at which other processes reach the service of this one. */
  address: string
  /** How far the worker before this one had come, as the site's process knows. */
  from: CommitPosition
}

/** `Sql` as plain data: a message does not keep its class. */
export interface Statement {
  text: readonly string[]
  values: readonly Param[]
}

/** Chunks of a stream that the receiver has not acknowledged: it works on one while the next waits. */
export const MAX_UNACKNOWLEDGED_CHUNKS = 2

/**
 * Milliseconds of a clock that both processes share: monotonic, and the same for every process of the machine on Linux,
 * macOS and Windows.
 */
export const machineTime = (): number => Number(process.hrtime.bigint() / 1_000_000n)

/**
 * A request that waits for its result. A worker that was stopped does not begin it after `begin_by`: its caller was told
 * that it failed, and may have made it again.
 */
interface Request {
  id: number
  /** By `machineTime`. */
  begin_by: number
}

export type ToWorker =
  /** `alone`: no other batch is sent before its commit, and the worker says when it begins it. */
  | { type: 'batch'; sequence: number; batch: PackedBatch; delivery?: EdgeDelivery; alone?: true }
  | (Request & { type: 'query'; file: 'events' | 'control'; statement: Statement; scope?: QueryScope | undefined })
  /** Answered by `chunk`s, at most `MAX_UNACKNOWLEDGED_CHUNKS` ahead of `more`, and by empty `rows` after the last. */
  | (Request & { type: 'stream'; statement: Statement })
  | { type: 'more'; id: number }
  /** The result is not wanted any more: an `error` follows soon, unless the result was sent already. */
  | { type: 'cancel'; id: number }
  | (Request & { type: 'write'; statements: readonly Statement[] })
  | (Request & { type: 'call'; name: string; argument: unknown })
  /** Answered by `pong` at once. */
  | { type: 'ping' }
  | { type: 'tail'; on: boolean }
  /** Whether the rules for agents ask for verdicts on claims. */
  | { type: 'verdicts'; on: boolean }
  | { type: 'close' }

export type FromWorker =
  /** The store is being opened, which takes long where a file is migrated: its stage in a few words. */
  | { type: 'opening'; stage: string }
  /** The store is open; batches up to the position are stored. A process that is not the writer takes no batches. */
  | { type: 'ready'; position: CommitPosition; losses: readonly string[]; writer: boolean }
  /** The URL of the process that writes, for one that only reads; without it none writes at present. */
  | { type: 'writer_at'; address?: string }
  /** The role of this process has changed: the worker ends, and the next one has the other role. */
  | { type: 'role_changed'; reason: string }
  /** Another process has written records. */
  | { type: 'records_changed' }
  /** The files cannot be opened, or what a `setting` names cannot be used; the worker ends. */
  | { type: 'failed'; message: string; setting: boolean }
  /** `drops`: hits of these batches that arrived at an endpoint and became no row. */
  | { type: 'committed'; position: CommitPosition; drops: readonly EndpointDrop[]; ms: number }
  /** The worker works on a batch that was sent alone: should it die now, this batch may be the cause. */
  | { type: 'begun'; sequence: number }
  | { type: 'pong' }
  /** Why nothing is stored at present; without a reason, rows are stored again. */
  | { type: 'state'; reason?: string }
  /** The worker's resource usage: sent after `ready`, then each second in which it has changed. */
  | { type: 'usage'; usage: WorkerUsage }
  /** Result of a `query`, `stream` or `write`. */
  | { type: 'rows'; id: number; rows: ResultRow[] }
  | { type: 'chunk'; id: number; rows: ResultRow[] }
  /** Result of a `call`. */
  | { type: 'result'; id: number; value: unknown }
  | { type: 'error'; id: number; code: Code; message: string; cause?: string }
  | { type: 'tail_rows'; rows: TailRow[] }
  | { type: 'claim_verdicts'; verdicts: readonly ClaimVerdict[] }
  | { type: 'policy'; change: PolicyChange }
  | { type: 'log'; level: 'info' | 'warn' | 'error'; message: string; error?: string }

/** CPU and memory of the worker's process, at most a second old or less than 0.05 s and 1 MB from the present ones. */
export interface WorkerUsage {
  pid: number
  resident_bytes: number
  /** User and system time since the process began. */
  cpu_seconds: number
}

/** A committed row as `tail` shows it; 64-bit ids are 16 hex digits. */
export type TailRow =
  | ({ audience: 'human' } & WithHexIds<EventRow>)
  | ({ audience: 'agent' } & WithHexIds<AgentEventRow>)
type WithHexIds<R> = { [K in keyof R]: R[K] extends bigint ? string : R[K] }
