import type { Cell, Table } from '../sheet.js'
import { GREY, type Page, RULE } from './page.js'
import type { Style, Typesetter } from './typesetter.js'

const TEXT: Style = { size: 8 }
const HEAD: Style = { size: 7.5, weight: 'bold', colour: GREY }
const NOTE: Style = { size: 6.5, colour: GREY }
const GAP = 10
const LINE = 10.5
const NOTE_LINE = 8
const MAX_CELL_LINES = 3
/** A text column shrinks to the first and grows to the second. */
const MIN_TEXT_WIDTH = 46
const MAX_TEXT_WIDTH = 260
/** Enough for an instant, a hostname or an agent's name. */
const COMFORTABLE_TEXT_WIDTH = 84
/** Bounds the rows that are measured to find a column's width. */
const MEASURED_ROWS = 300

const cellText = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.text)
const cellNote = (cell: Cell): string => (typeof cell === 'string' ? '' : cell.note)

/** The width that a column would like to have, and the least that it accepts. */
interface ColumnWidth {
  readonly wish: number
  readonly least: number
  readonly text: boolean
}

const measureColumns = (type: Typesetter, { columns, rows }: Table): ColumnWidth[] =>
  columns.map(({ title, right }, i) => {
    const cells = rows.slice(0, MEASURED_ROWS).map((row) => row[i] ?? '')
    const content = Math.max(
      0,
      ...cells.map((cell) => Math.max(type.width(cellText(cell), TEXT), type.width(cellNote(cell), NOTE))),
    )
    const word = Math.max(...title.split(' ').map((part) => type.width(part, HEAD)))
    // Numbers are never truncated; a title may take two lines.
    if (right) return { wish: Math.max(content, word), least: Math.max(content, word), text: false }
    const wish = Math.min(MAX_TEXT_WIDTH, Math.max(content, word))
    return { wish, least: Math.min(wish, Math.max(MIN_TEXT_WIDTH, Math.min(word, MAX_TEXT_WIDTH))), text: true }
  })

/** Returns the width of a table whose short texts fit on one line. */
export const comfortableWidth = (type: Typesetter, table: Table): number =>
  measureColumns(type, table).reduce(
    (sum, { wish, least }) => sum + Math.max(least, Math.min(wish, COMFORTABLE_TEXT_WIDTH)) + GAP,
    -GAP,
  )

/** Draws a table over as many pages as it needs, its head on each. Columns that do not fit follow below. */
export function drawTable(page: Page, table: Table): void {
  if (table.columns.length === 0) return
  const { type } = page
  const wishes = measureColumns(type, table)
  let from = 0
  while (from < wishes.length) {
    // Each group of columns begins with the column that names the rows.
    const first = from === 0 ? [] : [0]
    const columns = [...first]
    let used = columns.reduce((sum, i) => sum + (wishes[i]?.least ?? 0) + GAP, -GAP)
    while (
      from < wishes.length &&
      (columns.length === first.length || used + GAP + (wishes[from]?.least ?? 0) <= page.width)
    ) {
      used += GAP + (wishes[from]?.least ?? 0)
      columns.push(from++)
    }
    const part = columns.map((i) => ({ i, ...(wishes[i] ?? { wish: 0, least: 0, text: false }) }))
    drawColumns(page, table, columns, distributeWidth(part, page.width), first.length > 0)
  }
}

/** Distributes the width: each column gets what it wants if there is enough, otherwise the widest shrink first. */
function distributeWidth(columns: readonly ColumnWidth[], width: number): number[] {
  const room = width - GAP * (columns.length - 1)
  const at = (cap: number) => columns.map(({ wish, least }) => Math.min(wish, Math.max(cap, least)))
  const sum = (widths: readonly number[]) => widths.reduce((all, one) => all + one, 0)
  const wished = sum(at(Infinity))
  if (wished > room) {
    let [low, high] = [0, MAX_TEXT_WIDTH]
    for (let i = 0; i < 20; i++) {
      const middle = (low + high) / 2
      if (sum(at(middle)) > room) high = middle
      else low = middle
    }
    return at(low).map((each) => Math.min(each, room))
  }
  // The rest widens text columns, so that numbers align at the edge; a small table stays small.
  const texts = columns.filter(({ text }) => text).length
  const more = Math.min(room - wished, wished) / Math.max(1, texts)
  return columns.map(({ wish, text }) => wish + (text ? more : 0))
}

