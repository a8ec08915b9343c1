import type { Sheet } from '../sheet.js'
import type { Typesetter } from './typesetter.js'

type Orientation = 'portrait' | 'landscape'

const MARGIN = 40
const FOOTER_HEIGHT = 40
export const GREY = '#59636e'
export const RULE = '#d1d9e0'
const LINK = '#0969da'
/** The width of A4 between the margins. */
export const CONTENT_WIDTHS: Record<Orientation, number> = {
  portrait: 595.28 - 2 * MARGIN,
  landscape: 841.89 - 2 * MARGIN,
}

export type Page = ReturnType<typeof createPage>

/** Begins the first page and keeps the current position on the paper. Lengths are points. */
export function createPage(type: Typesetter, layout: Orientation) {
  const page = {
    type,
    left: MARGIN,
    width: CONTENT_WIDTHS[layout],
    /** The vertical position of the next element. */
    y: MARGIN,
    /** Returns the height that is left on this page. */
    remaining: (): number => type.doc.page.height - FOOTER_HEIGHT - page.y,
    /** Begins a new page. */
    addPage(): void {
      type.doc.addPage({ size: 'A4', layout, margin: 0 })
      page.y = MARGIN
    },
  }
  page.addPage()
  return page
}

/** Draws the attribution, the title and the page number on every page. */
export function drawFooters({ doc, draw, width, lines }: Typesetter, { title, subtitle, attribution }: Sheet): void {
  const style = { size: 7, colour: GREY }
  const { start, count } = doc.bufferedPageRange()
  for (let i = 0; i < count; i++) {
    doc.switchToPage(start + i)
    const y = doc.page.height - FOOTER_HEIGHT + 14
    const right = doc.page.width - MARGIN
    const number = `${i + 1} / ${count}`
    const about = width(attribution.text, style)
    draw(attribution.text, MARGIN, y, { ...style, colour: LINK })
    doc.link(MARGIN, y, about, 9, attribution.link)
    draw(number, right - width(number, style), y, style)
    if (i === 0) continue
    const [name = ''] = lines(`${title} \u00b7 ${subtitle}`, right - MARGIN - 2 * about - 24, 1, style)
    draw(name, (doc.page.width - width(name, style)) / 2, y, style)
  }
}
