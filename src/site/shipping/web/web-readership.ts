import type { Observation } from '../../../capture/observation.js'
import type { RowList, UnshippedReason } from '../row-list.js'

/** The reason why a row never reaches the collector; counted by name. */
export type WebLossReason =
  | UnshippedReason
  /** The buffer was full, and the oldest rows were deleted. */
  | 'memory_full'
  /** The collector refused the row. */
  | 'refused'

export interface WebShipperStats {
  /** Rows that the collector has committed. */
  shipped: Readonly<Record<RowList, number>>
  waiting: number
  losses: Readonly<Partial<Record<WebLossReason, number>>>
  /** The reason why the collector accepted no rows in the last attempt. */
  trouble?: string
}

/** readership on a platform without a disk: rows wait in memory until a flush has sent them to a collector. */
export interface WebReadership {
  /** Buffers a row for an observation. Never throws, never waits. */
  record(observation: Observation): void
  /**
   * Sends buffered rows for at most half a minute; pass its promise to `waitUntil`. Rows that could not be sent wait for
   * the next flush. Never rejects.
   */
  flush(): Promise<void>
  stats(): WebShipperStats
}
