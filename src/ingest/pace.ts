/** How fast one visitor opens pages: plain fields, for thousands of them are kept. */
export interface Pace {
  burst_from: number
  burst: number
  sweep_from: number
  /** Hashes of the paths since `sweep_from`; never more than say that there are too many. */
  sweep: number[]
}

/** More than 30 pages in 10 s, or 25 different ones in 60 s, are not read (reference/agents.md 7.2). */
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
    const hash = hashPath(pathname)
    if (!pace.sweep.includes(hash)) pace.sweep.push(hash)
  }
}

/** Rows come nearly in order: one that is a little late counts where it falls, a clock that jumps begins anew. */
const isOutside = (at: number, from: number, ms: number) => Math.abs(at - from) >= ms

/** FNV-1a over at most 128 characters: two that share so many are one, which errs on the side of the visitor. */
function hashPath(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length && i < 128; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
