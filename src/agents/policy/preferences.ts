/** Labels and values of one record such as `search=yes, ai-train=no`. Labels are in lower case; unknown ones are included. */
export type Preferences = Readonly<Record<string, string>>

const MAX_PREFERENCES = 32

/** Parses the pairs of `label=value` in a record, at most 32. Returns undefined if the record has no pair. */
export function parsePreferences(value: string): Preferences | undefined {
  const pairs = value
    .split(',', MAX_PREFERENCES)
    .map((part) => /^\s*([a-z0-9_-]{1,64})\s*=\s*([^\s=]{1,64})\s*$/i.exec(part))
    .flatMap((found) => (found?.[1] && found[2] ? [[found[1].toLowerCase(), found[2]] as const] : []))
  return pairs.length === 0 ? undefined : mergePairs(pairs)
}

/** Merges two records. If both have a label, a refusal wins, otherwise the first (AIPREF attach: the stricter). */
export const mergePreferences = (one: Preferences | undefined, other: Preferences | undefined): Preferences =>
  mergePairs([...Object.entries(one ?? {}), ...Object.entries(other ?? {})])

function mergePairs(pairs: readonly (readonly [string, string])[]): Preferences {
  const merged = new Map<string, string>()
  for (const [label, value] of pairs) if (!merged.has(label) || /^(?:no|n)$/i.test(value)) merged.set(label, value)
  return Object.fromEntries(merged)
}
