import { useEffect } from 'preact/hooks'
import { newRule } from '../../parts/act-link.js'
import { Elsewhere } from '../../parts/elsewhere.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { go, hrefTo, view } from '../../state/address.js'
import { formatAgo, formatBytes, formatInstant, formatNumber } from '../../state/format.js'
import { type Rehearsed, useRehearsal } from '../../state/rehearsal.js'
import { useRuleState, useRules } from '../../state/rules.js'
import { hasRole } from '../../state/session.js'
import { onKey } from '../../state/view-keys.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { asTried } from './draft.js'
import { NoRules } from './no-rules.js'
import { OneRule } from './rule.js'
import { DashKey, enginesTouched, RuleDays } from './rule-result.js'
import { RuleTable } from './rule-table.js'

/** The rules of the site, one of them, or a new one. */
export default function Rules() {
  const [, id] = view.value
  return id === undefined ? <RuleList /> : <OneRule key={id} id={id} />
}

function RuleList() {
  const { rules: texts, parts } = t()
  const rules = useRules()
  const list = rules.data ?? []
  const acting = list.filter(({ state }) => state !== 'off').map(asTried)
  const result = useRehearsal('/api/rules/rehearsal', list.length > 0 ? { rules: acting } : undefined)
  const mayChange = hasRole('admin')
  useEffect(() => (mayChange ? onKey('+', () => go(newRule())) : undefined), [mayChange])
  if (rules.data?.length === 0) return <NoRules mayChange={mayChange} />
  return (
    <>
      <Paused />
      <Sheet title={texts.title}>
        <RulesSentence of={result} />
        <Panel
          title={texts.inOrder}
          answers={[rules]}
          also={[result]}
          skeleton={6}
          class="rule-rows"
          right={
            mayChange ? (
              <a class="button" href={hrefTo(newRule())}>
                {texts.newRule} <kbd class="wide">+</kbd>
              </a>
            ) : (
              <span class="muted small">{parts.needsRole('admin')}</span>
            )
          }
          foot={texts.foot}
        >
          {() => <RuleTable rules={list} result={result} mayChange={mayChange} />}
        </Panel>
        <Panel span={8} title={texts.didByDay} right={<DashKey />} answers={[result]} skeleton={8}>
          {() => result.data && <RuleDays of={result.data} days={result.data.days} />}
        </Panel>
        <Fronts />
      </Sheet>
    </>
  )
}

/** Says that no rule refuses, since when and by whom; the bar has the button that ends it. */
function Paused() {
  const texts = t().rules
  const { data: state } = useRuleState()
  if (state?.setting_off) return <p class="paused">{texts.settingOff}</p>
  if (state?.paused_since === undefined) return null
  return (
    <p class="paused" role="status">
      <b>{texts.pausedSince(formatInstant(state.paused_since), state.paused_by ?? '')}</b> {texts.pausedMeaning}
    </p>
  )
}

/** Says what the rules did in the window, and what those in rehearsal would have done. */
function RulesSentence({ of }: { of: Rehearsed }) {
  const { rules: texts, units } = t()
  return (
    <Sentence answers={[of]}>
      {() => {
        const { rules, refused } = of.data ?? { rules: [], refused: { fetches: 0 } }
        const rehearsed = rules.filter(({ state }) => state === 'rehearse')
        const sum = (key: 'fetches' | 'bytes') => rehearsed.reduce((all, { would }) => all + would[key], 0)
        const engines = new Set(rehearsed.flatMap(enginesTouched).map(({ agent_id }) => agent_id)).size
        return [
          ...texts.sentence(
            whenText(),
            texts.on(rules.filter(({ state }) => state === 'on').length),
            <span class="agents">{units.fetches(refused.fetches)}</span>,
          ),
          ...(rehearsed.length === 0
            ? []
            : texts.rehearsed(
                rehearsed.length,
                <span class="agents">{formatNumber(sum('fetches'))}</span>,
                formatBytes(sum('bytes')),
                engines === 0 ? '' : texts.engines(engines),
              )),
          ...texts.peoplePass(<span class="people">{t().shell.show.human}</span>),
        ]
      }}
    </Sentence>
  )
}

/** Lists what no rule refuses, which version of the rules each process and sidecar has, and the exports. */
function Fronts() {
  const texts = t().rules
  const state = useRuleState()
  const { version = '', fronts = [] } = state.data ?? {}
  return (
    <Panel span={4} title={texts.neverRefused} answers={[state]} foot={<Elsewhere of="rules" />}>
      {() => (
        <>
          <Pairs of={texts.never} />
          <h2>{texts.inForce}</h2>
          <Pairs
            of={fronts.map(({ name, version: own, since, asked_at }) => [
              name,
              own === 'off'
                ? texts.states.off
                : own === version
                  ? texts.since(formatInstant(since))
                  : texts.behind(asked_at ? formatAgo(asked_at) : ''),
            ])}
          />
          {fronts.length === 0 && <p class="muted small">{texts.noFront}</p>}
        </>
      )}
    </Panel>
  )
}

const Pairs = ({ of }: { of: readonly (readonly [name: string, value: string])[] }) => (
  <ul class="ranked roomy">
    {of.map(([name, value]) => (
      <li key={name}>
        <span>{name}</span>
        <span class="muted small">{value}</span>
      </li>
    ))}
  </ul>
)
