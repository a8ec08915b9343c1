import type { DuckDBConnection } from '@duckdb/node-api'
import { ApiError } from '../../base/errors.js'
import { createSlots, type Slots } from '../../base/slots.js'
import { queryCancelled, type ReadTimeouts } from '../store.js'
import { type Connections, READ_CONNECTIONS, STREAM_CONNECTIONS } from './open.js'
import { isFatal, queryTimedOut, queueTimedOut } from './query-errors.js'

type Work<T> = (connection: DuckDBConnection) => Promise<T>
type Run = <T>(work: Work<T>) => Promise<T>

export interface ReadOptions {
  signal?: AbortSignal | undefined
  /** As `QueryScope`. */
  asker?: string | undefined
}

export interface HoldOptions {
  signal?: AbortSignal | undefined
  timeout_ms?: number
  for?: 'stream' | 'snapshot'
}

interface DatabaseOptions {
  /** Milliseconds of a monotonic clock. */
  clock: () => number
  /** As `FileSettings.memory_limit`. */
  memory_limit: string
  /** As `FileSettings.threads`. */
  threads: number
  /** Delay after the first failure to reopen, doubled with each further one up to the maximum. */
  first_retry_ms: number
  max_retry_ms: number
  onReopen: (cause: unknown) => void
  limits: Pick<ReadTimeouts, 'timeout_ms' | 'wait_ms'>
}

export const DEFAULT_READ_TIMEOUTS: ReadTimeouts = {
  timeout_ms: 30_000,
  wait_ms: 30_000,
  idle_ms: 60_000,
  longest_ms: 900_000,
}

/**
 * DuckDB forgets an interrupt when a statement begins, and a statement that is prepared or waits for a thread has not
 * begun. The interrupt is therefore repeated until the work has ended.
 */
const INTERRUPT_INTERVAL_MS = 10

/** The cache of a file without reads is freed down to this size. */
const IDLE_CACHE_SIZE = '64MB'
/** Without a read for this long, no dashboard is open that would have to read the blocks again. */
const READS_IDLE_MS = 30_000
/**
 * Writes run on one thread when no read ran for this long. With two, the second runs a commit while the caller asks over
 * and over whether it has ended: a seventh of the worker's CPU at 2,000 rows a second.
 */
const MANY_THREADS_MS = 1_000

export type Database = ReturnType<typeof createReopeningDatabase>

/**
 * One open DuckDB file. A checkpoint that fails (on a full disk) invalidates the whole instance: every statement fails
 * until the file is closed and opened again, which brings every committed row back. This does so. Long because its methods
 * share the queues.
 */
