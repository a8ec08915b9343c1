/**
 * What strangers wrote (user agents, paths, referrers) as it may be shown in a terminal: C0 and C1 controls (0x9B is an
 * escape sequence's start in one byte), line separators, marks that turn or hide text, and half characters become
 * visible. Anything else is left as it is.
 */
export const escapeText = (text: string): string =>
  text.replace(UNSAFE_CHARACTERS, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
  })

/**
 * Cc: controls. Cf: format characters, which are the bidirectional marks and isolates, zero-width joiners, the soft
 * hyphen, tags. Zl, Zp: separators. Cs: half of a surrogate pair. U+2065 is no character yet: a terminal shows
 * nothing where it stands, as of those on either side of it.
 */
const UNSAFE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u2065]/gu

/** JSON that is as safe to show: the same characters as JSON's own escapes, so that the value is unchanged. */
export const escapeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(UNSAFE_CHARACTERS, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
          .join(''),
  )
