import { EVENTS_SCHEMA } from '../storage/duckdb/events-schema.js'
import type { EventStore } from '../storage/event-store.js'
import { RECORDS_SCHEMA } from '../storage/records/records-schema.js'
import type { RecordStore } from '../storage/store.js'
import type { WorkerOptions } from '../worker-client/protocol.js'
import type { WorkerStores } from './open-stores.js'

/**
 * Returns functions for the site's process that describe the engines, and what this process shares with others: the lease,
 * which is known at once, and the servers, of which one that is away has no state.
 */
export const createSharedApi = ({
  events,
  records,
  held,
  options,
}: {
  events: Pick<EventStore, 'serverStatus'>
  records: Pick<RecordStore, 'readSize'>
  held: WorkerStores['held']
  options: Pick<WorkerOptions, 'store' | 'control'>
}) => ({
  fleet_status: async () => ({
    engines: {
      // A file that is open has been migrated to the version of this program.
      ...(options.store === undefined ? { rows: 'DuckDB', rows_schema: EVENTS_SCHEMA.length } : { rows: 'ClickHouse' }),
      ...(options.control === undefined
        ? { records: 'DuckDB', records_schema: RECORDS_SCHEMA.length }
        : { records: 'PostgreSQL' }),
    },
    lease: held?.lease.status(),
  }),
  async shared_status() {
    const [server, records_bytes] = await Promise.all([
      events.serverStatus?.().catch(() => undefined),
      records.readSize?.().catch(() => undefined),
    ])
    return { lease: held?.lease.status(), server, records_bytes }
  },
})

/** Returns functions for the site's process that measure a store in a file; on a server they return null. */
export const createSizeApi = ({
  readSize,
  readTableSizes,
  checkpoint,
}: Pick<EventStore, 'readSize' | 'readTableSizes' | 'checkpoint'>) => ({
  store_size: async () =>
    readSize && readTableSizes ? { ...(await readSize()), tables: await readTableSizes() } : null,
  checkpoint: async () => void (await checkpoint?.()),
})
