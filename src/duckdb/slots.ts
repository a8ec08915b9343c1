/** Runs a task on a free slot; tasks that find none wait in order. */
export type Slots = <T>(task: (slot: number) => Promise<T>, turn?: WaitOptions) => Promise<T>

interface WaitOptions {
  /** A task whose signal is aborted while it waits never starts; the call rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** The call rejects with `late()` after the task waited this many milliseconds. */
  wait_ms?: number
  late?: () => Error
}

/** Runs at most `count` tasks at once, each alone on a slot, numbered from 0. */
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
