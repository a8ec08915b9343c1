import { resolve } from 'node:path'
import { waitAtMost } from '../../base/wait-at-most.js'
import { createBackups } from '../../storage/backup/backups.js'
import { createBackupSchedule } from '../../storage/backup/schedule.js'
import { readOrigin } from '../../storage/migrate/read-records.js'
import type { Config } from '../config.js'
import type { Core } from './core.js'

const TICK_MS = 60_000
/** The worker reads a backup to its end, or until it is closed. */
const STOP_TIMEOUT_MS = 1_000

export type BackupConfig = Partial<Pick<Config, 'backup_dir' | 'backup_keep' | 'min_free_disk'>>

/** Creates the backups of the operator, and with `--backup-dir` takes one each night, the first a minute after the start. */
export function startBackups(
  { workerClient, losses, log, now }: Pick<Core, 'workerClient' | 'losses' | 'log' | 'now'>,
  { data, backup_dir, backup_keep: keep = 7, min_free_disk = 0 }: BackupConfig & { data: string },
) {
  const backups = createBackups(workerClient, losses)
  // A process that ended during a backup has left its files.
  workerClient.call('drop_backup').catch(() => {})
  if (backup_dir === undefined) return { backups, async stop() {} }
  const schedule = createBackupSchedule(
    { directory: resolve(backup_dir), keep, data, min_free_disk },
    { backups, recordsBorn: () => readOrigin(workerClient.records), now, log },
  )
  const timer = setInterval(() => void schedule.tick(), TICK_MS).unref()
  return {
    backups,
    schedule: schedule.status,
    async stop(): Promise<void> {
      clearInterval(timer)
      await waitAtMost(STOP_TIMEOUT_MS, schedule.stop())
    },
  }
}
