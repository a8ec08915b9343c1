import type { Pattern } from './canonical.js'

/**
 * Returns a function that finds, among many patterns with `*`, the few that may match a path: their indexes in ascending
 * order, without missing one that matches. Each pattern is filed under a run of six characters that a matching path must
 * contain (three, if none of its parts is longer), the rarest that it has. Patterns without such a run are always returned.
 */
export function createPatternIndex(patterns: readonly Pattern[]): (path: string) => readonly number[] {
  const always: number[] = []
  const tables = [6, 3].map((length) => ({
    length,
    counts: new Map<number, number>(),
    indexes: new Map<number, number[]>(),
  }))
  const tableOf = ({ parts }: Pattern) => tables.find(({ length }) => parts.some((part) => part.length >= length))
  for (const pattern of patterns) {
    const { length, counts } = tableOf(pattern) ?? {}
    if (length && counts) eachRun(pattern.parts, length, (run) => counts.set(run, (counts.get(run) ?? 0) + 1))
  }
  for (const [index, pattern] of patterns.entries()) {
    const { length, counts, indexes } = tableOf(pattern) ?? {}
    if (!length || !counts || !indexes) {
      always.push(index)
      continue
    }
    let rarest = 0
    let fewest = Number.POSITIVE_INFINITY
    eachRun(pattern.parts, length, (run) => {
      const count = counts.get(run) ?? 0
      if (count >= fewest) return
      rarest = run
      fewest = count
    })
    const filed = indexes.get(rarest)
    if (filed === undefined) indexes.set(rarest, [index])
    else filed.push(index)
  }
  return (path) => {
    const rules = new Set<readonly number[]>()
    for (const { length, indexes } of tables)
      if (indexes.size > 0)
        eachRun([path], length, (run) => {
          const filed = indexes.get(run)
          if (filed !== undefined) rules.add(filed)
        })
    return rules.size === 0 ? always : [always, ...rules].flat().sort((a, b) => a - b)
  }
}

/** Visits runs of `length` characters as hashes. A collision costs a comparison, but never a wrong result. */
function eachRun(parts: readonly string[], length: number, visit: (run: number) => void): void {
  for (const part of parts)
    for (let end = length; end <= part.length; end++) {
      let run = 0
      for (let at = end - length; at < end; at++) run = Math.imul(run, 131) + part.charCodeAt(at)
      visit(run | 0)
    }
}
