import { createRequire } from 'node:module'
import type { CanonicalPath, Pattern } from './canonical.js'
import type { RobotsRule } from './parse-robots.js'

export interface MatchCandidate extends Pattern {
  allow: boolean
  line: number
  rule: RobotsRule
}

/** Loaded with `require`, because the package's declarations say `exports.default` and its code is `module.exports`. */
const robotsParser: (url: string, contents: string) => { getMatchingLineNumber(url: string): number } = createRequire(
  import.meta.url,
)('robots-parser')

const PLACEHOLDER_HOST = 'http://robots.invalid'

/**
 * Returns whether robots-parser may decide between rules about a path: they are compared as they are written, in one form
 * each, and consist of characters that it neither encodes nor normalises. It resolves segments of dots in a path and drops
 * a `?` at the end.
 */
export const isPlainQuestion = (candidates: readonly MatchCandidate[], { text, cut }: CanonicalPath): boolean =>
  !cut &&
  /^[\w\-/=&.?]*$/.test(text) &&
  !/\/\.{1,2}(?:[/?]|$)|\?$/.test(text) &&
  candidates.every(({ octets, rule }) => octets === rule.octets.length && /^[\w\-/=&.?*]*\$?$/.test(rule.octets))

/**
 * Returns a function that finds the longest match among rules with robots-parser: most octets win, `allow` wins ties, and
 * of equal rules the first wins. Only for a plain question.
 */
export function createLongestMatch<C extends MatchCandidate>(
  candidates: readonly C[],
): (path: CanonicalPath) => C | undefined {
  const ordered = [...candidates].sort((a, b) => a.line - b.line)
  const lines = ordered.map(({ allow, rule }) => `${allow ? 'Allow' : 'Disallow'}: ${rule.octets}`)
  const robots = robotsParser(`${PLACEHOLDER_HOST}/robots.txt`, ['User-agent: *', ...lines].join('\n'))
  return ({ text }) => ordered[robots.getMatchingLineNumber(`${PLACEHOLDER_HOST}${text}`) - 2]
}
