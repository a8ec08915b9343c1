import { randomBytes } from 'node:crypto'
import { openStores } from '../duckdb/open-stores.js'
import type { WorkerOptions } from '../engine/protocol.js'
import { UnusableSetting } from '../errors.js'
import type { EventStore } from '../event-store.js'
import type { Log, RecordStore } from '../store.js'
import { createLease, type Lease, POLL_MS } from './lease.js'

/** The worker of a killed site's process keeps its files for up to two seconds more. */
const LOCK_WAIT_MS = 5_000

/** The right to write to shared records; `epoch` is undefined while another process has it. */
export interface HeldLease {
  readonly lease: Lease
  readonly epoch: number | undefined
}

export interface WorkerStores {
  readonly events: EventStore
  readonly records: RecordStore
  /** Undefined if the records are this process's own. */
  readonly held: HeldLease | undefined
}

/**
 * Opens the store of events and the records: files of the data directory, or `control` for the records. Shared records have
 * a lease, which is taken if it is free. Events in a file are this process's own, so it waits for the lease then. Throws
 * `StoreOpenError`.
 */
export async function openWorkerStores(
  options: WorkerOptions,
  hooks: { log: Log; onRepaired: () => void; onRecordsChange: () => void },
): Promise<WorkerStores> {
  const { log, onRepaired } = hooks
  if (options.store !== undefined)
    throw new UnusableSetting('--store cannot be used yet: this version does not write to ClickHouse.')
  const settings = { memory_limit: options.memory_limit, threads: options.threads, temp_limit: '4GB' }
  const now = () => new Date()
  const shared = options.control === undefined ? undefined : await openShared(options, options.control, hooks)
  const held = shared && (await waitForLease(shared.lease, log))
  const stores = await openStores({
    ...{ now, clock: () => performance.now(), log, onRepaired, limits: options.limits },
    lock_ms: options.lock_ms ?? LOCK_WAIT_MS,
    data: options.data,
    random: randomBytes,
    openRecords: shared && (async () => shared.records),
    settings: { events: settings, records: { ...settings, memory_limit: '64MB', threads: 1 } },
  })
  return { ...stores, held }
}

/** Opens records that several processes share. PostgreSQL's client is loaded for them alone. */
async function openShared(
  { instance, address }: WorkerOptions,
  control: string,
  { log, onRecordsChange }: { log: Log; onRecordsChange: () => void },
): Promise<{ records: RecordStore; lease: Lease }> {
  const { openPostgresRecords } = await import('../postgres/records.js')
  const opened = await openPostgresRecords({
    ...{ url: control, now: () => new Date(), log, instance, onChange: onRecordsChange },
  })
  return { records: { ...opened, repairs: [] }, lease: createLease({ records: opened, instance, address }) }
}

async function waitForLease(lease: Lease, log: Log): Promise<HeldLease> {
  for (let isFirst = true; ; isFirst = false) {
    const epoch = await lease.take()
    if (epoch !== undefined) return { lease, epoch }
    if (isFirst) log('info', `another process writes to these records: ${lease.writerAddress() ?? 'unknown'}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
