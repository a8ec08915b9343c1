import { mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReopeningDatabase, type Database, DEFAULT_READ_TIMEOUTS, type ReadTimeouts } from './database.js'
import { type Migration, migrate } from './migrate.js'
import { type Connections, type FileSettings, openDatabaseFile, StoreLockedError } from './open.js'
import { openWithRepair, type Repair, type RepairedFile } from './repair.js'
import type { WalReport } from './wal.js'

export type Log = (level: 'info' | 'warn' | 'error', message: string, error?: unknown) => void

export interface DataFileOptions {
  file: string
  migrations: readonly Migration[]
  settings: FileSettings
  /** Wall clock, for names of files that are set aside. */
  now: () => Date
  /** Milliseconds of a clock that never jumps. */
  clock: () => number
  log: Log
  limits?: Partial<ReadTimeouts> | undefined
  /** Milliseconds for which it waits for a file that another process has; 0. */
  lock_ms?: number
}

/** Between two tries for a file that another process has, ms. */
const LOCK_RETRY_MS = 50

export interface DataFile extends Database {
  /** What opening had to give up; each is in the log already. */
  repairs: readonly Repair[]
  /** The write-ahead log as opening found it. */
  wal: WalReport | undefined
  /** Size of the write-ahead log now. */
  walBytes(): number
}

/** Opens a file, mended and at the last version of its schema. Throws `StoreFault` with one line for the operator. */
export async function openDataFile(options: DataFileOptions): Promise<DataFile> {
  const { file, migrations, settings, log } = options
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const connect = async (): Promise<Connections> => {
    const connections = await openDatabaseFile(file, settings)
    // What a killed process spilled; no other can be using it, for the lock is ours.
    rmSync(`${file}.tmp`, { recursive: true, force: true })
    return connections
  }
  const mended = async () => {
    const opened = await retryWhileLocked(() => openWithRepair(file, connect, options.now), options)
    for (const { what, backup: kept, bytes, why } of opened.repairs) {
      log('error', `${file}: ${what.replaceAll('_', ' ')}: ${bytes} bytes were not read and lie in ${kept} (${why})`)
    }
    return opened
  }
  const { connections, repairs, wal } = await mended()
  try {
    await migrate(connections.writer, file, migrations)
    if (repairs.length > 0) await connections.writer.run('checkpoint')
  } catch (error) {
    connections.close()
    throw error
  }
  const database = createReopeningDatabase(connections, async () => (await mended()).connections, {
    now: options.clock,
    first_retry_ms: 250,
    max_retry_ms: 5_000,
    limits: { ...DEFAULT_READ_TIMEOUTS, ...options.limits },
    onReopen: (cause) => log('warn', `${file} was closed and opened again after an error`, cause),
  })
  return {
    ...database,
    repairs,
    wal,
    walBytes: () => statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0,
  }
}

/** The whole of it is tried again: of a log that was read while another process wrote it nothing can be said. */
async function retryWhileLocked(
  open: () => Promise<RepairedFile>,
  { clock, lock_ms = 0 }: Pick<DataFileOptions, 'clock' | 'lock_ms'>,
): Promise<RepairedFile> {
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
