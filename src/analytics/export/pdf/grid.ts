import type { Grid } from '../sheet.js'
import { GREY, type Page } from './page.js'
import type { Style } from './typesetter.js'

const HEAD: Style = { size: 7, weight: 'bold', colour: GREY }
const TEXT: Style = { size: 7 }
const SHADE = '#0969da'
const ROW_HEIGHT = 14
const MAX_CELL_WIDTH = 40
const GAP = 8
/** A share of this or more is written in white. */
const DARK_SHARE = 0.55

/** Draws rows of cells that are darker the larger their share is. The share is written where the cell has room for it. */
export function drawGrid(page: Page, { title, remark, columns, rows }: Grid): void {
  const { type, left } = page
  const { doc } = type
  if (page.remaining() < 40 + 4 * ROW_HEIGHT) page.addPage()
  type.draw(title, left, page.y, { size: 11, weight: 'bold' })
  page.y += 18
  if (remark !== undefined) {
    type.draw(remark, left, page.y, { size: 7.5, colour: GREY })
    page.y += 14
  }
  if (rows.length === 0) return
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map((text) => type.width(text, TEXT)))
  const names = widest(rows.map(({ name }) => name)) + GAP
  const counts = Math.max(type.width('People', HEAD), widest(rows.map(({ count }) => count))) + GAP
  const start = left + names + counts
  const cell = Math.min(MAX_CELL_WIDTH, (left + page.width - start) / Math.max(1, columns.length))
  // Whole percents take less room.
  const written = (shown: { share: number; text: string }) =>
    cell >= widest(['100.0 %']) ? shown.text : cell >= widest(['100']) ? String(Math.round(shown.share * 100)) : ''
  const drawHead = () => {
    type.draw('People', start - GAP - type.width('People', HEAD), page.y, HEAD)
    let free = 0
    for (const [i, column] of columns.entries()) {
      const x = start + i * cell + (cell - type.width(column, HEAD)) / 2
      if (x < free) continue
      type.draw(column, x, page.y, HEAD)
      free = x + type.width(column, HEAD) + 2
    }
    page.y += 13
  }
  drawHead()
  for (const { name, count, cells } of rows) {
    if (page.remaining() < ROW_HEIGHT) {
      page.addPage()
      drawHead()
    }
    type.draw(name, left, page.y + 2, TEXT)
    type.draw(count, start - GAP - type.width(count, TEXT), page.y + 2, TEXT)
    for (const [i, shown] of cells.entries()) {
      if (shown === undefined) continue
      const x = start + i * cell
      doc
        .rect(x + 0.5, page.y + 0.5, cell - 1, ROW_HEIGHT - 1)
        .fillOpacity(0.05 + 0.95 * shown.share)
        .fill(SHADE)
        .fillOpacity(1)
      const text = written(shown)
      type.draw(text, x + (cell - type.width(text, TEXT)) / 2, page.y + 2, {
        ...TEXT,
        ...(shown.share >= DARK_SHARE ? { colour: '#ffffff' } : {}),
      })
    }
    page.y += ROW_HEIGHT
  }
  page.y += 20
}
