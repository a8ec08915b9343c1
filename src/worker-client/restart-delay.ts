const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000

/** Crashes count as in a row until a process has run for this many milliseconds. */
export const HEALTHY_UPTIME_MS = 60_000

/** Returns the milliseconds before a crashed process is started again: 100 after the first crash, doubled up to 10 s. */
export const restartDelay = (crashesInARow: number): number =>
  Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(crashesInARow - 1, 10))
