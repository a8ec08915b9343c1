import type { DropCounts, EndpointDrop } from '../capture/drops.js'
import type { EdgeDelivery } from '../capture/edge-delivery.js'
import type { PackedBatch } from '../capture/packed-batch.js'
import type { ReadTimeouts } from '../duckdb/database.js'
import type { StreamTimeouts } from '../duckdb/row-stream.js'
import type { Code } from '../errors.js'
import type { PolicyChange } from '../policy/change.js'
import type { Param } from '../sql.js'
import type { ResultRow } from '../store.js'
import type { CommitPosition } from './commit-position.js'
import type { TailRow, WorkerUsage } from './engine.js'

/** What the worker is started with: its first message. */
export interface WorkerOptions {
  /** The data directory. */
  data: string
  /** As DuckDB writes sizes. */
  memory_limit: string
  threads: number
  /** Bytes; with less free, nothing is stored. */
  min_free_disk: number
  geoip?: string
  /** Of readership, which it says when it asks others for something. */
  version: string
  /** The operator's own copies of published ranges: files or directories. */
  ranges: readonly string[]
  /** No request but to the origin, and no DNS. */
  offline: boolean
  /** Whose robots.txt and llms.txt apply; none: rows are judged by no policy. */
  origin?: string
  /** Of reads; absent: the store's own. */
  limits?: Partial<ReadTimeouts & StreamTimeouts>
  /** Milliseconds for which it waits for files that another process has; absent: its own. */
  lock_ms?: number
  /** How far the site's process had come when the worker before it died. */
  from: CommitPosition
}

/** `Sql` without its class, which a message does not keep. */
export interface Statement {
  text: readonly string[]
  values: readonly Param[]
}

/** Chunks of a stream that the asker has not done with: one is worked on, one is there behind it. */
export const MAX_UNACKNOWLEDGED_CHUNKS = 2

export type ToWorker =
  | { type: 'batch'; sequence: number; parcel: PackedBatch; delivery?: EdgeDelivery }
  | { type: 'query'; id: number; file: 'events' | 'control'; statement: Statement }
  /** Answered by `chunk`s, no more of them unacknowledged than `WINDOW`, and an `answer` of none behind the last. */
  | { type: 'stream'; id: number; statement: Statement }
  | { type: 'more'; id: number }
  /** Nobody waits for this query or stream any more: it is `refused` soon, where it is not answered already. */
  | { type: 'cancel'; id: number }
  | { type: 'write'; id: number; statements: readonly Statement[] }
  | { type: 'ask'; id: number; name: string; argument: unknown }
  | { type: 'tail'; on: boolean }
  | { type: 'close' }

export type FromWorker =
  /** Both files are open; batches up to `mark.sequence` are stored. */
  | { type: 'ready'; mark: CommitPosition; losses: readonly string[] }
  /** They cannot be opened, and only the operator can change that; the worker ends. */
  | { type: 'failed'; message: string }
  /** `dropped`: what of these batches came in from outside and became no row. */
  | { type: 'committed'; mark: CommitPosition; dropped: readonly EndpointDrop[]; ms: number }
  /** Why nothing is stored at the moment; absent: all is well again. */
  | { type: 'state'; reason?: string }
  /** Each second. */
  | { type: 'usage'; usage: WorkerUsage }
  | { type: 'answer'; id: number; rows: ResultRow[] }
  | { type: 'chunk'; id: number; rows: ResultRow[] }
  | { type: 'told'; id: number; answer: unknown }
  | { type: 'refused'; id: number; code: Code; message: string; cause?: string }
  | { type: 'rows'; rows: TailRow[] }
  | { type: 'policy'; change: PolicyChange }
  | { type: 'log'; level: 'info' | 'warn' | 'error'; message: string; error?: string }

/** Adds `more` to `drops`, by reason. */
export function sumDrops(drops: DropCounts, more: DropCounts): DropCounts {
  const sum: DropCounts = { ...drops }
  let reason: keyof DropCounts
  for (reason in more) sum[reason] = (sum[reason] ?? 0) + (more[reason] ?? 0)
  return sum
}
