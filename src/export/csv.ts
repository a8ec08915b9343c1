import type { LayoutRow, TableLayout } from './layout.js'

/** What makes a spreadsheet read a cell as a formula (contract 5), and the mark that keeps it from that, itself. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20']/
/** A comma, a quote or a line's end, and spaces at an end, which some readers cut off. */
const QUOTED = /[",\r\n\t]|^\s|\s$/

/**
 * One cell (RFC 4180). What is absent is empty, a text of no characters is `""`. Numbers stand as they are, a negative
 * one too. Text that a spreadsheet would take for a formula begins with an apostrophe, inside quotes; so does text that
 * begins with one, so that whoever takes one apostrophe away has the value.
 */
export function formatCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = cellText(value)
  if (FORMULA.test(text)) return quoteCell(`'${text}`)
  return text === '' || QUOTED.test(text) ? quoteCell(text) : text
}

const quoteCell = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** A NUL ends the text in many readers of CSV: it is shown to be missing. */
const cellText = (value: unknown): string => valueText(value).replaceAll('\0', '\ufffd')

const valueText = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString()
  const plain = Array.isArray(value) && value.every((one) => typeof one !== 'object')
  return plain ? value.join('; ') : JSON.stringify(value)
}

/** Lines of these tables: one alone has its own columns; of several each line says its table, under the columns of all. */
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

/** A line of nothing at all would be no line. */
const formatLine = (cells: readonly unknown[]): string => `${cells.map(formatCell).join(',') || '""'}\r\n`
