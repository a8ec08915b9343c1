import type { EventStore } from '../duckdb/event-store.js'
import { type FromWorker, MAX_UNACKNOWLEDGED_CHUNKS, type Statement, type ToWorker } from '../engine/protocol.js'
import { ApiError } from '../errors.js'
import { Sql } from '../sql.js'
import type { Records } from '../store.js'

/** What is asked of the worker and answered later, each by its id. */
export interface Requests {
  /** Posts what `work` comes to, or why it failed. */
  run(id: number, work: (signal: AbortSignal) => Promise<FromWorker>): void
  query(message: Extract<ToWorker, { type: 'query' }>): void
  stream(message: Extract<ToWorker, { type: 'stream' }>): void
  /** The asker has done with a chunk. */
  acknowledge(id: number): void
  cancel(id: number): void
}

export function createRequests(deps: {
  events: Pick<EventStore, 'query' | 'stream'>
  records: Pick<Records, 'query'>
  post: (message: FromWorker) => void
  /** An error that is no `ApiError`. */
  failed: (error: unknown) => void
}): Requests {
  const { events, records, post } = deps
  const running = new Map<number, AbortController>()
  const acknowledge = new Map<number, () => void>()

  const answer = async (id: number, work: (signal: AbortSignal) => Promise<FromWorker>): Promise<void> => {
    const cancelling = new AbortController()
    running.set(id, cancelling)
    try {
      post(await work(cancelling.signal))
    } catch (error) {
      if (!(error instanceof ApiError)) deps.failed(error)
      const { code, message } = error instanceof ApiError ? error : new ApiError('internal_error', 'It failed.')
      const cause = error instanceof ApiError ? error.cause : error
      post({ type: 'refused', id, code, message, ...(cause === undefined ? {} : { cause: formatError(cause) }) })
    } finally {
      running.delete(id)
    }
  }

  const flow = async (id: number, statement: Statement, signal: AbortSignal): Promise<FromWorker> => {
    let credit = MAX_UNACKNOWLEDGED_CHUNKS
    let wake = () => {}
    const go = () => wake()
    acknowledge.set(id, () => {
      credit += 1
      wake()
    })
    signal.addEventListener('abort', go, { once: true })
    try {
      for await (const rows of events.stream(toSql(statement), signal)) {
        post({ type: 'chunk', id, rows })
        credit -= 1
        if (credit === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      }
    } finally {
      acknowledge.delete(id)
      signal.removeEventListener('abort', go)
    }
    return { type: 'answer', id, rows: [] }
  }

  return {
    run: (id, work) => void answer(id, work),
    query: ({ id, file, statement }) =>
      void answer(id, async (signal) => {
        const rows = await (file === 'events'
          ? events.query(toSql(statement), signal)
          : records.query(toSql(statement)))
        return { type: 'answer', id, rows }
      }),
    stream: ({ id, statement }) => void answer(id, (signal) => flow(id, statement, signal)),
    acknowledge: (id) => acknowledge.get(id)?.(),
    cancel: (id) => running.get(id)?.abort(),
  }
}

export const toSql = ({ text, values }: Statement): Sql => new Sql(text, values)

export const formatError = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
