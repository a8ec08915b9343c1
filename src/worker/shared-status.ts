import type { EventStore } from '../event-store.js'
import type { WorkerStores } from './open-stores.js'

/** Returns the function that describes, for metrics, what this process shares with others: the lease, and the server of the rows. */
export const createSharedStatus =
  ({ events, held }: Pick<WorkerStores, 'events' | 'held'>) =>
  async (): Promise<unknown> => ({
    lease: held?.lease.status(),
    // A server that is away has no state.
    server: await events.serverStatus?.().catch(() => undefined),
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
