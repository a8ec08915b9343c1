/** Characters of a path that would deceive or vanish where it is shown: controls, direction marks, joiners, odd spaces. */
const DANGEROUS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]|(?! )\p{Zs}/u

const encode = (character: string): string => encodeURIComponent(character)

/** ASCII that browsers must encode in a path. Any other ASCII that is encoded makes another path, so it stays. */
const ENCODED_BY_BROWSERS = ' "<>^`{|}'

/**
 * A path as its author wrote it, for people to read: `%E6%97%A5` is `日`. What would read as another path stays encoded:
 * `%2F`, `%25`, `%41`, invalid UTF-8, controls, direction marks and spaces at the ends. Links and filters keep the path itself.
 */
export function shownPath(path: string): string {
  const decoded = path.replace(/(?:%[0-9a-f]{2})+/gi, decodeRun)
  const plain = Array.from(decoded, (character) => (DANGEROUS.test(character) ? encode(character) : character)).join('')
  return plain.replace(/^ +| +$/g, (spaces) => '%20'.repeat(spaces.length))
}

/** A path as a browser sends it: what was typed as `日` is `%E6%97%A5`. Escapes in it stay. */
export const encodedPath = (typed: string): string =>
  typed.replace(/\p{Cs}/gu, '\ufffd').replace(/[^\x21-\x7e]+/g, (run) => encodeURIComponent(run))

/** Decodes escapes that stand together, character by character; invalid UTF-8 and what has a meaning stay. */
function decodeRun(run: string): string {
  let text = ''
  for (let at = 0; at < run.length; ) {
    const first = Number.parseInt(run.slice(at + 1, at + 3), 16)
    const length = first < 0x80 ? 3 : first < 0xe0 ? 6 : first < 0xf0 ? 9 : 12
    const encoded = run.slice(at, at + length)
    const character = decode(encoded)
    text += character ?? run.slice(at, at + 3)
    at += character === undefined ? 3 : encoded.length
  }
  return text
}

function decode(encoded: string): string | undefined {
  try {
    const character = decodeURIComponent(encoded)
    const isReadable = encoded.length > 3 ? !DANGEROUS.test(character) : ENCODED_BY_BROWSERS.includes(character)
    return isReadable ? character : undefined
  } catch {
    return undefined
  }
}

const MAX_TAIL = 28
const MIN_TAIL = 10

/** The end of a path that tells it apart: from a "-" or "/", of a length that leaves room for the beginning. */
export function tailOf(path: string): string {
  const starts = Array.from(path.matchAll(/[-/]/g), ({ index }) => path.length - index)
  const fitting = starts.filter((length) => length >= MIN_TAIL && length <= MAX_TAIL)
  return path.slice(path.length - (fitting.at(-1) ?? Math.min(MIN_TAIL, path.length)))
}

/** A path of at most `most` characters: its middle goes. */
export function shortPath(path: string, most: number): string {
  const shown = shownPath(path.slice(0, 2_000))
  if (shown.length <= most) return shown
  const tail = tailOf(shown)
  return `${shown.slice(0, most - tail.length - 1)}…${tail}`
}
