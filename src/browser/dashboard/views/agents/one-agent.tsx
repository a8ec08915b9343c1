import { useState } from 'preact/hooks'
import { ActLink, EvidenceLink } from '../../parts/act-link.js'
import { AgentsLeftOut, showsAgents } from '../../parts/agent-side.js'
import { TableButton } from '../../parts/buttons.js'
import { claimedName, operatorName } from '../../parts/claimed-name.js'
import { Cut, OutLink } from '../../parts/names.js'
import { Panel, Sheet } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { hrefTo, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { filtersWith } from '../../state/filters.js'
import { formatShare } from '../../state/format.js'
import { siteQuery, useOne } from '../../state/question.js'
import { useRules } from '../../state/rules.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { useLanes } from './agent-history.js'
import { AgentLanes } from './agent-lanes.js'
import { AgentLead } from './agent-lead.js'
import { AiVisits, WhatItIgnored, WhatItRead } from './agent-pages.js'

/** The filter that keeps one agent. */
const onlyAgent = (id: string) => ({ dimension: 'agent_id', op: 'is', value: id })

/** The catalogue's entry of an agent; the whole catalogue is asked only for an agent that was not seen. */
function useEntry(id: string) {
  const ask = { ...siteQuery.value, range: 'all', audience: 'agent' }
  const seen = useRead('/api/agents/catalog', { ...ask, filters: JSON.stringify([onlyAgent(id)]) })
  const all = useRead('/api/agents/catalog', seen.data?.length === 0 ? { ...ask, limit: 1000 } : undefined)
  const entry = [...(seen.data ?? []), ...(all.data ?? [])].find(({ agent_id }) => agent_id === id)
  return { entry, loading: seen.loading || all.loading }
}

/** One agent: who it is, when it read robots.txt, what it read, what it ignored, and whom its operator sent. */
export function OneAgent({ id }: { id: string }) {
  const texts = t().agents
  const { entry, loading } = useEntry(id)
  const answer = useOne('/api/agents/breakdown', 'agent', {
    filters: filtersWith(onlyAgent(id)),
    dimension: 'agent_id',
    limit: 1,
  })
  const lanes = useLanes(id)
  const [asTable, setAsTable] = useState(false)
  const row = answer.data?.[0]
  const name = claimedName(entry?.name ?? row?.name ?? id, row ?? {})
  const operator = entry?.operator ?? row?.operator
  const purpose = entry?.purpose ?? row?.purpose
  return (
    <>
      <p class="crumb">
        <a href={hrefTo({ path: viewPath('agents') })}>{t().shell.view.agents}</a>
        {operator !== undefined && ` / ${operatorName(operator)}`}
      </p>
      <div class="title-line" aria-busy={loading || answer.loading}>
        <h1 class="title">
          <Cut text={name} />
        </h1>
        {purpose !== undefined && <span class="tag">{t().parts.purpose[purpose] ?? purpose}</span>}
        {row?.verified !== undefined && (
          <span class="tag agents">
            ✓{' '}
            {texts.verifiedBy(
              formatShare(row.verified),
              (entry?.verification ?? []).map((way) => texts.ways[way] ?? way),
            )}
          </span>
        )}
        {row !== undefined && row.verified === undefined && (
          <span class="tag">? {(row.indeterminate ?? 0) > 0 ? texts.notChecked : texts.cannotVerify}</span>
        )}
        {row?.spoofed !== undefined && row.spoofed > 0 && <span class="tag alert">✕ {texts.spoofed(row.spoofed)}</span>}
        {entry !== undefined && entry.docs_url !== 'undocumented' && (
          <span class="more">
            <OutLink href={entry.docs_url}>{texts.docs}</OutLink>
          </span>
        )}
        {hasRole('admin') && <RulesOfAgent names={[id, operator, purpose]} />}
        <EvidenceLink isButton agent={id} />
        {(entry ?? row) && <ActLink isButton rule={{ name: entry?.name ?? row?.name ?? id, agents: id }} />}
      </div>
      <Sheet>
        <AgentLead id={id} name={name} row={row} found={answer} lanes={lanes} />
        <AgentsLeftOut />
        {showsAgents() && (
          <Panel
            title={texts.history}
            right={<TableButton asTable={asTable} onTurn={setAsTable} />}
            answers={[lanes.pages]}
            empty={row === undefined && !answer.loading}
            emptyText={texts.notSeen(name)}
            skeleton={8}
          >
            {() => (
              <>
                <AgentLanes name={name} lanes={lanes} asTable={asTable} />
                <Warnings of={[lanes.pages.meta]} />
              </>
            )}
          </Panel>
        )}
        {showsAgents() && row !== undefined && <WhatItRead id={id} />}
        {showsAgents() && row !== undefined && <WhatItIgnored id={id} operator={operator} spoofed={row.spoofed ?? 0} />}
        {operator !== undefined && <AiVisits operator={operator} />}
      </Sheet>
    </>
  )
}

/** Links to the rules that name an agent by its id, operator or purpose, and are not over. */
function RulesOfAgent({ names }: { names: readonly [id: string, ...others: (string | undefined)[]] }) {
  const { data: rules = [] } = useRules()
  const [id] = names
  return rules
    .filter((rule) => [...rule.agents, ...rule.operators, ...rule.purposes].some((name) => names.includes(name)))
    .filter(({ state, ended, except }) => state !== 'off' && !ended && !except.includes(id))
    .slice(0, 3)
    .map((rule) => (
      <a key={rule.id} class="tag" href={hrefTo({ path: viewPath('rules', `${rule.id}`) })}>
        {t().rules.ruleNamed(rule.name, t().rules.states[rule.state])}
      </a>
    ))
}
