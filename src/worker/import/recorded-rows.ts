import { z } from 'zod'
import type { EventStore } from '../../storage/event-store.js'
import type { AgentEventRow, EventRow, Rows } from '../../storage/rows.js'
import { raw, sql } from '../../storage/sql.js'
import { HexId } from '../../storage/store.js'
import type { HeldSalt } from '../ingest/salts.js'

/** A log has whole seconds, of the request's beginning or of the response's end, by another machine's clock. */
const TOLERANCE_MS = 2_000
/** A response may last this long and be recognised. */
const MAX_DURATION_MS = 120_000
/** Longer than any of these, and than the disorder of a log's lines. */
const GENERATION_MS = 10 * 60_000
/** A browser reports a page this long after its request at most. */
const MAX_REPORT_DELAY_MS = 60_000

const text = z.string().nullable()
const RecordedView = z.object({
  visitor_id: HexId,
  timestamp: z.date(),
  pathname: z.string(),
  status: z.number().nullable(),
  duration_ms: z.number().nullable(),
  browser: text,
  os: text,
  device_type: text,
  country: text,
})
const RecordedFetch = z.object({
  ip_hash: HexId,
  timestamp: z.date(),
  pathname: z.string(),
  status: z.number(),
  duration_ms: z.number(),
  user_agent: z.string(),
})

const VIEW_COLUMNS = Object.keys(RecordedView.shape).join(', ')
const FETCH_COLUMNS = Object.keys(RecordedFetch.shape).join(', ')

/** A row that was recorded live, and the time in which its line in a log may lie. */
interface Recorded {
  name: string
  status: number | null
  from: number
  to: number
}

/**
 * Finds rows of an import that were recorded as they happened. A person's row is recognised by its visitor where the salt
 * is held, an agent's by address and user agent. Where the salt is destroyed, or was made again for late rows, what the
 * user agent and the address say recognises the rest. Each stored row is one line, also over several calls.
 */
export function createRecordedRows(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  site: number,
  saltOf: (at: Date) => HeldSalt | undefined,
) {
  /** The stored rows that were recognised, in two generations of the logs' time. */
  let [used, usedBefore] = [new Set<string>(), new Set<string>()]
  let since = Number.NEGATIVE_INFINITY

  /** Reads recorded rows that these rows of an import may be: of the same path and about the same time. */
  const read = async (table: 'events' | 'agent_events', columns: string, rows: readonly Requested[]) => {
    const isRequest = table === 'events' ? sql`kind = 'pageview' and import_id is null` : sql`import_id is null`
    const [first, last] = [rows[0], rows.at(-1)]
    if (first === undefined || last === undefined) return []
    const windows = listWindows(rows)
    const from = new Date(first.timestamp.getTime() - MAX_DURATION_MS)
    const to = new Date(last.timestamp.getTime() + MAX_REPORT_DELAY_MS)
    const near = store.dialect.rows(windows, { near_path: 'varchar', near_from: 'timestamp', near_to: 'timestamp' })
    // A log of few lines may span years of a site's rows: only those of its paths and times are read.
    return store.lookUp(sql`
      with near as materialized (select * from ${near} n)
      select ${raw(columns)} from ${raw(table)} join near on pathname = near_path
      where site_id = ${site} and timestamp > near_from and timestamp < near_to and timestamp > ${from}
        and timestamp < ${to} and ${isRequest}`)
  }
  const take = (candidates: readonly Recorded[] | undefined, at: number, status: number | null): boolean => {
    for (const { name, from, to, status: recorded } of candidates ?? []) {
      if (at < from || at > to || (recorded !== null && recorded !== status)) continue
      if (used.has(name) || usedBefore.has(name)) continue
      used.add(name)
      return true
    }
    return false
  }

  return {
    /**
     * Finds those of the rows that are stored already; none is before `first`. The rows are in the order of their times.
     * `hasOtherIds` tells whether a person's row is stored under another id, although its salt is held.
     */
    async find(rows: Rows, first: Date): Promise<{ found: Set<EventRow | AgentEventRow>; hasOtherIds: boolean }> {
      const storedViews = await read('events', VIEW_COLUMNS, rows.events)
      const storedFetches = await read('agent_events', FETCH_COLUMNS, rows.agent_events)
      const views = groupByKeys(
        storedViews.map((row) => RecordedView.parse(row)),
        (view) => [visitorKey(view), deviceKey(view)],
      )
      const fetches = groupByKeys(
        storedFetches.map((row) => RecordedFetch.parse(row)),
        (fetch) => [addressKey(fetch), agentKey(fetch)],
      )
      if (Math.abs(first.getTime() - since) > GENERATION_MS) {
        usedBefore = used
        used = new Set()
        since = first.getTime()
      }
      const recorded = new Set<EventRow | AgentEventRow>()
      const match = <Row extends Identified>(
        all: readonly Row[],
        groups: typeof views,
        keyOf: (row: Row) => string,
      ) => {
        for (const row of all) if (take(groups.get(keyOf(row)), row.timestamp.getTime(), row.status)) recorded.add(row)
      }
      const isHeld = ({ timestamp }: Requested) => saltOf(timestamp) !== undefined
      // By ids first, so that no row is taken for that of another person with the same device.
      match(rows.events.filter(isHeld), views, visitorKey)
      match(rows.agent_events.filter(isHeld), fetches, addressKey)
      const isOpen = (row: Identified) => !recorded.has(row) && saltOf(row.timestamp)?.isOriginal !== true
      const people = rows.events.filter(isOpen)
      match(people, views, deviceKey)
      match(rows.agent_events.filter(isOpen), fetches, agentKey)
      return { found: recorded, hasOtherIds: people.some((row) => recorded.has(row) && isHeld(row)) }
    },
  }
}

