import { t } from '../texts/index.js'
import { Bar } from './lists.js'
import { RowName } from './names.js'
import { changeText, formatMetric, metricName } from './numbers.js'
import type { Column } from './table.js'
import { Table } from './table.js'

/** One row of a list by some dimension: its name and the metrics that the read gave. */
export interface MeasuredRow {
  key: string
  label: string
  /** Words after the name. */
  aside?: string | undefined
  filter?: readonly [dimension: string, value: string | number | boolean]
  to?: readonly string[]
  values: Readonly<Record<string, unknown>>
}

interface MeasuresProps {
  label: string
  head: string
  rows: readonly MeasuredRow[]
  /** The first has a bar, and its change; the others are left out on phones. */
  metrics: readonly string[]
  of: 'human' | 'agent'
}

/** A table of names with several metrics each: more than a ranked list says. */
export function Measures({ label, head, rows, metrics, of }: MeasuresProps) {
  const [first = '', ...others] = metrics
  const most = Math.max(...rows.map(({ values }) => numberIn(values, first) ?? 0), 1)
  const hasChange = rows.some(({ values }) => values.comparison !== undefined)
  const columns: Column<MeasuredRow>[] = [
    {
      key: 'name',
      head,
      cell: ({ label: name, aside, filter, to }) => (
        <span class="row-name">
          <RowName label={name} {...(filter ? { filter } : {})} {...(to ? { to } : {})} />
          {aside && <span class="muted small wide no-wrap">{aside}</span>}
        </span>
      ),
    },
    {
      key: 'bar',
      head: <span class="visually-hidden">{t().parts.chart}</span>,
      width: others.length > 0 ? '16%' : '30%',
      wide: true,
      cell: ({ values }) => <Bar share={(numberIn(values, first) ?? 0) / most} of={of} />,
    },
    {
      key: first,
      head: metricName(first),
      width: '76px',
      right: true,
      cell: ({ values }) => write(values, first),
    },
    ...(hasChange
      ? [
          {
            key: 'change',
            head: <span class="visually-hidden">{t().parts.change}</span>,
            width: '84px',
            right: true,
            wide: true,
            cell: ({ values }: MeasuredRow) => (
              <span class="muted small no-wrap">
                {changeText(first, numberIn(values, first), numberIn(values.comparison, first))}
              </span>
            ),
          },
        ]
      : []),
    ...others.map((metric) => ({
      key: metric,
      head: metricName(metric),
      width: '92px',
      right: true,
      wide: true,
      cell: ({ values }: MeasuredRow) => write(values, metric),
    })),
  ]
  return (
    <div class="measures">
      <Table label={label} columns={columns} rows={rows} rowKey={({ key }) => key} />
    </div>
  )
}

const numberIn = (row: unknown, metric: string): number | undefined => {
  const value: unknown = typeof row === 'object' && row !== null ? Reflect.get(row, metric) : undefined
  return typeof value === 'number' ? value : undefined
}

const write = (values: MeasuredRow['values'], metric: string): string => {
  const value = numberIn(values, metric)
  return value === undefined ? '–' : formatMetric(metric, value)
}
