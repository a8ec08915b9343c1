/** How fast one visitor opens pages. Plain fields, because thousands of these are kept. */
export interface Pace {
  burst_from: number
  burst: number
  sweep_from: number
  /** Hashes of the paths since `sweep_from`; no more than needed to know that there are too many. */
  sweep: number[]
}

/** No person reads more than 30 pages in 10 s, or 25 different ones in 60 s. */
const MAX_BURST = { pages: 30, ms: 10_000 }
const MAX_SWEEP = { paths: 25, ms: 60_000 }

export const createPace = (): Pace => ({
  burst_from: Number.NEGATIVE_INFINITY,
  burst: 0,
  sweep_from: Number.NEGATIVE_INFINITY,
  sweep: [],
})

export const isBurst = (pace: Pace): boolean => pace.burst > MAX_BURST.pages
export const isSweep = (pace: Pace): boolean => pace.sweep.length > MAX_SWEEP.paths

/** Counts a page opened at `at` (milliseconds since 1970). */
export function countPage(pace: Pace, at: number, pathname: string): void {
  if (isOutside(at, pace.burst_from, MAX_BURST.ms)) {
    pace.burst_from = at
    pace.burst = 0
  }
  pace.burst++
  if (isOutside(at, pace.sweep_from, MAX_SWEEP.ms)) {
    pace.sweep_from = at
    pace.sweep = []
  }
  if (pace.sweep.length <= MAX_SWEEP.paths) {
    const hash = hashText(pathname)
    if (!pace.sweep.includes(hash)) pace.sweep.push(hash)
  }
}

/** Rows come nearly in order: a slightly late one counts in its window, a clock that jumps starts a new one. */
const isOutside = (at: number, from: number, ms: number) => Math.abs(at - from) >= ms

/** FNV-1a over at most 128 characters. Two texts that share so many count as one, which errs in the visitor's favour. */
export function hashText(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let i = 0; i < text.length && i < 128; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
