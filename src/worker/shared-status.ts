import type { WorkerStores } from './open-stores.js'

/** Returns the function that describes, for metrics, what this process shares with others: the lease, and the server of the rows. */
export const createSharedStatus =
  ({ events, held }: Pick<WorkerStores, 'events' | 'held'>) =>
  async (): Promise<unknown> => ({
    lease: held?.lease.status(),
    // A server that is away has no state.
    server: await events.serverStatus?.().catch(() => undefined),
  })
