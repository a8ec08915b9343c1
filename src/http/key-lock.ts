import { ApiError } from '../errors.js'

/** Runs `work` when all that was asked for before under the same key has ended; throws where the asker left meanwhile. */
export type KeyLock = <T>(key: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>

export function createKeyLock(): KeyLock {
  const last = new Map<string, Promise<unknown>>()
  return async (key, signal, work) => {
    const before = last.get(key)
    let end = () => {}
    const own = new Promise<void>((resolve) => {
      end = resolve
    })
    // Who leaves early is waited for no longer, but those before still are.
    const mine = Promise.all([before, own])
    last.set(key, mine)
    void mine.then(() => {
      if (last.get(key) === mine) last.delete(key)
    })
    try {
      if (before) await Promise.race([before, rejectOnAbort(signal)])
      return await work()
    } finally {
      end()
    }
  }
}

const rejectOnAbort = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const gone = () => reject(new ApiError('bad_request', 'The client left.'))
    if (signal.aborted) gone()
    signal.addEventListener('abort', gone, { once: true })
  })