export function createReopeningDatabase(
  opened: Connections,
  open: (cause: unknown) => Promise<Connections>,
  options: DatabaseOptions,
) {
  const { wait_ms } = options.limits
  const instance = createInstance(opened, open, options)
  const readSlots = createSlots(READ_CONNECTIONS)
  const streamSlots = createSlots(STREAM_CONNECTIONS)
  const snapshotSlots = createSlots(1)
  const writeSlots = createSlots(1)
  const { during, isIdleFor } = createReadActivity(options.clock)

  const readOn = createInterruptibleRead(instance, options)
  const inQueue = <T>(slots: Slots, task: (slot: number) => Promise<T>, { signal, asker }: ReadOptions): Promise<T> =>
    during(async () => {
      try {
        return await slots(task, { signal, asker, wait_ms, late: () => queueTimedOut(wait_ms) })
      } catch (error) {
        throw signal?.aborted && error === signal.reason ? queryCancelled() : error
      }
    })

  return {
    /**
     * Runs `work` alone on a reading connection; if none is free it waits, as `Slots` says. The work is interrupted when it
     * takes too long or `signal` is aborted, and not started if that happens before its turn. Throws `ApiError` then,
     * and what `work` throws.
     */
    read: <T>(work: Work<T>, options: ReadOptions = {}): Promise<T> =>
      inQueue(
        readSlots,
        async (slot) => {
          const connections = await instance.connections()
          const reader = connections.readers[slot]
          if (!reader) throw new RangeError(`there is no reading connection ${slot}`)
          return readOn(connections, reader, work, options.signal)
        },
        options,
      ),
    /**
     * Waits, in order, for a connection that is kept over several pieces of work, and runs `task` with it. Streams have
     * several, because a caller may read slowly, and snapshots one of their own. `run` interrupts each piece as `read`
     * does, by default after the same time; between pieces nothing runs. `cleanUp` also runs after the caller has left.
     */
    hold: <T>(
      task: (run: Run, cleanUp: Run) => Promise<T>,
      { signal, timeout_ms = options.limits.timeout_ms, for: use = 'stream' }: HoldOptions = {},
    ): Promise<T> =>
      inQueue(
        use === 'stream' ? streamSlots : snapshotSlots,
        async (slot) => {
          const connections = await instance.connections()
          const connection = use === 'stream' ? connections.streamers[slot] : connections.snapshotter
          if (!connection) throw new RangeError(`there is no connection ${slot} for streams`)
          // Each piece waits for its turn among the reads: libuv has four threads, and the writer needs one.
          return task(
            (work) => readSlots(() => readOn(connections, connection, work, signal, timeout_ms), { signal }),
            (work) => readOn(connections, connection, work),
          )
        },
        { signal },
      ),
    /** Runs `work` on the writing connection, after every write requested before. */
    write: <T>(work: Work<T>): Promise<T> =>
      writeSlots(async () => {
        const connections = await instance.connections()
        return instance.run(connections, connections.writer, async (writer) => {
          if (isIdleFor(MANY_THREADS_MS)) await connections.setThreads(1)
          return work(writer)
        })
      }),
    freeIdleCache: createCacheRelease(instance, options, { readSlots, writeSlots, isIdleFor }),
    /** Interrupts the running reads, waits for the writes, and closes with a checkpoint. */
    close: (): Promise<void> => instance.close((markClosed) => writeSlots(markClosed)),
  }
}

/** Counts the reads that run or wait, and tells the time since the last one. */
function createReadActivity(clock: () => number) {
  let reading = 0
  let lastRead = Number.NEGATIVE_INFINITY
  return {
    async during<T>(read: () => Promise<T>): Promise<T> {
      reading++
      try {
        return await read()
      } finally {
        reading--
        lastRead = clock()
      }
    },
    isIdleFor: (ms: number): boolean => reading === 0 && clock() - lastRead >= ms,
  }
}

/**
 * Returns a function that frees cached blocks of the file if nothing has been read lately. DuckDB caches each block that
 * it writes until the memory limit is reached, and frees none by itself: a flood of rows alone would fill all of that
 * memory. The limit is low for a moment (20 to 200 ms), in which no read runs.
 */
const createCacheRelease =
  (
    instance: ReturnType<typeof createInstance>,
    { memory_limit }: Pick<DatabaseOptions, 'memory_limit'>,
    { readSlots, writeSlots, isIdleFor }: { readSlots: Slots; writeSlots: Slots; isIdleFor: (ms: number) => boolean },
  ) =>
  (): Promise<void> =>
    writeSlots(async () => {
      if (!isIdleFor(READS_IDLE_MS)) return
      const connections = await instance.connections()
      const setLimit = (size: string) =>
        instance.run(connections, connections.writer, (writer) => writer.run(`set memory_limit = '${size}'`))
      await readSlots(() =>
        readSlots(async () => {
          // Fails if more than that is in use, having freed the rest.
          await setLimit(IDLE_CACHE_SIZE).catch(() => {})
          await setLimit(memory_limit)
        }),
      )
    })

