import { z } from 'zod'
import { waitAtMost } from '../manage/notify/wait-at-most.js'
import type { MetricRegistry } from './metrics.js'

const Lease = z.object({ held: z.boolean(), epoch: z.number(), age_seconds: z.number() })

/** The engines and the lease, as the worker describes them. */
export const FleetStatus = z.object({
  engines: z.object({ rows: z.string(), records: z.string() }),
  lease: Lease.optional(),
})

/** The lease and the servers, as the worker describes them. */
export const SharedStatus = z.object({
  lease: Lease.optional(),
  server: z
    .object({
      parts: z.record(z.string(), z.number()),
      bytes: z.number().optional(),
      unfinished_mutations: z.number(),
      replication_delay_seconds: z.number().optional(),
      commits: z.object({ count: z.number(), rows: z.number(), seconds: z.number() }).optional(),
    })
    .optional(),
  /** The size of the records on a server. */
  records_bytes: z.number().optional(),
})
type SharedStatus = z.infer<typeof SharedStatus>

/** Scrapes within this time get the same answer, so that several scrapers cost the server one query. */
const CACHE_MS = 5_000
/** A scrape waits no longer. */
const WAIT_MS = 3_000

/** Returns a function that gives the status as it was read within `CACHE_MS`; it lacks what cannot be had at present. */
function createStatusCache(read: () => Promise<unknown>, clock: () => number) {
  let status: SharedStatus = {}
  let reading: { since: number; done: Promise<void> } | undefined
  const refresh = async () => {
    const found = await read().catch(() => ({}))
    status = SharedStatus.safeParse(found).data ?? {}
  }
  return async (): Promise<SharedStatus> => {
    if (!reading || clock() - reading.since > CACHE_MS) {
      status = {}
      reading = { since: clock(), done: refresh() }
    }
    await waitAtMost(WAIT_MS, reading.done)
    return status
  }
}

/** Adds the metrics of what several processes share. `read` returns the worker's `shared_status`, and may reject. */
export function addSharedMetrics(
  { addEach, addOne }: MetricRegistry,
  read: () => Promise<unknown>,
  clock: () => number,
): void {
  const readStatus = createStatusCache(read, clock)
  const add = (name: string, help: string, find: (status: SharedStatus) => number | undefined) =>
    addOne(name, help, async () => find(await readStatus()))
  add(
    'readership_lease_held',
    '1 while some process has the right to write, and was seen to renew it within 10 s.',
    ({ lease }) => lease && Number(lease.held),
  )
  add('readership_lease_epoch', 'How often the right to write has been taken.', ({ lease }) => lease?.epoch)
  add(
    'readership_lease_renewal_age_seconds',
    'Time since this process last read a renewal of the right to write; the holder renews it every 2 s.',
    ({ lease }) => lease?.age_seconds,
  )
  add(
    'readership_clickhouse_commits_total',
    'Commits that the worker has written to ClickHouse since it started.',
    ({ server }) => server?.commits?.count,
  )
  add('readership_clickhouse_rows_total', 'Rows of these commits.', ({ server }) => server?.commits?.rows)
  add(
    'readership_clickhouse_commit_seconds_total',
    'Time that ClickHouse took for these commits.',
    ({ server }) => server?.commits?.seconds,
  )
  addEach(
    'readership_clickhouse_parts',
    'Active parts, by table; hundreds in a month of one table mean that merges do not keep up.',
    'table',
    async () => Object.entries((await readStatus()).server?.parts ?? {}),
  )
  add(
    'readership_clickhouse_mutations_unfinished',
    'Mutations that have not ended: erasures rewrite parts.',
    ({ server }) => server?.unfinished_mutations,
  )
  add(
    'readership_clickhouse_replication_delay_seconds',
    'The largest delay of a replicated table on the server.',
    ({ server }) => server?.replication_delay_seconds,
  )
}
