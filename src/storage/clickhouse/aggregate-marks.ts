import type { ImportPart, LateVerdict, StoredChanges } from '../event-store.js'
import type { AgentEventRow, EventRow } from '../rows.js'
import type { Sql } from '../sql.js'

/**
 * Marks and removes aggregates that a change makes stale, so that reads take their rows until they are computed again.
 * Each method is called before the rows of the change are written, and again if the change is repeated. `number` is that
 * of the change.
 */
export interface AggregateMarks {
  /** Sessions and days of a commit's rows and changes. Rows that get additions are found in the store by their keys. */
  ofCommit(
    events: readonly EventRow[],
    fetches: readonly AgentEventRow[],
    changes: StoredChanges,
    number: bigint,
  ): Promise<void>
  /** Days of fetches that get verdicts. */
  ofVerdicts(verdicts: readonly LateVerdict[], number: bigint): Promise<void>
  /** Days of the stored fetches that a condition selects. */
  ofFetches(where: Sql, number: bigint): Promise<void>
  /** Sessions of the stored events that a condition selects. */
  ofEvents(where: Sql, number: bigint): Promise<void>
  /**
   * A person's rows leave, those that `where` selects: removes the aggregates of `visitors` and `sessions`, and marks all
   * sessions of the visitors `others`, who shared one of these, and the days of the rows.
   */
  removePerson(
    site: number,
    leaving: {
      visitors: readonly bigint[]
      sessions: readonly bigint[]
      others: readonly bigint[]
      where: Sql
    },
    number: bigint,
  ): Promise<void>
  /** Rows that began before `end` leave the site: removes their aggregates, and puts those of later sessions right. */
  removeBefore(site: number, end: Date, number: bigint): Promise<void>
  /**
   * Rows of an import leave, among them the events that `leaving` selects as `e`: removes the aggregates of their sessions, and marks all other
   * sessions of the visitors, those that `splits` make, and the days.
   */
  removeImport(part: ImportPart, leaving: Sql, number: bigint): Promise<void>
  /** Rows that began before `end`, or all that are left, become another site's. */
  assign(sites: { from: number; to: number }, end: Date | undefined, number: bigint): Promise<void>
  /** Erases what was removed of a site from the engine's disk. */
  erase(site: number): Promise<void>
}
