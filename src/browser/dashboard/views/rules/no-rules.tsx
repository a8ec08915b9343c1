import { newRule, type Prefill } from '../../parts/act-link.js'
import { Gate } from '../../parts/gate.js'
import { Panel, Sheet } from '../../parts/panel.js'
import { hrefTo } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatBytes } from '../../state/format.js'
import { mixedEnvelope, useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { STATES } from './rule.js'

const most = <T,>(list: readonly T[] | undefined, by: (one: T) => number): T | undefined =>
  [...(list ?? [])].sort((a, b) => by(b) - by(a)).find((one) => by(one) > 0)

const TAKERS = ['training', 'assistant', 'data', 'seo', 'archive', 'other']

/** Suggests rules from the record: names that are not theirs, the largest agent that cannot be verified, and disobedience. */
function useSuggestions() {
  const { units } = t()
  const texts = t().rules.suggest
  const all = { limit: 200, compare: undefined }
  const agents = useOne('/api/agents/breakdown', 'agent', { ...all, dimension: 'agent_id' })
  const violations = useOne('/api/policy/violations/agents', 'agent', all)
  const gap = useRead('/api/citation-gap/summary', mixedEnvelope())
  const readersOf = (operator = '') =>
    units.aiVisits(gap.data?.operators.find((one) => one.operator === operator)?.arrivals ?? 0)
  const spoofed = most(agents.data, (row) => row.spoofed ?? 0)
  const taker = most(agents.data, ({ value, verified, purpose = '', bytes = 0 }) =>
    value !== 'other' && verified === undefined && TAKERS.includes(purpose) ? bytes : 0,
  )
  const breach = most(violations.data, ({ severity, fetches }) => (severity === 'breach' ? fetches : 0))
  const suggestions: ((Prefill & { name: string; text: string }) | undefined)[] = [
    spoofed && {
      name: texts.spoofed,
      text: texts.spoofedWhy(units.fetches(spoofed.spoofed ?? 0), spoofed.name ?? ''),
      identity: 'spoofed',
    },
    taker && {
      name: texts.limit(taker.name ?? ''),
      text: texts.limitWhy(units.fetches(taker.fetches ?? 0), formatBytes(taker.bytes ?? 0), readersOf(taker.operator)),
      ...{ agents: `${taker.value}`, action: 'limit' },
    },
    breach && {
      name: texts.obey,
      text: texts.obeyWhy(breach.name, units.fetches(breach.fetches), readersOf(breach.operator)),
      ...{ disallowed: 'yes', identity: 'verified' },
    },
    { name: '', text: '' },
  ]
  return { suggestions: suggestions.filter((one) => one !== undefined), answers: [agents, violations, gap] }
}

/** Says what rules are, and suggests the first from what was recorded. */
export function NoRules({ mayChange }: { mayChange: boolean }) {
  const { rules: texts, parts } = t()
  const { suggestions, answers } = useSuggestions()
  return (
    <Sheet title={texts.title}>
      <div class="cell">
        <p class="sentence">{texts.none}</p>
      </div>
      <Panel title={texts.state}>
        {() => (
          <ul class="ranked roomy">
            {STATES.map((state) => (
              <li key={state}>
                <span>
                  <Gate of={state} /> <b>{texts.states[state]}</b>{' '}
                  <span class="muted">{texts.stateMeaning[state]}</span>
                </span>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel
        title={texts.suggestions}
        aside={mayChange ? texts.eachInRehearsal : parts.needsRole('admin')}
        answers={answers}
      >
        {() => (
          <ul class="ranked roomy">
            {suggestions.map(({ text, ...rule }) => (
              <li key={rule.name}>
                <span>
                  <b>{rule.name || texts.emptyRule}</b>
                  <span class="muted small line">{text}</span>
                </span>
                {mayChange && (
                  <a class={rule.name ? 'button plain' : 'button'} href={hrefTo(newRule(rule))}>
                    {rule.name ? texts.states.rehearse : texts.newRule}
                  </a>
                )}
              </li>
            ))}
          </ul>
        )}
      </Panel>
    </Sheet>
  )
}
