import { formatNumber, formatShare } from '../state/format.js'
import { t } from '../texts/index.js'
import { RowName } from './names.js'
import { SplitBar, SplitKey } from './split-bar.js'
import { Table } from './table.js'

interface OperatorRow {
  operator: string
  agents?: number | undefined
  fetches?: number | undefined
  verified?: number | undefined
  verified_fetches?: number | undefined
  spoofed?: number | undefined
}

/** The fetches of each operator by identity; `hasAgents`: with the number of its agents. */
export function OperatorTable({
  label,
  rows,
  hasAgents = false,
}: {
  label: string
  rows: readonly OperatorRow[]
  hasAgents?: boolean
}) {
  const { overview, parts } = t()
  const most = Math.max(...rows.map(({ fetches }) => fetches ?? 0), 1)
  const agents = {
    key: 'agents',
    head: parts.metric.agents,
    right: true,
    wide: true,
    width: '8%',
    cell: (row: OperatorRow) => formatNumber(row.agents ?? 0),
  }
  return (
    <>
      <Table
        label={label}
        rows={rows}
        rowKey={({ operator }) => operator}
        columns={[
          {
            key: 'operator',
            head: overview.operator,
            cell: ({ operator }) => <RowName label={operator} filter={['operator', operator]} />,
          },
          ...(hasAgents ? [agents] : []),
          {
            key: 'fetches',
            head: parts.metric.fetches,
            right: true,
            width: '14%',
            cell: ({ fetches }) => formatNumber(fetches ?? 0),
          },
          { key: 'bar', head: overview.identity, width: '32%', cell: (row) => <SplitBar of={row} most={most} /> },
          {
            key: 'verified',
            head: parts.metric.verified,
            right: true,
            width: '17%',
            cell: ({ verified }) =>
              verified === undefined ? <span class="muted small">{overview.notKnown}</span> : formatShare(verified),
          },
        ]}
      />
      <SplitKey />
    </>
  )
}
