import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { isOpenHere } from './held.js'

/** The store cannot be opened, and only the operator can change that. `message` is one line that names the file. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault'
}

export interface Settings {
  /** As DuckDB writes sizes, `512MB`. */
  memory_limit: string
  threads: number
  /** The most that queries may spill to disk. */
  temp_limit: string
}

/** One open file: a connection that writes and one that reads, each used for one statement at a time. */
export interface Connections {
  writer: DuckDBConnection
  reader: DuckDBConnection
  /** Synchronous, with a checkpoint; no statement may be running. */
  close(): void
}

/**
 * Opens `file` for this process alone and locks it down: no file, extension or setting can be reached by SQL.
 * Throws what DuckDB says, or `StoreFault` where this process has it open already.
 */
export async function openFile(file: string, settings: Settings): Promise<Connections> {
  if (isOpenHere(file)) throw new StoreFault(`${file} is still open in this process`)
  const instance = await DuckDBInstance.create(file, {
    threads: String(settings.threads),
    memory_limit: settings.memory_limit,
    temp_directory: `${file}.tmp`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    storage_compatibility_version: 'latest',
    // Checkpoints are scheduled by the store; this is only what bounds the log if none of them came through.
    checkpoint_threshold: '256MB',
  })
  try {
    const writer = await instance.connect()
    const reader = await instance.connect()
    await writer.run("set global TimeZone = 'UTC'")
    // Given to `create`, it is not heeded.
    await writer.run(`set max_temp_directory_size = '${settings.temp_limit}'`)
    await writer.run('set enable_external_access = false')
    await writer.run('set lock_configuration = true')
    return {
      writer,
      reader,
      close() {
        reader.disconnectSync()
        writer.disconnectSync()
        instance.closeSync()
      },
    }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}
