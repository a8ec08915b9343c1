import { mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StoreOpenError } from '../errors.js'
import type { Migration } from '../records-schema.js'
import type { Log, ReadTimeouts } from '../store.js'
import { createReopeningDatabase, DEFAULT_READ_TIMEOUTS } from './database.js'
import { type Connections, type FileSettings, openDatabaseFile, StoreLockedError } from './open.js'
import { inTransaction } from './query.js'
import { openWithRepair } from './repair.js'

export interface DataFileOptions {
  file: string
  migrations: readonly Migration[]
  settings: FileSettings
  /** Wall clock, for the names of files that are set aside. */
  now: () => Date
  /** Milliseconds of a monotonic clock. */
  clock: () => number
  log: Log
  limits?: Partial<ReadTimeouts> | undefined
  /** Milliseconds to wait for a file that another process has open; 0 by default. */
  lock_ms?: number
  /** Called when a file had to be repaired that was opened again: what it lost is found at the next start only. */
  onRepaired?: () => void
  /** Called when the file was opened again. */
  onReopen?: () => void
}

const LOCK_RETRY_MS = 50

export type DataFile = Awaited<ReturnType<typeof openDataFile>>

/**
 * Opens a file, repairs it if it is damaged, and migrates it to the last version of its schema. Throws `StoreOpenError`
 * with one line for the operator.
 */
export async function openDataFile(options: DataFileOptions) {
  const { file, migrations, settings, log } = options
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const connect = async (): Promise<Connections> => {
    const connections = await openDatabaseFile(file, settings)
    // A killed process left its spilled data; the lock is ours, so no other process uses it.
    rmSync(`${file}.tmp`, { recursive: true, force: true })
    return connections
  }
  const open = async () => {
    const opened = await retryWhileLocked(() => openWithRepair(file, connect, options.now), options)
    for (const { what, backup, bytes, why } of opened.repairs) {
      log('error', `${file}: ${what.replaceAll('_', ' ')}: ${bytes} bytes were not read and lie in ${backup} (${why})`)
    }
    return opened
  }
  const { connections, repairs, wal } = await open()
  try {
    await migrate(connections.writer, file, migrations)
    if (repairs.length > 0) await connections.writer.run('checkpoint')
  } catch (error) {
    connections.close()
    throw error
  }
  const reopen = async () => {
    const reopened = await open()
    if (reopened.repairs.length > 0) options.onRepaired?.()
    options.onReopen?.()
    return reopened.connections
  }
  const database = createReopeningDatabase(connections, reopen, {
    clock: options.clock,
    memory_limit: settings.memory_limit,
    threads: settings.threads,
    first_retry_ms: 250,
    max_retry_ms: 5_000,
    limits: { ...DEFAULT_READ_TIMEOUTS, ...options.limits },
    onReopen: (cause) => log('warn', `${file} was closed and opened again after an error`, cause),
  })
  return {
    ...database,
    /** Repairs at opening; each is in the log already. */
    repairs,
    /** The write-ahead log as it was when the file was opened. */
    wal,
    /** The present size of the write-ahead log. */
    walBytes: (): number => statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0,
  }
}

/** Repeats the whole of `open`: a log that was read while another process wrote it says nothing. */
async function retryWhileLocked<T>(
  open: () => Promise<T>,
  { clock, lock_ms = 0 }: Pick<DataFileOptions, 'clock' | 'lock_ms'>,
): Promise<T> {
  const until = clock() + lock_ms
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof StoreLockedError) || clock() >= until) throw error
      await sleep(LOCK_RETRY_MS)
    }
  }
}

/**
 * Migrates a file to the last version: each step in its own transaction, with the row that records it, and a checkpoint
 * after all of them, because a schema change must not be replayed from the log. Throws `StoreOpenError` if the file has a
 * later version than this program knows.
 */
async function migrate(connection: DuckDBConnection, file: string, migrations: readonly Migration[]) {
  await connection.run('create table if not exists schema_versions (version integer, applied_at timestamp)')
  const reader = await connection.runAndReadAll('select coalesce(max(version), 0)::integer from schema_versions')
  const version = Number(reader.value(0, 0))
  if (version > migrations.length) {
    throw new StoreOpenError(
      `${file} has schema version ${version}, and this readership knows versions up to ${migrations.length}`,
    )
  }
  for (const [index, statements] of migrations.entries()) {
    if (index < version) continue
    await inTransaction(connection, async () => {
      for (const statement of statements) await connection.run(statement)
      await connection.run(`insert into schema_versions values (${index + 1}, now()::timestamp)`)
    })
  }
  if (version < migrations.length) await connection.run('checkpoint')
}
