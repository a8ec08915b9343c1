import type { Sheet } from '../sheet.js'
import type { Typesetter } from './typesetter.js'

export type Orientation = 'portrait' | 'landscape'

/** Where on the paper the next thing goes: a page begins where one needs it. Lengths are points. */
export interface Page {
  readonly type: Typesetter
  readonly left: number
  readonly width: number
  /** Where the next thing goes. */
  y: number
  /** Room that is left on this page. */
  remaining(): number
  /** A new page. */
  addPage(): void
}

const MARGIN = 40
const FOOTER_HEIGHT = 40
export const GREY = '#59636e'
export const RULE = '#d1d9e0'
const LINK = '#0969da'
/** Of A4 between its margins. */
export const CONTENT_WIDTHS: Record<Orientation, number> = {
  portrait: 595.28 - 2 * MARGIN,
  landscape: 841.89 - 2 * MARGIN,
}

export function createPage(type: Typesetter, layout: Orientation): Page {
  const page: Page = {
    type,
    left: MARGIN,
    width: CONTENT_WIDTHS[layout],
    y: MARGIN,
    remaining: () => type.doc.page.height - FOOTER_HEIGHT - page.y,
    addPage() {
      type.doc.addPage({ size: 'A4', layout, margin: 0 })
      page.y = MARGIN
    },
  }
  page.addPage()
  return page
}

/** On every page: whose figures these are, and which page of how many. */
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
