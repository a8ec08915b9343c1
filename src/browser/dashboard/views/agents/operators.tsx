import { RankedPanel } from '../../parts/list-panel.js'
import { OperatorTable } from '../../parts/operator-table.js'
import { Panel } from '../../parts/panel.js'
import { useRead } from '../../state/data.js'
import { formatShare } from '../../state/format.js'
import { mixedEnvelope, useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** The fetches of each operator by identity. */
export function Operators() {
  const texts = t().agents
  const answer = useOne('/api/agents/breakdown', 'agent', { compare: undefined, dimension: 'operator', limit: 12 })
  const gap = useRead('/api/citation-gap/summary', mixedEnvelope())
  const sent = new Map(gap.data?.operators.map(({ operator, arrivals }) => [operator, arrivals]))
  const rows = answer.data ?? []
  return (
    <Panel span={8} title={texts.byOperator} answers={[answer]} empty={rows.length === 0}>
      {() => (
        <OperatorTable
          label={texts.byOperator}
          rows={rows.map((row) => ({ ...row, operator: `${row.value}`, sent: sent.get(`${row.value}`) }))}
          hasAgents
        />
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
    <RankedPanel
      span={4}
      title={texts.byPurpose}
      answer={answer}
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
  )
}
