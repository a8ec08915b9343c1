import type { Sql } from '../../storage/sql.js'
import type { ResultRow, Store } from '../../storage/store.js'

/** Reads the rows of one statement in parts. */
export type Cursor = ReturnType<typeof createCursor>

/** Creates a cursor that has run nothing yet. `size` bounds the rows of a part, whatever the store hands out. */
export function createCursor(store: Pick<Store, 'stream'>, size: number, signal?: AbortSignal) {
  let chunks: AsyncIterator<ResultRow[]> | undefined
  let chunk: ResultRow[] = []
  let position = 0
  let ended = false
  const hasMore = async (): Promise<boolean> => {
    while (position === chunk.length && !ended && chunks) {
      const { value, done } = await chunks.next()
      chunk = done ? [] : value
      position = 0
      ended = done === true
    }
    return position < chunk.length
  }
  return {
    /** `idle` until a statement has run, `ended` once all of its rows have been returned. */
    state: (): 'idle' | 'open' | 'ended' => (chunks === undefined ? 'idle' : ended ? 'ended' : 'open'),
    /** The next rows. Only the first call runs `query`; later calls continue with its rows. */
    async next(query: Sql): Promise<ResultRow[]> {
      chunks ??= store.stream(query, signal)[Symbol.asyncIterator]()
      const rows: ResultRow[] = []
      while (rows.length < size && (await hasMore())) {
        const taken = chunk.slice(position, position + size - rows.length)
        position += taken.length
        rows.push(...taken)
      }
      // Looks ahead, so that the state is `ended` with the last rows.
      await hasMore()
      return rows
    },
    /** Stops the statement if it is still running. */
    async close(): Promise<void> {
      await chunks?.return?.()
    },
  }
}
