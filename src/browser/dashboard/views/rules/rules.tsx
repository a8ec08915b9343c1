import { useEffect } from 'preact/hooks'
import { newRule } from '../../parts/act-link.js'
import { act } from '../../parts/dialogs.js'
import { Gate } from '../../parts/gate.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { go, hrefTo, view } from '../../state/address.js'
import { formatBytes, formatInstant, formatNumber } from '../../state/format.js'
import { type Rehearsed, setPaused, useRehearsal, useRuleState, useRules } from '../../state/rules.js'
import { hasRole } from '../../state/session.js'
import { onKey } from '../../state/view-keys.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { Beside, Elsewhere } from './beside.js'
import { NoRules } from './no-rules.js'
import { asTried, OneRule } from './rule.js'
import { RuleDays } from './rule-days.js'
import { enginesTouched, Legend } from './rule-result.js'
import { RuleTable } from './rule-table.js'

/** The rules of the site, one of them, or a new one. */
export default function Rules() {
  const [, id] = view.value
  return id === undefined ? <RuleList /> : <OneRule key={id} id={id} />
}

function RuleList() {
  const texts = t().rules
  const rules = useRules()
  const list = rules.data ?? []
  const result = useRehearsal(list.length > 0 ? list.filter(({ state }) => state !== 'off').map(asTried) : undefined)
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
          aside={<span class="wide">{texts.firstDecides}</span>}
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
              <span class="muted small">{t().parts.needsRole('admin')}</span>
            )
          }
          foot={texts.foot}
        >
          {() => <RuleTable rules={list} result={result} mayChange={mayChange} />}
        </Panel>
        <Panel span={8} title={texts.didByDay} right={<Legend />} answers={[result]} skeleton={8}>
          {() => result.data && <RuleDays of={result.data} days={result.data.days} />}
        </Panel>
        <Beside />
        <Elsewhere />
      </Sheet>
    </>
  )
}

/** Says that no rule refuses, since when and by whom, and ends that. */
function Paused() {
  const texts = t().rules
  const { data: state } = useRuleState()
  if (state?.setting_off) return <p class="paused">{texts.settingOff}</p>
  if (state?.paused_since === undefined) return null
  return (
    <div class="paused" role="status">
      <Gate of="rehearse" />
      <div>
        <b>{texts.pausedSince(formatInstant(state.paused_since), state.paused_by ?? '')}</b>
        <p class="muted">{texts.pausedMeaning}</p>
      </div>
      {hasRole('admin') && (
        <button type="button" class="button" onClick={() => void act(() => setPaused(false))}>
          {texts.resume}
        </button>
      )}
    </div>
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
        const would = rehearsed.reduce((sum, rule) => sum + rule.would.fetches, 0)
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
                <span class="agents">{formatNumber(would)}</span>,
                formatBytes(rehearsed.reduce((sum, rule) => sum + rule.would.bytes, 0)),
                engines === 0 ? '' : texts.engines(engines),
              )),
          ...texts.peoplePass(<span class="people">{t().shell.show.human}</span>),
        ]
      }}
    </Sentence>
  )
}
