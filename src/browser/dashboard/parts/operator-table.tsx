import { formatShare } from '../state/format.js'
import { t } from '../texts/index.js'
import { actColumn } from './act-link.js'
import { claimedName, operatorName } from './claimed-name.js'
import { changingColumns, countText } from './columns.js'
import { Mark } from './marks.js'
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
  comparison?: unknown
  /** AI visits that its assistants brought; undefined: not asked, or it has none. */
  sent?: number | undefined
}

/** The fetches of each operator by identity; `hasAgents`: with the numbers of its agents and of the AI visits it brought. */
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
    cell: (row: OperatorRow) => countText(row.agents),
  }
  const sent = {
    key: 'sent',
    head: (
      <span title={overview.aiFoot}>
        <Mark of="human" /> {overview.aiVisits}
      </span>
    ),
    right: true,
    width: '12%',
    cell: (row: OperatorRow) => countText(row.sent),
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
            ...(hasAgents ? { width: '18%' } : {}),
            cell: (row) => (
              <RowName label={claimedName(operatorName(row.operator), row)} filter={['operator', row.operator]} />
            ),
          },
          ...(hasAgents ? [agents] : []),
          ...changingColumns(
            'fetches',
            hasAgents ? { width: '11%', changeWidth: '12%' } : { width: '13%', changeWidth: '12%' },
          ),
          ...(hasAgents ? [sent] : []),
          {
            key: 'bar',
            head: overview.identity,
            width: hasAgents ? '16%' : '32%',
            cell: (row) => <SplitBar of={row} most={most} />,
          },
          {
            key: 'verified',
            head: parts.metric.verified,
            right: true,
            width: hasAgents ? '12%' : '17%',
            cell: ({ verified }) =>
              verified === undefined ? <span class="muted small">{overview.notKnown}</span> : formatShare(verified),
          },
          ...(hasAgents
            ? actColumn<OperatorRow>(({ operator }) => ({ name: operatorName(operator), operators: operator }))
            : []),
        ]}
      />
      <SplitKey />
    </>
  )
}
