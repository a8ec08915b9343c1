import type { Path, Pattern } from './canonical.js'

/** A pattern's place in a list ordered by weight, by what a path must hold for it to match. */
export interface Sieve {
  /** Places, ascending, of the patterns that may match: none that does is missing. */
  through(path: string): number[]
}

/**
 * Finds among many patterns with `*` the few that a path may match: each is filed under three characters in a row that
 * it cannot match without, the rarest it has. Patterns without such are always let through.
 */
export function createSieve(patterns: readonly Pattern[]): Sieve {
  const counts = new Map<number, number>()
  for (const { parts } of patterns) for (const gram of gramsOf(parts)) counts.set(gram, (counts.get(gram) ?? 0) + 1)
  const filed = new Map<number, number[]>()
  const always: number[] = []
  patterns.forEach(({ parts }, place) => {
    let rarest: number | undefined
    let least = Number.POSITIVE_INFINITY
    for (const gram of gramsOf(parts)) {
      const count = counts.get(gram) ?? 0
      if (count < least) [rarest, least] = [gram, count]
    }
    const drawer = rarest === undefined ? always : (filed.get(rarest) ?? [])
    if (rarest !== undefined) filed.set(rarest, drawer)
    drawer.push(place)
  })
  return {
    through(path) {
      const places = new Set(always)
      for (let at = 0; at + 2 < path.length; at++)
        for (const place of filed.get(gramAt(path, at)) ?? []) places.add(place)
      return [...places].sort((a, b) => a - b)
    },
  }
}

const gramAt = (text: string, at: number): number =>
  ((text.charCodeAt(at) & 127) << 14) | ((text.charCodeAt(at + 1) & 127) << 7) | (text.charCodeAt(at + 2) & 127)

function* gramsOf(parts: readonly string[]): Generator<number> {
  for (const part of parts) for (let at = 0; at + 2 < part.length; at++) yield gramAt(part, at)
}

/**
 * Whether a pattern matches, each part looked for from where the one before ended: the first place is as good as any,
 * so nothing is tried twice.
 */
export function matches({ parts, anchored }: Pattern, { text, cut }: Path): boolean {
  const [head = '', ...rest] = parts
  if (anchored && cut) return false
  if (!text.startsWith(head)) return false
  const tail = anchored ? rest.pop() : undefined
  if (anchored && tail === undefined) return text.length === head.length
  let at = head.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return tail === undefined || (text.length - tail.length >= at && text.endsWith(tail))
}
