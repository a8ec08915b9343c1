import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import type { Rows } from './rows.js'
import type { Dialect, Sql } from './sql.js'

/**
 * One row of a result. Values are converted once, in the `query.ts` of the engine: counts and sums are numbers, 64-bit ids
 * are 16 hex digits, instants are Dates, SQL NULL is null.
 */
export type ResultRow = Record<string, unknown>

/** A 64-bit id in results and for clients: 16 hex digits. */
export const toHexId = (id: bigint): string => id.toString(16).padStart(16, '0')

/** Parses a 64-bit id of a result. */
export const HexId = z.string().transform((hex) => BigInt(`0x${hex}`))

/** Writes a line to the operator's log. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, error?: unknown) => void

/**
 * The site and the caller of a read. Statements with a scope may share their results (`storage/duckdb/shared-reads.ts`): they read
 * rows of this site alone, none that happened after the latest of their values that is a time.
 */
export interface QueryScope {
  readonly site: number
  /** The organisation of the site and, after a slash, the caller: one with many questions does not keep others waiting. */
  readonly asker: string
}

/** Stores and queries events. */
export interface Store {
  readonly dialect: Dialect
  /**
   * Throws `ApiError('database_error')` if the query fails; the cause goes to the log, never to a client. Aborting
   * `signal` stops the query. With a scope, equal queries may get one result, whose rows must not be changed.
   */
  query(query: Sql, signal?: AbortSignal, scope?: QueryScope): Promise<ResultRow[]>
  /** As `query`, in chunks, and no faster than the caller takes them: for results larger than memory. */
  stream(query: Sql, signal?: AbortSignal): AsyncIterable<ResultRow[]>
  /** Stores all rows or none; they are durable when it resolves. */
  append(rows: Rows): Promise<void>
  close(): Promise<void>
}

/** Stores and queries records (sites, keys, accounts): few, updated in place, in a file of their own. */
export interface Records {
  query(query: Sql): Promise<ResultRow[]>
  /** Runs all statements in one transaction; the changes are durable when it resolves. */
  write(...statements: Sql[]): Promise<void>
}

/** A file of the store as it is at one moment. */
export interface Snapshot {
  query(query: Sql): Promise<ResultRow[]>
  /** Writes the result of a query to a Parquet file of this name in the directory for backups. */
  writeParquet(name: string, query: Sql): Promise<void>
}

/** Runs `work` on a snapshot that is taken when `prepare` has ended. What is written meanwhile is not in it. */
export type TakeSnapshot = <T>(work: (snapshot: Snapshot) => Promise<T>, prepare?: () => Promise<void>) => Promise<T>

/** The directory of the data directory in which the files of a backup wait to be fetched. */
export const BACKUP_DIRECTORY = 'backup.tmp'

/** The store of records as the worker opens it. */
export interface RecordStore extends Records {
  /** Repairs at opening; each is in the log already. */
  readonly repairs: readonly Repair[]
  /** Absent where the records are not in a file. */
  snapshot?: TakeSnapshot
  /** Resolves when no write runs, to a function that lets the next ones begin. Absent where the records are not in a file. */
  pauseWrites?(): Promise<() => void>
  /** Reads the bytes that the records take on a server. Absent where they are in a file. */
  readSize?(): Promise<number>
  close(): Promise<void>
}

/** A loss that let a file be opened. Nothing is deleted: `backup` is the path of the original. */
export interface Repair {
  /** The log was cut at the damage, the whole log was left out, or the file itself was replaced by an empty one. */
  what: 'wal_cut' | 'wal_set_aside' | 'file_set_aside'
  backup: string
  /** Bytes that were not read. */
  bytes: number
  why: string
}

/** Limits of reads, in milliseconds. */
export interface ReadTimeouts {
  /** One query, or one chunk of a stream. */
  timeout_ms: number
  /** Waiting for a connection to read on. */
  wait_ms: number
  /** The caller of a stream takes no chunk for this long. */
  idle_ms: number
  /** A whole stream. */
  longest_ms: number
}

/** The error of a query whose signal was aborted. */
export const queryCancelled = (): ApiError => new ApiError('database_error', 'The query was cancelled.')
