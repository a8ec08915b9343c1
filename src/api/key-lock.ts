import { createDeferred } from '../base/deferred.js'
import { ApiError } from '../base/errors.js'

/** Runs `work` after all earlier work under the same key has ended; throws if the client disconnects meanwhile. */
export type KeyLock = <T>(key: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>

export function createKeyLock(): KeyLock {
  const last = new Map<string, Promise<unknown>>()
  return async (key, signal, work) => {
    const before = last.get(key)
    const ended = createDeferred<void>()
    // Work whose client disconnects is no longer waited for; the work before it still is.
    const turn = Promise.all([before, ended.promise])
    last.set(key, turn)
    void turn.then(() => {
      if (last.get(key) === turn) last.delete(key)
    })
    try {
      if (before) await Promise.race([before, rejectOnAbort(signal)])
      return await work()
    } finally {
      ended.resolve()
    }
  }
}

const rejectOnAbort = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const abort = () => reject(new ApiError('bad_request', 'The client disconnected.'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
  })
