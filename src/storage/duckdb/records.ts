import { RECORDS_SCHEMA } from '../records/records-schema.js'
import type { Sql } from '../sql.js'
import type { RecordStore, ResultRow } from '../store.js'
import { type DataFileOptions, openDataFile } from './datafile.js'
import { runQuery, runTransaction } from './query.js'
import { asApiError, isCheckpointBlocked } from './query-errors.js'
import { createSnapshot } from './snapshot.js'

/** Opens `control.duckdb`, the store of records; `migrations` is another version of its schema. Throws `StoreOpenError`. */
export async function openRecords({
  migrations = RECORDS_SCHEMA,
  ...options
}: Omit<DataFileOptions, 'migrations'> & Partial<Pick<DataFileOptions, 'migrations'>>): Promise<RecordStore> {
  // Small, and everything in it is needed.
  const file = await openDataFile({ ...options, migrations, check: 'everything' })
  return {
    query: (query: Sql): Promise<ResultRow[]> =>
      asApiError('The records cannot be read.', () => file.read((reader) => runQuery(reader, query))),
    async write(...statements: Sql[]): Promise<void> {
      await asApiError('The records cannot be written.', () =>
        file.write((writer) => runTransaction(writer, statements)),
      )
      // Updates and deletes must not be replayed from the log; the file is small.
      await file
        .write((writer) => writer.run('checkpoint'))
        .catch((error: unknown) => {
          // Another transaction can block a checkpoint: the next write makes it.
          if (!isCheckpointBlocked(error)) options.log('warn', `${options.file}: the checkpoint failed`, error)
        })
    },
    repairs: file.repairs,
    snapshot: createSnapshot(file, options.file),
    pauseWrites: () =>
      new Promise((resolve, reject) => {
        const paused = () => new Promise<void>((resume) => resolve(resume))
        file.write(paused).catch(reject)
      }),
    close: () => file.close(),
  }
}
