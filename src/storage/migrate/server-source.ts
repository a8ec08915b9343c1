import { randomBytes } from 'node:crypto'
import { openEventStore } from '../clickhouse/event-store.js'
import { openClickHouse } from '../clickhouse/store.js'
import { openPostgresRecords } from '../postgres/records.js'
import { requireWholeCopy } from '../records/copy-marker.js'
import { createFencedWrite } from '../records/shared-records.js'
import { sql } from '../sql.js'
import type { Log } from '../store.js'
import { holdLease } from './held-lease.js'
import { listDays, listFingerprints, parseLine, streamLines } from './read-events.js'
import { readOrigin, readRecords } from './read-records.js'
import type { Source } from './source.js'

/**
 * Opens a store in ClickHouse and its records in PostgreSQL as a source. If no process writes to them, none can until
 * `close`, and the commit that the last one may not have applied is applied. Throws an error of one line.
 */
export async function openServerSource(store: string, control: string, log: Log): Promise<Source> {
  const now = () => new Date()
  const instance = randomBytes(8).toString('hex')
  const records = await openPostgresRecords({ url: control, now, log, instance, onChange() {} })
  const closing: (() => Promise<void>)[] = [() => records.close()]
  const close = async () => {
    for (const each of closing.splice(0).reverse()) await each()
  }
  try {
    await requireWholeCopy(records)
    const lease = await holdLease(records)
    if (lease) closing.push(() => lease.release())
    const clock = () => performance.now()
    const events = lease
      ? await openEventStore(store, {
          records: { ...records, write: createFencedWrite(records, lease.epoch) },
          epoch: lease.epoch,
          now,
          clock,
          random: randomBytes,
          log,
        })
      : await openClickHouse(store)
    closing.push(() => events.close())
    return {
      origin: await readOrigin(records),
      listDays: (table) => listDays(events, table),
      listFingerprints: (table, first, last) => listFingerprints(events, table, first, last),
      async *streamRows(unit) {
        for await (const lines of streamLines(events, unit)) yield lines.map(parseLine)
      },
      readRecords: (table) => readRecords(records, table),
      async readSalts() {
        const [row] = await records.query(sql`select content from salts`)
        return row && String(row.content)
      },
      isInUse: () => lease === undefined || lease.isLost(),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
