/** Choices at random, for the visits of the demo. */
export interface Dice {
  random(): number
  integer(below: number): number
  pick<T>(list: readonly T[]): T
  weighted<T extends { weight: number }>(list: readonly T[]): T
  /** Picks mostly from the beginning of the list. */
  popular<T>(list: readonly T[]): T
  /** Returns a time in milliseconds: half are below `middle`, a few are long. */
  pause(middle: number): number
}

/** Returns a generator of numbers in [0, 1) with 32 bits of state (mulberry32); the same seed gives the same numbers. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }
}

/** Makes dice from numbers in [0, 1). */
export function createDice(random: () => number): Dice {
  const at = <T>(list: readonly T[], index: number): T => {
    const found = list[Math.min(index, list.length - 1)]
    if (found === undefined) throw new Error('nothing to choose from')
    return found
  }
  const whole = (below: number) => Math.floor(random() * below)
  return {
    random,
    integer: whole,
    pick: (list) => at(list, whole(list.length)),
    popular: (list) => at(list, Math.floor(list.length * random() ** 1.7)),
    weighted(list) {
      let left = random() * list.reduce((sum, { weight }) => sum + weight, 0)
      const index = list.findIndex(({ weight }) => {
        left -= weight
        return left < 0
      })
      return at(list, index < 0 ? list.length - 1 : index)
    },
    pause: (middle) => Math.round(middle * Math.exp(1.8 * (random() + random() - 1))),
  }
}