function drawColumns(
  page: Page,
  table: Table,
  columns: readonly number[],
  widths: readonly number[],
  again: boolean,
): void {
  const { type } = page
  const titles = columns.map((i, n) => type.lines(table.columns[i]?.title ?? '', widths[n] ?? 0, 3, HEAD))
  const headHeight = Math.max(1, ...titles.map((lines) => lines.length)) * 9.5 + 5
  const across = widths.reduce((sum, width) => sum + width + GAP, -GAP)
  const at = (n: number) => page.left + widths.slice(0, n).reduce((sum, width) => sum + width + GAP, 0)
  const put = (text: string, n: number, y: number, style: Style) => {
    const right = table.columns[columns[n] ?? 0]?.right === true
    type.draw(text, right ? at(n) + (widths[n] ?? 0) - type.width(text, style) : at(n), y, style)
  }
  const rule = (colour: string, weight: number) =>
    type.doc
      .moveTo(page.left, page.y)
      .lineTo(page.left + across, page.y)
      .lineWidth(weight)
      .strokeColor(colour)
      .stroke()
  const head = () => {
    // Titles of one line are aligned at the bottom with those of several.
    for (const [n, lines] of titles.entries())
      for (const [i, line] of lines.entries()) put(line, n, page.y + headHeight - 5 - (lines.length - i) * 9.5, HEAD)
    page.y += headHeight
    rule(GREY, 0.6)
    page.y += 3
  }

  if (page.remaining() < 28 + headHeight + 2 * LINE) page.addPage()
  const title = again ? `${table.title}, continued` : table.title
  type.draw(title, page.left, page.y, { size: 11, weight: 'bold' })
  if (table.remark && !again)
    type.draw(table.remark, page.left + type.width(title, { size: 11, weight: 'bold' }) + 8, page.y + 3, {
      size: 7.5,
      colour: GREY,
    })
  page.y += 20
  head()
  for (const row of table.rows) {
    const cells = columns.map((i, n) => {
      const cell = row[i] ?? ''
      return { lines: type.lines(cellText(cell), (widths[n] ?? 0) + 0.5, MAX_CELL_LINES, TEXT), note: cellNote(cell) }
    })
    const height = Math.max(...cells.map(({ lines, note }) => lines.length * LINE + (note === '' ? 0 : NOTE_LINE))) + 4
    if (page.remaining() < height) {
      page.addPage()
      head()
    }
    for (const [n, { lines, note }] of cells.entries()) {
      for (const [i, line] of lines.entries()) put(line, n, page.y + i * LINE, TEXT)
      if (note !== '') put(note, n, page.y + lines.length * LINE, NOTE)
    }
    page.y += height - 1
    rule(RULE, 0.3)
    page.y += 2.5
  }
  if (table.rows.length === 0) {
    type.draw('No data in this window.', page.left, page.y + 2, { ...TEXT, colour: GREY })
    page.y += LINE + 6
  }
  page.y += 16
}

/** Draws one row as figures, each below its name. */
export function drawFigures(page: Page, { columns, rows }: Table): void {
  const { type } = page
  const [row = []] = rows
  const name: Style = { size: 7.5, colour: GREY }
  const figure: Style = { size: 14, weight: 'bold' }
  const per = Math.max(1, Math.min(columns.length, Math.floor(page.width / 100)))
  const width = page.width / per
  for (let from = 0; from < columns.length; from += per) {
    const cells = columns.slice(from, from + per).map(({ title }, i) => ({ title, cell: row[from + i] ?? '' }))
    const noted = cells.some(({ cell }) => cellNote(cell) !== '')
    if (page.remaining() < 44) page.addPage()
    for (const [i, { title, cell }] of cells.entries()) {
      const x = page.left + i * width
      const fits = (text: string, style: Style) => type.lines(text, width - 8, 1, style)[0] ?? ''
      const text = cellText(cell)
      const size = type.width(text, figure) > width - 8 ? { ...figure, size: 9 } : figure
      type.draw(fits(title, name), x, page.y, name)
      type.draw(fits(text, size), x, page.y + 11 + (14 - size.size), size)
      type.draw(fits(cellNote(cell), NOTE), x, page.y + 29, NOTE)
    }
    page.y += noted ? 46 : 38
  }
  page.y += 8
}
