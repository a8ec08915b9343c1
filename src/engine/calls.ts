import { ApiError } from '../errors.js'
import type { Sql } from '../sql.js'
import { type QueryScope, queryCancelled, type ResultRow } from '../store.js'
import type { FromWorker, Statement, ToWorker } from './protocol.js'
import { createStreamReceiver } from './stream-receiver.js'

interface Pending<T> {
  resolve: (value: T) => void
  reject: (error: ApiError) => void
}

/** Requests to the worker that wait for their result, each under an id. */
export function createCalls(worker: { post: (message: ToWorker) => void; postIfRunning: (message: ToWorker) => void }) {
  const queries = new Map<number, Pending<ResultRow[]>>()
  const calls = new Map<number, Pending<unknown>>()
  const streams = createStreamReceiver({ post: worker.postIfRunning })
  let lastId = 0

  const send = <T>(pending: Map<number, Pending<T>>, id: number, message: ToWorker): Promise<T> =>
    new Promise((resolve, reject) => {
      worker.post(message)
      pending.set(id, { resolve, reject })
    })
  const settle = <T>(pending: Map<number, Pending<T>>, id: number, value: T): void => {
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
      const rows = send(queries, id, { type: 'query', id, file, statement: toStatement(query), scope })
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
      return streams.open(id, () => worker.post({ type: 'stream', id, statement: toStatement(query) }), signal)
    },
    async write(...statements: Sql[]): Promise<void> {
      const id = ++lastId
      await send(queries, id, { type: 'write', id, statements: statements.map(toStatement) })
    },
    call(name: string, argument?: unknown): Promise<unknown> {
      const id = ++lastId
      return send(calls, id, { type: 'call', id, name, argument })
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
          reject(message.id, new ApiError(message.code, message.message, undefined, cause))
        }
      }
    },
    /** The worker has ended: nothing that waits will be answered. */
    rejectAll(error: ApiError): void {
      for (const id of [...queries.keys(), ...calls.keys()]) reject(id, error)
      streams.endAll(error)
    },
  }
}

const toStatement = ({ text, values }: Sql): Statement => ({ text, values })
