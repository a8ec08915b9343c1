import '../../styles/agents.css'
import { AgentsLeftOut, showsAgents } from '../../parts/agent-side.js'
import { aiVisitsFoot } from '../../parts/filter-name.js'
import { Later } from '../../parts/later.js'
import { RankedPanel } from '../../parts/list-panel.js'
import { OperatorTable } from '../../parts/operator-table.js'
import { Panel, Sheet } from '../../parts/panel.js'
import { place, view } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { mixedEnvelope, useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { AgentList } from './agent-list.js'
import { AgentsSentence } from './agents-sentence.js'
import { OneAgent } from './one-agent.js'

/** Shows the agents that read the site, whether they are who they say, and whether they obey robots.txt. */
export default function Agents() {
  const [, agent] = view.value
  if (agent !== undefined) return <OneAgent key={agent} id={agent} />
  const { show } = place.value
  return (
    <Sheet title={t().shell.view.agents}>
      <AgentsSentence />
      <AgentsLeftOut />
      {showsAgents() && <AgentList />}
      {showsAgents() && (
        <Later>
          <Operators />
          <Purposes />
        </Later>
      )}
      {show !== 'agent' && <AssistantsPanel />}
    </Sheet>
  )
}

/** The visits that came from AI assistants, by assistant. `operator` keeps the assistants of one operator. */
function AssistantsPanel() {
  const answer = useOne('/api/stats/sources', 'human', { limit: 200 })
  const rows = (answer.data?.sources ?? []).filter(({ channel }) => channel === 'AI Assistants')
  return (
    <RankedPanel
      title={t().overview.aiSources}
      aside={t().overview.visits}
      answer={answer}
      empty={rows.length === 0 && answer.data !== undefined}
      emptyText={t().overview.aiNone}
      foot={aiVisitsFoot()}
      lacking="human"
      of="human"
      metric="sessions"
      rows={rows.map(({ source = t().parts.unknown, sessions, visitors, comparison }) => ({
        label: source,
        value: sessions,
        before: comparison?.sessions,
        aside: quantity('/api/stats/sources visitors', visitors ?? 0).text,
        filter: ['source', source],
      }))}
    />
  )
}

/** The fetches of each operator by identity. */
function Operators() {
  const texts = t().agents
  const answer = useOne('/api/agents/breakdown', 'agent', { dimension: 'operator', limit: 12 })
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
function Purposes() {
  const texts = t().agents
  const answer = useOne('/api/agents/breakdown', 'agent', { dimension: 'purpose', limit: 20 })
  const rows = answer.data ?? []
  const all = rows.reduce((sum, { fetches = 0 }) => sum + fetches, 0)
  return (
    <RankedPanel
      span={4}
      title={texts.byPurpose}
      answer={answer}
      of="agent"
      metric="fetches"
      rows={rows.map(({ value, fetches = 0, comparison }) => ({
        key: `${value}`,
        label: t().parts.purpose[`${value}`] ?? `${value ?? t().parts.unknown}`,
        value: fetches,
        before: comparison?.fetches,
        aside: formatShare(fetches / Math.max(1, all)),
        filter: ['purpose', `${value}`],
      }))}
    />
  )
}
