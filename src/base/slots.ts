/**
 * Runs a task on a free slot. Tasks that find none wait: the tenants take turns, of one tenant its askers, and the tasks of
 * one asker start in order.
 */
export type Slots = <T>(task: (slot: number) => Promise<T>, turn?: WaitOptions) => Promise<T>

interface WaitOptions {
  /** The tenant and, after a slash, one of its askers. Tasks without one are those of one asker. */
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
  /** Waiting tasks by tenant and asker; those whose turn is next are first. */
  const waiting = new Map<string, Map<string, Set<Enter>>>()

  const add = (asker: string, enter: Enter): void => {
    const tenant = tenantOf(asker)
    const askers = waiting.get(tenant) ?? new Map<string, Set<Enter>>()
    waiting.set(tenant, askers.set(asker, (askers.get(asker) ?? new Set()).add(enter)))
  }
  const remove = (asker: string, enter: Enter): void => {
    const askers = waiting.get(tenantOf(asker))
    const tasks = askers?.get(asker)
    tasks?.delete(enter)
    if (tasks?.size === 0) askers?.delete(asker)
    if (askers?.size === 0) waiting.delete(tenantOf(asker))
  }
  /** Takes the next task; its tenant, and among the tenant's askers its asker, become the last of those who wait. */
  const takeNext = (): Enter | undefined => {
    for (const [tenant, askers] of waiting)
      for (const [asker, tasks] of askers) {
        waiting.delete(tenant)
        askers.delete(asker)
        const [next] = tasks
        if (next) tasks.delete(next)
        if (tasks.size > 0) askers.set(asker, tasks)
        if (askers.size > 0) waiting.set(tenant, askers)
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

const tenantOf = (asker: string): string => asker.split('/', 1)[0] ?? ''
