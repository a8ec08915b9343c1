import { ApiError } from '../base/errors.js'
import type { Sql } from '../storage/sql.js'
import { type QueryScope, queryCancelled, type ResultRow } from '../storage/store.js'
import { type FromWorker, machineTime, type Statement, type ToWorker } from './protocol.js'
import { createStreamReceiver } from './stream-receiver.js'
import type { Pulse } from './watch.js'

interface Pending<T> {
  resolve: (value: T) => void
  reject: (error: ApiError) => void
  /** Beats that it has waited, and after how many it is given up. */
  beats: number
  most: number
  isRead: boolean
}

/** Above the 60 s in which the worker itself ends a read: 30 s for its turn and 30 s of work. */
const READ_BEATS = 33
/** A change of records takes milliseconds, and seconds on a busy disk. */
const WRITE_BEATS = 15
/** A request to a worker that does not respond is given up after so many beats, a read at once when it is silent. */
const UNHEARD_BEATS = 5
/** A worker begins no request later than this. Fewer than the whole beats that lie within `UNHEARD_BEATS`. */
const BEGIN_BEATS = 3.5
/** Calls that take as long as the store is large, or as the network is slow: they end when the worker is silent. */
const LONG_CALLS: ReadonlySet<string> = new Set([
  'take_backup',
  'export_rows',
  'checkpoint',
  'reclassify',
  'refresh',
  'reload_geoip',
  'remove',
  'remove_import',
  'assign',
  'import_begin',
  'import_lines',
  'import_end',
])

/** Calls that were sent and wait for their result, each under an id. */
function createPendingCalls<T>(post: (message: ToWorker) => void) {
  const pending = new Map<number, Pending<T>>()
  const reject = (id: number, error: ApiError): void => {
    pending.get(id)?.reject(error)
    pending.delete(id)
  }
  return {
    send: (message: Extract<ToWorker, { begin_by: number }>, most: number, isRead = false): Promise<T> =>
      new Promise((resolve, reject) => {
        post(message)
        pending.set(message.id, { resolve, reject, beats: 0, most, isRead })
      }),
    resolve(id: number, value: T): void {
      pending.get(id)?.resolve(value)
      pending.delete(id)
    },
    reject,
    /** Gives up what has waited too long; of reads, the worker is told. */
    beat({ isReady, isSilent }: Pulse, cancel: (id: number) => void): void {
      for (const [id, one] of pending) {
        one.beats += 1
        const isUnheard = (isSilent || !isReady) && one.beats >= UNHEARD_BEATS
        if (one.beats < one.most && !isUnheard && !(isSilent && one.isRead)) continue
        if (one.isRead) cancel(id)
        reject(id, noResponse())
      }
    },
    rejectAll(error: ApiError): void {
      for (const id of pending.keys()) reject(id, error)
    },
  }
}

/** Returns the result of `work`, and calls `cancel` if the signal is aborted before that. */
async function cancelOnAbort<T>(signal: AbortSignal | undefined, cancel: () => void, work: Promise<T>): Promise<T> {
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    return await work
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}

/** Requests to the worker. */
export function createCalls(
  worker: { post: (message: ToWorker) => void; postIfRunning: (message: ToWorker) => void },
  { isSilent, beat_ms }: { isSilent: () => boolean; beat_ms: number },
) {
  /** Changes of records by id, also those that were given up and may still be made. */
  const changes = new Set<number>()
  let lastId = 0

  const post = (message: ToWorker): void => {
    if (isSilent()) throw noResponse()
    worker.post(message)
    // Only a change that was sent can be under way.
    if (message.type === 'write') changes.add(message.id)
  }
  const queries = createPendingCalls<ResultRow[]>(post)
  const calls = createPendingCalls<unknown>(post)
  const streams = createStreamReceiver({ post: worker.postIfRunning })
  const cancel = (id: number) => worker.postIfRunning({ type: 'cancel', id })
  const begin_by = () => machineTime() + BEGIN_BEATS * beat_ms

  return {
    async query(
      file: 'events' | 'control',
      query: Sql,
      signal?: AbortSignal,
      scope?: QueryScope,
    ): Promise<ResultRow[]> {
      if (signal?.aborted) throw queryCancelled()
      const id = ++lastId
      const message = { type: 'query', id, begin_by: begin_by(), file, statement: toStatement(query), scope } as const
      return cancelOnAbort(signal, () => cancel(id), queries.send(message, READ_BEATS, true))
    },
    stream(query: Sql, signal?: AbortSignal): AsyncGenerator<ResultRow[]> {
      const id = ++lastId
      const start = () => post({ type: 'stream', id, begin_by: begin_by(), statement: toStatement(query) })
      return streams.open(id, start, signal)
    },
    async write(...statements: Sql[]): Promise<void> {
      const id = ++lastId
      const message = { type: 'write', id, begin_by: begin_by(), statements: statements.map(toStatement) } as const
      await queries.send(message, WRITE_BEATS)
    },
    call(name: string, argument?: unknown): Promise<unknown> {
      const id = ++lastId
      const most = LONG_CALLS.has(name) ? Number.POSITIVE_INFINITY : READ_BEATS
      return calls.send({ type: 'call', id, begin_by: begin_by(), name, argument }, most)
    },
    receive(message: FromWorker): void {
      if (message.type === 'chunk') streams.chunk(message.id, message.rows)
      if (message.type === 'result') calls.resolve(message.id, message.value)
      if (message.type === 'rows') {
        changes.delete(message.id)
        queries.resolve(message.id, message.rows)
        streams.end(message.id)
      }
      if (message.type === 'error') {
        const error = toApiError(message)
        changes.delete(message.id)
        for (const waiting of [queries, calls]) waiting.reject(message.id, error)
        streams.end(message.id, error)
      }
    },
    /** Gives up what has waited too long. Call it at every beat. */
    beat(pulse: Pulse): void {
      for (const waiting of [queries, calls]) waiting.beat(pulse, cancel)
      streams.beat(pulse.isSilent ? 0 : READ_BEATS, noResponse())
    },
    /** The change of records that the worker has worked on for the longest time. */
    oldestChange(): number | undefined {
      const [oldest] = changes
      return oldest
    },
    /** The worker has ended: nothing that waits will be answered. */
    rejectAll(error: ApiError): void {
      changes.clear()
      for (const waiting of [queries, calls]) waiting.rejectAll(error)
      streams.endAll(error)
    },
  }
}

/** A change that the worker has begun may still be made; one that it has not will not be. */
const noResponse = (): ApiError => new ApiError('database_error', 'The store does not respond. Try again soon.')

const toApiError = ({ code, message, cause }: Extract<FromWorker, { type: 'error' }>): ApiError =>
  new ApiError(code, message, undefined, cause === undefined ? {} : { cause: new Error(cause) })

const toStatement = ({ text, values }: Sql): Statement => ({ text, values })