/** Runs reads on a connection; each is interrupted when it takes too long, is cancelled, or the instance closes. */
const createInterruptibleRead =
  (instance: ReturnType<typeof createInstance>, { threads, limits }: Pick<DatabaseOptions, 'threads' | 'limits'>) =>
  async <T>(
    connections: Connections,
    connection: DuckDBConnection,
    work: Work<T>,
    signal?: AbortSignal,
    timeout_ms = limits.timeout_ms,
  ): Promise<T> => {
    if (signal?.aborted) throw queryCancelled()
    let reason: ApiError | undefined
    let interrupting: NodeJS.Timeout | undefined
    const stop = (why: ApiError): void => {
      if (reason) return
      reason = why
      connection.interrupt()
      interrupting = setInterval(() => connection.interrupt(), INTERRUPT_INTERVAL_MS)
    }
    const cancel = () => stop(queryCancelled())
    const timer = setTimeout(() => stop(queryTimedOut(timeout_ms)), timeout_ms)
    signal?.addEventListener('abort', cancel, { once: true })
    instance.interruptible.add(stop)
    try {
      return await instance.run(connections, connection, async (reader) => {
        await connections.setThreads(threads)
        return work(reader)
      })
    } catch (error) {
      throw reason ?? error
    } finally {
      instance.interruptible.delete(stop)
      signal?.removeEventListener('abort', cancel)
      clearTimeout(timer)
      clearInterval(interrupting)
    }
  }

/** The connections of the current instance; after a fatal error they are replaced. */
function createInstance(opened: Connections, open: (cause: unknown) => Promise<Connections>, options: DatabaseOptions) {
  let current: Connections | undefined = opened
  let fatal: { cause: unknown } | undefined
  let reopening: Promise<void> | undefined
  let closed = false
  let retryAt = 0
  let retryDelay = options.first_retry_ms
  const running = new Set<Promise<unknown>>()
  const interruptible = new Set<(why: ApiError) => void>()

  /** Closes the connections: nothing new begins on them, and what runs is interrupted and awaited. */
  const closeCurrent = async (why: string): Promise<void> => {
    const closing = current
    current = undefined
    for (const stop of interruptible) stop(new ApiError('database_error', why))
    await Promise.allSettled(running)
    closing?.close()
  }

  const reopen = async (cause: unknown): Promise<void> => {
    if (current) await closeCurrent('The database is being opened again.')
    if (options.clock() < retryAt) throw new ApiError('database_error', 'The database is being opened again.')
    try {
      current = await open(cause)
    } catch (error) {
      retryAt = options.clock() + retryDelay
      retryDelay = Math.min(retryDelay * 2, options.max_retry_ms)
      throw new ApiError('database_error', 'The database cannot be opened.', undefined, { cause: error })
    }
    fatal = undefined
    retryDelay = options.first_retry_ms
    options.onReopen(cause)
  }

  return {
    /** Interrupts of the running reads. */
    interruptible,
    async connections(): Promise<Connections> {
      if (fatal && !closed) {
        reopening ??= reopen(fatal.cause).finally(() => {
          reopening = undefined
        })
        await reopening
      }
      if (closed || !current) throw new ApiError('database_error', 'The database is closed.')
      return current
    },
    async run<T>(connections: Connections, connection: DuckDBConnection, work: Work<T>): Promise<T> {
      if (connections !== current) throw new ApiError('database_error', 'The database was opened again.')
      const task = work(connection)
      running.add(task)
      try {
        return await task
      } catch (error) {
        if (isFatal(error)) fatal ??= { cause: error }
        throw error
      } finally {
        running.delete(task)
      }
    },
    /** `afterWrites` runs its argument after every write requested before. */
    async close(afterWrites: (task: () => Promise<void>) => Promise<void>): Promise<void> {
      if (closed) return
      await afterWrites(async () => {
        closed = true
      })
      await reopening?.catch(() => {})
      await closeCurrent('The database is closed.')
    },
  }
}
