import type { Verdict } from '../agents/verdict.js'
import type { DoorDrop, Drops } from '../capture/drop.js'
import type { Evidence } from '../capture/hit.js'
import type { Packed } from '../capture/parcel.js'
import type { Addition, AgentEventRow, EventRow, Rows } from '../rows.js'
import type { Waiting } from './browsing.js'
import type { Unplaced } from './late.js'
import type { Who } from './visitor.js'

/** An agent's row that may yet be verified: `later` never rejects and ends in bounded time (src/agents/verdict.ts). */
export interface Open {
  row: AgentEventRow
  later: Promise<Verdict>
}

/** A row of one half of a view, whose other half may be stored already: memory does not go back so far. */
export interface Unsure {
  row: EventRow
  who: Who
  half: 'server' | 'browser'
  view: Waiting
}

/** What a batch becomes. */
export interface Classified {
  rows: Rows
  drops: Drops
  /** Those of the drops that came in from outside for a site. */
  dropped: DoorDrop[]
  open: Open[]
  /** Those of the rows whose session the store has to tell, before they are stored. */
  unplaced: Unplaced[]
  /** What is added to rows that are stored already. */
  additions: Addition[]
  /** Those of the rows of which the store has to tell whether they are added to stored ones instead. */
  unsure: Unsure[]
}

/** Observations to rows: the write path's named steps over the state they need (sessions, salts, caches). */
export interface Classifier {
  /**
   * Never throws: an observation that a step fails on is dropped as `fault` and handed to the log. The batch before must
   * be committed: its rows are changed no more.
   */
  classify(batch: readonly (Evidence | Packed)[]): Classified
}
