import { newRule, type Prefill } from '../../parts/act-link.js'
import { Gate } from '../../parts/gate.js'
import { Panel, Sheet } from '../../parts/panel.js'
import { hrefTo } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatBytes } from '../../state/format.js'
import { mixedEnvelope, useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

const most = <T,>(list: readonly T[], by: (one: T) => number = () => 0): T | undefined =>
  [...list].sort((a, b) => by(b) - by(a)).find((one) => by(one) > 0)

/** Suggests rules from the record: names that are not theirs, the largest agent that cannot be verified, and disobedience. */
function useSuggestions() {
  const { units } = t()
  const texts = t().rules.suggest
  const all = { limit: 200, compare: undefined }
  const agents = useOne('/api/agents/breakdown', 'agent', { ...all, dimension: 'agent_id' })
  const violations = useOne('/api/policy/violations/agents', 'agent', all)
  const gap = useRead('/api/citation-gap/summary', mixedEnvelope())
  const rows = agents.data ?? []
  const readersOf = (operator = '') =>
    units.aiVisits(gap.data?.operators.find((one) => one.operator === operator)?.arrivals ?? 0)
  const spoofed = most(rows, (row) => row.spoofed ?? 0)
  const takers = ['training', 'assistant', 'data', 'seo', 'archive', 'other']
  const unverifiable = rows.filter(({ verified, purpose }) => verified === undefined && takers.includes(purpose ?? ''))
  const taker = most(
    unverifiable.filter(({ value }) => value !== 'other'),
    ({ bytes = 0 }) => bytes,
  )
  const breaches = violations.data?.filter(({ severity }) => severity === 'breach') ?? []
  const breach = most(breaches, ({ fetches }) => fetches)
  const suggestions: { text: string; rule: Prefill & { name: string } }[] = []
  if (spoofed)
    suggestions.push({
      text: texts.spoofedWhy(units.fetches(spoofed.spoofed ?? 0), spoofed.name ?? ''),
      rule: { name: texts.spoofed, identity: 'spoofed' },
    })
  if (taker)
    suggestions.push({
      text: texts.limitWhy(units.fetches(taker.fetches ?? 0), formatBytes(taker.bytes ?? 0), readersOf(taker.operator)),
      rule: { name: texts.limit(taker.name ?? ''), agents: `${taker.value}`, action: 'limit' },
    })
  if (breach)
    suggestions.push({
      text: texts.obeyWhy(breach.name, units.fetches(breach.fetches), readersOf(breach.operator)),
      rule: { name: texts.obey, disallowed: 'yes', identity: 'verified' },
    })
  return { suggestions: [...suggestions, { text: '', rule: { name: '' } }], answers: [agents, violations, gap] }
}

/** Says what rules are, and suggests the first from what was recorded. */
export function NoRules({ mayChange }: { mayChange: boolean }) {
  const texts = t().rules
  const { suggestions, answers } = useSuggestions()
  return (
    <>
      <div class="no-rules">
        <h1 class="title">{texts.none}</h1>
        <p class="muted">{texts.noneText}</p>
      </div>
      <Sheet>
        <ol class="cell rule-steps">
          {texts.steps.map(([state, title, text]) => (
            <li key={title}>
              {state === 'stop' ? <kbd>.</kbd> : <Gate of={state} />}
              <h2>{title}</h2>
              <p class="muted small">{text}</p>
            </li>
          ))}
        </ol>
        <Panel
          title={texts.suggestions}
          aside={mayChange ? texts.eachInRehearsal : t().parts.needsRole('admin')}
          answers={answers}
        >
          {() => (
            <ul class="ranked">
              {suggestions.map(({ text, rule }) => (
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
    </>
  )
}
