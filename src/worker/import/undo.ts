import { z } from 'zod'
import type { Imports } from '../../manage/imports.js'
import type { EventStore, ImportPart, SessionSplit } from '../../storage/event-store.js'
import { ARRIVAL_COLUMNS, type Arrival } from '../../storage/rows.js'
import { raw, type Sql, sql } from '../../storage/sql.js'
import { HexId } from '../../storage/store.js'
import {
  hashSessionId,
  MAX_LATENESS_MS,
  SESSION_TIMEOUT_MS,
  type SessionMemory,
  type SessionReplacement,
} from '../ingest/session-memory.js'
import type { Writer } from '../writer.js'

/** Approximate: appends wait while a step runs. */
const ROWS_PER_STEP = 100_000
/** Later than any stored row, and within the range of every engine. */
const END_OF_TIME = new Date('2299-01-01T00:00:00Z')
/** Memory has no session whose last hit is older. */
const MEMORY_MS = 2 * MAX_LATENESS_MS

type UndoStore = Pick<EventStore, 'dialect' | 'lookUp'>
type ImportKey = Pick<ImportPart, 'site' | 'import'>
/** A part of an import, by when its sessions and fetches began; `before` is exclusive. */
interface Slice extends ImportKey {
  from: Date
  before: Date
}

const ImportArgument = z.object({ site: z.int(), import: z.int() })

/**
 * Returns a function that removes the rows of an import, one step per call, after the batches that are waiting. The sessions
 * that it joined or prolonged become again what they are without it. Between two steps no session has a part of its rows.
 */
export const createImportRemoval =
  (deps: {
    store: UndoStore & Pick<EventStore, 'removeImport'>
    writer: Pick<Writer, 'runExclusive'>
    sessions: Pick<SessionMemory, 'replace'>
    imports: Pick<Imports, 'readSessions'>
    now: () => number
    rows_per_step?: number
  }) =>
  (argument: unknown): Promise<{ rows: number; more: boolean }> => {
    const key = ImportArgument.parse(argument)
    return deps.writer.runExclusive(async () => {
      const { part, replacements } = await planUndo(deps, key)
      // Before the rows: if the step fails, the next one gives them the sessions that memory has.
      deps.sessions.replace(replacements)
      return deps.store.removeImport(part)
    })
  }

/** Finds the next rows of an import to remove, and what becomes of the sessions that have other rows too. */
async function planUndo(
  {
    store,
    imports,
    now,
    rows_per_step = ROWS_PER_STEP,
  }: { store: UndoStore; imports: Pick<Imports, 'readSessions'>; now: () => number; rows_per_step?: number },
  key: ImportKey,
): Promise<{ part: ImportPart; replacements: SessionReplacement[] }> {
  const slice = await findSlice(store, key, rows_per_step)
  if (slice === undefined) return { part: { ...key, before: new Date(0), splits: [] }, replacements: [] }
  const pieces = await findPieces(store, slice)
  const noted = await findNotedArrivals(imports, slice, pieces)
  const settled = settlePieces(pieces, noted)
  const { before } = slice
  return {
    part: { ...key, before, splits: [...settled].flatMap(([was, own]) => listSplits(was, own)) },
    replacements: await findReplacements(store, slice, settled, new Date(now() - MEMORY_MS)),
  }
}

const isImported = ({ site, import: id }: ImportKey): Sql => sql`site_id = ${site} and import_id = ${id}`
const isInSlice = ({ site, from, before }: Slice): Sql =>
  sql`site_id = ${site} and session_start >= ${from} and session_start < ${before}`

/** Finds the oldest rows of an import, about as many as a step removes; undefined if none are left. */
async function findSlice(store: UndoStore, key: ImportKey, limit: number): Promise<Slice | undefined> {
  const [row] = await store.lookUp(sql`
    select min(began) as first, max(began) as latest from (
      select began from (
        select session_start as began from events where ${isImported(key)}
        union all select timestamp as began from agent_events where ${isImported(key)}) r
      order by began limit ${limit}) s`)
  const { first, latest } = z.object({ first: z.date().nullable(), latest: z.date().nullable() }).parse(row)
  if (first === null || latest === null) return undefined
  return { ...key, from: first, before: new Date(latest.getTime() + 1) }
}

