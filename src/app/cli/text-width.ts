/** Counts the terminal columns of a text: 2 for wide East Asian characters and emoji, 0 for combining marks. */
export function textWidth(text: string): number {
  let width = 0
  for (const character of text) width += characterWidth(character)
  return width
}

const COMBINING_MARK = /^[\p{Mn}\p{Me}]$/u
const EMOJI = /^\p{Emoji_Presentation}$/u
/** East Asian Width W and F (UAX 11), as ranges of code points. */
const WIDE_RANGES: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x17000, 0x18d8f],
  [0x1b000, 0x1b2ff],
  [0x20000, 0x3fffd],
]

function characterWidth(character: string): 0 | 1 | 2 {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x300) return 1
  if (COMBINING_MARK.test(character)) return 0
  return EMOJI.test(character) || WIDE_RANGES.some(([from, to]) => code >= from && code <= to) ? 2 : 1
}

/** Makes `text` exactly `columns` wide: cuts it with an ellipsis, or pads it with spaces on the `left` or right. */
export function fitToWidth(text: string, columns: number, left = false): string {
  const width = textWidth(text)
  if (width > columns) return cutToWidth(text, columns)
  const space = ' '.repeat(columns - width)
  return left ? space + text : text + space
}

/** Cuts `text` to at most `columns`, with an ellipsis; a wide character is never halved. */
export function cutToWidth(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text
  let prefix = ''
  let width = 0
  for (const character of text) {
    const next = width + characterWidth(character)
    if (next > columns - 1) break
    prefix += character
    width = next
  }
  return columns < 1 ? '' : `${prefix}…${' '.repeat(columns - 1 - width)}`
}

/**
 * Cuts `text` in the middle to at most `columns`, because paths differ at their end: the tail begins at a `/` or `-` where
 * one is near.
 */
export function cutMiddle(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text
  if (columns < MIN_MIDDLE_COLUMNS) return cutToWidth(text, columns)
  const characters = [...text]
  let tail = ''
  let boundary = ''
  for (const character of characters.toReversed()) {
    if (textWidth(character + tail) > columns / 2) break
    tail = character + tail
    if (character === '/' || character === '-') boundary = tail
  }
  const end = textWidth(boundary) >= columns / 4 ? boundary : tail
  return `${cutToWidth(text, columns - textWidth(end)).trimEnd()}${end}`
}
/** Fewer columns leave no sensible head and tail. */
const MIN_MIDDLE_COLUMNS = 8

/** A space between words, but not between a number and its unit. */
const WORD_SPACE = / (?!(?:[KMGTP]?B|%|[smhd])(?![A-Za-z]))/

/** Splits text into lines of at most `columns`, at spaces; only a word that is longer than a line is broken. */
export function wrapWords(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(WORD_SPACE).flatMap((word) => splitWord(word, columns))) {
    const longer = line === '' ? word : `${line} ${word}`
    if (textWidth(longer) <= columns) line = longer
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line]
}

function splitWord(word: string, columns: number): string[] {
  const parts: string[] = []
  let part = ''
  for (const character of word) {
    if (part !== '' && textWidth(part + character) > columns) {
      parts.push(part)
      part = ''
    }
    part += character
  }
  return [...parts, part]
}

/**
 * Wraps text for a terminal: the lines after the first are indented, and the first has that much space beside it. In a
 * pipe (no columns) the text stays one line.
 */
export const wrapIndented = (text: string, columns: number | undefined, indent = 0): string =>
  columns === undefined ? text : wrapWords(text, Math.max(1, columns - indent)).join(`\n${' '.repeat(indent)}`)
