import type { LayoutRow, TableLayout } from './layout.js'

/** Text that a spreadsheet computes as a formula, and the apostrophe that prevents it. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20']/
/** Text that needs quotes: a comma, a quote, a line break, and outer spaces, which some readers trim. */
const QUOTED = /[",\r\n\t]|^\s|\s$/

/**
 * Formats one cell (RFC 4180). Absent values are empty, an empty text is `""`, numbers stay as they are, negative ones
 * too. Text that a spreadsheet would compute gets an apostrophe before it and quotes around it. So does text that
 * begins with an apostrophe, so that removing one always restores the value.
 */
export function formatCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = cellText(value)
  if (FORMULA.test(text)) return quoteCell(`'${text}`)
  return text === '' || QUOTED.test(text) ? quoteCell(text) : text
}

const quoteCell = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** Shows a NUL as U+FFFD, because it ends the text in many CSV readers. */
const cellText = (value: unknown): string => valueText(value).replaceAll('\0', '\ufffd')

const valueText = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString()
  const plain = Array.isArray(value) && value.every((one) => typeof one !== 'object')
  return plain ? value.join('; ') : JSON.stringify(value)
}

/**
 * Returns the header and a line formatter. One table has its own columns; several share all columns, and each line
 * names its table.
 */
export function createCsvWriter(tables: readonly TableLayout[]): { header: string; line(row: LayoutRow): string } {
  const [only] = tables
  const columnsOf = (table: TableLayout) => [...table.inherited, ...table.columns].map((column) => column.name)
  if (tables.length === 1 && only)
    return { header: formatLine(columnsOf(only)), line: ({ cells }) => formatLine(cells) }
  const names = [...new Set(tables.flatMap(columnsOf))]
  const places = new Map(tables.map((table) => [table.name, columnsOf(table).map((name) => names.indexOf(name) + 1)]))
  return {
    header: formatLine(['table', ...names]),
    line({ table, cells }) {
      const line: unknown[] = Array.from({ length: names.length + 1 })
      line[0] = table.name
      places.get(table.name)?.forEach((place, i) => {
        line[place] = cells[i]
      })
      return formatLine(line)
    },
  }
}

/** Formats a line; a single empty cell becomes `""`, because an empty line is not a row. */
export const formatLine = (cells: readonly unknown[]): string => `${cells.map(formatCell).join(',') || '""'}\r\n`
