import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import { ApiError } from '../errors.js'
import { type BackupLine, BackupProgress, type KnownParts, TakenBackup } from './manifest.js'

const PROGRESS_INTERVAL_MS = 500

export type Backups = ReturnType<typeof createBackups>

/** Lets the worker take backups, one at a time, for as long as their files are needed. */
export function createBackups(call: (name: string, argument?: unknown) => Promise<unknown>) {
  let isTaken = false
  return {
    /** Yields progress and then the backup, whose files are deleted when the caller ends the iteration. */
    async *take(known: KnownParts): AsyncGenerator<z.infer<typeof BackupLine>> {
      if (isTaken) throw new ApiError('conflict', 'Another backup is running: wait for its end.')
      isTaken = true
      const taking = call('take_backup', known)
      const ended = taking.then(
        () => true,
        () => true,
      )
      try {
        while (!(await Promise.race([ended, delay(PROGRESS_INTERVAL_MS, false)])))
          yield BackupProgress.parse(await call('backup_progress'))
        yield { taken: TakenBackup.parse(await taking) }
      } finally {
        await ended
        await call('drop_backup').catch(() => {})
        isTaken = false
      }
    },
  }
}
