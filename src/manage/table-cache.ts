import type { Sql } from '../sql.js'
import type { Records } from '../store.js'

/**
 * A small table kept in memory: this process is the only writer of the file, so what it has read stays true until it
 * writes. `forget` is called after the write is durable; a load that was under way then is nobody's answer any more.
 * `load` is given what was read before, where reading what has changed since is less. `anew`: the file may be another, and
 * nothing that was read of it counts.
 */
export function createTableCache<T>(load: (before: T | undefined) => Promise<T>): {
  get(): Promise<T>
  invalidate(): void
  clear(): void
} {
  let loaded: Promise<T> | undefined
  let before: T | undefined
  return {
    get() {
      if (!loaded) {
        const mine = load(before)
        loaded = mine
        mine.then(
          (read) => {
            if (loaded === mine) before = read
          },
          // A fault is not an answer worth keeping.
          () => {
            if (loaded === mine) loaded = undefined
          },
        )
      }
      return loaded
    },
    invalidate() {
      loaded = undefined
    },
    clear() {
      loaded = undefined
      before = undefined
    },
  }
}

/**
 * Writes to the records, and has what is `remembered` of them read again: also where the write fails, since of a store
 * that dies meanwhile nobody knows whether it has written.
 */
export const createInvalidatingWrite =
  (records: Records, ...remembered: readonly { invalidate(): void | Promise<void> }[]) =>
  async (...statements: Sql[]): Promise<void> => {
    try {
      await records.write(...statements)
    } finally {
      for (const each of remembered) await each.invalidate()
    }
  }
