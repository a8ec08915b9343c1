import { randomBytes } from 'node:crypto'
import { openStores } from '../duckdb/open-stores.js'
import type { WorkerOptions } from '../engine/protocol.js'
import type { EventStore } from '../event-store.js'
import type { Log, RecordStore } from '../store.js'

/** The worker of a killed site's process keeps its files for up to two seconds more. */
const LOCK_WAIT_MS = 5_000

/**
 * Opens the stores of the worker. `onRepaired` is called when a file had to be repaired while the worker was running. Throws
 * `StoreOpenError`.
 */
export function openWorkerStores(
  options: WorkerOptions,
  log: Log,
  onRepaired: () => void,
): Promise<{ events: EventStore; records: RecordStore }> {
  const settings = { memory_limit: options.memory_limit, threads: options.threads, temp_limit: '4GB' }
  const now = () => new Date()
  const clock = () => performance.now()
  const common = { now, clock, log, onRepaired, limits: options.limits, lock_ms: options.lock_ms ?? LOCK_WAIT_MS }
  return openStores({
    ...common,
    data: options.data,
    random: randomBytes,
    settings: { events: settings, records: { ...settings, memory_limit: '64MB', threads: 1 } },
  })
}
