import { type Address, type Prefix, wordsOf } from '../../base/address.js'

export type PrefixSet = ReturnType<typeof createPrefixSet>

/** A prefix as the words of its first address, and the bits that count. */
interface WordPrefix {
  words: readonly number[]
  bits: number
}

/** Sorted blocks that do not overlap. Word `w` of block `i` is at `i * width + w`; `first` and `last` are inclusive. */
interface Blocks {
  first: Uint32Array
  last: Uint32Array
}

/** A set of prefixes for fast lookups: under a microsecond in 50,000 prefixes (`npm run bench -- ranges`). */
export function createPrefixSet(prefixes: readonly Prefix[]) {
  const ofWords = prefixes.map(([first, bits]) => ({ words: wordsOf(first), bits }))
  const sorted4 = sortUnique(ofWords.filter(({ words }) => words.length === 1))
  const sorted6 = sortUnique(ofWords.filter(({ words }) => words.length === 4))
  const blocks4 = blocksOf(sorted4, 1)
  const blocks6 = blocksOf(sorted6, 4)
  return {
    /** Number of distinct prefixes. */
    count: sorted4.length + sorted6.length,
    has(address: Address): boolean {
      const words = wordsOf(address)
      return words.length === 1 ? find(blocks4, 1, words) : find(blocks6, 4, words)
    },
  }
}

/** Sorts by first address, wider prefixes first, and removes duplicates. */
function sortUnique(prefixes: readonly WordPrefix[]): WordPrefix[] {
  const sorted = [...prefixes].sort((a, b) => compare(a.words, 0, b.words, a.words.length) || a.bits - b.bits)
  return sorted.filter((prefix, i) => {
    const before = sorted[i - 1]
    return !before || before.bits !== prefix.bits || compare(before.words, 0, prefix.words, prefix.words.length) !== 0
  })
}

/** Keeps only the outermost of nested prefixes; two prefixes are either nested or disjoint. */
function blocksOf(sorted: readonly WordPrefix[], width: number): Blocks {
  const first = new Uint32Array(sorted.length * width)
  const last = new Uint32Array(sorted.length * width)
  let size = 0
  for (const { words, bits } of sorted) {
    if (size > 0 && compare(last, (size - 1) * width, words, width) >= 0) continue
    for (let i = 0; i < width; i++) {
      const word = words[i] ?? 0
      first[size * width + i] = word
      last[size * width + i] = (word | ~maskOf(bits - 32 * i)) >>> 0
    }
    size++
  }
  return { first: first.slice(0, size * width), last: last.slice(0, size * width) }
}

/** Returns the word whose first `bits` bits are set; all or none of them where `bits` is out of range. */
function maskOf(bits: number): number {
  return (bits <= 0 ? 0 : bits >= 32 ? 0xffffffff : ~(0xffffffff >>> bits)) >>> 0
}

function find({ first, last }: Blocks, width: number, words: readonly number[]): boolean {
  let low = 0
  let high = first.length / width
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(first, middle * width, words, width) <= 0) low = middle + 1
    else high = middle
  }
  return low > 0 && compare(last, (low - 1) * width, words, width) >= 0
}

/** Compares the `width` words of `a` from `at` with those of `b`, as one number each. Returns below 0, 0 or above 0. */
function compare(a: ArrayLike<number>, at: number, b: ArrayLike<number>, width: number): number {
  for (let i = 0; i < width; i++) {
    const difference = (a[at + i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
