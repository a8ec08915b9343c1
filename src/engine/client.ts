import { randomBytes } from 'node:crypto'
import type { EndpointDrop } from '../capture/drops.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import { threadsFor } from '../duckdb/thread-priority.js'
import { ApiError } from '../errors.js'
import type { PolicyChange } from '../policy/change.js'
import type { Sql } from '../sql.js'
import type { Records, ResultRow } from '../store.js'
import type { CommitPosition } from './commit-position.js'
import { usableCores } from './cores.js'
import type { Engine, EngineStatus, TailRow, WorkerUsage } from './engine.js'
import { inspectMachine } from './machine.js'
import { defaultMemoryLimit } from './memory.js'
import { createOutbox } from './outbox.js'
import type { FromWorker, Statement, ToWorker, WorkerOptions } from './protocol.js'
import { createStreamReceiver, queryCancelled } from './stream-receiver.js'
import { startWorkerProcess, type WorkerProcess } from './worker-process.js'

export interface EngineOptions {
  /** The data directory: `events.duckdb`, `control.duckdb`, `salts.json`. Made where there is none. */
  data: string
  /** Of the event store's queries and buffers, as DuckDB writes sizes; absent: `memoryLimit` of this machine. */
  memory_limit?: string | undefined
  /** Bytes; with less free disk nothing is stored until there is room again; 512 MB. */
  min_free_disk?: number | undefined
  /** Of reads, as `WorkerOptions`: tests give others. */
  limits?: WorkerOptions['limits']
  geoip?: string | undefined
  /** As `WorkerOptions`. */
  ranges?: readonly string[] | undefined
  offline?: boolean | undefined
  version?: string | undefined
  origin?: string | undefined
  /** What the records must hold before rows are stored: seen to each time they were opened, for they may be new ones. */
  prepare?: (records: Records) => Promise<void>
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
    error(details: object, message: string): void
  }
  /**
   * The worker's file, its heap, how long `close` waits for rows and then for the files, and a start for files that
   * another process has: tests give others.
   */
  entry?: URL
  heap_mb?: number
  drain_ms?: number
  close_ms?: number
  lock_ms?: number
}

/** Behind a death the next worker starts after this long, doubled up to the longest while it goes on dying. */
const FIRST_RESTART_DELAY_MS = 100
const MAX_RESTART_DELAY_MS = 10_000
/** A worker that lived this long has the next death forgiven. */
const HEALTHY_UPTIME_MS = 60_000

