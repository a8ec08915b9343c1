import type { RobotsMode } from './robots-lines.js'

/** At most this many characters of a path's canonical form are compared. */
export const MAX_PATH_CHARS = 2048

/** A rule's path in canonical form: literal parts with `*` between them. */
export interface Pattern {
  /** At least one; a single part means that there is no `*`. Only the first and the last part may be empty. */
  parts: readonly string[]
  /** True if the pattern ends with `$`, so it must match the whole path. */
  anchored: boolean
  /** Its weight against other patterns: the octets of its canonical form, including runs of `*`. */
  octets: number
}

export interface CanonicalPath {
  text: string
  /** True if the path is longer than the part that is compared: anchored patterns then match nothing. */
  cut: boolean
}

const CANONICAL_TEXT = /^[\w\-.~/?=&]*$/
const HEX_PAIR = /^[0-9a-f]{2}$/i

/**
 * Returns a request's path and query in the form that is compared. RFC 9309 2.2.2: percent-encoded unreserved characters
 * are decoded, and all other characters are encoded, in one spelling. Characters that structure a URL (`/ ? = &`) stay
 * distinct from their encoded form. Google compares the text as it is. One character of `target` is one octet, as in a
 * request line of Node; characters above U+00FF count as their UTF-8.
 */
export function canonicalPath(target: string, mode: RobotsMode): CanonicalPath {
  const head = (target.startsWith('/') ? target : `/${target}`).slice(0, MAX_PATH_CHARS)
  const text = mode === 'google' || CANONICAL_TEXT.test(head) ? head : canonicalText(head)
  return { text: text.slice(0, MAX_PATH_CHARS), cut: target.length > head.length || text.length > MAX_PATH_CHARS }
}

/**
 * Returns a rule's path in the forms that are compared; none for an empty path, which matches nothing. If the query of a
 * pattern contains `/` or `?`, plain or encoded, both spellings are compared (RFC 9309 2.2.2, second row of its table).
 * Encoding them in paths as well would hide them from `*`: in `/*` + `/x` the second `/` must be found anywhere.
 */
export function canonicalPatterns(octets: string, allow: boolean, mode: RobotsMode): Pattern[] {
  if (octets === '') return []
  if (mode === 'rfc') {
    const text = canonicalPatternText(octets)
    const query = text.indexOf('?') + 1
    const path = text.slice(0, query)
    const rest = text.slice(query)
    if (query === 0 || !/[/?]|%2F|%3F/.test(rest)) return [toPattern(text)]
    const encoded = path + rest.replaceAll('/', '%2F').replaceAll('?', '%3F')
    const decoded = path + rest.replaceAll('%2F', '/').replaceAll('%3F', '?')
    return [toPattern(encoded), { ...toPattern(decoded), octets: encoded.length }]
  }
  const text = googleText(octets)
  const slash = text.lastIndexOf('/') + 1
  const index = allow && slash > 0 && text.startsWith('index.htm', slash)
  return index ? [toPattern(text), toPattern(`${text.slice(0, slash)}$`)] : [toPattern(text)]
}

function toPattern(text: string): Pattern {
  const ended = text.endsWith('$')
  const parts = (ended ? text.slice(0, -1) : text).split('*')
  return {
    parts: parts.filter((part, at) => part !== '' || at === 0 || at === parts.length - 1),
    // `*$` means the same as `*`.
    anchored: ended && (parts.length === 1 || parts.at(-1) !== ''),
    octets: text.length,
  }
}

/** Keeps `*`, and `$` at the end; elsewhere `$` is an ordinary character. */
function canonicalPatternText(octets: string): string {
  const anchored = octets.endsWith('$')
  const body = anchored ? octets.slice(0, -1) : octets
  const text = CANONICAL_TEXT.test(body) ? body : body.split('*').map(canonicalText).join('*')
  return anchored ? `${text}$` : text
}

function canonicalText(octets: string): string {
  let text = ''
  for (let at = 0; at < octets.length; at++) {
    const char = octets.charAt(at)
    if (char === '%') {
      const hex = octets.slice(at + 1, at + 3)
      if (!HEX_PAIR.test(hex)) {
        text += '%25'
        continue
      }
      const plain = String.fromCharCode(Number.parseInt(hex, 16))
      text += /[\w\-.~]/.test(plain) ? plain : `%${hex.toUpperCase()}`
      at += 2
    } else text += CANONICAL_TEXT.test(char) ? char : percentEncode(char)
  }
  return text
}

const percentEncode = (char: string): string => {
  const octets = char > '\xff' ? Buffer.from(char).toString('latin1') : char
  let text = ''
  for (let at = 0; at < octets.length; at++)
    text += `%${octets.charCodeAt(at).toString(16).toUpperCase().padStart(2, '0')}`
  return text
}

/** Returns the text as Google's parser normalises it: hex digits in upper case, octets beyond ASCII encoded. */
export const googleText = (octets: string): string =>
  octets.replace(/%[0-9a-f]{2}|[^\0-\x7f]/gi, (found) =>
    found.startsWith('%') ? found.toUpperCase() : percentEncode(found),
  )
