import { ApiError } from '../base/errors.js'
import { type LeaseStatus, logOnce, MAX_RENEWAL_AGE_SECONDS, POLL_MS } from '../storage/records/lease.js'
import type { Log } from '../storage/store.js'
import type { WorkerOptions } from '../worker-client/protocol.js'
import { listen } from './listen.js'
import type { WorkerStores } from './open-stores.js'
import { createUsageReport, type ParentPort } from './parent-port.js'
import type { CreateParts } from './parts.js'
import { createSharedApi } from './shared-status.js'
import type { openSites } from './sites.js'

/** How often policies that another process has stored are read, if records have changed. */
const POLICIES_MS = 10_000

/**
 * Runs the worker of a process that only reads, until it may become the writer: it answers questions, fetches nothing and
 * stores nothing. The caller lists what has changed in the records.
 */
export async function serveReader({
  port,
  options,
  createParts,
  stores,
  sites,
  log,
  changes,
}: {
  port: ParentPort
  options: WorkerOptions
  createParts: CreateParts
  stores: WorkerStores
  sites: Awaited<ReturnType<typeof openSites>>
  log: Log
  changes: { count(): number }
}): Promise<void> {
  const { events, records, held } = stores
  const parts = createParts({
    // Without an origin, and offline, nothing is fetched: the writer does that.
    options: { ...options, offline: true, origin: undefined },
    ...sites,
    records,
    events,
    obstacle: () => 'this process only reads',
    log,
  })
  let seen = changes.count()
  await parts.readPolicies()
  const reportUsage = createUsageReport(port.post)
  let ending = false
  const end = (code: number): void => {
    if (ending) return
    ending = true
    for (const timer of timers) clearInterval(timer)
    void Promise.allSettled([events.close(), records.close()]).then(() => port.exit(code))
  }
  const become = (): void => {
    port.post({ type: 'role_changed', reason: 'this process becomes the writer' })
    end(0)
  }
  const askForLease = createLeaseWatch({ held, role: options.role, port, log, become })
  const timers = [
    setInterval(() => {
      reportUsage()
      askForLease()
    }, POLL_MS),
    setInterval(() => {
      if (changes.count() === seen) return
      seen = changes.count()
      void parts.readPolicies()
    }, POLICIES_MS),
  ]
  process.on('uncaughtException', (error) => {
    log('error', 'the worker failed and is started again', error)
    end(1)
  })
  const writer = {
    push() {
      throw new ApiError('database_error', 'This process only reads.')
    },
  }
  const api = { ...parts.api, ...createSharedApi({ events, records, held, options }) }
  listen(port, { events, records, sites, api, writer, setTailing() {}, setNoting() {}, end, log })
  port.post({ type: 'ready', position: options.from, losses: [], writer: false })
  reportUsage()
  askForLease()
}

/**
 * Returns a function that looks once who writes, tells the site's process where, and calls `become` if this process may write
 * from now on. Call it every `POLL_MS`: a call while one runs does nothing, because each counts as a second.
 */
function createLeaseWatch({
  held,
  role,
  port,
  log,
  become,
}: {
  held: WorkerStores['held']
  role: WorkerOptions['role']
  port: ParentPort
  log: Log
  become: () => void
}): () => void {
  const say = logOnce(log)
  let address: string | undefined
  let isAsking = false
  let lack: string | undefined
  /** Says whether some process stores rows, also while the records cannot be read: then no renewal is seen. */
  const judge = (): void => {
    const found = describeLack(held?.lease.status())
    if (found !== lack) port.post({ type: 'state', ...(found !== undefined && { reason: found }) })
    lack = found
  }
  const ask = async (): Promise<void> => {
    if (!held) return
    // A process that never writes reads the row all the same: it says where the writer is.
    const epoch = role === 'reader' ? await held.lease.watch() : await held.lease.take()
    if (epoch !== undefined) return become()
    const writer = held.lease.writerAddress()
    // `readership migrate` and a process without `advertise` take no requests.
    if (writer !== address) port.post({ type: 'writer_at', ...(writer && { address: writer }) })
    address = writer
    say('info', describeWriter(writer))
  }
  return () => {
    judge()
    if (isAsking) return
    isAsking = true
    ask()
      .catch((error) => say('warn', 'the writer cannot be looked up', error))
      .finally(() => {
        isAsking = false
        judge()
      })
  }
}

/** Returns why no process of the fleet stores rows; undefined while one does. A lease between two holders has its time. */
function describeLack(lease: LeaseStatus | undefined): string | undefined {
  if (!lease || lease.age_seconds <= MAX_RENEWAL_AGE_SECONDS) return undefined
  return `no process stores rows: the writer has not shown for more than ${MAX_RENEWAL_AGE_SECONDS} s that it lives`
}

function describeWriter(address: string | undefined): string {
  if (address === undefined) return 'no process writes at present'
  if (address === '')
    return 'this process reads; the writer has no address: readership migrate, or one without advertise'
  return `this process reads; the writer is at ${address}`
}
