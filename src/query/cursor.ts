import type { Sql } from '../sql.js'
import type { ResultRow, Store } from '../store.js'

/** The rows of one statement, some at a time. */
export interface Cursor {
  /** The next rows: `query` is run by the first call, and the same rows go on in those that follow. */
  next(query: Sql): Promise<ResultRow[]>
  /** Whether a statement was run, and whether all of its rows were given out. */
  state(): 'unasked' | 'open' | 'ended'
  /** The statement is stopped where it still runs. */
  close(): Promise<void>
}

/** Opens nothing yet. `size` is the most rows given at once, whatever the store hands out. */
export function createCursor(store: Pick<Store, 'stream'>, size: number, signal?: AbortSignal): Cursor {
  let parts: AsyncIterator<ResultRow[]> | undefined
  let part: ResultRow[] = []
  let at = 0
  let ended = false
  const more = async (): Promise<boolean> => {
    while (at === part.length && !ended && parts) {
      const { value, done } = await parts.next()
      part = done ? [] : value
      at = 0
      ended = done === true
    }
    return at < part.length
  }
  return {
    state: () => (parts === undefined ? 'unasked' : ended ? 'ended' : 'open'),
    async next(query) {
      parts ??= store.stream(query, signal)[Symbol.asyncIterator]()
      const rows: ResultRow[] = []
      while (rows.length < size && (await more())) {
        const taken = part.slice(at, at + size - rows.length)
        at += taken.length
        rows.push(...taken)
      }
      // Looked ahead, so that the last rows are known to be the last.
      await more()
      return rows
    },
    async close() {
      await parts?.return?.()
    },
  }
}
