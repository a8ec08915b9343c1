import type { DuckDBConnection } from '@duckdb/node-api'
import { ApiError } from '../errors.js'
import type { Connections } from './open.js'

/** One DuckDB file kept open: after an error that invalidates the instance it is closed and opened again. */
export interface Database {
  /** Runs `work` on the reading connection, after every read asked for before. */
  read<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T>
  /** Runs `work` on the writing connection, after every write asked for before. */
  write<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T>
  /** Stops the running read, waits for the writes, closes with a checkpoint. */
  close(): Promise<void>
}

/** Times in milliseconds of a clock that never jumps. */
export interface ReopenOptions {
  now: () => number
  /** Waited after the first failure to reopen; doubled up to `longest` while it goes on. */
  first: number
  longest: number
  onReopen: (cause: unknown) => void
}

/**
 * A checkpoint that fails (a full disk) invalidates the whole instance: every statement then fails until the file is
 * closed and opened again, which brings every committed row back (reference/performance.md 4).
 */
export function keepOpen(opened: Connections, open: () => Promise<Connections>, options: ReopenOptions): Database {
  let current: Connections | undefined = opened
  let broken: { cause: unknown } | undefined
  let reopening: Promise<void> | undefined
  let closed = false
  let notBefore = 0
  let wait = options.first
  const running = new Set<Promise<unknown>>()

  async function reopen(cause: unknown): Promise<void> {
    if (current) {
      current.reader.interrupt()
      await Promise.allSettled(running)
      current.close()
      current = undefined
    }
    if (options.now() < notBefore) throw new ApiError('database_error', 'The database is being opened again.')
    try {
      current = await open()
    } catch (error) {
      notBefore = options.now() + wait
      wait = Math.min(wait * 2, options.longest)
      throw new ApiError('database_error', 'The database cannot be opened.', undefined, { cause: error })
    }
    broken = undefined
    wait = options.first
    options.onReopen(cause)
  }

  async function run<T>(pick: (open: Connections) => DuckDBConnection, work: (on: DuckDBConnection) => Promise<T>) {
    if (broken && !closed) {
      reopening ??= reopen(broken.cause).finally(() => {
        reopening = undefined
      })
      await reopening
    }
    if (closed || !current) throw new ApiError('database_error', 'The database is closed.')
    const task = work(pick(current))
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

  const reads = inOrder()
  const writes = inOrder()
  return {
    read: (work) => reads(() => run((open) => open.reader, work)),
    write: (work) => writes(() => run((open) => open.writer, work)),
    async close() {
      if (closed) return
      await writes(async () => {
        closed = true
      })
      await reopening?.catch(() => {})
      current?.reader.interrupt()
      await Promise.allSettled(running)
      current?.close()
      current = undefined
    },
  }
}

/** Runs what it is given one after the other, whatever became of the one before. */
function inOrder(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const next = last.then(task, task)
    last = next.catch(() => {})
    return next
  }
}

/** DuckDB's own word for an error behind which the instance answers nothing any more. */
function isFatal(error: unknown): boolean {
  return error instanceof Error && /^FATAL Error|has been invalidated/.test(error.message)
}
