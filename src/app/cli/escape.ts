import { shownPath } from '../../base/shown-path.js'

/**
 * Escapes text from outside (user agents, paths, referrers) for the terminal: C0 and C1 controls (0x9B alone starts an
 * escape sequence), line separators, characters that reverse or hide text, and lone surrogates become `\x..` or
 * `\u{..}`. Everything else stays unchanged.
 */
export const escapeText = (text: string): string =>
  text.replace(UNSAFE_CHARACTERS, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
  })

/**
 * Cc: controls. Cf: format characters, which are the bidirectional marks and isolates, zero-width joiners, the soft
 * hyphen, tags. Zl, Zp: separators. Cs: lone surrogates. U+2065 is unassigned, but terminals hide it like its
 * neighbours.
 */
const UNSAFE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u2065]/gu

/** A path for the terminal: escaped, and with its letters decoded. */
export const pathText = (path: string): string => shownPath(escapeText(path))

/** Formats JSON with the same characters as JSON escapes, so that the parsed value is unchanged. */
export const escapeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(UNSAFE_CHARACTERS, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
          .join(''),
  )
