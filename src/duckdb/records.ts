import { ApiError } from '../errors.js'
import type { Records } from '../store.js'
import { CONTROL_SCHEMA } from './control-schema.js'
import { type DataFile, type DataFileOptions, openDataFile } from './datafile.js'
import { runQuery, runTransaction } from './query.js'

/** Opens `control.duckdb`, the store of records. Throws `StoreFault`. */
export async function openRecords(
  options: Omit<DataFileOptions, 'migrations'>,
): Promise<Records & Pick<DataFile, 'repairs' | 'close'>> {
  const { log } = options
  const file = await openDataFile({ ...options, migrations: CONTROL_SCHEMA })
  const failed = (cause: unknown): ApiError =>
    cause instanceof ApiError
      ? cause
      : new ApiError('database_error', 'The records cannot be reached.', undefined, { cause })

  return {
    async query(query) {
      try {
        return await file.read((reader) => runQuery(reader, query))
      } catch (cause) {
        throw failed(cause)
      }
    },
    async write(...statements) {
      try {
        await file.write((writer) => runTransaction(writer, statements))
      } catch (cause) {
        throw failed(cause)
      }
      // Updates and deletes are not left to be replayed from the log; the file is small.
      await file
        .write((writer) => writer.run('checkpoint'))
        .catch((error: unknown) => log('warn', `${options.file}: the checkpoint failed`, error))
    },
    repairs: file.repairs,
    close: () => file.close(),
  }
}
