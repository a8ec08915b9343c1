import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { duckdbDialect } from '../dialects/duckdb.js'
import { bindFiles, compareFiles } from '../duckdb/binding.js'
import { DEFAULT_READ_TIMEOUTS } from '../duckdb/database.js'
import { openDataFile } from '../duckdb/datafile.js'
import type { EventFile } from '../duckdb/event-store.js'
import { EVENTS_SCHEMA } from '../duckdb/events-schema.js'
import { runQuery, runTransaction } from '../duckdb/query.js'
import { openRecords } from '../duckdb/records.js'
import { streamRows } from '../duckdb/row-stream.js'
import { openSaltFile } from '../ingest/salts.js'
import { raw, type Sql, sql } from '../sql.js'
import type { Log } from '../store.js'
import { isOfDays } from './read-events.js'
import type { CopiedTable } from './tables.js'
import type { Target } from './target.js'

/** The log is folded into the file when it is larger. */
const MAX_WAL_BYTES = 64 << 20

interface FileTargetOptions {
  readonly memory_limit: string
  readonly threads: number
  readonly log: Log
}

/** Opens the files of a data directory, which no other process may have open, as a target. Throws `StoreOpenError`. */
export async function openFileTarget(data: string, { memory_limit, threads, log }: FileTargetOptions): Promise<Target> {
  const now = () => new Date()
  const settings = { memory_limit, threads, temp_limit: '4GB' }
  const common = { now, clock: () => performance.now(), log }
  const records = await openRecords({
    ...{ ...common, file: join(data, 'control.duckdb') },
    settings: { ...settings, memory_limit: '64MB', threads: 1 },
  })
  const file = await openDataFile({
    ...{ ...common, file: join(data, 'events.duckdb'), migrations: EVENTS_SCHEMA, settings },
  }).catch(async (error: unknown) => {
    await records.close()
    throw error
  })
  const checkpoint = () => file.write((writer) => writer.run('checkpoint'))
  const events: Pick<EventFile, 'query' | 'updateRows'> = {
    query: (query) => file.read((reader) => runQuery(reader, query)),
    async updateRows(build) {
      await file.write(async (writer) => runTransaction(writer, await build((query) => runQuery(writer, query))))
      await checkpoint()
    },
  }
  return {
    events: {
      dialect: duckdbDialect,
      query: events.query,
      stream: (query, signal) => streamRows(file, query, DEFAULT_READ_TIMEOUTS, signal),
    },
    records,
    async clear({ table, day }) {
      const where = isOfDays(table, day, day)
      const [found] = await events.query(sql`select count(*) as n from ${raw(table.name)} where ${where}`)
      if (Number(found?.n) > 0)
        await events.updateRows(async () => [sql`delete from ${raw(table.name)} where ${where}`])
    },
    async insert({ table }, rows) {
      await file.write((writer) => runQuery(writer, buildInsert(table, JSON.stringify(rows))))
      if (file.walBytes() > MAX_WAL_BYTES) await checkpoint()
    },
    async writeSalts(text) {
      openSaltFile(join(data, 'salts.json')).write(text)
    },
    storable: (text) => text,
    async bind() {
      const found = await compareFiles(records, events)
      const token = randomBytes(16).toString('hex')
      await bindFiles(records, events, { ...found, loss: undefined, backup: null }, { token, now: now() })
    },
    async close() {
      await file.close()
      await records.close()
    },
  }
}

/** Inserts rows from JSON text, an array of arrays of texts. */
function buildInsert({ name, columns }: CopiedTable, rows: string): Sql {
  const values = columns.map(({ type }, place) => `cells[${place + 1}]::${type}`)
  return sql`insert into ${raw(name)} (${raw(columns.map((column) => column.name).join(', '))})
    select ${raw(values.join(', '))} from (select unnest(from_json(${rows}, '[["varchar"]]')) as cells) r`
}
