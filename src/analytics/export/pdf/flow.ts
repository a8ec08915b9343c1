import type { Flow } from '../sheet.js'
import { GREY, type Page } from './page.js'
import type { Style } from './typesetter.js'

const NAME: Style = { size: 6.5 }
const COUNT: Style = { size: 6.5, colour: GREY }
const PAGE_COLOUR = '#0969da'
const OTHER_COLOUR = '#8c959f'
const MAX_HEIGHT = 420
const MIN_HEIGHT = 260
const BAR_WIDTH = 7
/** Room for the label of a node with few sessions. */
const MIN_NODE_HEIGHT = 8.5
const NODE_GAP = 4

interface Box {
  readonly x: number
  readonly y: number
  readonly height: number
  /** The heights at which the next band leaves and arrives. */
  out: number
  in: number
}

/** Draws steps from left to right: a bar for each page, as high as its sessions, and bands to the pages that follow. */
export function drawFlow(page: Page, { title, nodes, links }: Flow): void {
  const { type, left } = page
  const { doc } = type
  if (page.remaining() < MIN_HEIGHT + 60) page.addPage()
  type.draw(title, left, page.y, { size: 11, weight: 'bold' })
  page.y += 20
  if (nodes.length === 0) {
    type.draw('No data in this window.', left, page.y, { size: 8, colour: GREY })
    page.y += 26
    return
  }
  const last = Math.max(...nodes.map(({ step }) => step))
  const steps = Array.from({ length: last }, (_, i) => nodes.filter(({ step }) => step === i + 1))
  const width = page.width / last
  const height = Math.min(MAX_HEIGHT, page.remaining() - 40)
  const top = page.y + 14
  const crowded = Math.max(...steps.map(({ length }) => length))
  const most = Math.max(...steps.map((column) => column.reduce((sum, { sessions }) => sum + sessions, 0)))
  const scale = Math.max(0, height - crowded * (MIN_NODE_HEIGHT + NODE_GAP)) / (most || 1)
  const boxes = new Map<string, Box>()
  for (const [i, column] of steps.entries()) {
    const x = left + i * width
    type.draw(`Step ${i + 1}`, x, page.y, { size: 7, weight: 'bold', colour: GREY })
    let y = top
    for (const { id, sessions } of column) {
      const high = Math.max(MIN_NODE_HEIGHT, sessions * scale)
      boxes.set(id, { x, y, height: high, out: y, in: y })
      y += high + NODE_GAP
    }
  }
  for (const { source, target, sessions } of links) {
    const [from, to] = [boxes.get(source), boxes.get(target)]
    if (!from || !to) continue
    const thick = Math.max(0.4, sessions * scale)
    const [x1, x2] = [from.x + BAR_WIDTH, to.x]
    const middle = (x1 + x2) / 2
    doc
      .moveTo(x1, from.out)
      .bezierCurveTo(middle, from.out, middle, to.in, x2, to.in)
      .lineTo(x2, to.in + thick)
      .bezierCurveTo(middle, to.in + thick, middle, from.out + thick, x1, from.out + thick)
      .fillOpacity(0.22)
      .fill(target.startsWith('exit:') ? OTHER_COLOUR : PAGE_COLOUR)
      .fillOpacity(1)
    from.out += thick
    to.in += thick
  }
  for (const { id, name, count, isPage } of nodes) {
    const box = boxes.get(id)
    if (!box) continue
    doc.rect(box.x, box.y, BAR_WIDTH, box.height).fill(isPage ? PAGE_COLOUR : OTHER_COLOUR)
    const room = width - BAR_WIDTH - 10
    const counted = type.width(count, COUNT)
    const [text = ''] = type.lines(name, room - counted - 4, 1, NAME)
    type.draw(text, box.x + BAR_WIDTH + 3, box.y, NAME)
    type.draw(count, box.x + BAR_WIDTH + 7 + type.width(text, NAME), box.y, COUNT)
  }
  page.y = Math.max(...[...boxes.values()].map(({ y, height: high }) => y + high)) + 24
}
