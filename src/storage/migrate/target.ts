import type { Records } from '../store.js'
import type { ReadableEvents } from './read-events.js'
import type { Cells, Unit } from './tables.js'

/** The place that data is copied to. No other process uses it. */
export interface Target {
  readonly events: ReadableEvents
  readonly records: Pick<Records, 'query' | 'write'>
  /** Deletes the rows of a unit. */
  clear(unit: Unit): Promise<void>
  /** Adds rows of a unit. */
  insert(unit: Unit, rows: readonly Cells[]): Promise<void>
  /** Replaces the text of `salts.json`. */
  writeSalts(text: string): Promise<void>
  /** A text of the records as the target can store it. */
  storable(text: string): string
  /** Makes events and records belong together, after both were copied completely. */
  bind(): Promise<void>
  close(): Promise<void>
}
