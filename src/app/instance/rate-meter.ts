const SAMPLE_INTERVAL_MS = 10_000
/** The samples of the last minute, and the one before them. */
const MAX_SAMPLES = 7

/** Samples a count that only ascends. */
export function createRateMeter(count: () => number, clock: () => number) {
  const samples: { at: number; count: number }[] = []
  const sample = () => {
    samples.push({ at: clock(), count: count() })
    if (samples.length > MAX_SAMPLES) samples.shift()
  }
  sample()
  const timer = setInterval(sample, SAMPLE_INTERVAL_MS).unref()
  return {
    /** Returns the mean increase a second over the last minute; undefined in the first ten seconds. */
    perSecond(): number | undefined {
      const [first] = samples
      const seconds = first === undefined ? 0 : (clock() - first.at) / 1_000
      return first === undefined || seconds < SAMPLE_INTERVAL_MS / 1_000 ? undefined : (count() - first.count) / seconds
    },
    stop: () => clearInterval(timer),
  }
}
