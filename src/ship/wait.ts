/** Resolves after `ms` milliseconds, or at once when the signal is aborted. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** Keeps no process alive. */
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

/** Something that one waits for and another rings; a ring that nobody waited for yet is kept. */
export function createBell() {
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

const FLOOR = 1_000
const CEILING = 60_000

/** Exponential back-off with full jitter above a second: before attempt `failures` + 1, in milliseconds. */
export const backOff = (failures: number, random: () => number, ceiling = CEILING): number =>
  FLOOR + random() * (Math.min(ceiling, FLOOR * 2 ** Math.min(failures, 10)) - FLOOR)
