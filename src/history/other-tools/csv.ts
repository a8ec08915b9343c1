/** The most characters of a row: beyond it a quote was not closed. */
const MAX_ROW_CHARS = 1_000_000

/** Reads rows of CSV (RFC 4180) from pieces of text: quoted cells, also with line breaks, and lines that end in LF or CRLF. */
export function createCsvReader(separator: string) {
  let rest = ''
  return {
    /** Returns the rows that are complete with this piece; `isLast` ends the last one. */
    push(piece: string, isLast = false): string[][] {
      const text = rest + piece
      const rows: string[][] = []
      let at = 0
      for (let row = readRow(text, at, separator, isLast); row; row = readRow(text, at, separator, isLast)) {
        rows.push(row.cells)
        at = row.end
      }
      rest = text.slice(at)
      if (rest.length > MAX_ROW_CHARS) throw new Error('a quoted field has no end')
      return rows
    },
  }
}

/** Reads one row; undefined if the text ends before it does. */
function readRow(
  text: string,
  start: number,
  separator: string,
  isLast: boolean,
): { cells: string[]; end: number } | undefined {
  if (start >= text.length) return undefined
  const cells: string[] = []
  for (let at = start; ; ) {
    let quoted = ''
    if (text[at] === '"') {
      const close = findClosingQuote(text, at + 1)
      if ((close < 0 || close + 1 === text.length) && !isLast) return undefined
      quoted = text.slice(at + 1, close < 0 ? text.length : close).replaceAll('""', '"')
      at = close < 0 ? text.length : close + 1
    }
    const newline = text.indexOf('\n', at)
    if (newline < 0 && !isLast) return undefined
    const lineEnd = newline < 0 ? text.length : newline
    const next = text.indexOf(separator, at)
    if (next >= 0 && next < lineEnd) {
      cells.push(quoted + text.slice(at, next))
      at = next + 1
      continue
    }
    cells.push(quoted + text.slice(at, lineEnd).replace(/\r$/, ''))
    return { cells, end: lineEnd + 1 }
  }
}

/** Returns the place of the quote that ends a cell, or -1; two quotes are one of its text. */
function findClosingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at
  return -1
}
