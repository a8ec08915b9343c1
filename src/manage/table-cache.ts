import type { Sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'

/**
 * Keeps what `load` reads in memory. It stays true until this process writes, or hears that another has.
 * `load` receives the previous value, in case reading only the changes is cheaper.
 */
export function createTableCache<T>(load: (before: T | undefined) => Promise<T>) {
  let loaded: Promise<T> | undefined
  let before: T | undefined
  return {
    /** Returns the cached value, loading it if necessary. A failed load is not cached. */
    get(): Promise<T> {
      if (!loaded) {
        const loading = load(before)
        loaded = loading
        loading.then(
          (value) => {
            if (loaded === loading) before = value
          },
          () => {
            if (loaded === loading) loaded = undefined
          },
        )
      }
      return loaded
    },
    /** Reloads at the next `get`. Call it after the write is durable; the result of a load under way is not cached. */
    invalidate(): void {
      loaded = undefined
    },
    /** Like `invalidate`, and drops the previous value too: the file may be another one. */
    clear(): void {
      loaded = undefined
      before = undefined
    },
  }
}

/** Depends on records that are written: a cache of them, or what is made from them. */
export interface Dependent {
  invalidate(): void | Promise<void>
}

/**
 * Returns a function that writes to the records and then invalidates the caches. Invalidates them after a failed write
 * too: if the store dies meanwhile, it is unknown whether the write was stored.
 */
export const createInvalidatingWrite =
  (records: Records, ...caches: readonly Dependent[]) =>
  async (...statements: Sql[]): Promise<void> => {
    try {
      await records.write(...statements)
    } finally {
      for (const cache of caches) await cache.invalidate()
    }
  }
