import type { CommitPosition } from './commit-position.js'
import type { EdgeDelivery } from './edge-delivery.js'
import type { PageEditionChanges } from './page-samples.js'
import type { Addition, AgentEventRow, Arrival, EventRow, Rows } from './rows.js'
import type { Sql } from './sql.js'
import type { Repair, ResultRow, Store, TakeSnapshot } from './store.js'

/** The store of hits and fetches as the worker uses it, whatever its engine. One worker at a time writes to it. */
export interface EventStore extends Store {
  /** Losses at opening, with the number of committed rows that they cost if the store knows it. */
  readonly losses: readonly (Repair & { rows: number | undefined })[]
  /** The last commit of a run; undefined before its first. */
  lastCommit(run: string): Promise<CommitPosition | undefined>
  /** As `query`, but runs after every earlier write and before every later one: for what the next write depends on. */
  lookUp(query: Sql): Promise<ResultRow[]>
  /**
   * As `Store.append`. Rows whose `position` is stored already are left out, so an append that failed in an unknown
   * state may be repeated. `changes` are made to stored rows in the same commit, and their deliveries are stored
   * with the rows. Throws `RowError` if a column cannot hold a value; nothing is stored then.
   */
  append(rows: Rows, position?: CommitPosition, changes?: StoredChanges): Promise<void>
  /** Gives stored rows the verdicts that came late. */
  updateVerdicts(verdicts: readonly LateVerdict[]): Promise<void>
  /**
   * Fills in what stored fetches lack: the newest `limit` of these hostnames, from `since` to before `until`, that robots.txt or
   * llms.txt has not judged. `judge` returns the judgements of the fetches in their order; it may leave out the last ones. What a fetch has
   * already stays. No other change of rows comes between.
   */
  judgeFetches(
    selection: UnjudgedSelection,
    judge: (fetches: readonly UnjudgedFetch[]) => Promise<readonly FetchJudgement[]>,
  ): Promise<void>
  /**
   * Brings a slice of the fetches that another catalogue named to the catalogue `version`, all or none. `describe` gets the
   * slice by what identifies an agent, and returns what changes; an error of it changes nothing and is passed on. It is
   * not called if no fetch remains. Returns how many remain afterwards.
   */
  reclassify(
    version: string,
    describe: (groups: readonly FetchGroup[]) => Promise<readonly AgentChange[]>,
  ): Promise<{ remaining: number }>
  /** Gives a slice of the people's rows with this system and kind of device another one; returns how many it changed. */
  renameDevice(from: Device, to: Device): Promise<number>
  /** Replaces the stored URLs of a hostname's sitemaps, all or none. */
  replaceSitemap(hostname: string, urls: readonly { pathname: string; lastmod: Date | null }[]): Promise<void>
  /** Stores editions of pages, all or none. */
  writePageEditions(changes: PageEditionChanges): Promise<void>
  /**
   * Removes rows and their aggregates, one bounded step. When it resolves, no file of the store has the rows any more, logs
   * included. Throws `ApiError('database_error')`.
   */
  remove(removal: Removal): Promise<RemovalStep>
  /**
   * Removes a part of an import's rows, one bounded step: first `splits` are made, then the rows leave. A step that failed may
   * be repeated, with the splits that are left to make. Throws `ApiError('database_error')`.
   */
  removeImport(part: ImportPart): Promise<{ rows: number; more: boolean }>
  /** Gives rows of a site to another, one bounded step, as `remove` does. Throws `ApiError('database_error')`. */
  assign(sites: { from: number; to: number }): Promise<{ rows: number; more: boolean }>
  /** Deletes the notes of removals, of one key or all, when their results are known to the caller. */
  forgetRemovals(key?: string): Promise<void>
  /** Aggregates all sessions that started before `target` and counts all days that ended by then, in bounded steps. */
  aggregate(target: Date): Promise<void>
  /** Call about once a second: one step of aggregation (with `aggregate`), and what an idle store tidies up. Never throws. */
  maintain(due: { aggregate: boolean }): Promise<void>
  /** Absent where the rows are not in a file. */
  snapshot?: TakeSnapshot
  /** Measures the file that has the rows; absent where they are on a server. Throws `ApiError('database_error')`. */
  readSize?(): Promise<Omit<StoreSize, 'tables'>>
  /** Measures its tables too, which reads the metadata of each block. */
  readTableSizes?(): Promise<StoreSize['tables']>
  /** Folds the log into the file, which gives blocks of erased rows to new ones. Logs an error and does not throw. */
  checkpoint?(): Promise<void>
  /** Describes the server that has the rows; absent where they are in a file. Throws `ApiError('database_error')`. */
  serverStatus?(): Promise<ServerStatus>
}

/** The size of a file that has the rows. */
export interface StoreSize {
  /** Blocks with rows, and the log. */
  used_bytes: number
  /** Blocks of the file that erased and expired rows have left: new rows take them before the file grows. */
  free_bytes: number
  /** Rows, blocks and growth a day of the tables that grow with traffic. */
  tables: readonly { table: string; rows: number; bytes: number; growth_bytes: number }[]
}

