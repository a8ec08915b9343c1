import { ApiError } from '../../base/errors.js'
import { type Sql, sql } from '../sql.js'
import { queryCancelled, type ReadTimeouts, type ResultRow } from '../store.js'
import type { Database } from './database.js'
import { runQuery } from './query.js'

const ROWS_PER_CHUNK = 2_000

/**
 * Yields the rows of one query in order, in chunks, as the caller takes them. The rows go into a temporary table first,
 * which DuckDB keeps within its memory limit and spills: between two chunks nothing is open that would block checkpoints,
 * and an error is thrown as one. DuckDB 1.5's own streaming result blocks checkpoints, and if it fails half-way it ends
 * as if that were all.
 */
export async function* streamRows(
  database: Pick<Database, 'hold'>,
  query: Sql,
  { idle_ms, longest_ms }: Pick<ReadTimeouts, 'idle_ms' | 'longest_ms'>,
  signal?: AbortSignal,
): AsyncGenerator<ResultRow[]> {
  let request: { resolve: (rows: ResultRow[]) => void; reject: (error: unknown) => void } | undefined
  let ended: { error?: unknown } | undefined
  let abandoned: ApiError | undefined
  let wake = () => {}

  const abandon = (why: ApiError): void => {
    abandoned ??= why
    wake()
  }
  /** Resolves when the caller wants the next chunk; throws if it will not. */
  const chunkWanted = async (): Promise<void> => {
    if (!request && !abandoned) {
      const idle = setTimeout(() => abandon(readTooSlowly()), idle_ms)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      clearTimeout(idle)
    }
    if (abandoned) throw abandoned
  }
  /** Runs apart from the caller, so that the connection is released without it. */
  const serve = (): Promise<void> =>
    database.hold(
      async (run, cleanUp) => {
        const longest = setTimeout(() => abandon(readTooSlowly()), longest_ms)
        try {
          await run((connection) => runQuery(connection, sql`create or replace temp table answer as ${query}`))
          for (let from = 0; ; from += ROWS_PER_CHUNK) {
            await chunkWanted()
            const chunk = sql`select * from answer where rowid >= ${from} and rowid < ${from + ROWS_PER_CHUNK}`
            const rows = await run((connection) => runQuery(connection, chunk))
            if (rows.length === 0) return
            request?.resolve(rows)
            request = undefined
          }
        } finally {
          clearTimeout(longest)
          await cleanUp((connection) => connection.run('drop table if exists temp.answer')).catch(() => {})
        }
      },
      { signal },
    )

  const next = () =>
    new Promise<ResultRow[]>((resolve, reject) => {
      if (!ended) {
        request = { resolve, reject }
        wake()
      } else if ('error' in ended) reject(ended.error)
      else resolve([])
    })

  const cancel = () => abandon(queryCancelled())
  signal?.addEventListener('abort', cancel, { once: true })
  const served = serve().then(
    () => {
      ended = {}
      request?.resolve([])
    },
    (error: unknown) => {
      ended = { error }
      request?.reject(error)
    },
  )
  try {
    for (let rows = await next(); rows.length > 0; rows = await next()) yield rows
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
    await served
  }
}

const readTooSlowly = (): ApiError => new ApiError('database_error', 'The client read the rows too slowly.')
