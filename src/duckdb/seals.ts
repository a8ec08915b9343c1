import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
import { z } from 'zod'
import type { EventRow } from '../rows.js'
import type { ResultRow } from '../store.js'
import type { Database } from './database.js'
import type { Move } from './move.js'
import { microseconds } from './query.js'
import { type Sealed, sealStep, watermarkOf } from './rollup.js'

/** What the store knows of its rollup, so that an append knows which sealed sessions its rows break open. */
export interface Seals {
  /**
   * The sealed sessions that these rows add to or these moves take the rows of, or of which rows were `changed` (each as
   * `Unsealed`), as of the last step: to be asked between steps, where appends are.
   */
  broken(rows: readonly EventRow[], moves: readonly Move[], changed?: readonly ResultRow[]): Unsealed[]
  step(writer: DuckDBConnection, target: Date): Promise<Sealed>
  /** A step that only sums up again what got hits since it was sealed. */
  again(writer: DuckDBConnection): Promise<void>
}

export type Unsealed = Pick<EventRow, 'site_id' | 'session_id' | 'session_start'>

const Changed = z.object({
  site_id: z.int(),
  session_id: z.string().transform((hex) => BigInt(`0x${hex}`)),
  session_start: z.date(),
})

export async function openSeals(file: Pick<Database, 'read'>): Promise<Seals> {
  let watermark = await file.read(watermarkOf)
  const step = async (writer: DuckDBConnection, target: Date): Promise<Sealed> => {
    // Until the step has answered, and if it fails in an unknown state: too many are called broken, which harms nothing.
    const before = watermark
    watermark = new Date(Math.max(target.getTime(), before?.getTime() ?? 0))
    const sealed = await sealStep(writer, target)
    watermark = sealed.watermark
    return sealed
  }
  return {
    step,
    async again(writer) {
      if (watermark) await step(writer, watermark)
    },
    broken(rows, moves, changed = []) {
      const before = watermark
      if (before === undefined) return []
      const sessions = new Map<string, Unsealed>()
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
        const row = Changed.parse(one)
        sessions.set(`${row.site_id} ${row.session_id}`, row)
      }
      return [...sessions.values()]
    },
  }
}

/** Rows of `unsealed`; a session that is there already may be there again. */
export function appendUnsealed(appender: DuckDBAppender, rows: readonly Unsealed[]): void {
  for (const { site_id, session_id, session_start } of rows) {
    appender.appendInteger(site_id)
    appender.appendUBigInt(session_id)
    appender.appendTimestamp(microseconds(session_start))
    appender.endRow()
  }
}
