import { z } from 'zod'
import { HOUR_MS } from '../../base/time-units.js'
import { raw, sql } from '../../storage/sql.js'
import type { Store } from '../../storage/store.js'
import { MAX_LATENESS_MS, SESSION_TIMEOUT_MS } from '../ingest/session-memory.js'

/** A number, because ClickHouse has no boolean expressions. */
const IS_IMPORTED = raw('case when import_id is null then 0 else 1 end')
const HourRow = z.object({ hour: z.date(), imported: z.int() })

export type StoredHours = Awaited<ReturnType<typeof readStoredHours>>

/**
 * Reads in which hours a site has rows: most of a log lies before all of them, and needs no lookup. Rows that happen, or
 * arrive late, while the import runs count too. `now` is in milliseconds since 1970.
 */
export async function readStoredHours(store: Pick<Store, 'query'>, site: number, now: number) {
  const hoursOf = (table: 'events' | 'agent_events') =>
    table === 'events'
      ? sql`select distinct date_trunc('hour', timestamp) as hour, ${IS_IMPORTED} as imported from events
          where site_id = ${site}`
      : sql`select distinct date_trunc('hour', timestamp) as hour, ${IS_IMPORTED} as imported from agent_events
          where site_id = ${site}`
  const people = await readHours(store, hoursOf('events'))
  const agents = await readHours(store, hoursOf('agent_events'))
  const recent = now - MAX_LATENESS_MS - HOUR_MS
  const hourOf = (at: number) => Math.floor(at / HOUR_MS)
  /** Whether one of the hours from `from` to `to` is among `sets`. */
  const overlaps = (from: number, to: number, sets: readonly ReadonlySet<number>[]): boolean => {
    for (const set of sets) {
      if (set.size === 0) continue
      for (let hour = hourOf(from); hour <= hourOf(to); hour++) if (set.has(hour)) return true
    }
    return false
  }
  return {
    /** Whether a row of a person may lie within a session's timeout of `at`. */
    isOccupied: (at: number): boolean =>
      at >= recent || overlaps(at - SESSION_TIMEOUT_MS, at + SESSION_TIMEOUT_MS, [people.recorded, people.imported]),
    /** Whether rows from `from` to `to` may have been recorded live. */
    hasRecorded: (from: number, to: number): boolean =>
      to >= recent || overlaps(from - HOUR_MS, to + HOUR_MS, [people.recorded, agents.recorded]),
    /** Whether rows from `from` to `to` came by an import. */
    hasImported: (from: number, to: number): boolean => overlaps(from, to, [people.imported, agents.imported]),
  }
}

async function readHours(store: Pick<Store, 'query'>, query: Parameters<Store['query']>[0]) {
  const recorded = new Set<number>()
  const imported = new Set<number>()
  for (const row of await store.query(query)) {
    const { hour, imported: isImported } = HourRow.parse(row)
    const set = isImported === 1 ? imported : recorded
    set.add(hour.getTime() / HOUR_MS)
  }
  return { recorded, imported }
}
