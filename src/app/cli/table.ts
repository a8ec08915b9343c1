import { escapeText } from './escape.js'
import { style, type Terminal } from './terminal.js'
import { cutToWidth, fitToWidth, textWidth } from './text-width.js'

export interface Column {
  title: string
  /** Aligns the column to the right, for numbers. */
  right?: boolean
}

/** A column of numbers. */
export const right = (title: string): Column => ({ title, right: true })

/**
 * Formats rows under their column titles, with every cell escaped. No line is wider than the terminal: the last column
 * is cut.
 */
export function formatTable(
  terminal: Pick<Terminal, 'colour' | 'columns'>,
  titles: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
): string {
  const columns: Column[] = titles.map((title) => (typeof title === 'string' ? { title } : title))
  const cells = rows.map((row) => row.map(escapeText))
  const widths = columns.map((column, i) =>
    Math.max(textWidth(column.title), ...cells.map((row) => textWidth(row[i] ?? ''))),
  )
  const last = columns.length - 1
  const formatLine = (row: readonly string[]) => {
    const text = columns
      .map((column, i) =>
        i === last && !column.right ? (row[i] ?? '') : fitToWidth(row[i] ?? '', widths[i] ?? 0, column.right),
      )
      .join('  ')
      .trimEnd()
    return terminal.columns === undefined ? text : cutToWidth(text, terminal.columns)
  }
  const head = style(terminal, 'dim', formatLine(columns.map((column) => column.title)))
  return `${[head, ...cells.map(formatLine)].join('\n')}\n`
}

/** Prints what `formatTable` formats. */
export const printTable = (terminal: Terminal, ...table: [Parameters<typeof formatTable>[1], string[][]]): void =>
  terminal.out(formatTable(terminal, ...table))