const text = z.string().nullable()
const Piece = z
  .object({
    session_id: HexId,
    session_start: z.date(),
    visitor: HexId,
    started: z.date(),
    ended: z.date(),
    first_path: z.string(),
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
  .transform(({ session_id, session_start, visitor, started, ended, first_path, ...arrival }) => {
    const id = started.getTime() === session_start.getTime() ? session_id : hashSessionId(visitor, started.getTime())
    return { session_id, id, started, ended, first_path, arrival }
  })
/** A part of the rows that stay in a session: by the rule of sessions it is one. `id` is that session's. */
type Piece = z.output<typeof Piece>

/**
 * Finds the sessions with rows of the import and others, and divides the others by the rule of sessions (src/worker/ingest): acts less
 * than 30 minutes apart, and the reports between them that found their session running.
 */
async function findPieces(store: UndoStore, slice: Slice): Promise<Piece[]> {
  const { dialect } = store
  const other = sql`import_id is distinct from ${slice.import}`
  const at = dialect.epochMs(raw('timestamp'))
  const bySession = raw('partition by session_id order by from_ms, at_ms')
  const rows = await store.lookUp(sql`
    with mixed as (
      select session_id from events where ${isInSlice(slice)} group by session_id
      having count(*) filter (where not (${other})) > 0 and count(*) filter (where ${other}) > 0),
    seen as (
      select e.*, ${at} as at_ms, kind in ('engagement', 'web_vitals', 'error') as is_report,
        max(case when kind = 'pageview' then ${at} end)
          over (partition by session_id, hostname, pathname order by timestamp) as viewed_ms
      from events e where ${isInSlice(slice)} and ${other} and reported_at is null
        and session_id in (select session_id from mixed)),
    acts as (
      select s.*, case when is_report then greatest(coalesce(viewed_ms, at_ms), at_ms - coalesce(engaged_ms, 0))
        else at_ms end as from_ms from seen s),
    steps as (
      select a.*, max(at_ms) over (${bySession} rows between unbounded preceding and 1 preceding) as last_ms from acts a),
    pieces as (
      select s.*, sum(case when is_report then 0 when last_ms is null or from_ms - last_ms >= ${SESSION_TIMEOUT_MS} then 1
        else 0 end) over (${bySession}) as piece from steps s)
    select session_id, min(session_start) as session_start, min(timestamp) as started, max(timestamp) as ended,
      ${dialect.firstBy(raw('visitor_id'), raw('(timestamp, visitor_id)'))} as visitor,
      ${dialect.firstBy(raw('pathname'), raw('(timestamp, pathname)'))} as first_path,
      ${raw(ARRIVAL_COLUMNS.map((column) => `min(${column}) as ${column}`).join(', '))}
    from pieces group by session_id, piece order by session_id, started`)
  return rows.map((row) => Piece.parse(row))
}

/** The arrivals of sessions as they were before an import moved their rows. */
async function findNotedArrivals(
  imports: Pick<Imports, 'readSessions'>,
  { site }: Slice,
  pieces: readonly Piece[],
): Promise<ReadonlyMap<bigint, Arrival>> {
  if (pieces.length === 0) return new Map()
  const times = pieces.map(({ started }) => started.getTime())
  const [from, to] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))]
  const noted = await imports.readSessions(site, new Date(from), new Date(to))
  return new Map(noted.map(({ session_id, arrival }) => [session_id, arrival]))
}

type SettledPiece = NonNullable<SessionReplacement['now']>

/** Makes sessions of the pieces, in their order, by the session that they are in. */
function settlePieces(
  pieces: readonly Piece[],
  noted: ReadonlyMap<bigint, Arrival>,
): ReadonlyMap<bigint, readonly SettledPiece[]> {
  const settled = new Map<bigint, SettledPiece[]>()
  for (const { session_id: was, id, started, ended, first_path, arrival } of pieces) {
    const own = settled.get(was) ?? []
    settled.set(was, own)
    own.push({
      session_id: id,
      session_start: started,
      last_seen: ended,
      // How hits arrived that came after the import is not known.
      arrival: id === was ? arrival : (noted.get(id) ?? { ...arrival, entry_page: first_path }),
    })
  }
  return settled
}

/** A report that prolongs nothing goes with the piece at or before it. */
function listSplits(was: bigint, pieces: readonly SettledPiece[]): SessionSplit[] {
  return pieces.flatMap(({ session_id, session_start, arrival }, n) => {
    if (session_id === was) return []
    const from = n === 0 ? new Date(0) : session_start
    const until = pieces[n + 1]?.session_start ?? END_OF_TIME
    return [{ session_id: was, from, until, to: { session_id, session_start, arrival } }]
  })
}

const VisitorSession = z.object({ visitor_id: HexId, session_id: HexId })

/** Finds sessions with rows of the import that memory may have, those with a row since `since`, and what they are then. */
async function findReplacements(
  store: UndoStore,
  slice: Slice,
  settled: ReadonlyMap<bigint, readonly SettledPiece[]>,
  since: Date,
): Promise<SessionReplacement[]> {
  const rows = await store.lookUp(sql`
    select session_id, visitor_id from events where ${isInSlice(slice)} and timestamp >= ${since}
      and session_id in (select session_id from events where ${isInSlice(slice)} and ${isImported(slice)})
    group by session_id, visitor_id`)
  return rows.map((row) => {
    const { visitor_id, session_id } = VisitorSession.parse(row)
    return { visitor_id, was: session_id, now: settled.get(session_id)?.at(-1) }
  })
}
