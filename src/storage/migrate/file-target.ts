import { join } from 'node:path'
import { openPrivateFile } from '../../base/private-file.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import { DEFAULT_READ_TIMEOUTS } from '../duckdb/database.js'
import { type FilePairOptions, openFilePair } from '../duckdb/file-pair.js'
import { runQuery } from '../duckdb/query.js'
import { streamRows } from '../duckdb/row-stream.js'
import { raw, type Sql, sql } from '../sql.js'
import { isOfDays } from './read-events.js'
import type { CopiedTable } from './tables.js'
import type { Target } from './target.js'

/** The log is folded into the file when it is larger. */
const MAX_WAL_BYTES = 64 << 20

/** Opens the files of a data directory, which no other process may have open, as a target. Throws `StoreOpenError`. */
export async function openFileTarget(data: string, options: FilePairOptions): Promise<Target> {
  const { file, events, records, checkpoint, bind, close } = await openFilePair(data, options)
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
      openPrivateFile(join(data, 'salts.json')).write(text)
    },
    storable: (text) => text,
    bind,
    close,
  }
}

/** Inserts rows from JSON text, an array of arrays of texts. */
function buildInsert({ name, columns }: CopiedTable, rows: string): Sql {
  const values = columns.map(({ type }, place) => `cells[${place + 1}]::${type}`)
  return sql`insert into ${raw(name)} (${raw(columns.map((column) => column.name).join(', '))})
    select ${raw(values.join(', '))} from (select unnest(from_json(${rows}, '[["varchar"]]')) as cells) r`
}
