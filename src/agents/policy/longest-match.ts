import { createRequire } from 'node:module'
import type { CanonicalPath, Pattern } from './canonical.js'

export interface MatchCandidate extends Pattern {
  allow: boolean
  line: number
}

/** Loaded with `require`, because the package's declarations say `exports.default` and its code is `module.exports`. */
const robotsParser: (url: string, contents: string) => { getMatchingLineNumber(url: string): number } = createRequire(
  import.meta.url,
)('robots-parser')

const PLACEHOLDER_HOST = 'http://robots.invalid'

/**
 * Returns a function that finds the longest match among a few rules with robots-parser: most octets win, `allow` wins ties,
 * and of equal rules the first wins. robots-parser encodes and normalises paths and patterns (`.`, `?`, `[`) differently,
 * so both are translated into an alphabet that it leaves alone. The translation makes some patterns longer, so trailing
 * `*`, which do not change what a pattern matches, restore the order of the lengths.
 */
export function createLongestMatch<C extends MatchCandidate>(
  candidates: readonly C[],
): (path: CanonicalPath) => C | undefined {
  const ordered = [...candidates].sort((a, b) => a.octets - b.octets || a.line - b.line)
  const texts = ordered.map(({ parts, anchored }) => parts.map(toSafeText).join('*') + (anchored ? END_MARK : ''))
  let length = 0
  const lines = ordered.map(({ allow, octets }, at) => {
    if (octets !== ordered[at - 1]?.octets) {
      const longest = ordered.reduce(
        (most, other, place) => (other.octets === octets ? Math.max(most, texts[place]?.length ?? 0) : most),
        1,
      )
      length = Math.max(length + 1, longest)
    }
    return `${allow ? 'Allow' : 'Disallow'}:${(texts[at] ?? '').padEnd(length, '*')}`
  })
  const robots = robotsParser(`${PLACEHOLDER_HOST}/robots.txt`, ['User-agent:*', ...lines].join('\n'))
  return ({ text, cut }) => {
    const line = robots.getMatchingLineNumber(`${PLACEHOLDER_HOST}${toSafeText(text)}${cut ? '' : END_MARK}`)
    return ordered[line - 2]
  }
}

/** Marks the end of a path, for patterns with `$`. */
const END_MARK = ','

/**
 * Translates one to one into letters, digits and `/ - _ = & ! , %`: a full stop becomes `!`, because robots-parser resolves
 * segments of dots. Characters beyond ASCII all become one, since no pattern contains them.
 */
const toSafeText = (text: string): string =>
  /^[\w\-/=&]*$/.test(text) ? text : text.replace(/[^\w\-/=&]/g, toSafeChar)

function toSafeChar(char: string): string {
  if (char === '.') return '!'
  const code = Math.min(char.charCodeAt(0), 0xff)
  return `%${code.toString(16).toUpperCase().padStart(2, '0')}`
}
