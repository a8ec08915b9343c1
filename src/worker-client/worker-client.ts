import { randomBytes } from 'node:crypto'
import { ApiError } from '../base/errors.js'
import { createEventLoopQueue } from '../base/event-loop-queue.js'
import type { Log } from '../base/log.js'
import { waitAtMost } from '../base/wait-at-most.js'
import type { PackedBatch } from '../capture/packed-batch.js'
import type { CommitPosition } from '../storage/commit-position.js'
import { clickhouseDialect } from '../storage/dialects/clickhouse.js'
import { duckdbDialect } from '../storage/dialects/duckdb.js'
import type { EdgeDelivery } from '../storage/edge-delivery.js'
import type { Records, Store } from '../storage/store.js'
import { createCalls } from './calls.js'
import { defaultMemoryLimit, inspectMachine, readThreads, usableCores } from './machine.js'
import { createOutbox } from './outbox.js'
import type { FromWorker, WorkerOptions } from './protocol.js'
import type { WorkerClientStatus } from './status.js'
import { createSubscriptions } from './subscriptions.js'
import { createSupervisor, storeReopening } from './supervisor.js'
import { BEAT_MS, createWatch } from './watch.js'
import { startWorkerProcess } from './worker-process.js'

/** Settings of the worker, most of them with defaults, and of its process. */
export interface WorkerClientOptions
  extends AllOptional<Omit<WorkerOptions, 'data' | 'threads' | 'from' | 'instance'>> {
  /** The data directory with `events.duckdb`, `control.duckdb` and `salts.json`; created if it does not exist. */
  data: string
  /** Writes what records must contain before rows are stored; called each time they were opened, as they may be new. */
  prepare?: (records: Records) => Promise<void>
  /** Called with the stage of a long opening, in a few words. */
  onStage?: ((stage: string) => void) | undefined
  log: Log
  /** The options below have defaults that only tests change: the worker's program, and its heap in MB. */
  entry?: URL
  heap_mb?: number
  /** Milliseconds that `close` waits for rows to be stored, and then for the files to be closed. */
  drain_ms?: number
  close_ms?: number
  /** Milliseconds between the beats at which the worker must respond. */
  beat_ms?: number
}
type AllOptional<T> = { [K in keyof T]?: T[K] | undefined }

/** The worker, as the rest of the site's process uses it. */
export type WorkerClient = Awaited<ReturnType<typeof startWorkerClient>>

const MAX_COMMIT_DURATIONS = 100

/**
 * Starts the worker's process and resolves when both data files are open. Rejects with an `Error` of one line, meant for
 * the operator, if they cannot be opened. A worker that crashes later is started again: batches that it had not
 * committed are sent to the next one, and committed batches are not.
 */
export async function startWorkerClient(options: WorkerClientOptions) {
  const { log, drain_ms = 10_000, close_ms = 20_000, beat_ms = BEAT_MS } = options
  let closing = false

  const supervisor = createSupervisor({
    fork: (receive) =>
      startWorkerProcess({
        entry: options.entry ?? new URL('../worker/entry.js', import.meta.url),
        heap_mb: options.heap_mb ?? 512,
        options: workerOptions(options, progress.position()),
        receive,
      }),
    receive(message) {
      for (const part of [watch, role, subscriptions, progress, calls]) part.receive(message)
      if (message.type === 'begun') outbox.begin(message.sequence)
      if (mayFollowAnother(message, options)) outbox.refuseDeliveries(storeReopening())
      if (message.type === 'log') log[message.level](message.error ? { err: message.error } : {}, message.message)
    },
    prepare: async () => role.ifWriter(() => options.prepare?.(records)),
    onReady: () => role.ifWriter(() => outbox.resume()),
    onEnd({ isCrash }) {
      watch.ended()
      outbox.pause(isCrash)
      calls.rejectAll(storeReopening())
    },
    onRestart: () => subscriptions.restarted(),
    log,
  })
  const role = createRole(options)
  const outbox = createOutbox(supervisor)
  const calls = createCalls(supervisor, { isSilent: () => watch.isSilent(), beat_ms })
  const watch = createWatch({
    ping: supervisor.postIfRunning,
    work: () => ({ commit: outbox.oldestSent(), change: calls.oldestChange() }),
    onBeat: calls.beat,
    log,
    beat_ms,
  })
  const subscriptions = createSubscriptions(supervisor)
  const progress = createProgress(options, ({ sequence }) => outbox.acknowledge(sequence))
  const { records, events } = createStores(calls, options)
  await supervisor.start().catch((error) => {
    watch.stop()
    throw error
  })

  return {
    /**
     * Resolves when every row of the batch is committed, exactly once across worker restarts; the delivery is then
     * stored with the rows.
     */
    record(batch: PackedBatch, delivery?: EdgeDelivery): Promise<void> {
      if (closing) return Promise.reject(new ApiError('database_error', 'The store is closed.'))
      return batch.count > 0 || delivery ? outbox.add(batch, delivery) : Promise.resolve()
    },
    events,
    records,
    ...role.state,
    /**
     * Calls a function of the worker by name (`WorkerApi`) and returns its result unchecked: callers parse it. Throws
     * `ApiError`.
     */
    call: calls.call,
    status(): WorkerClientStatus {
      const { restarts, worker, ...state } = supervisor.status()
      return { ...watch.judge(state), ...progress.status(), restarts, ...(worker && { worker }) }
    },
    ...subscriptions.subscribe,
    /** Stores waiting rows and ends the worker. */
    async close(): Promise<void> {
      if (closing) return
      closing = true
      supervisor.stopRestarting()
      await waitAtMost(supervisor.running() ? drain_ms : 0, outbox.whenEmpty())
      await supervisor.close(close_ms)
      watch.stop()
      outbox.rejectAll(new ApiError('database_error', 'The store closed before these rows were stored.'))
    },
  }
}

