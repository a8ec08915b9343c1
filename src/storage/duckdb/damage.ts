import { statSync } from 'node:fs'
import type { DuckDBConnection } from '@duckdb/node-api'

/** The extent of a check: the parts that a start needs, or every block with rows. */
export type CheckScope = 'start' | 'everything'

/** A table of fewer values than this is read whole at each start, in 20 ms at most; the store's own notes are all smaller. */
const MAX_VALUES_AT_START = 500_000
/** DuckDB's three headers, before the first block. */
const HEADER_BYTES = 12_288

/** The command that brings a store back, for messages. */
export const RESTORE = '`readership restore BACKUP --data NEW`'
export const WHAT_TO_DO = `\`readership store status\` says what you can decide; ${RESTORE} restores a backup.`

/** DuckDB's words for a file that is not a database, or of which a block is missing or has another checksum. */
const DAMAGE = /not a valid DuckDB database|Corrupt database file|Could not read enough bytes|Serialization Error/i

/** Returns whether an error, or its cause, says that the file is damaged. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Error && (DAMAGE.test(error.message) || isDamage(error.cause))

/**
 * Reads an open file. DuckDB opens a file if its headers and its catalogue are whole, and finds any other damage when it
 * reads the block, which may be after hours. Throws DuckDB's error, or one with its words. All in two statements, because
 * each waits for a thread of low priority: on a busy machine 60 took a minute.
 */
export async function checkFile(connection: DuckDBConnection, file: string, scope: CheckScope): Promise<void> {
  const listed = await connection.runAndReadAll(
    `select table_name, estimated_size * column_count, total_blocks, block_size
     from duckdb_tables(), pragma_database_size() where not internal`,
  )
  const tables = listed.getRows().map(([name, values]) => ({ name: String(name), values: Number(values) }))
  const [total = 0, block = 0] = listed.getRows()[0]?.slice(2).map(Number) ?? []
  if (statSync(file).size < HEADER_BYTES + total * block) await checkLength(connection, file, tables, block)
  const read = tables
    .filter(({ values }) => values > 0 && (scope === 'everything' || values < MAX_VALUES_AT_START))
    .map(({ name }) => `select bit_xor(hash(t)) as hash from ${quote(name, '"')} t`)
  if (read.length > 0) await connection.run(`select max(hash) from (${read.join(' union all ')})`)
}

/** A file may end before free blocks, because DuckDB gives them back to the disk, and never before one that is used. */
async function checkLength(
  connection: DuckDBConnection,
  file: string,
  tables: readonly { name: string }[],
  block: number,
): Promise<void> {
  const used = tables.map(
    ({ name }) => `union all select greatest(block_id, list_max(additional_block_ids))
      from pragma_storage_info(${quote(name, "'")}) where persistent`,
  )
  const last = await connection.runAndReadAll(
    `select max(id) from (select max(block_id) as id from pragma_metadata_info() ${used.join(' ')})`,
  )
  const { size } = statSync(file)
  const end = HEADER_BYTES + (Number(last.value(0, 0) ?? -1) + 1) * block
  if (size < end) throw new Error(`Corrupt database file: it ends at byte ${size} of ${end}`)
}

const quote = (text: string, mark: string): string => `${mark}${text.replaceAll(mark, mark + mark)}${mark}`
