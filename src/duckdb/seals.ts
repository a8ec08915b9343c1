import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
import type { EventRow } from '../record/row.js'
import type { Database } from './database.js'
import { microseconds } from './query.js'
import { type Sealed, sealStep, watermarkOf } from './rollup.js'

/** What the store knows of its rollup, so that an append knows which sealed sessions its rows break open. */
export interface Seals {
  /** One row of each sealed session that these rows add to. */
  broken(rows: readonly EventRow[]): EventRow[]
  step(writer: DuckDBConnection, target: Date): Promise<Sealed>
}

export async function openSeals(file: Pick<Database, 'read'>): Promise<Seals> {
  let watermark = await file.read(watermarkOf)
  return {
    broken(rows) {
      const before = watermark
      if (before === undefined) return []
      const sessions = new Map<string, EventRow>()
      for (const row of rows) {
        if (row.session_start < before) sessions.set(`${row.site_id} ${row.session_id}`, row)
      }
      return [...sessions.values()]
    },
    async step(writer, target) {
      const sealed = await sealStep(writer, target)
      watermark = sealed.watermark
      return sealed
    },
  }
}

/** Rows of `unsealed`; a session that is there already may be there again. */
export function appendUnsealed(appender: DuckDBAppender, rows: readonly EventRow[]): void {
  for (const { site_id, session_id, session_start } of rows) {
    appender.appendInteger(site_id)
    appender.appendUBigInt(session_id)
    appender.appendTimestamp(microseconds(session_start))
    appender.endRow()
  }
}
