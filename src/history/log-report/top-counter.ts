import { detachedCopy } from '../../base/text-limits.js'

interface Counted {
  count: number
}

/** Texts may have this many characters on average before rare ones are forgotten: paths have 40, hostile ones 8,000. */
const AVERAGE_CHARACTERS = 200

/**
 * Creates counters by text, for lists of the most frequent. Memory is bounded: when there are `limit` of them, or fewer with
 * long texts, the rarer half is forgotten, and `isComplete` is false from then on. What occurs often keeps its exact count unless it was rare first.
 */
export function createTopCounter<C extends Counted>(limit: number, create: () => C) {
  const counters = new Map<string, C>()
  let characters = 0
  let isComplete = true
  const forgetRare = () => {
    isComplete = false
    const counts = [...counters.values()].map(({ count }) => count).sort((a, b) => a - b)
    const median = counts[(counts.length - 1) >> 1] ?? 0
    for (const [text, { count }] of counters) {
      if (count > median) continue
      counters.delete(text)
      characters -= text.length
    }
  }
  return {
    /** Returns the counter of a text, counted once more. */
    add(text: string): C {
      const known = counters.get(text)
      if (known !== undefined) {
        known.count++
        return known
      }
      if (counters.size >= limit || characters >= limit * AVERAGE_CHARACTERS) forgetRare()
      const counter = create()
      counter.count = 1
      counters.set(detachedCopy(text), counter)
      characters += text.length
      return counter
    },
    /** Returns the `n` entries with the highest `measure`, without those where it is 0; equal ones by their text. */
    top(n: number, measure: (counter: C) => number = ({ count }) => count): [text: string, counter: C][] {
      const isBefore = ([textA, a]: [string, C], [textB, b]: [string, C]) =>
        measure(b) - measure(a) || (textA < textB ? -1 : 1)
      return [...counters]
        .filter(([, counter]) => measure(counter) > 0)
        .sort(isBefore)
        .slice(0, n)
    },
    get isComplete() {
      return isComplete
    },
  }
}
