import { constants } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BACKUP_DIRECTORY } from '../store.js'
import type { Backups } from './backups.js'
import { deleteOldBackups, deleteUnfinished, findLastBackup } from './kept-backups.js'
import type { ScheduleStatus } from './manifest.js'
import { FullDisk, openVerifiedParts, requireDisk, writeDirectory } from './write-archive.js'

/** By the clock of the machine: few people read websites then. */
const QUIET_HOUR = 3
const RETRY_MS = 3_600_000

interface ScheduleConfig {
  /** The directory of the backups, which has to exist: a disk that is not mounted must not be replaced by a directory. */
  directory: string
  keep: number
  /** The data directory. */
  data: string
  min_free_disk: number
}

interface ScheduleDeps {
  backups: Pick<Backups, 'take'>
  /** Reads when the records were created; a backup has the same time. */
  recordsBorn(): Promise<string>
  now(): Date
  log: { info(details: object, message: string): void; error(details: object, message: string): void }
}

/** Backs the store up once a day. `tick` is called each minute. */
export function createBackupSchedule(config: ScheduleConfig, { backups, recordsBorn, now, log }: ScheduleDeps) {
  const { directory, keep, data, min_free_disk } = config
  const ending = new AbortController()
  let last: ScheduleStatus['last']
  let failure: ScheduleStatus['failure']
  let failures = 0
  let retryAt = 0
  let running: Promise<void> | undefined

  const isDue = () => last === undefined || now() >= nextQuietHour(new Date(last.taken_at))

  const takeBackup = async (born: string): Promise<void> => {
    const started = performance.now()
    await deleteUnfinished(directory, now())
    const stopIfEnding = () => ending.signal.throwIfAborted()
    const base = await openVerifiedParts(directory, born, stopIfEnding)
    stopIfEnding()
    for await (const line of backups.take(base?.manifest.members ?? [])) {
      stopIfEnding()
      if (!('taken' in line)) continue
      const files = { taken: line.taken, directory: join(data, BACKUP_DIRECTORY) }
      await requireDisk(files, directory, min_free_disk)
      const { path, bytes } = await writeDirectory(files, { target: directory, base, onBytes: stopIfEnding })
      last = { taken_at: line.taken.taken_at, bytes }
      log.info({ ms: Math.round(performance.now() - started), bytes }, `backed up to ${path}`)
      return
    }
  }

  const fail = (error: unknown, message: string) => {
    if (ending.signal.aborted) return
    failures += 1
    failure = { at: now().toISOString(), ...describeFailure(error, directory) }
    log.error({ err: error }, message)
  }
  const run = async () => {
    let born: string
    try {
      await requireDirectory(directory)
      born = await recordsBorn()
      // Another process may have written one there.
      last = await findLastBackup(directory, born)
      if (isDue()) await takeBackup(born)
      failure = undefined
    } catch (error) {
      retryAt = now().getTime() + RETRY_MS
      return fail(error, `the backup to ${directory} failed and is tried again in an hour`)
    }
    await deleteOldBackups(directory, keep, born).catch((error) =>
      fail(error, `old backups in ${directory} were not deleted`),
    )
  }

  return {
    /** Takes a backup if one is due: none is there, or the night has come. Never rejects. */
    async tick(): Promise<void> {
      if (ending.signal.aborted || !isDue() || now().getTime() < retryAt) return
      running ??= run().finally(() => {
        running = undefined
      })
      await running
    },
    status: (): ScheduleStatus => ({
      directory,
      keep,
      failures,
      ...(last && { last }),
      ...(failure && { failure }),
    }),
    /** Gives up what is being written, and resolves when it is deleted; what the worker reads ends with the worker. */
    async stop(): Promise<void> {
      ending.abort()
      await running
    },
  }
}

/** Rejects unless files can be written there. */
export async function requireDirectory(directory: string): Promise<void> {
  await readdir(directory)
  await access(directory, constants.W_OK | constants.X_OK)
}

function nextQuietHour(after: Date): Date {
  const next = new Date(after)
  next.setHours(QUIET_HOUR, 0, 0, 0)
  if (next <= after) next.setDate(next.getDate() + 1)
  return next
}

const FREE_SPACE = 'Free space on its disk, or keep fewer backups with --backup-keep.'
const MENDS: Readonly<Record<string, string>> = {
  ENOENT: 'Create it, mount its disk, or name another one with --backup-dir.',
  ENOTDIR: 'Name a directory with --backup-dir.',
  EACCES: 'Make it writable for the user that runs readership.',
  EROFS: 'Make its file system writable.',
  ENOSPC: FREE_SPACE,
  EDQUOT: FREE_SPACE,
}

const SystemError = z.object({ code: z.string(), path: z.string().optional() })

/** Returns what prevents backups, and how the operator mends it. */
export function describeFailure(error: unknown, directory: string): { says: string; mend: string } {
  if (error instanceof FullDisk) return { says: error.message, mend: FREE_SPACE }
  const { code, path = directory } = SystemError.safeParse(error).data ?? {}
  const mend = code !== undefined && path.startsWith(directory) ? MENDS[code] : undefined
  if (mend !== undefined) return { says: `${directory} cannot be used (${code})`, mend }
  const says = error instanceof Error ? error.message : String(error)
  return { says, mend: 'It is tried again each hour; the log says more.' }
}
