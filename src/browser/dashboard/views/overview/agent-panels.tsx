import { GapKey, gapColumns } from '../../charts/gap-columns.js'
import { pageColumn } from '../../parts/columns.js'
import { More } from '../../parts/names.js'
import { OperatorTable } from '../../parts/operator-table.js'
import { Panel } from '../../parts/panel.js'
import { Table } from '../../parts/table.js'
import { VerdictTag } from '../../parts/tags.js'
import { place } from '../../state/address.js'
import { useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** Agents by operator, and the citation gap. */
export function AgentPanels() {
  const isBoth = place.value.show === 'both'
  return (
    <>
      {place.value.show !== 'human' && <Operators span={isBoth ? 6 : 12} />}
      <Gap span={isBoth ? 6 : 12} />
    </>
  )
}

function Operators({ span }: { span: 6 | 12 }) {
  const texts = t().overview
  const answer = useOne('/api/agents/overview', 'agent', { compare: undefined })
  const rows = (answer.data?.operators ?? []).slice(0, 8)
  return (
    <Panel
      span={span}
      title={texts.operators}
      right={<More to="agents">{texts.allAgents}</More>}
      answers={[answer]}
      empty={rows.length === 0}
    >
      {() => <OperatorTable label={texts.operators} rows={rows} />}
    </Panel>
  )
}

function Gap({ span }: { span: 6 | 12 }) {
  const texts = t().overview
  const answer = useOne('/api/citation-gap', 'agent', { compare: undefined, limit: 8 })
  const rows = answer.data ?? []
  const most = Math.max(...rows.flatMap(({ fetches, arrivals }) => [fetches, arrivals]), 10)
  return (
    <Panel
      span={span}
      title={t().shell.view['citation-gap']}
      right={<More to="citation-gap">{texts.allPages}</More>}
      answers={[answer]}
      empty={rows.length === 0}
    >
      {() => (
        <>
          <Table
            label={t().shell.view['citation-gap']}
            rows={rows}
            rowKey={({ hostname, pathname }) => hostname + pathname}
            columns={[
              pageColumn(),
              ...gapColumns(most),
              { key: 'verdict', head: texts.verdict, width: '18%', cell: ({ verdict }) => <VerdictTag of={verdict} /> },
            ]}
          />
          <GapKey />
        </>
      )}
    </Panel>
  )
}
