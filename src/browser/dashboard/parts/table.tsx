import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  key: string
  head: ComponentChildren
  cell: (row: Row) => ComponentChildren
  right?: boolean
  /** Left out on phones. */
  wide?: boolean
  /** Left out where the table has little room. */
  rare?: boolean
  /** The column's share of the width, such as `20%`. */
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
    (column, i) => i === 0 || rows.length === 0 || rows.some((row) => hasContent(column.cell(row))),
  )
  const side = (column: Column<Row>) =>
    `${column.right ? 'right-align' : ''} ${column.wide ? 'wide' : ''} ${column.rare ? 'rare' : ''}`
  return (
    <div class="scroll">
      <table class="fixed" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                scope="col"
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
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column, i) =>
                i === 0 ? (
                  <th scope="row" key={column.key}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.key} class={side(column)}>
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
