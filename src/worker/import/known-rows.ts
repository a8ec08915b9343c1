import type { EventStore } from '../../storage/event-store.js'
import type { AgentEventRow, EventRow, Rows } from '../../storage/rows.js'
import type { HeldSalt } from '../ingest/salts.js'
import { createRecordedRows } from './recorded-rows.js'
import type { StoredHours } from './stored-hours.js'
import { findStoredKeys } from './stored-rows.js'

type Row = EventRow | AgentEventRow

/** Creates the function that returns those rows of a batch that are stored already: by an import, or as they happened. */
export function createKnownRows({
  store,
  site,
  hours,
  saltOf,
}: {
  store: Pick<EventStore, 'dialect' | 'lookUp'>
  site: number
  hours: StoredHours
  /** The salt by which visitors of that time have ids; undefined if it is destroyed, and they have the import's own. */
  saltOf: (at: Date) => HeldSalt | undefined
}) {
  const recorded = createRecordedRows(store, site, saltOf)
  return async (rows: Rows): Promise<{ known: Set<Row>; hasOtherIds: boolean }> => {
    const all: Row[] = [...rows.events, ...rows.agent_events]
    const times = all.map(({ timestamp }) => timestamp.getTime())
    const first = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
    const last = times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
    const stored = new Set<Row>()
    if (all.length === 0) return { known: stored, hasOtherIds: false }
    const [from, to] = [new Date(first), new Date(last)]
    if (hours.hasImported(first, last)) {
      const own = all.flatMap(({ import_key }) => import_key ?? [])
      const keys = await findStoredKeys(store, { site, from, to }, own)
      for (const row of all) if (row.import_key !== null && keys.has(row.import_key)) stored.add(row)
    }
    if (!hours.hasRecorded(first, last)) return { known: stored, hasOtherIds: false }
    const isNew = (row: Row) => !stored.has(row)
    const others = { events: rows.events.filter(isNew), agent_events: rows.agent_events.filter(isNew) }
    const { found, hasOtherIds } = await recorded.find(others, from)
    for (const row of found) stored.add(row)
    return { known: stored, hasOtherIds }
  }
}