type Identified = EventRow | AgentEventRow
type Requested = Pick<Identified, 'pathname' | 'timestamp'>

/** Returns when rows that are these may have been recorded; the times of one path do not overlap. */
function listWindows(rows: readonly Requested[]) {
  const all: { near_path: string; near_from: Date; near_to: Date }[] = []
  const last = new Map<string, (typeof all)[number]>()
  for (const { pathname: near_path, timestamp } of rows) {
    const near_from = new Date(timestamp.getTime() - MAX_DURATION_MS)
    const near_to = new Date(timestamp.getTime() + MAX_REPORT_DELAY_MS)
    const window = last.get(near_path)
    if (window !== undefined && near_from < window.near_to) window.near_to = near_to
    else {
      const next = { near_path, near_from, near_to }
      last.set(near_path, next)
      all.push(next)
    }
  }
  return all
}

type View = Pick<EventRow, 'visitor_id' | 'pathname' | 'browser' | 'os' | 'device_type' | 'country'>
type Fetch = Pick<AgentEventRow, 'ip_hash' | 'pathname' | 'user_agent'>

const visitorKey = ({ visitor_id, pathname }: View): string => `${visitor_id} ${pathname}`
const deviceKey = ({ browser, os, device_type, country, pathname }: View): string =>
  JSON.stringify([browser, os, device_type, country, pathname])
const addressKey = ({ ip_hash, user_agent, pathname }: Fetch): string =>
  JSON.stringify([String(ip_hash), user_agent, pathname])
const agentKey = ({ user_agent, pathname }: Fetch): string => JSON.stringify([user_agent, pathname])

interface Timed {
  timestamp: Date
  status: number | null
  duration_ms: number | null
}

/** A view that only a browser reported has no status; its request came before. */
const intervalOf = ({ timestamp, status, duration_ms }: Timed): [number, number] => {
  const at = timestamp.getTime()
  const from = status === null ? at - MAX_REPORT_DELAY_MS : at
  return [from - TOLERANCE_MS, at + Math.min(duration_ms ?? 0, MAX_DURATION_MS) + TOLERANCE_MS]
}

function groupByKeys<Row extends Timed>(
  rows: readonly Row[],
  keysOf: (row: Row) => readonly string[],
): Map<string, Recorded[]> {
  const groups = new Map<string, Recorded[]>()
  const same = new Map<string, number>()
  for (const row of rows) {
    const keys = keysOf(row)
    const ownKey = `${keys[0]} ${row.timestamp.getTime()}`
    const nth = same.get(ownKey) ?? 0
    same.set(ownKey, nth + 1)
    const [from, to] = intervalOf(row)
    const recorded = { name: `${ownKey} ${nth}`, status: row.status, from, to }
    for (const key of keys) {
      const group = groups.get(key)
      if (group) group.push(recorded)
      else groups.set(key, [recorded])
    }
  }
  return groups
}