/**
 * Starts the worker's process and resolves once both files are open. Rejects with an `Error` of one line where they cannot
 * be: that is the operator's to change. Later the worker may die as often as it likes: it is started again, what it had
 * not committed is handed to it again, and what it had is not.
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { log, drain_ms = 10_000, close_ms = 20_000 } = options
  const calls = new Map<number, PendingCall<ResultRow[]>>()
  const asked = new Map<number, PendingCall<unknown>>()
  const listeners = new Set<(row: TailRow) => void>()
  const dropListeners = new Set<(dropped: EndpointDrop) => void>()
  const policyListeners = new Set<(change: PolicyChange) => void>()
  const reopenListeners = new Set<() => void>()
  const flush_ms: number[] = []
  let acked: CommitPosition = { run: randomBytes(8).toString('hex'), sequence: 0, human: 0, agent: 0, drops: {} }
  let worker: WorkerProcess | undefined
  let status: Pick<EngineStatus, 'state' | 'reason'> = { state: 'starting' }
  let usage: WorkerUsage | undefined
  let losses: readonly string[] = []
  let restarts = 0
  let deaths = 0
  let nextCall = 1
  let restarting: NodeJS.Timeout | undefined
  let closing = false
  let failure: string | undefined

  const post = (message: ToWorker) => {
    if (!worker) throw new ApiError('database_error', 'The store is being opened again.')
    worker.post(message)
  }
  const tell = (message: ToWorker) => worker?.post(message)
  const outbox = createOutbox({ post })
  const streams = createStreamReceiver({ tell })

  const settle = (mark: CommitPosition) => {
    acked = mark
    outbox.acknowledge(mark.sequence)
  }

  const receive = (message: FromWorker) => {
    switch (message.type) {
      case 'ready':
        losses = [...losses, ...message.losses]
        settle(message.mark)
        if (listeners.size > 0) post({ type: 'tail', on: true })
        return
      case 'failed':
        failure = message.message
        return
      case 'committed':
        flush_ms.push(message.ms)
        if (flush_ms.length > 100) flush_ms.shift()
        for (const dropped of message.dropped) for (const listener of dropListeners) listener(dropped)
        settle(message.mark)
        return
      case 'state':
        status = message.reason === undefined ? { state: 'ready' } : { state: 'degraded', reason: message.reason }
        log.warn({ reason: message.reason }, message.reason ? 'rows are not stored and wait' : 'rows are stored again')
        return
      case 'usage':
        usage = message.usage
        return
      case 'answer':
        calls.get(message.id)?.resolve(message.rows)
        calls.delete(message.id)
        streams.end(message.id)
        return
      case 'chunk':
        streams.chunk(message.id, message.rows)
        return
      case 'told':
        asked.get(message.id)?.resolve(message.answer)
        asked.delete(message.id)
        return
      case 'refused': {
        const cause = message.cause === undefined ? {} : { cause: new Error(message.cause) }
        const error = new ApiError(message.code, message.message, undefined, cause)
        for (const waiting of [calls, asked]) {
          waiting.get(message.id)?.reject(error)
          waiting.delete(message.id)
        }
        streams.end(message.id, error)
        return
      }
      case 'rows':
        for (const row of message.rows) for (const listener of listeners) listener(row)
        return
      case 'policy':
        for (const listener of policyListeners) listener(message.change)
        return
      case 'log':
        log[message.level](message.error === undefined ? {} : { err: message.error }, message.message)
    }
  }

  const send = <T>(waiting: Map<number, PendingCall<T>>, make: (id: number) => ToWorker, id = nextCall++): Promise<T> =>
    new Promise((resolve, reject) => {
      post(make(id))
      waiting.set(id, { resolve, reject })
    })
  const query = (file: 'events' | 'control') => async (asked: Sql, signal?: AbortSignal) => {
    if (signal?.aborted) throw queryCancelled()
    const id = nextCall++
    const answer = send(calls, () => ({ type: 'query', id, file, statement: toStatement(asked) }), id)
    const leave = () => tell({ type: 'cancel', id })
    signal?.addEventListener('abort', leave, { once: true })
    try {
      return await answer
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }
  const stream = (asked: Sql, signal?: AbortSignal) => {
    const id = nextCall++
    return streams.open(id, () => post({ type: 'stream', id, statement: toStatement(asked) }), signal)
  }
  const records: Records = {
    query: query('control'),
    async write(...statements) {
      await send(calls, (id) => ({ type: 'write', id, statements: statements.map(toStatement) }))
    },
  }

  const launch = (whenOpen: () => void, whenDead: (reason: string) => void) => {
    const workerOptions: WorkerOptions = {
      data: options.data,
      memory_limit: options.memory_limit ?? defaultMemoryLimit(inspectMachine()),
      threads: threadsFor(usableCores(inspectMachine())),
      min_free_disk: options.min_free_disk ?? 512 << 20,
      ...(options.geoip === undefined ? {} : { geoip: options.geoip }),
      ranges: options.ranges ?? [],
      offline: options.offline ?? false,
      version: options.version ?? '0',
      ...(options.origin === undefined ? {} : { origin: options.origin }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.lock_ms === undefined ? {} : { lock_ms: options.lock_ms }),
      from: acked,
    }
    const started = performance.now()
    failure = undefined
    const child = startWorkerProcess({
      entry: options.entry ?? new URL('../worker/entry.js', import.meta.url),
      heap_mb: options.heap_mb ?? 512,
      options: workerOptions,
      receive(message) {
        receive(message)
        if (message.type === 'ready') void open()
      },
    })
    worker = child
    const open = async () => {
      try {
        await options.prepare?.(records)
      } catch (error) {
        failure ??= `the records cannot be prepared: ${error instanceof Error ? error.message : String(error)}`
        if (worker === child) post({ type: 'close' })
        return
      }
      if (worker !== child) return
      status = { state: 'ready' }
      outbox.resume()
      whenOpen()
    }
    void child.ended.then((reason) => {
      worker = undefined
      usage = undefined
      outbox.pause()
      const again = new ApiError('database_error', 'The store is being opened again.')
      for (const waiting of [calls, asked]) {
        for (const call of waiting.values()) call.reject(again)
        waiting.clear()
      }
      streams.endAll(again)
      deaths = performance.now() - started > HEALTHY_UPTIME_MS ? 1 : deaths + 1
      whenDead(failure ?? reason)
    })
  }

  const restart = (reason: string) => {
    if (closing) return
    status = { state: 'degraded', reason }
    log.error({ reason }, 'the worker ended and is started again')
    const wait = Math.min(MAX_RESTART_DELAY_MS, FIRST_RESTART_DELAY_MS * 2 ** Math.min(deaths - 1, 10))
    restarting = setTimeout(() => {
      restarts += 1
      launch(() => {
        for (const listener of reopenListeners) listener()
      }, restart)
    }, wait)
  }

  await new Promise<void>((resolve, reject) => {
    let open = false
    launch(
      () => {
        open = true
        resolve()
      },
      (reason) => (open ? restart(reason) : reject(new Error(reason))),
    )
  })

  return {
    record(parcel, delivery) {
      if (closing) return Promise.reject(new ApiError('database_error', 'The store is closed.'))
      return parcel.count > 0 || delivery ? outbox.add(parcel, delivery) : Promise.resolve()
    },
    events: { dialect: duckdbDialect, query: query('events'), stream },
    records,
    ask: (name, argument) => send(asked, (id) => ({ type: 'ask', id, name, argument })),
    status: () => ({
      ...status,
      rows: { human: acked.human, agent: acked.agent },
      drops: acked.drops,
      restarts,
      ...(usage ? { worker: usage } : {}),
      ...(losses.length > 0 ? { losses } : {}),
      flush_ms: [...flush_ms],
    }),
    tail(listener) {
      listeners.add(listener)
      if (listeners.size === 1 && worker) post({ type: 'tail', on: true })
      return () => {
        if (listeners.delete(listener) && listeners.size === 0 && worker) post({ type: 'tail', on: false })
      }
    },
    onPolicyChange(listener) {
      policyListeners.add(listener)
      return () => policyListeners.delete(listener)
    },
    onDrop(listener) {
      dropListeners.add(listener)
      return () => dropListeners.delete(listener)
    },
    onRestart(listener) {
      reopenListeners.add(listener)
      return () => reopenListeners.delete(listener)
    },
    async close() {
      if (closing) return
      closing = true
      clearTimeout(restarting)
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, worker ? drain_ms : 0)
        void outbox.whenEmpty().then(() => {
          clearTimeout(late)
          resolve()
        })
      })
      tell({ type: 'close' })
      // Behind the last commit there is only the log to be folded in, and the next start does that too.
      const late = setTimeout(() => worker?.kill(), close_ms)
      await worker?.ended
      clearTimeout(late)
      outbox.rejectAll(new ApiError('database_error', 'The store closed before these rows were stored.'))
      status = { state: 'closed' }
    },
  }
}

interface PendingCall<T> {
  resolve: (answer: T) => void
  reject: (error: ApiError) => void
}

const toStatement = ({ text, values }: Sql): Statement => ({ text, values })
