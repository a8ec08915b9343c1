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

/** Requests to the worker that wait for their result, each under an id. Long because its methods share what waits. */
export function createCalls(
  worker: { post: (message: ToWorker) => void; postIfRunning: (message: ToWorker) => void },
  { isSilent, beat_ms }: { isSilent: () => boolean; beat_ms: number },
) {
  const queries = new Map<number, Pending<ResultRow[]>>()
  const calls = new Map<number, Pending<unknown>>()
  const streams = createStreamReceiver({ post: worker.postIfRunning })
  /** Changes of records by id, also those that were given up and may still be made. */
  const changes = new Set<number>()
  let lastId = 0

  const post = (message: ToWorker): void => {
    if (isSilent()) throw noResponse()
    worker.post(message)
  }
  const begin_by = () => machineTime() + BEGIN_BEATS * beat_ms
  const send = <T>(
    pending: Map<number, Pending<T>>,
    { most, isRead = false }: { most: number; isRead?: boolean },
    message: Extract<ToWorker, { begin_by: number }>,
  ): Promise<T> =>
    new Promise((resolve, reject) => {
      post(message)
      // Only a change that was sent can be under way.
      if (message.type === 'write') changes.add(message.id)
      pending.set(message.id, { resolve, reject, beats: 0, most, isRead })
    })
  const settle = <T>(pending: Map<number, Pending<T>>, id: number, value: T): void => {
    changes.delete(id)
    pending.get(id)?.resolve(value)
    pending.delete(id)
  }
  const reject = (id: number, error: ApiError): void => {
    for (const pending of [queries, calls]) {
      pending.get(id)?.reject(error)
      pending.delete(id)
    }
    streams.end(id, error)
  }

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
      const rows = send(queries, { most: READ_BEATS, isRead: true }, message)
      const cancel = () => worker.postIfRunning({ type: 'cancel', id })
      signal?.addEventListener('abort', cancel, { once: true })
      try {
        return await rows
      } finally {
        signal?.removeEventListener('abort', cancel)
      }
    },
    stream(query: Sql, signal?: AbortSignal): AsyncGenerator<ResultRow[]> {
      const id = ++lastId
      const start = () => post({ type: 'stream', id, begin_by: begin_by(), statement: toStatement(query) })
      return streams.open(id, start, signal)
    },
    async write(...statements: Sql[]): Promise<void> {
      const id = ++lastId
      const message = { type: 'write', id, begin_by: begin_by(), statements: statements.map(toStatement) } as const
      await send(queries, { most: WRITE_BEATS }, message)
    },
    call(name: string, argument?: unknown): Promise<unknown> {
      const id = ++lastId
      const most = LONG_CALLS.has(name) ? Number.POSITIVE_INFINITY : READ_BEATS
      return send(calls, { most }, { type: 'call', id, begin_by: begin_by(), name, argument })
    },
    receive(message: FromWorker): void {
      switch (message.type) {
        case 'rows':
          settle(queries, message.id, message.rows)
          streams.end(message.id)
          return
        case 'chunk':
          streams.chunk(message.id, message.rows)
          return
        case 'result':
          settle(calls, message.id, message.value)
          return
        case 'error': {
          const cause = message.cause === undefined ? {} : { cause: new Error(message.cause) }
          changes.delete(message.id)
          reject(message.id, new ApiError(message.code, message.message, undefined, cause))
        }
      }
    },
    /** Gives up what has waited too long. Call it at every beat. */
    beat({ isReady, isSilent }: Pulse): void {
      for (const pending of [queries, calls])
        for (const [id, one] of pending) {
          one.beats += 1
          const isUnheard = (isSilent || !isReady) && one.beats >= UNHEARD_BEATS
          if (one.beats < one.most && !isUnheard && !(isSilent && one.isRead)) continue
          if (one.isRead) worker.postIfRunning({ type: 'cancel', id })
          reject(id, noResponse())
        }
      streams.beat(isSilent ? 0 : READ_BEATS, noResponse())
    },
    /** The change of records that the worker has worked on for the longest time. */
    oldestChange(): number | undefined {
      const [oldest] = changes
      return oldest
    },
    /** The worker has ended: nothing that waits will be answered. */
    rejectAll(error: ApiError): void {
      changes.clear()
      for (const id of [...queries.keys(), ...calls.keys()]) reject(id, error)
      streams.endAll(error)
    },
  }
}

/** A change that the worker has begun may still be made; one that it has not will not be. */
const noResponse = (): ApiError => new ApiError('database_error', 'The store does not respond. Try again soon.')

const toStatement = ({ text, values }: Sql): Statement => ({ text, values })
