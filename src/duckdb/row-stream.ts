import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'
import type { ResultRow } from '../store.js'
import type { Database } from './database.js'
import { runQuery } from './query.js'
import { queryCancelled } from './query-errors.js'

/** Milliseconds. */
export interface StreamTimeouts {
  /** An asker that wants no more rows for this long is given up. */
  idle_ms: number
  /** And one that is not through after this long. */
  longest_ms: number
}

export const DEFAULT_STREAM_TIMEOUTS: StreamTimeouts = { idle_ms: 60_000, longest_ms: 900_000 }

/** Rows in one piece. */
const ROWS_PER_CHUNK = 2_000

/**
 * The rows of one statement in their order, `PIECE` at a time, as they are asked for. They go into a temporary table
 * first, which the engine keeps within its memory and spills: nothing is open in the store between two pieces that would
 * hold its checkpoints up, and an error is an error. DuckDB's own streaming result holds them up, and where it fails
 * half-way it ends as if that were all (1.5).
 */
export async function* streamRows(
  database: Pick<Database, 'hold'>,
  asked: Sql,
  { idle_ms, longest_ms }: StreamTimeouts,
  signal?: AbortSignal,
): AsyncGenerator<ResultRow[]> {
  let request: { resolve: (rows: ResultRow[]) => void; reject: (error: unknown) => void } | undefined
  let over: { error?: unknown } | undefined
  let left: ApiError | undefined
  let wake = () => {}

  const leave = (why: ApiError) => {
    left ??= why
    wake()
  }
  /** Resolves when the next piece is wanted; throws where it will not be. */
  const wanted = async () => {
    if (!request && !left) {
      const idle = setTimeout(() => leave(readTooSlowly()), idle_ms)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      clearTimeout(idle)
    }
    if (left) throw left
  }
  /** Goes on while the asker is elsewhere, so that a connection is let go of without it. */
  const serve = () =>
    database.hold(async (run, after) => {
      const longest = setTimeout(() => leave(readTooSlowly()), longest_ms)
      try {
        await run((connection) => runQuery(connection, sql`create or replace temp table answer as ${asked}`))
        for (let from = 0; ; from += ROWS_PER_CHUNK) {
          await wanted()
          const piece = sql`select * from answer where rowid >= ${from} and rowid < ${from + ROWS_PER_CHUNK}`
          const rows = await run((connection) => runQuery(connection, piece))
          if (rows.length === 0) return
          request?.resolve(rows)
          request = undefined
        }
      } finally {
        clearTimeout(longest)
        await after((connection) => connection.run('drop table if exists temp.answer')).catch(() => {})
      }
    }, signal)

  const next = () =>
    new Promise<ResultRow[]>((resolve, reject) => {
      if (!over) {
        request = { resolve, reject }
        wake()
      } else if ('error' in over) reject(over.error)
      else resolve([])
    })

  const gone = () => leave(queryCancelled())
  signal?.addEventListener('abort', gone, { once: true })
  const served = serve().then(
    () => {
      over = {}
      request?.resolve([])
    },
    (error: unknown) => {
      over = { error }
      request?.reject(error)
    },
  )
  try {
    for (let rows = await next(); rows.length > 0; rows = await next()) yield rows
  } finally {
    signal?.removeEventListener('abort', gone)
    gone()
    await served
  }
}

const readTooSlowly = (): ApiError =>
  new ApiError('database_error', 'The rows were not taken as fast as they are to be.')
