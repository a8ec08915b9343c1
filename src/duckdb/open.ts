import { chmodSync } from 'node:fs'
import type { DuckDBConnection } from '@duckdb/node-api'
import { DuckDBInstance } from './bindings.js'
import { isOpenHere } from './open-check.js'
import { withLowPriorityThreads } from './thread-priority.js'

/** The store cannot be opened, and only the operator can change that. `message` is one line that names the file. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreFault'
}

/** Another process has it. */
export class StoreLockedError extends StoreOpenError {}

export interface FileSettings {
  /** As DuckDB writes sizes, `512MB`. */
  memory_limit: string
  threads: number
  /** The most that queries may spill to disk. */
  temp_limit: string
}

/**
 * Reads at once. A running one holds one of the four threads that Node has for files and names too, whatever the cores,
 * and uses `threads` cores by itself: with the writer's and that of the held connection, two are what there is.
 */
export const READ_CONNECTIONS = 2

/** One open file, each connection used for one statement at a time. */
export interface Connections {
  writer: DuckDBConnection
  readers: readonly DuckDBConnection[]
  /** Reads too, and may keep what it found over several statements. */
  streamer: DuckDBConnection
  /** Synchronous, with a checkpoint; no statement may be running. */
  close(): void
}

/**
 * Opens `file` for this process alone and locks it down: no file, extension or setting can be reached by SQL.
 * Throws what DuckDB says, or `StoreFault` where this process has it open already.
 */
export async function openDatabaseFile(file: string, settings: FileSettings): Promise<Connections> {
  if (isOpenHere(file)) throw new StoreOpenError(`${file} is still open in this process`)
  const instance = await withLowPriorityThreads(() =>
    DuckDBInstance.create(file, {
      threads: String(settings.threads),
      memory_limit: settings.memory_limit,
      temp_directory: `${file}.tmp`,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      storage_compatibility_version: 'latest',
      // Checkpoints are scheduled by the store; this is only what bounds the log if none of them came through.
      checkpoint_threshold: '256MB',
    }),
  )
  try {
    // It makes its files by the process's mask, and a directory that was there before may be open to others.
    chmodSync(file, 0o600)
    const writer = await instance.connect()
    const readers: DuckDBConnection[] = []
    for (let n = 0; n < READ_CONNECTIONS; n++) readers.push(await instance.connect())
    const holder = await instance.connect()
    await writer.run("set global TimeZone = 'UTC'")
    // Given to `create`, it is not heeded.
    await writer.run(`set max_temp_directory_size = '${settings.temp_limit}'`)
    await writer.run('set enable_external_access = false')
    await writer.run('set lock_configuration = true')
    return {
      writer,
      readers,
      streamer: holder,
      close() {
        for (const connection of [...readers, holder, writer]) connection.disconnectSync()
        instance.closeSync()
      },
    }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}
