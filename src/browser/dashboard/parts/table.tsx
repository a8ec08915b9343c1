import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  key: string
  head: ComponentChildren
  cell: (row: Row) => ComponentChildren
  /** Whether the cell of a row draws nothing, where that cannot be seen from what `cell` returns. */
  isEmpty?: (row: Row) => boolean
  right?: boolean
  /** Left out on phones. */
  wide?: boolean
  /**
   * The column's place on phones, where rows have two lines: beside the name or at the end of the first line; as a trend
   * before, below, or at the end of the second; or on a third. If one column has a place, those without one are left out.
   */
  phone?: 'beside' | 'end' | 'trend' | 'below' | 'below-end' | 'third'
  /** Its heading stands before its cells on phones, where the headings are hidden. */
  named?: true
  /** Drawn on phones alone. */
  phoneOnly?: boolean
  /** Left out where the table has little room. */
  rare?: boolean
  /** The column's share of the width, such as `20%`, or what its longest word needs, such as `90px`. */
  width?: string
  /** The present order by this column, for columns that can be ordered by. */
  sort?: 'ascending' | 'descending' | 'none'
  onSort?: () => void
}

interface TableProps<Row> {
  /** Says what the table is, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
}

/** Whether a cell draws anything. */
const hasContent = (content: ComponentChildren): boolean =>
  content !== null && content !== undefined && content !== false && content !== ''

/** A table with a heading per column; the first column names the row. A column without any content is left out. */
export function Table<Row>({ label, columns: all, rows, rowKey }: TableProps<Row>) {
  const columns = all.filter(
    ({ cell, isEmpty }, i) =>
      i === 0 || rows.length === 0 || rows.some((row) => (isEmpty ? !isEmpty(row) : hasContent(cell(row)))),
  )
  const hasTwoLines = columns.some(({ phone }) => phone !== undefined)
  const isLeftOut = ({ phone, wide }: Column<Row>) => (hasTwoLines ? phone === undefined : wide === true)
  const side = (column: Column<Row>) =>
    [
      column.right ? 'right-align' : '',
      isLeftOut(column) ? 'wide' : '',
      column.rare ? 'rare' : '',
      column.phone ? `at-${column.phone}` : '',
      column.phoneOnly ? 'phone-only' : '',
    ]
      .filter(Boolean)
      .join(' ')
  const hasTrend = columns.some(({ phone }) => phone === 'trend')
  // The roles of a table stay when its rows are drawn as grids.
  const role = (name: 'table' | 'rowgroup' | 'row' | 'columnheader' | 'rowheader' | 'cell') =>
    hasTwoLines ? { role: name } : {}
  return (
    <div class="scroll">
      <table
        class={`fixed ${hasTwoLines ? 'two-lines' : ''} ${hasTrend ? 'has-trend' : ''}`}
        aria-label={label}
        {...role('table')}
      >
        <thead {...role('rowgroup')}>
          <tr {...role('row')}>
            {columns.map((column) => (
              <th
                scope="col"
                {...role('columnheader')}
                key={column.key}
                class={side(column)}
                style={column.width === undefined ? {} : { width: column.width }}
                {...(column.sort && column.sort !== 'none' ? { 'aria-sort': column.sort } : {})}
              >
                {column.onSort ? (
                  <button type="button" class="sort" onClick={column.onSort}>
                    {column.head} {column.sort === 'ascending' ? '↑' : column.sort === 'descending' ? '↓' : ''}
                  </button>
                ) : (
                  column.head
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody {...role('rowgroup')}>
          {rows.map((row) => (
            <tr key={rowKey(row)} {...role('row')}>
              {columns.map((column, i) =>
                i === 0 ? (
                  <th scope="row" key={column.key} {...role('rowheader')}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.key} class={side(column)} data-name={column.named && column.head} {...role('cell')}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
