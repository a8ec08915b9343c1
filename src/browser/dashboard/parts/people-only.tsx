import type { ComponentChildren } from 'preact'
import { go, place } from '../state/address.js'
import { useOne } from '../state/question.js'
import { isOpenView } from '../state/shared-scopes.js'
import { t } from '../texts/index.js'
import { LinkButton } from './buttons.js'
import { RankedPanel } from './list-panel.js'
import { ViewLink } from './names.js'
import { Sheet } from './panel.js'
import { Absent, NoChange } from './states.js'

interface PeopleOnlyProps {
  /** The name of the view for screen readers. */
  title?: string | undefined
  /** Why agents have nothing here. */
  why: string
  /** The views that say what agents do instead. */
  instead: readonly ('agents' | 'pages' | 'coverage' | 'citation-gap' | 'policy' | 'violations' | 'decay')[]
  /** Panels about agents, of the view itself. */
  agents?: ComponentChildren
  /** The dimension of agents that is nearest to the view; absent: they have nothing of it. */
  agentsBy?: 'operator' | 'user_agent' | 'method' | 'status'
  children: () => ComponentChildren
}

/** The fetches of the agents on screen by what is nearest to the view, with its filters. */
function AgentsHere({ by }: { by: NonNullable<PeopleOnlyProps['agentsBy']> }) {
  const answer = useOne('/api/agents/breakdown', 'agent', { dimension: by, limit: 25 })
  return (
    <RankedPanel
      title={t().parts.agentsBy[by]}
      aside={t().parts.metric.fetches}
      answer={answer}
      of="agent"
      metric="fetches"
      rows={(answer.data ?? []).map(({ value, fetches, comparison }) => ({
        label: value === undefined ? t().parts.unknown : `${value}`,
        value: fetches,
        before: comparison?.fetches,
        filter: value === undefined ? undefined : [by, value],
      }))}
      below={<NoChange of={[answer.meta]} />}
    />
  )
}

/** A view about people: with agents alone on screen it says why they have nothing there, and shows what is nearest to it. */
export function PeopleOnly({ title, why, instead, agents: own, agentsBy, children }: PeopleOnlyProps) {
  const { parts, shell } = t()
  const links = instead.filter(isOpenView).map((name) => (
    <ViewLink key={name} to={[name]}>
      {shell.view[name]}
    </ViewLink>
  ))
  if (place.value.show === 'agent')
    return (
      <Sheet title={title}>
        <section class="cell">
          <Absent of="agent">
            {why}{' '}
            {links.length > 0 && (
              <span class="legend inline">
                {parts.lookAt} {links}
              </span>
            )}{' '}
            <LinkButton onClick={() => go({ show: 'human' })}>{parts.showPeople}</LinkButton>
          </Absent>
        </section>
        {own ?? (agentsBy && <AgentsHere by={agentsBy} />)}
      </Sheet>
    )
  return (
    <Sheet title={title}>
      {children()}
      {place.value.show === 'both' && own}
      {place.value.show === 'both' && (
        <div class="cell">
          <Absent of="agent">
            {why} <span class="legend inline">{links}</span>
          </Absent>
        </div>
      )}
    </Sheet>
  )
}
