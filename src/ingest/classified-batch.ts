import type { Verdict } from '../agents/verdict.js'
import type { DropCounts, EndpointDrop } from '../capture/drops.js'
import type { Evidence } from '../capture/hit.js'
import type { PackedObservation } from '../capture/packed-batch.js'
import type { Addition, AgentEventRow, EventRow, Rows } from '../rows.js'
import type { UnplacedRow } from './late-rows.js'
import type { PendingView } from './view-memory.js'
import type { VisitorIds } from './visitor-ids.js'

/** An agent's row that may yet be verified: `later` never rejects and ends in bounded time (src/agents/verdict.ts). */
export interface PendingVerification {
  row: AgentEventRow
  later: Promise<Verdict>
}

/** A row of one half of a view, whose other half may be stored already: memory does not go back so far. */
export interface UnmatchedView {
  row: EventRow
  visitor: VisitorIds
  reportedBy: 'server' | 'browser'
  view: PendingView
}

/** What a batch becomes. */
export interface ClassifiedBatch {
  rows: Rows
  drops: DropCounts
  /** Those of the drops that came in from outside for a site. */
  endpointDrops: EndpointDrop[]
  pendingVerifications: PendingVerification[]
  /** Those of the rows whose session the store has to tell, before they are stored. */
  unplaced: UnplacedRow[]
  /** What is added to rows that are stored already. */
  additions: Addition[]
  /** Those of the rows of which the store has to tell whether they are added to stored ones instead. */
  unsure: UnmatchedView[]
}

/** Observations to rows: the write path's named steps over the state they need (sessions, salts, caches). */
export interface Classifier {
  /**
   * Never throws: an observation that a step fails on is dropped as `fault` and handed to the log. The batch before must
   * be committed: its rows are changed no more.
   */
  classify(batch: readonly (Evidence | PackedObservation)[]): ClassifiedBatch
}
