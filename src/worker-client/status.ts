import type { DropCounts } from '../storage/drops.js'
import type { WorkerUsage } from './protocol.js'

/** The state of the worker, as the site's process knows it. */
export interface WorkerClientStatus {
  /** `degraded`: the site is served as before; rows wait, or are dropped and counted. */
  state: 'starting' | 'ready' | 'degraded' | 'closed'
  /** Why the state is `degraded`, for the operator. */
  reason?: string
  /** Rows committed since the site's process started. */
  rows: { human: number; agent: number }
  drops: DropCounts
  /** How often the worker was started again. */
  restarts: number
  /** CPU and memory of the worker's process, absent while none runs. */
  worker?: WorkerUsage
  /** Losses at the opening of damaged files, one line each; absent without a loss. */
  losses?: readonly string[]
  /** Durations of the last commits, newest last, at most `MAX_COMMIT_DURATIONS`. */
  flush_ms: readonly number[]
}
