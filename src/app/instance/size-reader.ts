import { formatPercent } from '../../analytics/export/format.js'
import { DISK_WARNING_SHARE, StoredSize } from '../../api/instance-status.js'
import { formatBytes } from '../../base/format-bytes.js'
import type { Log } from '../../base/log.js'
import { waitAtMost } from '../../base/wait-at-most.js'
import type { WorkerClientStatus } from '../../worker-client/status.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'

/** A store of 100 million rows takes some seconds to be measured. */
const CACHE_MS = 60_000
const WAIT_MS = 2_000
/** The operator is warned again after the store was below this share of `--max-disk`. */
const CALM_SHARE = 0.75

/** Reads the size of a store in a file, and warns before it reaches `--max-disk`. */
export function createSizeReader(
  workerClient: Pick<WorkerClient, 'call' | 'isWriter'>,
  { max_disk, log, clock }: { max_disk?: number | undefined; log: Log; clock: () => number },
) {
  let size: StoredSize | undefined
  let reading: { since: number; done: Promise<void> } | undefined
  let isWarned = false
  const share = () => (size === undefined || max_disk === undefined ? 0 : size.used_bytes / max_disk)
  const describe = () => {
    const { used_bytes = 0 } = size ?? {}
    return `the store takes ${formatPercent(share())} of --max-disk (${formatBytes(used_bytes)} of ${formatBytes(max_disk ?? 0)})`
  }
  const refresh = async () => {
    size = StoredSize.nullable().parse(await workerClient.call('store_size')) ?? undefined
    if (share() >= DISK_WARNING_SHARE && !isWarned) log.warn({}, `${describe()}; when it is full, rows are not stored`)
    isWarned = share() >= (isWarned ? CALM_SHARE : DISK_WARNING_SHARE)
  }
  const read = async (): Promise<StoredSize | undefined> => {
    if (workerClient.isWriter() && (!reading || clock() - reading.since > CACHE_MS))
      // The last size stands while the worker does not respond.
      reading = { since: clock(), done: refresh().catch(() => {}) }
    if (reading) await waitAtMost(WAIT_MS, reading.done)
    return size && { ...size, ...(max_disk !== undefined && { max_bytes: max_disk }) }
  }
  const timer = max_disk === undefined ? undefined : setInterval(() => void read(), CACHE_MS).unref()
  if (timer) void read()
  return {
    /** Returns the size as it was within a minute; undefined while it is not known, or on a server. */
    read,
    /** Adds the warning to a status that has no other reason. */
    warn: (status: WorkerClientStatus): WorkerClientStatus =>
      status.state === 'ready' && status.reason === undefined && isWarned ? { ...status, reason: describe() } : status,
    /** Measures again at the next reading. */
    forget(): void {
      reading = undefined
    },
    stop: () => clearInterval(timer),
  }
}

/** The checkpoint of `store vacuum`, and the sizes before and after it. */
export const createVacuum =
  (workerClient: Pick<WorkerClient, 'call'>, sizes: Pick<ReturnType<typeof createSizeReader>, 'read' | 'forget'>) =>
  async (): Promise<{ before: StoredSize; after: StoredSize } | undefined> => {
    sizes.forget()
    const before = await sizes.read()
    await workerClient.call('checkpoint')
    sizes.forget()
    const after = await sizes.read()
    return before && after && { before, after }
  }
