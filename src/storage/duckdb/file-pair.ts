import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Migration } from '../records/records-schema.js'
import type { Log, RecordStore } from '../store.js'
import { bindFiles, compareFiles } from './binding.js'
import { type DataFile, openDataFile } from './datafile.js'
import type { EventFile } from './event-file.js'
import { EVENTS_SCHEMA } from './events-schema.js'
import { runQuery, runTransaction } from './query.js'
import { openRecords } from './records.js'

export interface FilePairOptions {
  readonly memory_limit: string
  readonly threads: number
  readonly log: Log
  /** Earlier versions of the schemas than the last ones. */
  readonly migrations?: { readonly events: readonly Migration[]; readonly records: readonly Migration[] }
}

/** The two files of a data directory, to be filled: nothing of a start happens. */
export interface FilePair {
  readonly file: DataFile
  readonly events: Pick<EventFile, 'query' | 'updateRows'>
  readonly records: RecordStore
  checkpoint(): Promise<void>
  /** Makes events and records belong together. */
  bind(): Promise<void>
  close(): Promise<void>
}

/** Opens the records of a data directory alone. Throws `StoreOpenError`. */
export const openRecordsAlone = (data: string, { log, migrations }: FilePairOptions): Promise<RecordStore> =>
  openRecords({
    file: join(data, 'control.duckdb'),
    ...(migrations && { migrations: migrations.records }),
    log,
    now: () => new Date(),
    clock: () => performance.now(),
    settings: { memory_limit: '64MB', threads: 1, temp_limit: '4GB' },
  })

/** Opens the files of a data directory, which no other process may have open. Throws `StoreOpenError`. */
export async function openFilePair(data: string, options: FilePairOptions): Promise<FilePair> {
  const { memory_limit, threads, log, migrations } = options
  const now = () => new Date()
  const settings = { memory_limit, threads, temp_limit: '4GB' }
  const common = { now, clock: () => performance.now(), log }
  const records = await openRecordsAlone(data, options)
  const file = await openDataFile({
    ...common,
    file: join(data, 'events.duckdb'),
    migrations: migrations?.events ?? EVENTS_SCHEMA,
    settings,
  }).catch(async (error: unknown) => {
    await records.close()
    throw error
  })
  const checkpoint = async () => {
    await file.write((writer) => writer.run('checkpoint'))
  }
  const events: FilePair['events'] = {
    query: (query) => file.read((reader) => runQuery(reader, query)),
    async updateRows(build) {
      await file.write(async (writer) => runTransaction(writer, await build((query) => runQuery(writer, query))))
      await checkpoint()
    },
  }
  return {
    file,
    events,
    records,
    checkpoint,
    async bind() {
      const found = await compareFiles(records, events)
      const token = randomBytes(16).toString('hex')
      await bindFiles(records, events, { ...found, losses: [] }, { token, now: now() })
    },
    async close() {
      await file.close()
      await records.close()
    },
  }
}
