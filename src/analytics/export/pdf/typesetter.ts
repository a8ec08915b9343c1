import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { create, type Font } from 'fontkit'
import PDFDocument from 'pdfkit'

type Weight = 'regular' | 'bold'
export interface Style {
  readonly size: number
  readonly weight?: Weight
  readonly colour?: string
}

/** Font files. One whose name ends in `.br` is compressed. */
export interface Fonts {
  readonly regular: string
  readonly bold: string
  /** For characters that the other two lack; set by `--pdf-font`. */
  readonly fallback?: string | undefined
}

const INK = '#1f2328'
/** Stand for a character that no font has, and for a control character. */
const MISSING = '\u25a1'
const HIDDEN = '\ufffd'
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
const BETWEEN = /[\s\p{M}]/u

export type Typesetter = ReturnType<typeof createTypesetter>

/** Measures, breaks and draws text in the available fonts. Lengths are points. Throws if a font cannot be read. */
export function createTypesetter(fonts: Fonts, info: Record<string, string | Date>) {
  const doc = new PDFDocument({ size: 'A4', margin: 0, bufferPages: true, autoFirstPage: false, info, lang: 'en' })
  const faces = new Map(
    [openFace('regular', fonts.regular), openFace('bold', fonts.bold)].map((face) => [face.name, face]),
  )
  const more = fonts.fallback === undefined ? undefined : openFace('more', fonts.fallback)
  for (const { name, bytes, member } of [...faces.values(), ...(more ? [more] : [])])
    doc.registerFont(name, bytes, member)

  const preferredFace = (weight: Weight | undefined): Face => faces.get(weight ?? 'regular') ?? fail()
  /** Returns the face that has the character, if any. */
  const faceOf = (character: string, weight: Weight | undefined): Face | undefined =>
    [preferredFace(weight), more].find((face) => face?.has(character))
  const shown = (text: string, weight: Weight | undefined): string => {
    let kept = ''
    for (const character of text.replace(CONTROL, HIDDEN)) {
      if (faceOf(character, weight)) kept += character
      // A combining mark that no font has is left out; its base character stays.
      else if (!/\p{M}/u.test(character)) kept += MISSING
    }
    return kept
  }
  const measured = (text: string, { size, weight }: Style): number => {
    let width = 0
    for (const character of text) width += (faceOf(character, weight) ?? preferredFace(weight)).width(character)
    return width * size
  }

  return {
    doc,
    width: (text: string, style: Style): number => measured(shown(text, style.weight), style),
    /** Breaks a text into at most `most` lines; the last ends in an ellipsis if the text does not fit. */
    lines: (text: string, width: number, most: number, style: Style): string[] =>
      breakLines(shown(text, style.weight), width, most, (part) => measured(part, style)),
    /** Draws one line with its upper left corner at `x`, `y`. */
    draw(text: string, x: number, y: number, { size, weight, colour = INK }: Style): void {
      let at = x
      for (const { name, text: run } of splitRuns(
        shown(text, weight),
        (one) => faceOf(one, weight) ?? preferredFace(weight),
      )) {
        doc.font(name).fontSize(size).fillColor(colour)
        // Runs of different fonts share a baseline.
        doc.text(run, at, y + size, { lineBreak: false, baseline: 'alphabetic' })
        at += doc.widthOfString(run)
      }
    },
  }
}

interface Face {
  readonly name: string
  readonly bytes: Buffer
  /** The font's name in a file that holds several. */
  readonly member: string | undefined
  has(character: string): boolean
  /** At font size 1. */
  width(character: string): number
}

function openFace(name: string, file: string): Face {
  const content = readFileSync(file)
  const bytes = file.endsWith('.br') ? brotliDecompressSync(content) : content
  const opened = create(bytes)
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
    bytes,
    member: 'fonts' in opened ? font.postscriptName : undefined,
    has: (character) => widthOf(character) !== undefined,
    width: (character) => widthOf(character) ?? 0,
  }
}

function fail(): never {
  throw new Error('The font file contains no font.')
}

/** Splits text where the font or the direction changes; right-to-left words are put in visual order. */
function splitRuns(text: string, faceOf: (character: string) => Face): { name: string; text: string }[] {
  const runs: { name: string; text: string; turned: boolean }[] = []
  for (const character of text) {
    const { name } = faceOf(character)
    const last = runs.at(-1)
    const turned = RIGHT_TO_LEFT.test(character) || (last?.turned === true && BETWEEN.test(character))
    if (last && last.name === name && last.turned === turned) last.text += character
    else runs.push({ name, text: character, turned })
  }
  // The font arranges the letters of a word from the right; the order of the words is reversed here.
  return runs.flatMap(({ name, text, turned }) =>
    turned
      ? text
          .split(/(\s+)/)
          .toReversed()
          .map((word) => ({ name, text: word }))
      : { name, text },
  )
}

/** A line may break after these characters; elsewhere only inside a word that is longer than a line. */
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

/** Returns as much of a word as fits, at least one character, and the rest. */
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