/** Records and events as the rest of the process reads them. */
function createStores(calls: ReturnType<typeof createCalls>, { store }: WorkerClientOptions) {
  const waitForTurn = createEventLoopQueue()
  // One message of the worker may have many results: each is worked on in a turn of its own.
  const query: typeof calls.query = async (...asked) => {
    const rows = await calls.query(...asked)
    await waitForTurn()
    return rows
  }
  const records: Records = { query: (asked) => query('control', asked), write: calls.write }
  const events: Pick<Store, 'query' | 'stream' | 'dialect'> = {
    dialect: store === undefined ? duckdbDialect : clickhouseDialect,
    query: (asked, signal, scope) => query('events', asked, signal, scope),
    stream: calls.stream,
  }
  return { records, events }
}

/** Whether another process may have stored rows by now, to which senders have sent again what this one had not stored. */
const mayFollowAnother = ({ type }: FromWorker, { control }: WorkerClientOptions): boolean =>
  type === 'role_changed' || (type === 'ready' && control !== undefined)

/** Whether this process writes, as its worker said last, and who writes otherwise. */
function createRole({ store, control }: WorkerClientOptions) {
  let writer = false
  let address: string | undefined
  return {
    state: {
      /** Whether rows or records are on a server, which other processes may use too. */
      isShared: store !== undefined || control !== undefined,
      /** Whether this process writes, as each with a store of its own does. */
      isWriter: () => writer,
      /** The URL at which another process that writes is reached; undefined without one. */
      writerAddress: () => address,
    },
    ifWriter: <T>(work: () => T): T | undefined => (writer ? work() : undefined),
    receive(message: FromWorker): void {
      if (message.type === 'ready') writer = message.writer
      if (message.type === 'role_changed') writer = false
      if (message.type === 'ready' || message.type === 'role_changed') address = undefined
      if (message.type === 'writer_at') address = message.address
    },
  }
}

/** How far the worker has come, across its restarts. */
function createProgress(
  { log, onStage }: Pick<WorkerClientOptions, 'log' | 'onStage'>,
  onCommit: (position: CommitPosition) => void,
) {
  const commitDurations: number[] = []
  const losses: string[] = []
  let position: CommitPosition = { run: randomBytes(8).toString('hex'), sequence: 0, human: 0, agent: 0, drops: {} }
  return {
    position: () => position,
    receive(message: FromWorker): void {
      if (message.type === 'opening') onStage?.(message.stage)
      if (message.type === 'ready') losses.push(...message.losses)
      if (message.type === 'committed') {
        commitDurations.push(message.ms)
        if (commitDurations.length > MAX_COMMIT_DURATIONS) commitDurations.shift()
        const { sequence, human, agent } = message.position
        log.debug?.({ sequence, human, agent, ms: message.ms }, 'rows are stored')
      }
      if (message.type === 'ready' || message.type === 'committed') {
        position = message.position
        onCommit(position)
      }
    },
    status: () => ({
      rows: { human: position.human, agent: position.agent },
      drops: position.drops,
      ...(losses.length > 0 && { losses: [...losses] }),
      flush_ms: [...commitDurations],
    }),
  }
}

const workerOptions = (options: WorkerClientOptions, from: CommitPosition): WorkerOptions => ({
  data: options.data,
  store: options.store,
  control: options.control,
  role: options.role ?? 'both',
  instance: from.run,
  address: options.address ?? '',
  memory_limit: options.memory_limit ?? defaultMemoryLimit(inspectMachine()),
  threads: readThreads(usableCores(inspectMachine())),
  min_free_disk: options.min_free_disk ?? 512 << 20,
  max_disk: options.max_disk,
  geoip: options.geoip,
  ranges: options.ranges ?? [],
  spam_referrers: options.spam_referrers ?? [],
  trusted_referrers: options.trusted_referrers ?? [],
  offline: options.offline ?? false,
  version: options.version ?? '0',
  origin: options.origin,
  domain: options.domain ?? [],
  in_application: options.in_application ?? false,
  limits: options.limits,
  lock_ms: options.lock_ms,
  from,
})
