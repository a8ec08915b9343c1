import { keyOf, type Sql } from '../sql.js'
import { type QueryScope, queryCancelled, type ResultRow } from '../store.js'

/** The rows that a write changed: those of one site that happened at `since` or later, or any. */
export type Change = { site: number; since: Date } | 'everything'

/** A result that takes a greater part of the cache is not kept. */
const MAX_SHARE = 1 / 8
/** Estimated bytes of an entry, of a row and of a value, besides the text in them. */
const ENTRY_BYTES = 512
const ROW_BYTES = 64
const VALUE_BYTES = 16

interface Entry {
  site: number
  /** Rows after this moment change nothing. */
  until: number
}
/** A statement that waits for its turn or runs. */
interface Flight extends Entry {
  rows: Promise<ResultRow[]>
  /** Callers that wait for the rows. */
  waiting: number
  stopping: AbortController
  /** The statement may have read rows already, so that a later commit is not in its result. */
  started: boolean
  outdated: boolean
}
interface Kept extends Entry {
  rows: ResultRow[]
  bytes: number
}

/** Runs a statement; `onStart` is called before the first row is read. */
type Run = (query: Sql, options: { signal: AbortSignal; asker: string; onStart: () => void }) => Promise<ResultRow[]>

/**
 * Runs equal statements once. A caller joins an equal statement that waits or runs, and gets a result that is kept, as
 * long as nothing that it reads was changed since. A statement says by its values what it reads: rows of its site, from
 * before the latest of its times. At most `max_bytes` of results are kept, those that were used last.
 */
export function createSharedReads(run: Run, max_bytes: number) {
  const flights = new Map<string, Flight>()
  const results = new Map<string, Kept>()
  let bytes = 0

  const forget = (key: string): void => {
    bytes -= results.get(key)?.bytes ?? 0
    results.delete(key)
  }
  const keep = (key: string, { site, until }: Entry, rows: ResultRow[]): void => {
    const size = ENTRY_BYTES + key.length + sizeOf(rows)
    if (size > max_bytes * MAX_SHARE) return
    forget(key)
    results.set(key, { site, until, rows, bytes: size })
    bytes += size
    for (const oldest of results.keys()) {
      if (bytes <= max_bytes) return
      forget(oldest)
    }
  }

  const removeFlight = (key: string, flight: Flight) => flights.get(key) === flight && flights.delete(key)
  const start = (key: string, query: Sql, { site, asker }: QueryScope): Flight => {
    const stopping = new AbortController()
    const onStart = () => {
      flight.started = true
    }
    const rows = run(query, { signal: stopping.signal, asker, onStart })
    const flight: Flight = {
      site,
      until: latestTime(query),
      rows,
      stopping,
      waiting: 0,
      started: false,
      outdated: false,
    }
    flights.set(key, flight)
    rows.then(
      (found) => {
        removeFlight(key, flight)
        if (!flight.outdated) keep(key, flight, found)
      },
      () => removeFlight(key, flight),
    )
    return flight
  }

  return {
    /** As `Store.query`. The rows are shared and must not be changed. */
    async query(query: Sql, signal: AbortSignal | undefined, scope: QueryScope): Promise<ResultRow[]> {
      if (signal?.aborted) throw queryCancelled()
      const key = keyOf(query)
      const cached = results.get(key)
      if (cached) {
        // The entry becomes the one that was used last.
        results.delete(key)
        results.set(key, cached)
        return cached.rows
      }
      const flight = flights.get(key) ?? start(key, query, scope)
      return wait(flight, signal, () => removeFlight(key, flight))
    },
    /** Call after a commit, before it is acknowledged. */
    changed(change: Change): void {
      const isAffected = ({ site, until }: Entry) =>
        change === 'everything' || (change.site === site && change.since.getTime() <= until)
      for (const [key, entry] of results) if (isAffected(entry)) forget(key)
      for (const [key, flight] of flights) {
        // A statement that waits for its turn will read what was committed.
        if (!flight.started || !isAffected(flight)) continue
        flight.outdated = true
        flights.delete(key)
      }
    },
    /** Estimated bytes of the results that are kept. */
    bytes: () => bytes,
  }
}

/** Waits for the rows of a flight. The last caller to leave stops the statement. */
async function wait(flight: Flight, signal: AbortSignal | undefined, onStop: () => void): Promise<ResultRow[]> {
  flight.waiting++
  if (!signal) return flight.rows
  let leave = () => {}
  const left = new Promise<never>((_, reject) => {
    leave = () => {
      flight.waiting--
      if (flight.waiting > 0) return reject(queryCancelled())
      // The caller waits for the end of the statement, which rejects.
      onStop()
      flight.stopping.abort()
    }
  })
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([flight.rows, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** The latest of a statement's times: it reads no row that happened later. Without times it may read every row. */
function latestTime({ values }: Sql): number {
  const times = values.flatMap((value) => (value instanceof Date ? value.getTime() : []))
  return times.length === 0 ? Number.POSITIVE_INFINITY : times.reduce((a, b) => Math.max(a, b))
}

const sizeOf = (rows: readonly ResultRow[]): number =>
  rows.reduce(
    (sum, row) => sum + ROW_BYTES + Object.values(row).reduce<number>((all, value) => all + sizeOfValue(value), 0),
    0,
  )

/** Text takes up to two bytes for each of its units; a list takes what is in it. */
function sizeOfValue(value: unknown): number {
  if (typeof value === 'string') return VALUE_BYTES + 2 * value.length
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + sizeOfValue(each), VALUE_BYTES)
  if (typeof value === 'object' && value !== null && !(value instanceof Date)) return sizeOfValue(Object.values(value))
  return VALUE_BYTES
}
