import '../../styles/agents.css'
import { AgentsLeftOut, showsAgents } from '../../parts/agent-side.js'
import { Later } from '../../parts/later.js'
import { Sheet } from '../../parts/panel.js'
import { place, view } from '../../state/address.js'
import { t } from '../../texts/index.js'
import { AgentList } from './agent-list.js'
import { AgentsSentence } from './agents-sentence.js'
import { AssistantsPanel } from './assistants-panel.js'
import { OneAgent } from './one-agent.js'
import { Operators, Purposes } from './operators.js'

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
