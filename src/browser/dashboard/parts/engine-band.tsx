import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../texts/index.js'
import { PlainButton } from './buttons.js'

interface EngineBandProps {
  title: string
  /** Search engines, each with what is at stake; those first that matter most. */
  engines: readonly { agent_id: string; name: string; at_stake: string }[]
  /** The word of the button that goes on; undefined for readers who may not. */
  action: string | undefined
  onAction: () => void
  /** The cost, and other ways out. */
  children?: ComponentChildren
}

const MAX_ENGINES = 5

/** Warns that something refuses search engines. The owner types the name of the first before it goes on. */
export function EngineBand({ title, engines, action, onAction, children }: EngineBandProps) {
  const [first] = engines
  const [typed, setTyped] = useState('')
  useEffect(() => setTyped(''), [first?.agent_id])
  if (first === undefined) return null
  const isTyped = typed.trim().toLowerCase() === first.name.toLowerCase()
  return (
    <section id="engines" class="cell engines" tabIndex={-1} aria-labelledby="engines-title">
      <h2 id="engines-title">{title}</h2>
      <ul>
        {engines.slice(0, MAX_ENGINES).map(({ agent_id, name, at_stake }) => (
          <li key={agent_id}>
            <b>{name}</b> {at_stake}
          </li>
        ))}
        {engines.length > MAX_ENGINES && <li>{t().rules.more(engines.length - MAX_ENGINES)}</li>}
      </ul>
      <div class="buttons">
        {children}
        {action !== undefined && (
          <>
            <label>
              {t().rules.typeName(first.name)}{' '}
              <input value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
            </label>
            <PlainButton disabled={!isTyped} onClick={onAction}>
              {action}
            </PlainButton>
          </>
        )}
      </div>
    </section>
  )
}
