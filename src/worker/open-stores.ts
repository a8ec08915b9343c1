import { randomBytes } from 'node:crypto'
import { ApiError } from '../base/errors.js'
import { openStores } from '../storage/duckdb/open-files.js'
import { openRecords } from '../storage/duckdb/records.js'
import type { EventStore } from '../storage/event-store.js'
import { endCopying, requireWholeCopy } from '../storage/records/copy-marker.js'
import { createLease, keepLease, type Lease, logOnce, POLL_MS } from '../storage/records/lease.js'
import { createFencedWrite, createReaderWrite } from '../storage/records/shared-records.js'
import type { Log, RecordStore, Store } from '../storage/store.js'
import type { WorkerOptions } from '../worker-client/protocol.js'

/** The worker of a killed site's process keeps its files for up to two seconds more. */
const LOCK_WAIT_MS = 5_000

const clock = () => performance.now()

/** The right to write to shared records; `kept` is undefined while another process has it. */
export interface HeldLease {
  readonly lease: Lease
  readonly kept: ReturnType<typeof keepLease> | undefined
}

export interface WorkerStores {
  readonly events: EventStore
  readonly records: RecordStore
  /** Undefined if the records are this process's own. */
  readonly held: HeldLease | undefined
}

interface Hooks {
  log: Log
  /** The opening has come to another stage. */
  onStage?: (stage: string) => void
  /** A file had to be repaired while the worker was running. */
  onRepaired: () => void
  /** Another process has written records. */
  onRecordsChange: () => void
  /** Another process has taken the lease over: nothing that this one writes counts any more. */
  onLeaseLost: () => void
}

/**
 * Opens the store of events and the records: files of the data directory, ClickHouse (`store`), PostgreSQL (`control`). Shared
 * records have a lease, which is taken if it is free. Throws `StoreOpenError`.
 */
export async function openWorkerStores(options: WorkerOptions, hooks: Hooks): Promise<WorkerStores> {
  const { store, control } = options
  if (store !== undefined) return openOnServer(options, store, hooks)
  if (control === undefined) return { ...(await openFiles(options, hooks)), held: undefined }
  const { records, lease } = await openShared(options, control, hooks)
  let kept: ReturnType<typeof keepLease> | undefined
  try {
    // Events in a file are this process's own, so there is nothing to read before it may write.
    const epoch = await waitForLease(lease, hooks.log)
    kept = keepLease({ lease, epoch }, hooks.onLeaseLost)
    const fenced = { ...records, write: createFencedWrite(records, epoch) }
    return { ...(await openFiles(options, hooks, async () => fenced)), held: { lease, kept } }
  } catch (error) {
    await kept?.release()
    await records.close()
    throw error
  }
}

const fileOptions = (options: WorkerOptions, { log, onStage, onRepaired }: Hooks) => {
  const settings = { memory_limit: options.memory_limit, threads: options.threads, temp_limit: '4GB' }
  return {
    now: () => new Date(),
    clock,
    log,
    onStage,
    onRepaired,
    limits: options.limits,
    lock_ms: options.lock_ms ?? LOCK_WAIT_MS,
    settings: { events: settings, records: { ...settings, memory_limit: '64MB', threads: 1 } },
  }
}

const openFiles = (options: WorkerOptions, hooks: Hooks, openOthers?: () => Promise<RecordStore>) =>
  openStores({
    ...fileOptions(options, hooks),
    data: options.data,
    random: randomBytes,
    openRecords: openOthers,
  })

/** Opens events in ClickHouse, for writing if this process has the lease. Its client is loaded for them alone. */
async function openOnServer(options: WorkerOptions, store: string, hooks: Hooks): Promise<WorkerStores> {
  const { log } = hooks
  const { limits = {} } = options
  const { records, lease, isShared } = await openRecordsFor(options, hooks)
  const closing: (() => Promise<void>)[] = [() => records.close()]
  try {
    await requireWholeCopy(records)
    const now = () => new Date()
    const epoch = isShared ? await (options.role === 'reader' ? lease.watch() : lease.take()) : await lease.seize()
    if (epoch === undefined) {
      const { openClickHouse } = await import('../storage/clickhouse/store.js')
      const events = readOnly(await openClickHouse(store, { limits, records }))
      return { events, records: { ...records, write: createReaderWrite(records) }, held: { lease, kept: undefined } }
    }
    // From now on, because the journal may have a commit to apply, and that may take longer than a lease lasts.
    const kept = isShared ? keepLease({ lease, epoch }, hooks.onLeaseLost) : undefined
    closing.push(async () => kept?.release())
    const { openEventStore } = await import('../storage/clickhouse/event-store.js')
    const fenced = { ...records, write: createFencedWrite(records, epoch) }
    const common = { records: fenced, epoch, now, clock, random: randomBytes, log, limits }
    const events = await openEventStore(store, common)
    closing.push(() => events.close())
    await endCopying(fenced)
    return { events, records: fenced, held: kept && { lease, kept } }
  } catch (error) {
    for (const close of closing.reverse()) await close().catch(() => {})
    throw error
  }
}

/** Opens the records: shared ones, or `control.duckdb` of the data directory. */
async function openRecordsFor(options: WorkerOptions, hooks: Hooks) {
  if (options.control !== undefined) return { ...(await openShared(options, options.control, hooks)), isShared: true }
  const { settings, ...common } = fileOptions(options, hooks)
  const file = `${options.data}/control.duckdb`
  const records = await openRecords({ ...common, settings: settings.records, file })
  return { records, lease: createLease({ ...options, records, clock }), isShared: false }
}

/** Opens records that several processes share. PostgreSQL's client is loaded for them alone. */
async function openShared(
  { instance, address }: WorkerOptions,
  control: string,
  { log, onRecordsChange }: Hooks,
): Promise<{ records: RecordStore; lease: Lease }> {
  const { openPostgresRecords } = await import('../storage/postgres/records.js')
  const opened = await openPostgresRecords({
    url: control,
    now: () => new Date(),
    log,
    instance,
    onChange: onRecordsChange,
  })
  return { records: { ...opened, repairs: [] }, lease: createLease({ records: opened, instance, address, clock }) }
}

/** Takes the lease as soon as it is free, however long the records cannot be read meanwhile. */
async function waitForLease(lease: Lease, log: Log): Promise<number> {
  const say = logOnce(log)
  for (;;) {
    try {
      const epoch = await lease.take()
      if (epoch !== undefined) return epoch
      say('info', `another process writes to these records: ${lease.writerAddress() ?? 'unknown'}`)
    } catch (error) {
      say('warn', 'the process that writes to these records cannot be looked up, which is repeated', error)
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** The store of a process that only reads: no caller changes rows there, and one that did would be refused. */
function readOnly(store: Omit<Store, 'append'>): EventStore {
  const refuse = async () => {
    throw new ApiError('database_error', 'This process only reads.')
  }
  return {
    ...store,
    losses: [],
    lastCommit: async () => undefined,
    lookUp: store.query,
    maintain: async () => {},
    append: refuse,
    updateVerdicts: refuse,
    judgeFetches: refuse,
    reclassify: refuse,
    renameDevice: refuse,
    replaceSitemap: refuse,
    writePageEditions: refuse,
    remove: refuse,
    removeImport: refuse,
    assign: refuse,
    forgetRemovals: refuse,
    aggregate: refuse,
  }
}
