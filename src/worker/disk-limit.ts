import type { EventStore } from '../storage/event-store.js'
import type { Log } from '../storage/store.js'
import { freeDisk } from './parent-port.js'

/** A commit waits for at most this much more than the limit: 10 s of 2,000 rows a second are 2 MB. */
const MEASURE_INTERVAL_MS = 10_000

/** Returns why nothing may be stored in the data directory, and the function that measures its store, to be called each second. */
export function createDiskLimit({
  options: { data, store, min_free_disk, max_disk },
  events,
  clock,
  log,
}: {
  options: { data: string; store?: string | undefined; min_free_disk: number; max_disk?: number | undefined }
  events: Pick<EventStore, 'readSize'>
  clock: () => number
  log: Log
}) {
  let used = 0
  let measuredAt = Number.NEGATIVE_INFINITY
  return {
    /** Rows are stored again when some were erased or expired, because they leave blocks to new ones. */
    obstacle(): string | undefined {
      if (store !== undefined) return undefined
      if (freeDisk(data) < min_free_disk) return `less than ${min_free_disk} bytes are free on disk`
      return max_disk !== undefined && used >= max_disk
        ? `the store takes ${used} bytes, and --max-disk allows ${max_disk}`
        : undefined
    },
    /** Never rejects. */
    async measure(): Promise<void> {
      if (max_disk === undefined || !events.readSize || clock() - measuredAt < MEASURE_INTERVAL_MS) return
      measuredAt = clock()
      try {
        used = (await events.readSize()).used_bytes
      } catch (error) {
        log('warn', 'the size of the store cannot be measured', error)
      }
    },
  }
}
