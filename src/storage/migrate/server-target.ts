import { randomBytes } from 'node:crypto'
import { StoreOpenError } from '../../base/errors.js'
import { bindToRecords } from '../clickhouse/binding.js'
import { readRows } from '../clickhouse/query.js'
import { erase } from '../clickhouse/removal.js'
import { EVERY_VERSION } from '../clickhouse/settings.js'
import { insertRows } from '../clickhouse/statements.js'
import { openClickHouse } from '../clickhouse/store.js'
import { openPostgresRecords } from '../postgres/records.js'
import { createFencedWrite } from '../records/shared-records.js'
import { raw, sql } from '../sql.js'
import type { Log } from '../store.js'
import { holdLease } from './held-lease.js'
import { isOfDays } from './read-events.js'
import { COPIED_TABLES, type CopiedTable } from './tables.js'
import type { Target } from './target.js'

/** Below that of every change of a writer. A row that is copied again has another id. */
const VERSION = '1'

const hasRowId = ({ name }: CopiedTable): boolean => name !== 'sitemap_urls' && name !== 'page_samples'

/** Opens ClickHouse and PostgreSQL as a target, and keeps other processes from writing there. Throws an error of one line. */
export async function openServerTarget(store: string, control: string, log: Log): Promise<Target> {
  const now = () => new Date()
  const instance = randomBytes(8).toString('hex')
  const opened = await openPostgresRecords({ url: control, now, log, instance, onChange() {} })
  const closing: (() => Promise<void>)[] = [() => opened.close()]
  const close = async () => {
    for (const each of closing.splice(0).reverse()) await each()
  }
  try {
    const held = await holdLease(opened)
    if (!held) throw new StoreOpenError('another process writes to the database that --control names: stop it first.')
    closing.push(() => held.release())
    const records = { query: opened.query, write: createFencedWrite(opened, held.epoch) }
    const events = await openClickHouse(store)
    closing.push(() => events.close())
    const { client } = events
    const bind = () => bindToRecords(client, records, { token: randomBytes(16).toString('hex'), now: now() })
    await bind()
    const highest = COPIED_TABLES.filter(hasRowId).map(({ name }) => `select max(row_id) as id from ${name}`)
    const [row] = await readRows(client, sql`select max(id) as last from (${raw(highest.join(' union all '))}) r`, {
      ...EVERY_VERSION,
    })
    let lastRow = Number(row?.last ?? 0)
    return {
      events,
      records,
      clear: ({ table, day }) => erase(client, table.name, isOfDays(table, day, day)),
      async insert({ table }, rows) {
        const readers = table.columns.map(({ type }) => (type === 'boolean' ? toBoolean : toValue))
        const names = table.columns.map(({ name }) => name)
        await insertRows(client, {
          table: table.name,
          columns: [...names, ...(hasRowId(table) ? ['row_id'] : []), 'ver', 'is_deleted'],
          values: rows.map((cells) => [
            ...cells.map((cell, place) => readers[place]?.(cell)),
            ...(hasRowId(table) ? [++lastRow] : []),
            VERSION,
            0,
          ]),
        })
      },
      async writeSalts(text) {
        await records.write(sql`delete from salts`, sql`insert into salts values (${text})`)
      },
      // PostgreSQL has no text with U+0000 (storage/postgres/client.ts).
      storable: (text) => text.replaceAll('\0', '\ufffd'),
      async bind() {
        await records.write(sql`update journal set last_row = ${lastRow} where last_row < ${lastRow}`)
        await bind()
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const toValue = (cell: string | null): unknown => cell
const toBoolean = (cell: string | null): unknown => (cell === null ? null : cell === 'true')
