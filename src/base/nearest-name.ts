/**
 * Returns the known name with the smallest edit distance, if it is close enough for "did you mean"; else the longest known
 * name with which it begins, as `7days` begins with `7d`.
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  // A sender chooses the name, and the time is proportional to its length.
  if (name.length > MAX_NAME_CHARS) return undefined
  const most = Math.min(Math.max(2, Math.floor(name.length / 3)), name.length - 1)
  const [best] = names
    // At least as many edits as the lengths differ by. A stored value may be long, and the time is proportional to it as well.
    .filter((candidate) => Math.abs(candidate.length - name.length) <= most)
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
    .sort((a, b) => a.edits - b.edits || startsAlike(b.candidate, name) - startsAlike(a.candidate, name))
  if (best && best.edits <= most) return best.candidate
  return names.filter((one) => one.length > 1 && name.startsWith(one)).sort((a, b) => b.length - a.length)[0]
}
const MAX_NAME_CHARS = 60
/** Decides between names at the same distance: the one with the same first letter is likelier. */
const startsAlike = (a: string, b: string): number => Number(a[0] === b[0])

/** Returns the end of a sentence about an unknown name: the nearest known name, else `otherwise`. */
export function suggestName(name: string, known: readonly string[], otherwise = '.'): string {
  const nearest = nearestName(name, known)
  return nearest === undefined ? otherwise : `; did you mean ${nearest}?`
}

/** The Levenshtein distance: insertions, deletions and replacements from one text to the other. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1))
    row = next
  }
  return row[b.length] ?? 0
}
