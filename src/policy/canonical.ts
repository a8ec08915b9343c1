import type { RobotsMode } from './robots-lines.js'

/** Of a path, this many characters of its canonical form are compared; more than crawlers and browsers follow. */
export const MAX_PATH_CHARS = 2048

/** A rule's path in the form in which it is compared: literal parts with `*` between them. */
export interface Pattern {
  /** At least one; a single one has no `*`. No part but the first and the last is empty. */
  parts: readonly string[]
  /** Ended by `$`: the whole path must be used up. */
  anchored: boolean
  /** Its weight against other patterns: the octets of its canonical form as written, runs of `*` included. */
  octets: number
}

export interface CanonicalPath {
  text: string
  /** Longer than is compared: what is anchored to its end matches nothing. */
  cut: boolean
}

const CANONICAL_TEXT = /^[\w\-.~/?=&]*$/
const HEX_PAIR = /^[0-9a-f]{2}$/i

/**
 * A request's path and query as compared. RFC 9309 2.2.2: percent-encoded unreserved characters are decoded, all else
 * outside of them is encoded, in one spelling. What structures a URL (`/ ? = &`) stays apart from its encoded form.
 * Google compares what it is given. One character of `target` is one octet, as Node gives a request line; characters
 * above U+00FF count as their UTF-8.
 */
export function canonicalPath(target: string, mode: RobotsMode): CanonicalPath {
  const head = (target.startsWith('/') ? target : `/${target}`).slice(0, MAX_PATH_CHARS)
  const text = mode === 'google' || CANONICAL_TEXT.test(head) ? head : canonicalText(head)
  return { text: text.slice(0, MAX_PATH_CHARS), cut: target.length > head.length || text.length > MAX_PATH_CHARS }
}

/**
 * A rule's path as compared; none for an empty one, which matches nothing. A pattern whose query holds `/` or `?`, plain or
 * encoded, is compared in both spellings (RFC 9309 2.2.2, second row of its table): encoding them in paths too would
 * take them from `*`, which must find the `/` of `/*` + `/x` wherever it is.
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
    // `*$` is `*`: what follows is used up.
    anchored: ended && (parts.length === 1 || parts.at(-1) !== ''),
    octets: text.length,
  }
}

/** `*` stays what it is, and `$` at the end; before, it is a character like others. */
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

/** Only hex digits in upper case and octets beyond ASCII encoded (reference/agents.md 3.2). */
export const googleText = (octets: string): string =>
  octets.replace(/%[0-9a-f]{2}|[^\0-\x7f]/gi, (found) =>
    found.startsWith('%') ? found.toUpperCase() : percentEncode(found),
  )
