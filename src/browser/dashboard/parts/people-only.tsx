import type { ComponentChildren } from 'preact'
import { go, hrefTo, place, viewPath } from '../state/address.js'
import { useOne } from '../state/question.js'
import { t } from '../texts/index.js'
import { LinkButton } from './buttons.js'
import { RankedPanel } from './list-panel.js'
import { Sheet } from './panel.js'
import { Absent } from './states.js'

interface PeopleOnlyProps {
  /** The name of the view for screen readers. */
  title?: string | undefined
  /** Why agents have nothing here. */
  why: string
  /** The views that say what agents do instead. */
  instead: readonly ('agents' | 'pages' | 'coverage' | 'citation-gap' | 'policy' | 'violations' | 'decay')[]
  /** Panels about agents, in place of those by operator and purpose. */
  agents?: ComponentChildren
  children: () => ComponentChildren
}

/** The fetches of the agents on screen, with the filters of the view. */
function AgentsHere({ dimension, title }: { dimension: 'operator' | 'purpose'; title: string }) {
  const answer = useOne('/api/agents/breakdown', 'agent', { dimension, limit: 12 })
  const rows = answer.data ?? []
  const purposes: Readonly<Record<string, string>> = t().parts.purpose
  return (
    <RankedPanel
      span={6}
      title={title}
      answer={answer}
      of="agent"
      metric="fetches"
      rows={rows.map(({ value, fetches = 0 }) => ({
        label: dimension === 'purpose' ? (purposes[`${value}`] ?? `${value}`) : `${value}`,
        value: fetches,
        filter: [dimension, `${value}`],
      }))}
    />
  )
}

/** A view about people: with agents alone on screen it says why they have nothing there, and shows who they are. */
export function PeopleOnly({ title, why, instead, agents: own, children }: PeopleOnlyProps) {
  const { parts, shell, agents } = t()
  const links = instead.map((name) => (
    <a key={name} href={hrefTo({ path: viewPath(name) })}>
      {shell.view[name]}
    </a>
  ))
  if (place.value.show === 'agent')
    return (
      <Sheet title={title}>
        <section class="cell">
          <Absent of="agent">
            {why}{' '}
            <span class="legend inline">
              {parts.lookAt} {links}
            </span>{' '}
            <LinkButton onClick={() => go({ show: 'human' })}>{parts.showPeople}</LinkButton>
          </Absent>
        </section>
        {own ?? (
          <>
            <AgentsHere dimension="operator" title={agents.byOperator} />
            <AgentsHere dimension="purpose" title={agents.byPurpose} />
          </>
        )}
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
