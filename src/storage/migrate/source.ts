import type { ResultRow } from '../store.js'
import type { DayCount, Fingerprint } from './read-events.js'
import type { Cells, CopiedTable, Unit } from './tables.js'

/** The data that is copied. Every method may be called while another process writes. */
export interface Source {
  /** Tells the records from all others. */
  readonly origin: string
  listDays(table: CopiedTable): Promise<DayCount[]>
  /** Lists the days from `first` to `last`. */
  listFingerprints(table: CopiedTable, first: number, last: number): Promise<Fingerprint[]>
  /** Yields the rows of a unit as they are at one moment. */
  streamRows(unit: Unit): AsyncIterable<readonly Cells[]>
  readRecords(table: string): Promise<ResultRow[]>
  /** Returns the text of `salts.json`; undefined before the first. */
  readSalts(): Promise<string | undefined>
  /** Whether another process may write to the source. */
  isInUse(): boolean
  close(): Promise<void>
}
