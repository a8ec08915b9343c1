import type { DuckDBConnection } from '@duckdb/node-api'
import { ApiError } from '../errors.js'
import { type Connections, READ_CONNECTIONS } from './open.js'
import { isFatal, queryCancelled, queryTimedOut, queueTimedOut } from './query-errors.js'
import { createSlots, type Slots } from './slots.js'

type Work<T> = (connection: DuckDBConnection) => Promise<T>
type Run = <P>(work: Work<P>) => Promise<P>

/** One DuckDB file kept open: after an error that invalidates the instance it is closed and opened again. */
export interface Database {
  /**
   * Runs `work` on a reading connection that is nobody else's meanwhile; where none is free it waits, in the order of
   * asking. It is stopped when it takes too long or `signal` is aborted, and never started where that was before its
   * turn. Throws `ApiError` then, and what `work` throws.
   */
  read<T>(work: Work<T>, signal?: AbortSignal): Promise<T>
  /**
   * Waits for the one connection that is held over several pieces of work, in the order of asking, and runs `task` with
   * it: each piece is stopped as a read is, and between pieces nothing is under way. `after` is for what is left to do
   * when the asker is gone.
   */
  hold<T>(task: (run: Run, after: Run) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Runs `work` on the writing connection, after every write asked for before. */
  write<T>(work: Work<T>): Promise<T>
  /** Stops the running reads, waits for the writes, closes with a checkpoint. */
  close(): Promise<void>
}

/** Milliseconds. */
export interface ReadTimeouts {
  /** One piece of reading. */
  timeout_ms: number
  /** Waiting for a connection to read on. */
  wait_ms: number
}

export const DEFAULT_READ_TIMEOUTS: ReadTimeouts = { timeout_ms: 30_000, wait_ms: 30_000 }

/** Times in milliseconds of a clock that never jumps. */
export interface ReopenOptions {
  now: () => number
  /** Waited after the first failure to reopen; doubled up to `longest` while it goes on. */
  first_retry_ms: number
  max_retry_ms: number
  onReopen: (cause: unknown) => void
  limits: ReadTimeouts
}

/**
 * An interrupt is forgotten when a statement begins, and one that is prepared or waits for a thread has not begun: it is
 * said again until the work has ended, ms.
 */
const INTERRUPT_INTERVAL_MS = 10

/**
 * A checkpoint that fails (a full disk) invalidates the whole instance: every statement then fails until the file is
 * closed and opened again, which brings every committed row back (reference/performance.md 4).
 */
export function createReopeningDatabase(
  opened: Connections,
  open: () => Promise<Connections>,
  options: ReopenOptions,
): Database {
  const { timeout_ms, wait_ms } = options.limits
  let current: Connections | undefined = opened
  let broken: { cause: unknown } | undefined
  let reopening: Promise<void> | undefined
  let closed = false
  let notBefore = 0
  let wait = options.first_retry_ms
  const running = new Set<Promise<unknown>>()
  const stops = new Set<(why: ApiError) => void>()

  /** Nothing new is begun on the connections from here on: what runs is stopped, and then they are closed. */
  const halt = async (why: string) => {
    const open = current
    current = undefined
    for (const stop of stops) stop(new ApiError('database_error', why))
    await Promise.allSettled(running)
    open?.close()
  }

  async function reopen(cause: unknown): Promise<void> {
    if (current) await halt('The database is being opened again.')
    if (options.now() < notBefore) throw new ApiError('database_error', 'The database is being opened again.')
    try {
      current = await open()
    } catch (error) {
      notBefore = options.now() + wait
      wait = Math.min(wait * 2, options.max_retry_ms)
      throw new ApiError('database_error', 'The database cannot be opened.', undefined, { cause: error })
    }
    broken = undefined
    wait = options.first_retry_ms
    options.onReopen(cause)
  }

  async function opening(): Promise<Connections> {
    if (broken && !closed) {
      reopening ??= reopen(broken.cause).finally(() => {
        reopening = undefined
      })
      await reopening
    }
    if (closed || !current) throw new ApiError('database_error', 'The database is closed.')
    return current
  }

  async function run<T>(on: Connections, connection: DuckDBConnection, work: Work<T>): Promise<T> {
    if (on !== current) throw new ApiError('database_error', 'The database was opened again.')
    const task = work(connection)
    running.add(task)
    try {
      return await task
    } catch (error) {
      if (isFatal(error)) broken ??= { cause: error }
      throw error
    } finally {
      running.delete(task)
    }
  }

  async function read<T>(
    on: Connections,
    connection: DuckDBConnection,
    work: Work<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (signal?.aborted) throw queryCancelled()
    let reason: ApiError | undefined
    let again: NodeJS.Timeout | undefined
    const stop = (why: ApiError) => {
      if (reason) return
      reason = why
      connection.interrupt()
      again = setInterval(() => connection.interrupt(), INTERRUPT_INTERVAL_MS)
    }
    const leave = () => stop(queryCancelled())
    const late = setTimeout(() => stop(queryTimedOut(timeout_ms)), timeout_ms)
    signal?.addEventListener('abort', leave, { once: true })
    stops.add(stop)
    try {
      return await run(on, connection, work)
    } catch (error) {
      throw reason ?? error
    } finally {
      stops.delete(stop)
      signal?.removeEventListener('abort', leave)
      clearTimeout(late)
      clearInterval(again)
    }
  }

  const inTurn = async <T>(slots: Slots, task: (slot: number) => Promise<T>, signal?: AbortSignal): Promise<T> => {
    try {
      return await slots(task, { signal, wait_ms, late: () => queueTimedOut(wait_ms) })
    } catch (error) {
      throw signal?.aborted && error === signal.reason ? queryCancelled() : error
    }
  }

  const reads = createSlots(READ_CONNECTIONS)
  const holds = createSlots(1)
  const writes = createSlots(1)
  return {
    read: (work, signal) =>
      inTurn(
        reads,
        async (slot) => {
          const open = await opening()
          const reader = open.readers[slot]
          if (!reader) throw new RangeError(`there is no reading connection ${slot}`)
          return read(open, reader, work, signal)
        },
        signal,
      ),
    hold: (task, signal) =>
      inTurn(
        holds,
        async () => {
          const open = await opening()
          // Each piece takes its turn among the reads: libuv has four threads, and the writer needs one.
          return task(
            (work) => reads(() => read(open, open.streamer, work, signal), { signal }),
            (work) => read(open, open.streamer, work),
          )
        },
        signal,
      ),
    write: (work) =>
      writes(async () => {
        const open = await opening()
        return run(open, open.writer, work)
      }),
    async close() {
      if (closed) return
      await writes(async () => {
        closed = true
      })
      await reopening?.catch(() => {})
      await halt('The database is closed.')
    },
  }
}
