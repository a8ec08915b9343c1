import { formatNumber } from '../../analytics/export/format.js'
import { shownPath } from '../../base/shown-path.js'
import { type Html, html, join } from './markup.js'

/** Rows of a list; agents are all listed. How many more there are is only said of lists that the report has in full. */
export const ROWS = 12

export interface Column<R> {
  title: string
  value: (row: R) => string | Html
  isNumber?: boolean
}

/** A table of the first rows; `bars` is the number that the bar in the first column shows, in the colour of `kind`. */
export function table<R>(
  title: string,
  rows: readonly R[],
  columns: readonly Column<R>[],
  bars: (row: R) => number,
  { limit = ROWS, kind = 'agents' }: { limit?: number; kind?: 'agents' | 'people' | undefined } = {},
): Html {
  const max = Math.max(...rows.map(bars), 1)
  const cell = (row: R, { value, isNumber }: Column<R>, i: number) => {
    const bar = i === 0 ? html` style="--share:${((bars(row) / max) * 100).toFixed(1)}%"` : ''
    return html`<td class="${i === 0 ? 'bar' : isNumber ? 'number' : ''}"${bar}>${value(row)}</td>`
  }
  const body = rows
    .slice(0, limit)
    .map((row) => html`<tr>${join(columns.map((column, i) => cell(row, column, i)))}</tr>`)
  const heads = columns.map(({ title, isNumber }) => html`<th class="${isNumber ? 'number' : ''}">${title}</th>`)
  const rest = rows.length - limit
  return html`<section class="${kind}"><h2>${title}</h2><table><thead><tr>${join(heads)}</tr></thead><tbody>${join(body)}</tbody></table>${
    rest > 0 ? html`<p class="muted">and ${formatNumber(rest)} more</p>` : ''
  }</section>`
}

export const PATH = {
  title: 'Path',
  value: ({ pathname }: { pathname: string }) => html`<code>${shownPath(pathname)}</code>`,
}
