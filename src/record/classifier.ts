import type { Verdict } from '../agents/verdict.js'
import type { Drops } from './drop.js'
import type { Evidence } from './hit.js'
import type { Unplaced } from './late.js'
import type { AgentEventRow, Rows } from './row.js'

/** An agent's row that may yet be verified: `later` never rejects and ends in bounded time (src/agents/verdict.ts). */
export interface Open {
  row: AgentEventRow
  later: Promise<Verdict>
}

/** Observations to rows: the write path's named steps over the state they need (sessions, salts, caches). */
export interface Classifier {
  /**
   * Never throws: an observation that a step fails on is dropped as `fault` and handed to the log. `unplaced` are those
   * of the rows whose session the store has to tell, before they are stored.
   */
  classify(batch: readonly Evidence[]): { rows: Rows; drops: Drops; open: Open[]; unplaced: Unplaced[] }
}
