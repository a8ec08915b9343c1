/** Runs a task on one of so many slots; those that find none wait in the order of asking. */
export type Slots = <T>(task: (slot: number) => Promise<T>, turn?: WaitOptions) => Promise<T>

export interface WaitOptions {
  /** Aborted while the task waits, it never starts: rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Rejects with `late()` where the task waited this long, ms. */
  wait_ms?: number
  late?: () => Error
}

/** So many tasks at once, each on a slot (from 0) that is nobody else's until it has ended, however it ended. */
export function createSlots(count: number): Slots {
  const free = Array.from({ length: count }, (_, slot) => slot)
  const waiting = new Set<(slot: number) => void>()

  const turnOf = ({ signal, wait_ms, late }: WaitOptions): Promise<number> =>
    new Promise((resolve, reject) => {
      const settle = () => {
        waiting.delete(enter)
        signal?.removeEventListener('abort', leave)
        clearTimeout(timer)
      }
      const enter = (slot: number) => {
        settle()
        resolve(slot)
      }
      const leave = () => {
        settle()
        reject(signal?.reason)
      }
      const timer =
        wait_ms === undefined
          ? undefined
          : setTimeout(() => {
              settle()
              reject(late?.())
            }, wait_ms)
      signal?.addEventListener('abort', leave, { once: true })
      waiting.add(enter)
    })

  return async (task, turn = {}) => {
    turn.signal?.throwIfAborted()
    const slot = free.shift() ?? (await turnOf(turn))
    try {
      return await task(slot)
    } finally {
      const [next] = waiting
      if (next) next(slot)
      else free.push(slot)
    }
  }
}
