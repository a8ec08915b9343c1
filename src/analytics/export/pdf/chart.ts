import type { Chart } from '../sheet.js'
import { GREY, type Page, RULE } from './page.js'
import type { Style } from './typesetter.js'

const COLOURS = ['#0969da', '#bc4c00', '#1a7f37', '#8250df', '#bf3989']
const BEFORE = '#8c959f'
const HEIGHT = 150
const SMALL: Style = { size: 7, colour: GREY }
/** Lines with more points are drawn without dots. */
const MAX_DOTS = 40

/** Draws lines over the buckets of a window, above an axis that begins at 0. */
export function drawChart(page: Page, chart: Chart): void {
  const { type } = page
  const { doc } = type
  if (page.remaining() < HEIGHT + 60) page.addPage()
  type.draw(chart.title, page.left, page.y, { size: 11, weight: 'bold' })
  drawLegend(page, chart)
  page.y += 22

  const margin = Math.max(...chart.axis.map(({ text }) => type.width(text, SMALL))) + 6
  const left = page.left + margin
  const width = page.width - margin
  const top = page.y
  const most = chart.axis.at(-1)?.value || 1
  const buckets = chart.labels.length
  const x = (i: number) => left + (buckets <= 1 ? width / 2 : 6 + (i * (width - 12)) / (buckets - 1))
  const y = (value: number) => top + HEIGHT - (value / most) * HEIGHT

  for (const { value, text } of chart.axis) {
    doc
      .moveTo(left, y(value))
      .lineTo(left + width, y(value))
      .lineWidth(value === 0 ? 0.8 : 0.3)
      .strokeColor(value === 0 ? GREY : RULE)
      .stroke()
    type.draw(text, left - 6 - type.width(text, SMALL), y(value) - 4.5, SMALL)
  }
  for (const series of chart.series.toSorted((a, b) => Number(b.before ?? false) - Number(a.before ?? false))) {
    const colour = seriesColour(chart, series)
    const points = series.values.flatMap((value, i) => (value === undefined ? [] : [{ i, value }]))
    doc
      .lineWidth(series.before ? 0.9 : 1.4)
      .strokeColor(colour)
      .lineJoin('round')
      .lineCap('round')
    if (series.before) doc.dash(2, { space: 2.5 })
    points.forEach(({ i, value }, n) => {
      // A bucket without a value leaves a gap.
      if (n > 0 && points[n - 1]?.i === i - 1) doc.lineTo(x(i), y(value))
      else doc.moveTo(x(i), y(value))
    })
    if (points.length > 0) doc.stroke()
    doc.undash()
    for (const { i, value } of series.before || points.length > MAX_DOTS ? [] : points)
      doc.circle(x(i), y(value), 1.6).fill(colour)
  }
  drawLabels(page, chart, x, top + HEIGHT)
  page.y = top + HEIGHT + 32
}

function drawLegend({ type, left, width, y }: Page, chart: Chart): void {
  if (chart.series.length < 2) return
  let right = left + width
  for (const series of chart.series.toReversed()) {
    const [name = ''] = type.lines(series.name, 130, 1, SMALL)
    right -= type.width(name, SMALL)
    type.draw(name, right, y + 3, SMALL)
    type.doc.lineWidth(series.before ? 0.9 : 1.4).strokeColor(seriesColour(chart, series))
    if (series.before) type.doc.dash(2, { space: 2.5 })
    type.doc
      .moveTo(right - 16, y + 7.5)
      .lineTo(right - 4, y + 7.5)
      .stroke()
      .undash()
    right -= 28
  }
}

const seriesColour = ({ series }: Chart, line: Chart['series'][number]): string =>
  line.before ? BEFORE : (COLOURS[series.filter(({ before }) => !before).indexOf(line) % COLOURS.length] ?? BEFORE)

/** Draws as many labels as fit side by side. */
function drawLabels({ type, left, width }: Page, { labels }: Chart, x: (i: number) => number, bottom: number): void {
  const widest = Math.max(0, ...labels.map((label) => type.width(label, SMALL))) + 12
  const every = Math.max(1, Math.ceil((labels.length * widest) / width))
  let free = left
  for (let i = 0; i < labels.length; i += every) {
    const label = labels[i] ?? ''
    const size = type.width(label, SMALL)
    type.doc
      .moveTo(x(i), bottom)
      .lineTo(x(i), bottom + 3)
      .lineWidth(0.5)
      .strokeColor(GREY)
      .stroke()
    const at = Math.min(Math.max(left, x(i) - size / 2), left + width - size)
    if (at < free) continue
    type.draw(label, at, bottom + 5, SMALL)
    free = at + size + 6
  }
}
