import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
import { z } from 'zod'
import type { EventRow } from '../rows.js'
import type { ResultRow } from '../store.js'
import { type AggregateStep, aggregateStep, readWatermark } from './aggregate-step.js'
import type { Database } from './database.js'
import { toTimestamp } from './query.js'
import type { SessionMove } from './session-moves.js'

/** What the store knows of its rollup, so that an append knows which sealed sessions its rows break open. */
export interface AggregateTracker {
  /**
   * The sealed sessions that these rows add to or these moves take the rows of, or of which rows were `changed` (each as
   * `Unsealed`), as of the last step: to be asked between steps, where appends are.
   */
  findStale(rows: readonly EventRow[], moves: readonly SessionMove[], changed?: readonly ResultRow[]): StaleSession[]
  step(writer: DuckDBConnection, target: Date): Promise<AggregateStep>
  /** A step that only sums up again what got hits since it was sealed. */
  refreshStale(writer: DuckDBConnection): Promise<void>
}

export type StaleSession = Pick<EventRow, 'site_id' | 'session_id' | 'session_start'>

const ChangedRow = z.object({
  site_id: z.int(),
  session_id: z.string().transform((hex) => BigInt(`0x${hex}`)),
  session_start: z.date(),
})

export async function openAggregateTracker(file: Pick<Database, 'read'>): Promise<AggregateTracker> {
  let watermark = await file.read(readWatermark)
  const step = async (writer: DuckDBConnection, target: Date): Promise<AggregateStep> => {
    // Until the step has answered, and if it fails in an unknown state: too many are called broken, which harms nothing.
    const before = watermark
    watermark = new Date(Math.max(target.getTime(), before?.getTime() ?? 0))
    const sealed = await aggregateStep(writer, target)
    watermark = sealed.watermark
    return sealed
  }
  return {
    step,
    async refreshStale(writer) {
      if (watermark) await step(writer, watermark)
    },
    findStale(rows, moves, changed = []) {
      const before = watermark
      if (before === undefined) return []
      const sessions = new Map<string, StaleSession>()
      for (const row of rows) {
        if (row.session_start < before) sessions.set(`${row.site_id} ${row.session_id}`, row)
      }
      for (const { site_id, session_ids, to } of moves) {
        // With the start of what they are part of now, which has a row here: a read leaves out both or neither.
        const { session_start } = to
        if (session_start >= before) continue
        for (const session_id of session_ids) {
          sessions.set(`${site_id} ${session_id}`, { site_id, session_id, session_start })
        }
      }
      for (const one of changed) {
        if (one.session_start instanceof Date && one.session_start >= before) continue
        const row = ChangedRow.parse(one)
        sessions.set(`${row.site_id} ${row.session_id}`, row)
      }
      return [...sessions.values()]
    },
  }
}

/** Rows of `unsealed`; a session that is there already may be there again. */
export function appendStale(appender: DuckDBAppender, rows: readonly StaleSession[]): void {
  for (const { site_id, session_id, session_start } of rows) {
    appender.appendInteger(site_id)
    appender.appendUBigInt(session_id)
    appender.appendTimestamp(toTimestamp(session_start))
    appender.endRow()
  }
}
