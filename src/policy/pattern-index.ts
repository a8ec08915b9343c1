import type { CanonicalPath, Pattern } from './canonical.js'

/** A pattern's place in a list ordered by weight, by what a path must hold for it to match. */
interface PatternIndex {
  /** Places, ascending, of the patterns that may match: none that does is missing. */
  candidates(path: string): readonly number[]
}

/**
 * Finds among many patterns with `*` the few that a path may match: each is filed under six characters in a row that it
 * cannot match without (three, where no part is that long), the rarest it has. Patterns without are always let through.
 */
export function createPatternIndex(patterns: readonly Pattern[]): PatternIndex {
  const always: number[] = []
  const filed = [6, 3].map((length) => ({
    length,
    counts: new Map<number, number>(),
    drawers: new Map<number, number[]>(),
  }))
  const cabinet = ({ parts }: Pattern) => filed.find(({ length }) => parts.some((part) => part.length >= length))
  for (const pattern of patterns) {
    const { length, counts } = cabinet(pattern) ?? {}
    if (length && counts) eachGram(pattern.parts, length, (gram) => counts.set(gram, (counts.get(gram) ?? 0) + 1))
  }
  for (const [place, pattern] of patterns.entries()) {
    const { length, counts, drawers } = cabinet(pattern) ?? {}
    if (!length || !counts || !drawers) {
      always.push(place)
      continue
    }
    let rarest = 0
    let least = Number.POSITIVE_INFINITY
    eachGram(pattern.parts, length, (gram) => {
      const count = counts.get(gram) ?? 0
      if (count >= least) return
      rarest = gram
      least = count
    })
    const drawer = drawers.get(rarest)
    if (drawer === undefined) drawers.set(rarest, [place])
    else drawer.push(place)
  }
  return {
    candidates(path) {
      const opened = new Set<readonly number[]>()
      for (const { length, drawers } of filed)
        if (drawers.size > 0)
          eachGram([path], length, (gram) => {
            const drawer = drawers.get(gram)
            if (drawer !== undefined) opened.add(drawer)
          })
      return opened.size === 0 ? always : [always, ...opened].flat().sort((a, b) => a - b)
    },
  }
}

/** Runs of `length` characters as numbers; two that share one cost a comparison, no wrong answer. */
function eachGram(parts: readonly string[], length: number, visit: (gram: number) => void): void {
  for (const part of parts)
    for (let end = length; end <= part.length; end++) {
      let gram = 0
      for (let at = end - length; at < end; at++) gram = Math.imul(gram, 131) + part.charCodeAt(at)
      visit(gram | 0)
    }
}

/**
 * Whether a pattern matches, each part looked for from where the one before ended: the first place is as good as any,
 * so nothing is tried twice.
 */
export function matchesPattern({ parts, anchored }: Pattern, { text, cut }: CanonicalPath): boolean {
  if (anchored && cut) return false
  const head = parts[0] ?? ''
  if (!text.startsWith(head)) return false
  if (anchored && parts.length === 1) return text.length === head.length
  const between = anchored ? parts.length - 1 : parts.length
  let at = head.length
  for (let place = 1; place < between; place++) {
    const part = parts[place] ?? ''
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  const tail = anchored ? (parts.at(-1) ?? '') : ''
  return text.length - tail.length >= at && text.endsWith(tail)
}
