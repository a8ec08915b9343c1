import type { Sheet } from '../sheet.js'
import { drawChart } from './chart.js'
import { drawFlow } from './flow.js'
import { drawGrid } from './grid.js'
import { CONTENT_WIDTHS, createPage, drawFooters, GREY, type Page } from './page.js'
import { comfortableWidth, drawFigures, drawTable } from './table.js'
import { createTypesetter, type Fonts } from './typesetter.js'

/** The columns of a grid whose shares are still written in portrait. */
const MAX_PORTRAIT_PERIODS = 14

/** Draws a sheet as a PDF: heading, figures, charts, tables and page numbers. Throws if a font cannot be read. */
export async function drawSheet(sheet: Sheet, fonts: Fonts): Promise<Buffer> {
  const type = createTypesetter(fonts, {
    Title: `${sheet.title}: ${sheet.subtitle}`,
    Creator: 'readership',
    Producer: 'readership',
    CreationDate: sheet.created,
  })
  const parts: Buffer[] = []
  type.doc.on('data', (part: Buffer) => parts.push(part))
  const ended = new Promise<void>((resolve, reject) => type.doc.on('end', resolve).on('error', reject))

  const tables = sheet.tables.filter(({ figures }) => !figures)
  const wide =
    sheet.flows.length > 0 ||
    sheet.grids.some(({ columns }) => columns.length > MAX_PORTRAIT_PERIODS) ||
    tables.some((table) => comfortableWidth(type, table) > CONTENT_WIDTHS.portrait)
  const page = createPage(type, wide ? 'landscape' : 'portrait')
  drawHeading(page, sheet)
  for (const table of sheet.tables) if (table.figures) drawFigures(page, table)
  for (const chart of sheet.charts) drawChart(page, chart)
  for (const flow of sheet.flows) drawFlow(page, flow)
  for (const grid of sheet.grids) drawGrid(page, grid)
  for (const table of tables) drawTable(page, table)
  drawFooters(type, sheet)
  type.doc.end()
  await ended
  return Buffer.concat(parts)
}

function drawHeading(page: Page, { title, subtitle, facts, notes }: Sheet): void {
  const { type } = page
  for (const line of type.lines(title, page.width, 2, { size: 18, weight: 'bold' })) {
    type.draw(line, page.left, page.y, { size: 18, weight: 'bold' })
    page.y += 23
  }
  for (const line of type.lines(subtitle, page.width, 1, { size: 12 }))
    type.draw(line, page.left, page.y, { size: 12, colour: GREY })
  page.y += 24
  const names = Math.max(0, ...facts.map(([name]) => type.width(name, { size: 8.5 }))) + 14
  for (const [name, text] of facts) {
    type.draw(name, page.left, page.y, { size: 8.5, colour: GREY })
    for (const line of type.lines(text, page.width - names, 6, { size: 8.5 })) {
      type.draw(line, page.left + names, page.y, { size: 8.5 })
      page.y += 12
    }
  }
  page.y += 6
  for (const note of notes)
    for (const [i, line] of type.lines(note, page.width - 10, 3, { size: 7.5 }).entries()) {
      if (i === 0) type.draw('!', page.left, page.y, { size: 7.5, weight: 'bold', colour: '#9a6700' })
      type.draw(line, page.left + 10, page.y, { size: 7.5, colour: GREY })
      page.y += 10.5
    }
  page.y += 12
}
