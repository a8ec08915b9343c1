import type { ComponentChildren, ComponentProps } from 'preact'
import { formatDay, formatNumber } from '../state/format.js'
import { t } from '../texts/index.js'
import { DecidingLine } from './deciding-line.js'
import { Ago, Cut, PageName } from './names.js'
import { metricName, metricOf, RowChange } from './numbers.js'
import type { Column } from './table.js'
import { SeverityTag } from './tags.js'

/** How much room a column has, and where it is left out. */
type Look = Pick<Column<unknown>, 'width' | 'wide' | 'rare' | 'phone'>

/** A column named by its heading, a text that no other column of the table has. */
export const column = <Row,>(
  head: string,
  look: Omit<Column<Row>, 'key' | 'head' | 'cell'>,
  cell: (row: Row) => ComponentChildren,
): Column<Row> => ({ key: head, head, ...look, cell })

/** A number that has its name on phones, which draw no heads above rows of two lines. */
export const named = (name: string, number: ComponentChildren) => (
  <>
    <span class="narrow muted small">{name} </span>
    {number}
  </>
)

/** The column of a row's button; no column for readers who have none. */
export const buttonColumn = <Row,>(width: string, cell: ((row: Row) => ComponentChildren) | false): Column<Row>[] =>
  cell
    ? [
        {
          ...{ key: 'act', right: true, width, phone: 'end' },
          head: <span class="visually-hidden">{t().shell.act}</span>,
          cell,
        },
      ]
    : []

/** The column of pages. */
export const pageColumn = (
  head: ComponentChildren = t().overview.page,
  look: Look = {},
): Column<{ pathname: string }> => ({
  key: 'page',
  head,
  ...look,
  cell: ({ pathname }) => <PageName path={pathname} />,
})

/** The column of pages that may be of several hostnames, which are named then; `below` stands below the page. */
export const urlColumn = <Row extends { hostname: string; pathname: string }>(
  rows: readonly Row[],
  head: string,
  below?: (row: Row) => ComponentChildren,
): Column<Row> => ({
  ...{ key: 'page', head },
  cell: (row) => (
    <>
      <PageName path={row.pathname} />
      {rows.some(({ hostname }) => hostname !== row.hostname) && (
        <span class="muted small line">{row.hostname.slice(0, 200)}</span>
      )}
      {below?.(row)}
    </>
  ),
})

/** The column of how a fetch broke robots.txt. */
export const severityColumn = (look: Look): Column<{ severity: string }> => ({
  key: 'class',
  head: t().agents.class,
  ...look,
  cell: ({ severity }) => <SeverityTag of={severity} />,
})

/** The column of the line of robots.txt that decided. */
export const lineColumn = (look: Look): Column<ComponentProps<typeof DecidingLine>['of']> => ({
  key: 'line',
  head: t().agents.decidingLine,
  ...look,
  cell: (row) => <DecidingLine of={row} />,
})

/** A column of numbers; one that is absent is not known. */
export const countColumn = <K extends string>(
  key: K,
  look: Look = {},
  head: ComponentChildren = metricName(key),
): Column<{ [N in K]?: number | undefined }> => ({
  key,
  head,
  right: true,
  ...look,
  cell: (row) => countText(row[key]),
})

/** A count, or a dash where it is not known. */
export const countText = (n: number | undefined): string => (n === undefined ? '–' : formatNumber(n))

/** A column that says how long ago something happened. */
export const agoColumn = <K extends string>(key: K, head: string, look: Look): Column<{ [N in K]: string }> => ({
  key,
  head,
  right: true,
  ...look,
  cell: (row) => <Ago at={row[key]} />,
})

/** A column of days, of which some never come. */
export const dayColumn = <K extends string>(
  key: K,
  head: string,
  look: Look = {},
): Column<{ [N in K]?: string | undefined }> => ({
  key,
  head,
  ...look,
  cell: ({ [key]: day }) => (day ? formatDay(day) : t().parts.never),
})

/** A column of texts of any origin. */
export const textColumn = <K extends string>(
  key: K,
  head: string,
  look: Look = {},
): Column<{ [N in K]?: string | undefined }> => ({ key, head, ...look, cell: (row) => <Cut text={row[key] ?? ''} /> })

/** The column of a count's change against the comparison, for rows that have one. */
export const changeColumn = <Row extends { comparison?: unknown }>(metric: string, look: Look = {}): Column<Row> => ({
  key: 'change',
  head: t().parts.change,
  right: true,
  ...look,
  cell: (row) => <RowChange {...changeOf(row, metric)} />,
  isEmpty: (row) => {
    const { now, before } = changeOf(row, metric)
    return now === undefined || before === undefined
  },
})

const changeOf = (row: { comparison?: unknown }, metric: string) => ({
  metric,
  now: metricOf(row, metric),
  before: metricOf(row.comparison, metric),
})

/** The columns of a number and of its change, which stands below the number where the page is narrow. */
export const changingColumns = <K extends string>(
  key: K,
  { width, changeWidth }: { width: string; changeWidth: string },
  head: ComponentChildren = metricName(key),
): [Column<Changing<K>>, Column<Changing<K>>] => [
  {
    ...countColumn(key, { width }, head),
    cell: (row) => (
      <>
        {countText(row[key])}
        <span class="narrow">
          <RowChange {...changeOf(row, key)} />
        </span>
      </>
    ),
  },
  changeColumn(key, { width: changeWidth, wide: true }),
]
type Changing<K extends string> = { [N in K]?: number | undefined } & { comparison?: unknown }
