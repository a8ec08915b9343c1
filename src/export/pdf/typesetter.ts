import { readFileSync } from 'node:fs'
import { create, type Font } from 'fontkit'
import PDFDocument from 'pdfkit'

export type Weight = 'regular' | 'bold'
export interface Style {
  readonly size: number
  readonly weight?: Weight
  readonly colour?: string
}

/** Text in the fonts there are: measured, broken into lines, drawn. Lengths are points. */
export interface Typesetter {
  readonly doc: PDFKit.PDFDocument
  width(text: string, style: Style): number
  /** Lines that fit, at most so many; what does not fit ends in an ellipsis. */
  lines(text: string, width: number, most: number, style: Style): string[]
  /** One line, its upper left corner at `x`, `y`. */
  draw(text: string, x: number, y: number, style: Style): void
}

/** Files. */
export interface Fonts {
  readonly regular: string
  readonly bold: string
  /** For what these two lack; absent where the operator named none. */
  readonly fallback?: string | undefined
}

export const INK = '#1f2328'
/** Shown for a character that no font has, and for one that would do something rather than be seen. */
const MISSING = '\u25a1'
const HIDDEN = '\ufffd'
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
const BETWEEN = /[\s\p{M}]/u

/** Throws where a font cannot be read. */
export function createTypesetter(fonts: Fonts, info: Record<string, string | Date>): Typesetter {
  const doc = new PDFDocument({ size: 'A4', margin: 0, bufferPages: true, autoFirstPage: false, info, lang: 'en' })
  const faces = new Map(
    [openFace('regular', fonts.regular), openFace('bold', fonts.bold)].map((face) => [face.name, face]),
  )
  const more = fonts.fallback === undefined ? undefined : openFace('more', fonts.fallback)
  for (const { name, file, member } of [...faces.values(), ...(more ? [more] : [])])
    doc.registerFont(name, file, member)

  const own = (weight: Weight | undefined): Face => faces.get(weight ?? 'regular') ?? fail()
  /** The face that has the character, where one has. */
  const faceOf = (character: string, weight: Weight | undefined): Face | undefined =>
    [own(weight), more].find((face) => face?.has(character))
  const shown = (text: string, weight: Weight | undefined): string => {
    let kept = ''
    for (const character of text.replace(CONTROL, HIDDEN)) {
      if (faceOf(character, weight)) kept += character
      // A mark changes the look of what it stands on, and that is there.
      else if (!/\p{M}/u.test(character)) kept += MISSING
    }
    return kept
  }
  const measured = (text: string, { size, weight }: Style): number => {
    let width = 0
    for (const character of text) width += (faceOf(character, weight) ?? own(weight)).width(character)
    return width * size
  }

  return {
    doc,
    width: (text, style) => measured(shown(text, style.weight), style),
    lines: (text, width, most, style) =>
      breakLines(shown(text, style.weight), width, most, (part) => measured(part, style)),
    draw(text, x, y, { size, weight, colour = INK }) {
      let at = x
      for (const { name, text: run } of splitRuns(shown(text, weight), (one) => faceOf(one, weight) ?? own(weight))) {
        doc.font(name).fontSize(size).fillColor(colour)
        // On one line, whatever the font's own height is.
        doc.text(run, at, y + size, { lineBreak: false, baseline: 'alphabetic' })
        at += doc.widthOfString(run)
      }
    },
  }
}

interface Face {
  readonly name: string
  readonly file: string
  /** Of a file that holds several fonts. */
  readonly member: string | undefined
  has(character: string): boolean
  /** At a size of 1. */
  width(character: string): number
}

function openFace(name: string, file: string): Face {
  const opened = create(readFileSync(file))
  const font: Font | undefined = 'fonts' in opened ? opened.fonts[0] : opened
  if (!font) fail()
  const widths = new Map<string, number | undefined>()
  const widthOf = (character: string): number | undefined => {
    if (widths.has(character)) return widths.get(character)
    const code = character.codePointAt(0) ?? 0
    const width = font.hasGlyphForCodePoint(code)
      ? font.glyphForCodePoint(code).advanceWidth / font.unitsPerEm
      : undefined
    widths.set(character, width)
    return width
  }
  return {
    name,
    file,
    member: 'fonts' in opened ? font.postscriptName : undefined,
    has: (character) => widthOf(character) !== undefined,
    width: (character) => widthOf(character) ?? 0,
  }
}

function fail(): never {
  throw new Error('There is no font.')
}

/** Text cut where the font or the direction changes; words that run to the left stand in that order. */
function splitRuns(text: string, faceOf: (character: string) => Face): { name: string; text: string }[] {
  const runs: { name: string; text: string; turned: boolean }[] = []
  for (const character of text) {
    const { name } = faceOf(character)
    const last = runs.at(-1)
    const turned = RIGHT_TO_LEFT.test(character) || (last?.turned === true && BETWEEN.test(character))
    if (last && last.name === name && last.turned === turned) last.text += character
    else runs.push({ name, text: character, turned })
  }
  // Its font sets a word's letters from the right; the words are set so here.
  return runs.flatMap(({ name, text, turned }) =>
    turned
      ? text
          .split(/(\s+)/)
          .toReversed()
          .map((word) => ({ name, text: word }))
      : { name, text },
  )
}

/** Behind these a line may end; elsewhere only where a word is longer than a line. */
const BREAK_AFTER = /(?<=[\s/\-_,;:?&=+|])/u

function breakLines(text: string, width: number, most: number, measure: (text: string) => number): string[] {
  const lines: string[] = []
  let line = ''
  const rest = text.split(BREAK_AFTER)
  while (rest.length > 0) {
    const word = rest.shift() ?? ''
    if (measure((line + word).trimEnd()) <= width) {
      line += word
      continue
    }
    if (lines.length === most - 1) return [...lines, truncateLine([line, word, ...rest].join(''), width, measure)]
    if (line !== '') {
      lines.push(line.trimEnd())
      line = ''
      rest.unshift(word)
      continue
    }
    const [head, tail] = splitWord(word, width, measure)
    lines.push(head)
    rest.unshift(tail)
  }
  return line === '' && lines.length > 0 ? lines : [...lines, line.trimEnd()]
}

/** As much of a word as fits, at least one character of it. */
function splitWord(word: string, width: number, measure: (text: string) => number): [string, string] {
  let used = 0
  let at = 0
  for (const character of word) {
    used += measure(character)
    if (used > width && at > 0) break
    at += character.length
  }
  return [word.slice(0, at), word.slice(at)]
}

function truncateLine(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width) return text
  const [head] = splitWord(text, Math.max(0, width - measure('\u2026')), measure)
  return `${head.trimEnd()}\u2026`
}
