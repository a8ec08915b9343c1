/**
 * Makes a lock: the work that is given to it runs one after the other, so what a piece of work reads stays true until it
 * has written. A failure fails that piece of work only.
 */
export function createLock(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
}
export type Lock = ReturnType<typeof createLock>

/** Makes a lock for each key. */
export function createLocks<K>(): (key: K) => Lock {
  const locks = new Map<K, Lock>()
  return (key) => {
    const lock = locks.get(key) ?? createLock()
    locks.set(key, lock)
    return lock
  }
}
