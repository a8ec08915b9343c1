import { t } from '../texts/index.js'
import { changeColumn } from './columns.js'
import { Bar } from './lists.js'
import { RowName } from './names.js'
import { metricName, metricOf, writeMetric } from './numbers.js'
import type { Column } from './table.js'
import { Table } from './table.js'

/** One row of a list by some dimension: its name and the metrics that the read gave. */
export interface MeasuredRow {
  key: string
  label: string
  /** Words after the name. */
  aside?: string | undefined
  filter?: readonly [dimension: string, value: string | number | boolean] | undefined
  to?: readonly string[] | undefined
  values: Readonly<Record<string, unknown>>
}

interface MeasuresProps {
  label: string
  head: string
  rows: readonly MeasuredRow[]
  /** The first has a bar and its change, where there is room; the others are left out on phones. */
  metrics: readonly string[]
  of: 'human' | 'agent'
}

/** A table of names with several metrics each: more than a ranked list says. */
export function Measures({ label, head, rows, metrics, of }: MeasuresProps) {
  const [first = '', ...others] = metrics
  const most = Math.max(...rows.map(({ values }) => metricOf(values, first) ?? 0), 1)
  const change = changeColumn<MeasuredRow['values']>(first, { width: '84px', phone: 'below-end' })
  const columns: Column<MeasuredRow>[] = [
    {
      key: 'name',
      head,
      cell: ({ label: name, aside, filter, to }) => (
        <span class="row-name">
          <RowName label={name} filter={filter} to={to} />
          {aside && <span class="muted small no-wrap">{aside}</span>}
        </span>
      ),
    },
    {
      key: 'bar',
      head: <span class="visually-hidden">{t().parts.chart}</span>,
      width: others.length > 0 ? '16%' : '30%',
      wide: true,
      rare: others.length > 0,
      phone: 'below',
      cell: ({ values }) => <Bar share={(metricOf(values, first) ?? 0) / most} of={of} />,
    },
    {
      key: first,
      head: metricName(first),
      width: '76px',
      right: true,
      phone: 'end',
      cell: ({ values }) => writeMetric(first, metricOf(values, first)),
    },
    {
      ...change,
      head: <span class="visually-hidden">{t().parts.change}</span>,
      cell: ({ values }) => change.cell(values),
      isEmpty: ({ values }) => change.isEmpty?.(values) ?? false,
    },
    ...others.map((metric) => ({
      key: metric,
      head: metricName(metric),
      width: '92px',
      right: true,
      wide: true,
      cell: ({ values }: MeasuredRow) => writeMetric(metric, metricOf(values, metric)),
    })),
  ]
  return (
    <div class="measures">
      <Table label={label} columns={columns} rows={rows} rowKey={({ key }) => key} />
    </div>
  )
}
