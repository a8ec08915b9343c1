import { Ranked } from '../../parts/lists.js'
import { RowName } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { SplitBar, SplitKey } from '../../parts/split-bar.js'
import { Table } from '../../parts/table.js'
import { formatNumber, formatShare } from '../../state/format.js'
import { useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** The fetches of each operator by identity. */
export function Operators() {
  const texts = t().agents
  const answer = useOne('/api/agents/breakdown', 'agent', { compare: undefined, dimension: 'operator', limit: 12 })
  const rows = answer.data ?? []
  const most = Math.max(...rows.map(({ fetches }) => fetches ?? 0), 1)
  return (
    <Panel span={8} title={texts.byOperator} answers={[answer]} empty={rows.length === 0}>
      {() => (
        <>
          <Table
            label={texts.byOperator}
            rows={rows}
            rowKey={({ value }) => `${value}`}
            columns={[
              {
                key: 'operator',
                head: texts.operator,
                cell: ({ value }) => <RowName label={`${value}`} filter={['operator', `${value}`]} />,
              },
              {
                key: 'agents',
                head: t().parts.metric.agents,
                right: true,
                wide: true,
                width: '10%',
                cell: ({ agents = 0 }) => formatNumber(agents),
              },
              {
                key: 'fetches',
                head: t().parts.metric.fetches,
                right: true,
                width: '16%',
                cell: ({ fetches = 0 }) => formatNumber(fetches),
              },
              { key: 'bar', head: texts.identity, width: '34%', cell: (row) => <SplitBar of={row} most={most} /> },
              {
                key: 'verified',
                head: t().parts.metric.verified,
                right: true,
                width: '16%',
                cell: ({ verified }) =>
                  verified === undefined ? (
                    <span class="muted small">{t().overview.notKnown}</span>
                  ) : (
                    formatShare(verified)
                  ),
              },
            ]}
          />
          <SplitKey />
        </>
      )}
    </Panel>
  )
}

/** The fetches by purpose. */
export function Purposes() {
  const texts = t().agents
  const answer = useOne('/api/agents/breakdown', 'agent', { compare: undefined, dimension: 'purpose', limit: 20 })
  const rows = answer.data ?? []
  const all = rows.reduce((sum, { fetches = 0 }) => sum + fetches, 0)
  return (
    <Panel span={4} title={texts.byPurpose} answers={[answer]} empty={rows.length === 0}>
      {() => (
        <Ranked
          of="agent"
          metric="fetches"
          rows={rows.map(({ value, fetches = 0 }) => ({
            key: `${value}`,
            label: t().parts.purpose[`${value}`] ?? `${value ?? t().parts.unknown}`,
            value: fetches,
            aside: formatShare(fetches / Math.max(1, all), 0),
            filter: ['purpose', `${value}`],
          }))}
        />
      )}
    </Panel>
  )
}
