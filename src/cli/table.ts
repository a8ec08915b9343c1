import { escapeText } from './escape.js'
import { style, type Terminal } from './terminal.js'
import { cutToWidth, fitToWidth, textWidth } from './text-width.js'

export interface Column {
  title: string
  /** Numbers stand to the right. */
  right?: true
}

/** The rows under their titles, each cell escaped, no line wider than the terminal: the last column gives way. */
export function formatTable(
  terminal: Pick<Terminal, 'colour' | 'columns'>,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
) {
  const cells = rows.map((row) => row.map(escapeText))
  const widths = columns.map((column, i) =>
    Math.max(textWidth(column.title), ...cells.map((row) => textWidth(row[i] ?? ''))),
  )
  const last = columns.length - 1
  const line = (row: readonly string[]) => {
    const text = columns
      .map((column, i) =>
        i === last && !column.right ? (row[i] ?? '') : fitToWidth(row[i] ?? '', widths[i] ?? 0, column.right),
      )
      .join('  ')
      .trimEnd()
    return terminal.columns === undefined ? text : cutToWidth(text, terminal.columns)
  }
  const head = style(terminal, 'dim', line(columns.map((column) => column.title)))
  return `${[head, ...cells.map(line)].join('\n')}\n`
}

const SPARKLINE_CHARACTERS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/** One character a value, its height the share of the largest; at most `columns`, neighbours added up to fit. */
export function sparkline(values: readonly number[], columns = 60): string {
  const size = Math.max(1, Math.ceil(values.length / columns))
  const sums = Array.from({ length: Math.ceil(values.length / size) }, (_, i) =>
    values.slice(i * size, (i + 1) * size).reduce((sum, value) => sum + value, 0),
  )
  const most = Math.max(...sums, 0)
  return sums
    .map(
      (value) =>
        SPARKLINE_CHARACTERS[
          most === 0
            ? 0
            : Math.min(
                SPARKLINE_CHARACTERS.length - 1,
                Math.floor((value / most) * (SPARKLINE_CHARACTERS.length - 1) + 0.5),
              )
        ],
    )
    .join('')
}
