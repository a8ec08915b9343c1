import { formatMetric, metricName } from '../parts/numbers.js'
import { Table } from '../parts/table.js'
import { formatFullInstant, formatLongDay, type Granularity } from '../state/format.js'
import { t } from '../texts/index.js'
import type { BandSeries } from './band.js'

interface BucketTableProps {
  label: string
  series: readonly BandSeries[]
  granularity: Granularity
}

/** The buckets of a time chart as a table. */
export function BucketTable({ label, series, granularity }: BucketTableProps) {
  const { parts } = t()
  const buckets = series[0]?.buckets ?? []
  const write = (metric: string, value: number | undefined) =>
    value === undefined ? <span class="muted">{parts.notRecorded}</span> : formatMetric(metric, value)
  return (
    <Table
      label={label}
      rowKey={({ t: start }) => start}
      rows={buckets.map(({ t: start }, i) => ({ t: start, i }))}
      columns={[
        {
          key: 't',
          head: parts.granularity[granularity],
          cell: ({ t: start }) =>
            granularity === 'minute' || granularity === 'hour' ? formatFullInstant(start) : formatLongDay(start),
        },
        ...series.flatMap(({ of, metric, buckets: own, comparison }) => [
          {
            key: of,
            head: metricName(metric),
            right: true,
            cell: ({ i }: { i: number }) => write(metric, own[i]?.value),
          },
          ...(comparison
            ? [
                {
                  key: `${of}-before`,
                  head: parts.previous,
                  right: true,
                  cell: ({ i }: { i: number }) => write(metric, comparison[i]?.value),
                },
              ]
            : []),
        ]),
      ]}
    />
  )
}