/** The state of a server that has the rows. */
export interface ServerStatus {
  /** The files (parts) of each table that reads look at. */
  parts: Readonly<Record<string, number>>
  /** The disk that all tables take. */
  bytes: number
  /** Erasures and other changes of files that have not ended. */
  unfinished_mutations: number
  /** The largest delay of a replicated table; absent without replicas. */
  replication_delay_seconds?: number
  /** The commits that this process has written to the server since it opened the store; absent where it only reads. */
  commits?: { count: number; rows: number; seconds: number }
}

/** Changes that a commit makes besides adding rows. */
export interface StoredChanges {
  moves?: readonly SessionMove[]
  placements?: readonly Placement[]
  /** Reports without a session; their columns of a session are not stored. */
  loose?: readonly EventRow[]
  /** A row that has both halves is not changed again, so repeating an addition is harmless. */
  additions?: readonly Addition[]
  deliveries?: readonly EdgeDelivery[]
}

/** Stored sessions whose rows become part of another session, because of a late hit. */
export interface SessionMove {
  site_id: number
  /** Sessions of stored rows; afterwards no row has one of these ids. */
  session_ids: readonly bigint[]
  to: { session_id: bigint; session_start: Date; arrival: Arrival }
  /** No stored row of these sessions is earlier or later. */
  first: Date
  last: Date
}

/** A stored report of a page that gets another place: in another session, at another time, or in a session at all. */
export interface Placement {
  /** Identifies the report; several equal ones have one place. */
  key: Pick<EventRow, 'site_id' | 'visitor_id' | 'kind' | 'hostname' | 'pathname'> & {
    reported_at: Date
    engaged_ms: number
  }
  /** The session that it leaves; undefined if it had none, and is in `loose_reports`. */
  from: Pick<EventRow, 'session_id' | 'session_start'> | undefined
  to: Pick<EventRow, 'session_id' | 'session_start' | 'timestamp' | 'visitor_id' | 'pathname' | 'reported_at'> & {
    arrival: Arrival
  }
}

/**
 * A verdict that arrived after its row was stored, with what identifies the row: fetches of one agent from one address in
 * the same millisecond are the same claim. Only a row that is still `indeterminate` gets it.
 */
export type LateVerdict = Pick<
  AgentEventRow,
  'site_id' | 'timestamp' | 'agent_id' | 'ip_hash' | 'verified' | 'verification'
> &
  Partial<Pick<AgentEventRow, 'proof' | 'proof_at'>>

export interface UnjudgedSelection {
  hostnames: readonly string[]
  since: Date
  until: Date
  limit: number
}
export type UnjudgedFetch = Pick<AgentEventRow, 'hostname' | 'agent_id' | 'pathname' | 'timestamp'>
/** A null of `robots_allowed` or `llms_listed` is not a judgement. */
export type FetchJudgement = Pick<
  AgentEventRow,
  'robots_allowed' | 'robots_rule' | 'robots_line' | 'robots_grace' | 'llms_listed'
>

/** Stored fetches that one change concerns alike. */
export interface FetchGroup extends Pick<AgentEventRow, 'user_agent' | 'agent_id' | 'operator' | 'purpose'> {
  /** Whether a signature named the agent (`web_bot_auth`). */
  signed: boolean
  rows: number
}

/**
 * The agent that the fetches of a user agent, agent and kind of naming get. If `to` is another agent, `verified`, its
 * proof and the columns of robots.txt become null, and `verification` the one given here.
 */
export interface AgentChange
  extends Pick<AgentEventRow, 'user_agent' | 'agent_id' | 'operator' | 'purpose' | 'verification'> {
  signed: boolean
  to: string
}

/** A system and a kind of device, as a person's row has them. */
export type Device = Pick<EventRow, 'os' | 'device_type'>

/**
 * The rows to remove from a site: those of one person, those that began before a moment, or all of them with the sitemaps of its hostnames.
 * The `key` identifies a removal that is repeated because its result was lost: until `forgetRemovals`, a person's removal
 * is not done twice, and `rows` are those of all its steps.
 */
export type Removal =
  | { site: number; key?: string | undefined; visitor: bigint }
  | { site: number; before: Date }
  | SiteRemoval
export interface SiteRemoval {
  site: number
  key?: string | undefined
  hostnames: readonly string[]
}

/** Rows of an import that leave in one step: those of sessions and the fetches that began before a moment. */
export interface ImportPart {
  site: number
  import: number
  before: Date
  splits: readonly SessionSplit[]
}

/** Rows of a session that stay when those of an import leave, and the session that they are in then. */
export interface SessionSplit {
  session_id: bigint
  /** The times of these rows; `until` is exclusive. */
  from: Date
  until: Date
  to: { session_id: bigint; session_start: Date; arrival: Arrival }
}

/** The result of one step; with a `key`, of all its steps. */
export interface RemovalStep {
  /** Rows of `events`, `loose_reports` and `agent_events`. */
  rows: number
  /** Whether another step has something to do. */
  more: boolean
  /** All ids of the person, and their sessions; nothing of them is stored any more. */
  visitor_ids: bigint[]
  session_ids: bigint[]
}
