import { createRequire } from 'node:module'
import type { CanonicalPath, Pattern } from './canonical.js'

export interface MatchCandidate extends Pattern {
  allow: boolean
  line: number
}

/** Its declarations say `exports.default`, its code is `module.exports`: an import that compiles would not run. */
const robotsParser: (url: string, contents: string) => { getMatchingLineNumber(url: string): number } = createRequire(
  import.meta.url,
)('robots-parser')

const PLACEHOLDER_HOST = 'http://robots.invalid'

/**
 * The longest match among a few rules, by robots-parser: most octets win, `allow` wins ties, of equal rules the first. It
 * encodes and normalises what it is given (`.`, `?`, `[`) and its patterns not the same way, so both are handed over in
 * an alphabet that it leaves alone; that makes some patterns longer, so trailing `*`, which change no match, bring
 * the lengths back into the order of the octets.
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

const END_MARK = ','

/**
 * One to one into letters, digits and `/ - _ = & ! , %`: `!` is a full stop (segments of dots would be resolved), `,` the
 * end. Patterns are ASCII, so that all beyond it is one thing that none of them holds.
 */
const toSafeText = (text: string): string =>
  /^[\w\-/=&]*$/.test(text) ? text : text.replace(/[^\w\-/=&]/g, toSafeChar)

function toSafeChar(char: string): string {
  if (char === '.') return '!'
  const code = Math.min(char.charCodeAt(0), 0xff)
  return `%${code.toString(16).toUpperCase().padStart(2, '0')}`
}
