import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { StoreOpenError } from '../../base/errors.js'
import type { Repair } from '../store.js'
import { isDamage, RESTORE } from './damage.js'
import { type Connections, StoreLockedError } from './open.js'
import { inspectWal, type WalReport } from './wal.js'

interface RepairedFile {
  connections: Connections
  repairs: Repair[]
  /** The log as it was found; undefined without a log. */
  wal: WalReport | undefined
}

/**
 * Opens a data file and repairs what can be repaired:
 * - a log that cannot be replayed is cut where the error says, and set aside only if that fails;
 * - a file of which `connect` cannot read what a start needs is set aside, and an empty one takes its place;
 * - anything else (a lock, a permission, a later version) is for the operator: `StoreOpenError`.
 * The file itself is only touched while the database is closed: opening and closing it here would drop DuckDB's lock.
 */
export async function openWithRepair(
  file: string,
  connect: () => Promise<Connections>,
  now: () => Date,
): Promise<RepairedFile> {
  const stamp = formatStamp(now())
  // DuckDB would wait for ever for a named pipe to be written.
  if (isOtherThanFile(file)) return replaceFile(file, connect, stamp, 'it is not a file')
  const logFile = `${file}.wal`
  const log = existsSync(logFile) ? readFileSync(logFile) : undefined
  const wal = log && inspectWal(log)
  const first = await attempt(connect)
  if ('connections' in first) {
    if (!log || !wal?.damaged) return { ...first, repairs: [], wal }
    // DuckDB opened without an error, ignored the log after the damage, and would append after the damage.
    const backup = backUpLog(logFile, stamp, log)
    await first.connections.writer.run('checkpoint')
    first.connections.close()
    rmSync(logFile, { force: true })
    const what = wal.end === 0 ? 'wal_set_aside' : 'wal_cut'
    const why = `the log cannot be read from byte ${wal.end} on`
    return { connections: await connect(), repairs: [{ what, backup, bytes: wal.bytes - wal.end, why }], wal }
  }
  if (!log || !REPLAY_ERROR.test(first.why)) return { ...(await replaceDamaged(file, connect, stamp, first)), wal }

  const backup = backUpLog(logFile, stamp, log)
  const position = Number(/byte position (\d+)/.exec(first.why)?.[1] ?? Number.NaN)
  // The error's position is after the entry's length and checksum (16 bytes). If both are zeros, only a cut before them helps.
  for (const at of [position - 16, position]) {
    if (!(at > 0 && at < log.length)) continue
    writeFileSync(logFile, log.subarray(0, at))
    const cut = await attempt(connect)
    const repair: Repair = { what: 'wal_cut', backup, bytes: log.length - at, why: first.why }
    if ('connections' in cut) return { ...cut, repairs: [repair], wal }
  }
  rmSync(logFile)
  const withoutLog = await attempt(connect)
  if (!('connections' in withoutLog)) return { ...(await replaceDamaged(file, connect, stamp, withoutLog)), wal }
  const repair: Repair = { what: 'wal_set_aside', backup, bytes: log.length, why: first.why }
  return { ...withoutLog, repairs: [repair], wal }
}

/** Also the log of an older or newer copy of the file, as half of a backup leaves it: without it the file opens. */
export const REPLAY_ERROR = /while replaying WAL|Corrupt WAL|This WAL was created/i
type Attempt = { connections: Connections } | { error: unknown; why: string }

async function attempt(connect: () => Promise<Connections>): Promise<Attempt> {
  try {
    return { connections: await connect() }
  } catch (error) {
    return { error, why: error instanceof Error ? error.message : String(error) }
  }
}

function backUpLog(logFile: string, stamp: string, log: Buffer): string {
  const backup = `${logFile}.${stamp}`
  writeFileSync(backup, log, { flag: 'wx' })
  return backup
}

/** Returns whether there is a directory, a pipe or a device in the place of a file. */
export const isOtherThanFile = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === false

/** Sets a damaged file aside; throws `StoreOpenError` if `failed` has another reason. */
async function replaceDamaged(
  file: string,
  connect: () => Promise<Connections>,
  stamp: string,
  failed: { error: unknown; why: string },
): Promise<RepairedFile> {
  if (!isDamage(failed.error)) throw toOpenError(file, failed)
  return replaceFile(file, connect, stamp, failed.why)
}

async function replaceFile(
  file: string,
  connect: () => Promise<Connections>,
  stamp: string,
  why: string,
): Promise<RepairedFile> {
  const backup = setFileAside(file, stamp)
  const repair: Repair = { what: 'file_set_aside', backup, bytes: statSync(backup).size, why: firstLine(why) }
  return { connections: await connect(), repairs: [repair], wal: undefined }
}

/** A moment as a part of a file name. */
export const formatStamp = (at: Date): string => at.toISOString().replaceAll(/[:.]/g, '-')

/** Renames a closed file, with its log, and returns its new path. Throws `StoreOpenError` if that is not possible. */
export function setFileAside(file: string, stamp: string): string {
  const backup = `${file}.${stamp}`
  try {
    renameSync(file, backup)
    if (existsSync(`${file}.wal`)) renameSync(`${file}.wal`, `${backup}.wal`)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new StoreOpenError(
      `${file} cannot be read and cannot be set aside (${why}): move it away, and start again or restore a backup with ${RESTORE}`,
      { cause },
    )
  }
  return backup
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''
/** DuckDB's words about a file of which it does not know the format. */
export const OTHER_VERSION = /database file with version number/

function toOpenError(file: string, { error, why }: { error: unknown; why: string }): StoreOpenError {
  if (error instanceof StoreOpenError) return error
  if (OTHER_VERSION.test(why))
    return new StoreOpenError(
      `${file} was written by a readership with another version of DuckDB (${firstLine(why)}): start that one, or restore a backup with ${RESTORE}`,
      { cause: error },
    )
  const [, by, pid] = /held in (.+?) \(PID (\d+)/.exec(why) ?? []
  if (pid === undefined)
    return new StoreOpenError(
      `${file} cannot be opened: ${firstLine(why)}; \`readership doctor\` checks its permissions and its disk`,
      { cause: error },
    )
  const parent = readParentPid(pid)
  const started = parent === undefined ? '' : `, started by ${parent}`
  return new StoreLockedError(`${file} is in use by another process (PID ${pid}, ${by}${started})`, { cause: error })
}

/** A worker's parent is the process that an operator knows. Undefined if the system does not say (only Linux does). */
function readParentPid(pid: string): string | undefined {
  try {
    return /^PPid:\s+([1-9]\d*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
  } catch {
    return undefined
  }
}
