import { constants, copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StoreOpenError } from '../../base/errors.js'
import type { Migration } from '../records/records-schema.js'
import type { Log, ReadTimeouts } from '../store.js'
import { type CheckScope, checkFile, isDamage, RESTORE, WHAT_TO_DO } from './damage.js'
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
  /** Called when a step of a migration begins, with a few words that name no directory. */
  onStage?: ((stage: string) => void) | undefined
  /** The extent to which the file is read before it counts as whole; `start` by default. */
  check?: CheckScope
}

const LOCK_RETRY_MS = 50
/** The age at which a copy from before a migration is deleted. */
const COPY_AGE_MS = 7 * 86_400_000

export type DataFile = Awaited<ReturnType<typeof openDataFile>>

/**
 * Opens a file, repairs it if it is damaged, and migrates it to the last version of its schema. Throws `StoreOpenError`
 * with one line for the operator.
 */
export async function openDataFile(options: DataFileOptions) {
  const { file, migrations, settings, log, check = 'start', onStage } = options
  // Absolute: with a relative path Node's `mkdir` never ends in a working directory that was deleted.
  mkdirSync(dirname(resolve(file)), { recursive: true, mode: 0o700 })
  const connect = async (scope: CheckScope): Promise<Connections> => {
    const connections = await openDatabaseFile(file, settings, (connection) => checkFile(connection, file, scope))
    // A killed process left its spilled data; the lock is ours, so no other process uses it.
    rmSync(`${file}.tmp`, { recursive: true, force: true })
    return connections
  }
  deleteOldCopies(options)
  const open = async (scope = check) => {
    const opened = await retryWhileLocked(() => openWithRepair(file, () => connect(scope), options.now), options)
    for (const { what, backup, bytes, why } of opened.repairs) {
      const said = `${file}: ${what.replaceAll('_', ' ')}: ${bytes} bytes were not read and lie in ${backup} (${why})`
      log('error', `${said}. ${WHAT_TO_DO}`)
    }
    return opened
  }
  const { connections: opened, repairs, wal } = await open()
  const version = await readVersion(opened, file, migrations.length)
  const isOld = version > 0 && version < migrations.length
  if (isOld) {
    // Copied while it is closed: reading it here would drop DuckDB's lock.
    opened.close()
    onStage?.(`${basename(file)} is copied before it is migrated`)
    copyBeforeMigration(options, version)
  }
  const connections = isOld ? (await open()).connections : opened
  try {
    const step = (of: string) => {
      if (!isOld) return
      log('info', `${file} is migrated, ${of}`)
      onStage?.(`${basename(file)} is migrated, ${of}`)
    }
    await migrate(connections.writer, version, migrations, step)
    if (repairs.length > 0) await connections.writer.run('checkpoint')
  } catch (error) {
    connections.close()
    throw error
  }
  const reopen = async (cause: unknown) => {
    // A checkpoint that failed at a damaged block would fail for ever, and no row would reach the file any more.
    const reopened = await open(isDamage(cause) ? 'everything' : check)
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
  let reported = false
  /** Reports a damaged block once: what needs it fails, and all else goes on. */
  const reportDamage = (error: unknown): never => {
    if (isDamage(error) && !reported) {
      reported = true
      log('error', `${file} has a block that cannot be read. ${WHAT_TO_DO}`, error)
    }
    throw error
  }
  return {
    ...database,
    read: <T>(...call: Parameters<typeof database.read<T>>) => database.read(...call).catch(reportDamage),
    write: <T>(work: Parameters<typeof database.write<T>>[0]) => database.write(work).catch(reportDamage),
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

/** Returns the version of a file's schema. Throws `StoreOpenError` if it is later than `known`, the last of this program. */
async function readVersion(connections: Connections, file: string, programVersion: number): Promise<number> {
  const { writer } = connections
  try {
    await writer.run('create table if not exists schema_versions (version integer, applied_at timestamp)')
    const reader = await writer.runAndReadAll('select coalesce(max(version), 0)::integer from schema_versions')
    const version = Number(reader.value(0, 0))
    if (version <= programVersion) return version
    throw new StoreOpenError(
      `${file} has schema version ${version}, and this readership knows versions up to ${programVersion}: start a later readership, or restore a backup with ${RESTORE}`,
    )
  } catch (error) {
    connections.close()
    throw error
  }
}

/**
 * Copies a file before its schema is migrated, for the operator who wants to go back to the version before. The copy has
 * people's data and no erasure reaches it, so it is deleted at the first start after a week.
 */
function copyBeforeMigration({ file, log }: DataFileOptions, version: number): void {
  const copy = `${file}.schema-${version}`
  const { bavail, bsize } = statfsSync(dirname(file))
  const { size } = statSync(file)
  if (bavail * bsize < 2 * size)
    throw new StoreOpenError(`${file} is migrated after it was copied, which needs ${2 * size} bytes of free disk`)
  copyFileSync(file, `${copy}.part`, constants.COPYFILE_FICLONE)
  renameSync(`${copy}.part`, copy)
  log('info', `${file} is migrated to the schema of this version; the file as it was lies in ${copy} for a week`)
}

function deleteOldCopies({ file, now, log }: DataFileOptions): void {
  for (const name of readdirSync(dirname(file))) {
    const copy = join(dirname(file), name)
    if (!/^\.schema-\d+(\.part)?$/.test(name.slice(basename(file).length)) || !name.startsWith(basename(file))) continue
    if (now().getTime() - statSync(copy).mtimeMs < COPY_AGE_MS) continue
    rmSync(copy)
    log('info', `${copy}, a copy from before a migration, was deleted`)
  }
}

/**
 * Migrates a file to the last version: each step in its own transaction, with the row that records it, and a checkpoint
 * after all of them, because a schema change must not be replayed from the log.
 */
async function migrate(
  connection: DuckDBConnection,
  version: number,
  migrations: readonly Migration[],
  onStep: (of: string) => void,
) {
  for (const [index, statements] of migrations.entries()) {
    if (index < version) continue
    onStep(`step ${index + 1 - version} of ${migrations.length - version}`)
    await inTransaction(connection, async () => {
      for (const statement of statements) await connection.run(statement)
      await connection.run(`insert into schema_versions values (${index + 1}, now()::timestamp)`)
    })
  }
  if (version === migrations.length) return
  onStep('all steps are done and are written')
  await connection.run('checkpoint')
}
