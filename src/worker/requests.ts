import { ApiError } from '../base/errors.js'
import type { EventStore } from '../storage/event-store.js'
import { Sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type FromWorker, MAX_UNACKNOWLEDGED_CHUNKS, type Statement, type ToWorker } from '../worker-client/protocol.js'

/** Runs what the site's process requests under an id, and posts each result or error. */
export function createRequests(deps: {
  events: Pick<EventStore, 'query' | 'stream'>
  records: Pick<Records, 'query'>
  post: (message: FromWorker) => void
  /** Called with an error that is not an `ApiError`. */
  onError: (error: unknown) => void
}) {
  const { events, records, post } = deps
  const running = new Map<number, AbortController>()
  const acknowledge = new Map<number, () => void>()

  const answer = async (id: number, work: (signal: AbortSignal) => Promise<FromWorker>): Promise<void> => {
    const cancelling = new AbortController()
    running.set(id, cancelling)
    try {
      post(await work(cancelling.signal))
    } catch (error) {
      if (!(error instanceof ApiError)) deps.onError(error)
      const { code, message } = error instanceof ApiError ? error : new ApiError('internal_error', 'Internal error.')
      const cause = error instanceof ApiError ? error.cause : error
      post({ type: 'error', id, code, message, ...(cause === undefined ? {} : { cause: formatError(cause) }) })
    } finally {
      running.delete(id)
    }
  }

  const sendChunks = async (id: number, statement: Statement, signal: AbortSignal): Promise<FromWorker> => {
    let credit = MAX_UNACKNOWLEDGED_CHUNKS
    let wake = () => {}
    const onAbort = () => wake()
    acknowledge.set(id, () => {
      credit += 1
      wake()
    })
    signal.addEventListener('abort', onAbort, { once: true })
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
      signal.removeEventListener('abort', onAbort)
    }
    return { type: 'rows', id, rows: [] }
  }

  return {
    /** Posts the message that `work` returns, or its error. */
    run: (id: number, work: (signal: AbortSignal) => Promise<FromWorker>): void => void answer(id, work),
    query: ({ id, file, statement, scope }: Extract<ToWorker, { type: 'query' }>): void =>
      void answer(id, async (signal) => {
        const query = toSql(statement)
        return {
          type: 'rows',
          id,
          rows: await (file === 'events' ? events.query(query, signal, scope) : records.query(query)),
        }
      }),
    stream: ({ id, statement }: Extract<ToWorker, { type: 'stream' }>): void =>
      void answer(id, (signal) => sendChunks(id, statement, signal)),
    /** The receiver has worked on a chunk and takes another. */
    acknowledge: (id: number): void => acknowledge.get(id)?.(),
    cancel: (id: number): void => running.get(id)?.abort(),
  }
}

export const toSql = ({ text, values }: Statement): Sql => new Sql(text, values)

export const formatError = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
