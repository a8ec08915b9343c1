import { formatNumber } from '../../analytics/export/format.js'
import { type Html, html, join } from './markup.js'
import type { LogReport } from './report.js'

const WIDTH = 1000
const HALF = 90
const AXIS = 18
const MAX_LABELS = 8

/** Draws people's pageviews above and agents' requests below one time axis, each on a scale of its own. */
export function drawSeries({ granularity, buckets }: LogReport['series']): Html {
  const maxPageviews = Math.max(1, ...buckets.map(({ pageviews }) => pageviews))
  const maxRequests = Math.max(1, ...buckets.map(({ requests }) => requests))
  const step = WIDTH / Math.max(1, buckets.length)
  const every = Math.max(1, Math.ceil(buckets.length / MAX_LABELS))
  const bars = buckets.map(({ t, pageviews, requests }, i) => {
    const [up, down] = [(pageviews / maxPageviews) * HALF, (requests / maxRequests) * HALF]
    const [x, width] = [(i * step).toFixed(2), Math.max(0.5, step * 0.8).toFixed(2)]
    const label = `${t}: ${formatNumber(pageviews)} pageviews, ${formatNumber(requests)} requests of agents`
    return html`<g><title>${label}</title>
<rect class="people" x="${x}" y="${(HALF - up).toFixed(2)}" width="${width}" height="${up.toFixed(2)}"/>
<rect class="agents" x="${x}" y="${String(HALF + AXIS)}" width="${width}" height="${down.toFixed(2)}"/></g>`
  })
  const labels = buckets.flatMap(({ t }, i) =>
    i % every === 0 ? [html`<text x="${(i * step).toFixed(2)}" y="${String(HALF + AXIS - 5)}">${t}</text>`] : [],
  )
  const caption = `Per ${granularity}: pageviews of people above (up to ${formatNumber(maxPageviews)}), requests of agents below (up to ${formatNumber(maxRequests)})`
  return html`<svg viewBox="0 0 ${String(WIDTH)} ${String(2 * HALF + AXIS)}" role="img" aria-label="${caption}">${join(bars)}${join(labels)}</svg><figcaption>${caption}</figcaption>`
}
