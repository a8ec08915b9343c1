/**
 * Runs a task on a free slot. Tasks that find none wait: the askers take turns, and the tasks of one asker start in order.
 */
export type Slots = <T>(task: (slot: number) => Promise<T>, turn?: WaitOptions) => Promise<T>

interface WaitOptions {
  /** Tasks without one are those of one asker. */
  asker?: string | undefined
  /** A task whose signal is aborted while it waits never starts; the call rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** The call rejects with `late()` after the task waited this many milliseconds. */
  wait_ms?: number
  late?: () => Error
}

type Enter = (slot: number) => void

/** Runs at most `count` tasks at once, each alone on a slot, numbered from 0. */
export function createSlots(count: number): Slots {
  const free = Array.from({ length: count }, (_, slot) => slot)
  /** Waiting tasks by asker, the asker whose turn is next first. */
  const waiting = new Map<string, Set<Enter>>()

  const add = (asker: string, enter: Enter): void => {
    waiting.set(asker, (waiting.get(asker) ?? new Set()).add(enter))
  }
  const remove = (asker: string, enter: Enter): void => {
    const tasks = waiting.get(asker)
    tasks?.delete(enter)
    if (tasks?.size === 0) waiting.delete(asker)
  }
  /** Takes the next task; its asker becomes the last of those who wait. */
  const takeNext = (): Enter | undefined => {
    for (const [asker, tasks] of waiting) {
      waiting.delete(asker)
      const [next] = tasks
      if (next) tasks.delete(next)
      if (tasks.size > 0) waiting.set(asker, tasks)
      return next
    }
    return undefined
  }

  const turnOf = ({ asker = '', signal, wait_ms, late }: WaitOptions): Promise<number> =>
    new Promise((resolve, reject) => {
      const settle = () => {
        remove(asker, enter)
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
      add(asker, enter)
    })

  return async (task, turn = {}) => {
    turn.signal?.throwIfAborted()
    const slot = free.shift() ?? (await turnOf(turn))
    try {
      return await task(slot)
    } finally {
      const next = takeNext()
      if (next) next(slot)
      else free.push(slot)
    }
  }
}
