import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type Connections, StoreLockedError, StoreOpenError } from './open.js'
import { inspectWal, type WalReport } from './wal.js'

/** What had to be given up so that a file opens. Nothing is deleted: `kept` is where it lies. */
export interface Repair {
  /** Cut off behind the damage, the whole log left out, or the file itself replaced by an empty one. */
  what: 'wal_cut' | 'wal_set_aside' | 'file_set_aside'
  backup: string
  /** Bytes that were not read. */
  bytes: number
  why: string
}

export interface RepairedFile {
  connections: Connections
  repairs: Repair[]
  /** Of the log as it was found; undefined where there was none. */
  wal: WalReport | undefined
}

/**
 * Opens a store file, mending what can be mended (issue 2, `Bad input and faults`):
 * - a log that cannot be replayed is cut where the error says, and only if that fails set aside;
 * - a file that is no database is set aside for an empty one;
 * - anything else, a lock or a permission, is the operator's: `StoreFault`.
 * The file itself is only touched while the database is closed: an open and close of it here would drop its lock.
 */
export async function openWithRepair(
  file: string,
  connect: () => Promise<Connections>,
  now: () => Date,
): Promise<RepairedFile> {
  const stamp = now().toISOString().replaceAll(/[:.]/g, '-')
  const logFile = `${file}.wal`
  const log = existsSync(logFile) ? readFileSync(logFile) : undefined
  const wal = log && inspectWal(log)
  const tried = await attempt(connect)
  if ('connections' in tried) {
    if (!log || !wal?.damaged) return { ...tried, repairs: [], wal }
    // DuckDB opened without a word and without what lies behind the damage, and would write on behind it.
    const kept = backUpLog(logFile, stamp, log)
    await tried.connections.writer.run('checkpoint')
    tried.connections.close()
    rmSync(logFile, { force: true })
    const what = wal.end === 0 ? 'wal_set_aside' : 'wal_cut'
    const why = `the log cannot be read from byte ${wal.end} on`
    return { connections: await connect(), repairs: [{ what, backup: kept, bytes: wal.bytes - wal.end, why }], wal }
  }
  if (!log || !REPLAY.test(tried.why)) return { ...(await replaceFile(file, connect, stamp, tried)), wal }

  const kept = backUpLog(logFile, stamp, log)
  const position = Number(/byte position (\d+)/.exec(tried.why)?.[1] ?? Number.NaN)
  // The position is behind the entry's length and checksum; where both are zeros only the cut before them helps.
  for (const at of [position - 16, position]) {
    if (!(at > 0 && at < log.length)) continue
    writeFileSync(logFile, log.subarray(0, at))
    const cut = await attempt(connect)
    const repair: Repair = { what: 'wal_cut', backup: kept, bytes: log.length - at, why: tried.why }
    if ('connections' in cut) return { ...cut, repairs: [repair], wal }
  }
  rmSync(logFile)
  const without = await attempt(connect)
  if (!('connections' in without)) return { ...(await replaceFile(file, connect, stamp, without)), wal }
  const repair: Repair = { what: 'wal_set_aside', backup: kept, bytes: log.length, why: tried.why }
  return { ...without, repairs: [repair], wal }
}

const REPLAY = /while replaying WAL|Corrupt WAL/i
const NOT_A_DATABASE =
  /not a valid DuckDB database|Corrupt database file|Could not read enough bytes|Serialization Error/i

type Attempt = { connections: Connections } | { error: unknown; why: string }

async function attempt(connect: () => Promise<Connections>): Promise<Attempt> {
  try {
    return { connections: await connect() }
  } catch (error) {
    return { error, why: error instanceof Error ? error.message : String(error) }
  }
}

function backUpLog(logFile: string, stamp: string, log: Buffer): string {
  const kept = `${logFile}.${stamp}`
  writeFileSync(kept, log, { flag: 'wx' })
  return kept
}

async function replaceFile(
  file: string,
  connect: () => Promise<Connections>,
  stamp: string,
  failed: { error: unknown; why: string },
): Promise<Omit<RepairedFile, 'wal'>> {
  if (!NOT_A_DATABASE.test(failed.why)) throw toOpenError(file, failed)
  const kept = `${file}.${stamp}`
  renameSync(file, kept)
  if (existsSync(`${file}.wal`)) renameSync(`${file}.wal`, `${kept}.wal`)
  const repair: Repair = { what: 'file_set_aside', backup: kept, bytes: statSync(kept).size, why: failed.why }
  return { connections: await connect(), repairs: [repair] }
}

function toOpenError(file: string, { error, why }: { error: unknown; why: string }): StoreOpenError {
  if (error instanceof StoreOpenError) return error
  const [, by, pid] = /held in (.+?) \(PID (\d+)/.exec(why) ?? []
  if (pid === undefined)
    return new StoreOpenError(`${file} cannot be opened: ${why.split('\n', 1)[0]}`, { cause: error })
  const parent = readParentPid(pid)
  const started = parent === undefined ? '' : `, started by ${parent}`
  return new StoreLockedError(`${file} is in use by another process (PID ${pid}, ${by}${started})`, { cause: error })
}

/** Of a worker it is the process that an operator knows. Linux says it, where that process may be looked at. */
function readParentPid(pid: string): string | undefined {
  try {
    return /^PPid:\s+([1-9]\d*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
  } catch {
    return undefined
  }
}
