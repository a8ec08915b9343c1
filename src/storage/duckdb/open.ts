import { chmodSync, fstatSync, readdirSync, statSync } from 'node:fs'
import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StoreOpenError } from '../../base/errors.js'
import { BACKUP_DIRECTORY } from '../store.js'
import { DuckDBInstance } from './bindings.js'

/** Another process has the file open. */
export class StoreLockedError extends StoreOpenError {}

export interface FileSettings {
  /** As DuckDB writes sizes, `512MB`. */
  memory_limit: string
  /** Threads of reads. Writes run on one. */
  threads: number
  /** Disk that queries may spill to, as DuckDB writes sizes. */
  temp_limit: string
}

/**
 * Reads at once. However many cores there are, a running read holds one of the four threads that Node also needs for
 * files and DNS, and uses `threads` cores by itself. The writer and the connection for streams take the other two.
 */
export const READ_CONNECTIONS = 2

/** Streams at once: one whose caller reads slowly keeps its rows for minutes. Their statements wait among the reads. */
export const STREAM_CONNECTIONS = 8

/** One open file. Each connection runs one statement at a time. */
export interface Connections {
  writer: DuckDBConnection
  readers: readonly DuckDBConnection[]
  /** Each reads, and keeps a temporary table over several statements. */
  streamers: readonly DuckDBConnection[]
  /** Keeps a transaction over several statements, for backups. */
  snapshotter: DuckDBConnection
  /** Sets how many threads run the statements that begin later: DuckDB has one number for the file, 1 at first. */
  setThreads(count: number): Promise<void>
  /** Closes with a checkpoint, synchronously; no statement may be running. */
  close(): void
}

/** Returns the directory in which the backups of a file's rows wait to be fetched. */
export const backupDirectory = (file: string): string => join(dirname(file), BACKUP_DIRECTORY)

/**
 * Opens `file` for this process alone and locks it down: SQL can reach no extension or setting, and no file outside of the
 * directory for backups. Throws DuckDB's errors, what `check` throws, or `StoreOpenError` if this process has the file open
 * already.
 */
export async function openDatabaseFile(
  file: string,
  settings: FileSettings,
  check?: (connection: DuckDBConnection) => Promise<void>,
): Promise<Connections> {
  if (isOpenHere(file)) throw new StoreOpenError(`${file} is still open in this process`)
  const instance = await withLowPriorityThreads(() =>
    DuckDBInstance.create(file, {
      threads: '1',
      memory_limit: settings.memory_limit,
      temp_directory: `${file}.tmp`,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      storage_compatibility_version: 'latest',
      // The store schedules checkpoints; this bounds the log if none of them succeeds.
      checkpoint_threshold: '256MB',
    }),
  )
  try {
    // DuckDB creates its files by the process's mask, and an existing directory may be open to other users.
    chmodSync(file, 0o600)
    const writer = await instance.connect()
    await check?.(writer).catch(async (error: unknown) => {
      // A file that fails the check stays as it is, with its log.
      await writer.run('pragma disable_checkpoint_on_shutdown').catch(() => {})
      writer.disconnectSync()
      throw error
    })
    const readers: DuckDBConnection[] = []
    for (let n = 0; n < READ_CONNECTIONS; n++) readers.push(await instance.connect())
    const streamers: DuckDBConnection[] = []
    for (let n = 0; n < STREAM_CONNECTIONS; n++) streamers.push(await instance.connect())
    const snapshotter = await instance.connect()
    const setter = await instance.connect()
    await writer.run("set global TimeZone = 'UTC'")
    // `create` ignores this setting.
    await writer.run(`set max_temp_directory_size = '${settings.temp_limit}'`)
    // A setting takes no parameter. DuckDB resolves `..` and links before it compares (test/storage/duckdb/snapshot.test.ts).
    await writer.run(`set allowed_directories = ['${backupDirectory(file).replaceAll("'", "''")}']`)
    await writer.run('set enable_external_access = false')
    // Lowering the limit is the only way to make DuckDB free blocks that it caches.
    await writer.run("set allowed_configs = ['memory_limit', 'threads']")
    await writer.run('set lock_configuration = true')
    return {
      writer,
      readers,
      streamers,
      snapshotter,
      setThreads: createThreadSetting(setter),
      close() {
        for (const connection of [...readers, ...streamers, snapshotter, setter, writer]) connection.disconnectSync()
        instance.closeSync()
      },
    }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}

/**
 * Returns whether this process has `file` open, through any thread or library: an instance of ours that did not close.
 *
 * DuckDB's lock is a POSIX lock, which belongs to the process: a second instance in the same process is not refused and
 * loses data silently (duckdb issues 17343, 24739). This compares descriptors, because opening the file would drop the
 * lock. Without /dev/fd (Windows) the system itself refuses the second open. DuckDB finds locks of other processes.
 */
export function isOpenHere(file: string): boolean {
  const target = statSync(file, { bigint: true, throwIfNoEntry: false })
  if (!target) return false
  return listDirectory('/dev/fd').some((fd) => {
    try {
      const open = fstatSync(Number(fd), { bigint: true })
      return open.ino === target.ino && open.dev === target.dev
    } catch {
      return false
    }
  })
}

/** Returns a function that sets the number of threads. A system that has no more threads leaves the number as it is. */
function createThreadSetting(connection: DuckDBConnection) {
  let threads = 1
  let setting: Promise<unknown> = Promise.resolve()
  return async (count: number): Promise<void> => {
    if (count !== threads) {
      threads = count
      setting = setting
        .then(() => withLowPriorityThreads(() => connection.run(`set threads = ${count}`)))
        .catch(() => {})
    }
    await setting
  }
}

/** Such a thread gets a tenth of a busy processor, and all of an idle one. */
const LOW_PRIORITY = 10
const TASK_DIRECTORY = '/proc/self/task'

/**
 * Runs `open` and gives the threads that it starts a low priority: they use cores that are idle and take none from the
 * site. Only Linux has priorities of threads.
 */
async function withLowPriorityThreads<T>(open: () => Promise<T>): Promise<T> {
  const before = new Set(listDirectory(TASK_DIRECTORY))
  const opened = await open()
  for (const task of listDirectory(TASK_DIRECTORY)) {
    if (before.has(task)) continue
    try {
      setPriority(Number(task), LOW_PRIORITY)
    } catch {
      // The thread has ended, or a sandbox does not allow it.
    }
  }
  return opened
}

/** Names in a directory; none if it does not exist. */
function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
