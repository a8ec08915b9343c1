import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '../../base/errors.js'
import { REPOSITORY_FILES } from '../../base/repository.js'
import {
  type BackupLine,
  BackupProgress,
  ExportedRows,
  type KnownParts,
  type RowsToExport,
  TakenBackup,
} from './manifest.js'

const PROGRESS_INTERVAL_MS = 500
const POLL_MS = 100
const MAX_WAIT_MS = 5_000

export const ON_SERVERS = `This readership keeps its data on servers: back them up with BACKUP of ClickHouse and pg_dump of PostgreSQL (${REPOSITORY_FILES}/examples/fleet/README.md).`

export type Backups = ReturnType<typeof createBackups>

interface BackupsDeps {
  call(name: string, argument?: unknown): Promise<unknown>
  /** Whether the data is in ClickHouse and PostgreSQL, not in files of this instance. */
  isShared: boolean
}

/** Lets the worker write backups and exports, one at a time, for as long as their files are needed. */
export function createBackups({ call, isShared }: BackupsDeps, losses: { list(): readonly unknown[] }) {
  let isBusy = false
  /** Yields progress and then the result, whose files are deleted when the caller ends the iteration. */
  async function* run(
    name: string,
    argument: unknown,
    read: (result: unknown) => BackupLine,
  ): AsyncGenerator<BackupLine> {
    // A client that has ended is noticed a second later.
    for (let waited = 0; isBusy && waited < MAX_WAIT_MS; waited += POLL_MS) await delay(POLL_MS)
    if (isBusy) throw new ApiError('conflict', 'Another backup is running: wait for its end.')
    isBusy = true
    const running = call(name, argument)
    const ended = running.then(
      () => true,
      () => true,
    )
    try {
      while (!(await Promise.race([ended, delay(PROGRESS_INTERVAL_MS, false)])))
        yield BackupProgress.parse(await call('backup_progress'))
      yield read(await running)
    } finally {
      await ended
      await call('drop_backup').catch(() => {})
      isBusy = false
    }
  }
  /** Refuses a store whose backup would not be whole; old backups would be deleted after it. */
  const requireWhole = (): void => {
    if (isShared) throw new ApiError('conflict', ON_SERVERS)
    if (losses.list().length > 0)
      throw new ApiError(
        'conflict',
        'Stored data was lost here: see readership store status, and decide about it first.',
      )
  }
  return {
    async *take(known: KnownParts): AsyncGenerator<BackupLine> {
      requireWhole()
      yield* run('take_backup', known, (taken) => ({ taken: TakenBackup.parse(taken) }))
    },
    exportRows: (rows: RowsToExport) =>
      run('export_rows', rows, (exported) => ({ exported: ExportedRows.parse(exported) })),
  }
}
