/** Resolves after `ms` milliseconds, or when the signal is aborted. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** A `Sleep` whose timer does not keep the process alive. */
export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const over = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, ms)
    timer.unref()
    signal.addEventListener('abort', over)
  })

/** A signal that one caller waits for and another rings; a ring before the wait is remembered. */
export function createSignal() {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      rung = true
      wake?.()
    },
    async heard(): Promise<void> {
      if (!rung)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      rung = false
      wake = undefined
    },
  }
}

const MIN_BACK_OFF_MS = 1_000
const MAX_BACK_OFF_MS = 60_000

/** Returns the milliseconds before the next attempt: exponential back-off with full jitter above one second. */
export const backOff = (failures: number, random: () => number, ceiling = MAX_BACK_OFF_MS): number =>
  MIN_BACK_OFF_MS + random() * (Math.min(ceiling, MIN_BACK_OFF_MS * 2 ** Math.min(failures, 10)) - MIN_BACK_OFF_MS)
