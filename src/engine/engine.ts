import type { DropCounts, EndpointDrop } from '../capture/drops.js'
import type { EdgeDelivery } from '../capture/edge-delivery.js'
import type { PackedBatch } from '../capture/packed-batch.js'
import type { PolicyChange } from '../policy/change.js'
import type { AgentEventRow, EventRow } from '../rows.js'
import type { Records, Store } from '../store.js'

/** The worker's process seen from the one that serves the site: everything that classifies, enriches and stores. */
export interface Engine {
  /**
   * Resolves when every row of the batch is committed, once, across any number of worker restarts; `delivery` is then
   * among the stored ones.
   */
  record(parcel: PackedBatch, delivery?: EdgeDelivery): Promise<void>
  readonly events: Pick<Store, 'query' | 'stream' | 'dialect'>
  readonly records: Records
  /** What the worker's parts can be asked, by name (`Desk`): the asker parses the answer. Throws `ApiError`. */
  ask(name: string, argument?: unknown): Promise<unknown>
  status(): EngineStatus
  /** Every row from now on, as it is committed; call what is returned to stop. */
  tail(listener: (row: TailRow) => void): () => void
  /** Every change of a robots.txt or llms.txt from now on; call what is returned to stop. */
  onPolicyChange(listener: (change: PolicyChange) => void): () => void
  /**
   * What came in from outside and became no row, once each, by the time `record` resolves; call what is returned to stop.
   * Of a worker that dies between a commit and its word of it they are in `status` alone.
   */
  onDrop(listener: (dropped: EndpointDrop) => void): () => void
  /** A worker that died was followed by another: what its files hold may be less than was read of them; call what is returned to stop. */
  onRestart(listener: () => void): () => void
  close(): Promise<void>
}

export interface EngineStatus {
  /** `degraded`: the site goes on, rows wait or are dropped and counted. */
  state: 'starting' | 'ready' | 'degraded' | 'closed'
  /** Why it is degraded, for the operator. */
  reason?: string
  /** Rows committed since the process started. */
  rows: { human: number; agent: number }
  drops: DropCounts
  /** Times the worker was started again. */
  restarts: number
  /** Its process, while there is one: memory and CPU of the store are there, and not in the process that serves the site. */
  worker?: WorkerUsage
  /** What opening the store had to give up, one line each; absent when nothing. */
  losses?: readonly string[]
  /** Duration of the last commits, newest last, at most 100. */
  flush_ms: readonly number[]
}

/** As of the last second; CPU of user and system since that process began. */
export interface WorkerUsage {
  pid: number
  resident_bytes: number
  cpu_seconds: number
}

/** A committed row as `tail` shows it; 64-bit ids are 16 hex digits. */
export type TailRow =
  | ({ audience: 'human' } & WithHexIds<EventRow>)
  | ({ audience: 'agent' } & WithHexIds<AgentEventRow>)
type WithHexIds<R> = { [K in keyof R]: R[K] extends bigint ? string : R[K] }
