import { z } from 'zod'
import { RowError } from '../../storage/columns.js'
import type { EventStore, SessionMove } from '../../storage/event-store.js'
import { ARRIVAL_COLUMNS, type Rows } from '../../storage/rows.js'
import { raw, sql } from '../../storage/sql.js'
import { HexId, type Log } from '../../storage/store.js'

/** Returns those of the keys that imported rows of a site and time have, both ends included. */
export async function findStoredKeys(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  { site, from, to }: { site: number; from: Date; to: Date },
  keys: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  const wanted = store.dialect.rows(
    keys.map((key) => ({ id: key })),
    { id: 'ubigint' },
  )
  const rows = await store.lookUp(sql`
    with wanted as materialized (select * from ${wanted} w)
    select import_key from events
    where site_id = ${site} and timestamp >= ${from} and timestamp <= ${to} and import_key in (select id from wanted)
    union all
    select import_key from agent_events
    where site_id = ${site} and timestamp >= ${from} and timestamp <= ${to} and import_key in (select id from wanted)`)
  return new Set(rows.map(({ import_key }) => HexId.parse(import_key)))
}

/** Appends rows. One that no column can hold is dropped alone. Throws `ApiError('database_error')`. */
export async function append(
  { store, log }: { store: Pick<EventStore, 'append'>; log: Log },
  rows: Rows,
  moves: readonly SessionMove[],
): Promise<void> {
  while (rows.events.length + rows.agent_events.length > 0)
    try {
      return await store.append(rows, undefined, { moves })
    } catch (error) {
      if (!(error instanceof RowError) || error.table === 'loose_reports') throw error
      rows[error.table].splice(error.index, 1)
      log('error', 'import: a row was dropped because the store cannot hold one of its values', error)
    }
}

const text = z.string().nullable()
const StoredSession = z
  .object({
    session_id: HexId,
    session_start: z.date(),
    entry_page: text,
    referrer: text,
    source: text,
    channel: z.string(),
    utm_source: text,
    utm_medium: text,
    utm_campaign: text,
    utm_content: text,
    utm_term: text,
  })
  .transform(({ session_id, session_start, ...arrival }) => ({ session_id, session_start, arrival }))

/**
 * Reads stored sessions as they are before an import makes them part of others: with these values its undoing restores them.
 * Sessions of the import's own rows are left out.
 */
export async function readForeignSessions(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  { id, site }: { id: number; site: number },
  sessions: readonly bigint[],
): Promise<z.output<typeof StoredSession>[]> {
  const ids = store.dialect.rows(
    sessions.map((session) => ({ id: session })),
    { id: 'ubigint' },
  )
  const columns = raw(ARRIVAL_COLUMNS.map((column) => `min(${column}) as ${column}`).join(', '))
  const rows = await store.lookUp(sql`select session_id, min(session_start) as session_start, ${columns} from events
    where site_id = ${site} and session_id in ${ids} and import_id is distinct from ${id} group by session_id`)
  return rows.map((row) => StoredSession.parse(row))
}
