/**
 * A line in which works go one after the other: what one has read stays true until it has written. A work that fails
 * fails alone.
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
