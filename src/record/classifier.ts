import type { Drops } from './drop.js'
import type { Observation } from './observation.js'
import type { Rows } from './row.js'

/** Observations to rows: the write path's named steps over the state they need (sessions, salts, caches). */
export interface Classifier {
  /** Never throws: an observation that a step fails on is dropped as `fault` and handed to the log. */
  classify(batch: readonly Observation[]): { rows: Rows; drops: Drops }
}
