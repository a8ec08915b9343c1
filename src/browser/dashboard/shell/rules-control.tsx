import { useEffect, useState } from 'preact/hooks'
import { act, Confirm } from '../parts/dialogs.js'
import { Gate } from '../parts/gate.js'
import { hrefTo, view, viewPath } from '../state/address.js'
import { isOn, setPaused, useRuleState, useRules } from '../state/rules.js'
import { hasRole } from '../state/session.js'
import { onKey } from '../state/view-keys.js'
import { t } from '../texts/index.js'
import { Now } from './rail.js'
import { ACT_VIEWS } from './views.js'

/** The number of rules that are on, and the button that pauses all of them at once; resuming asks. */
export function RulesControl() {
  const texts = t().rules
  const { data: rules } = useRules()
  const { data: state } = useRuleState()
  const [isAsking, setAsking] = useState(false)
  const on = rules?.filter(isOn).length ?? 0
  const isPaused = state?.paused_since !== undefined
  const mayPause = hasRole('admin') && state !== undefined && rules !== undefined && rules.length > 0
  const turn = () => (isPaused ? setAsking(true) : void act(() => setPaused(true), texts.pausedNow))
  useEffect(() => (mayPause ? onKey('.', turn) : undefined), [mayPause, isPaused])
  return (
    <div class="control pause" role="group" aria-label={texts.title}>
      <span>
        <Gate of={isPaused ? 'rehearse' : on > 0 ? 'on' : 'off'} />
        {rules === undefined ? '\u00a0' : isPaused ? texts.paused : texts.on(on)}
      </span>
      {mayPause && (
        <button type="button" class="button" aria-keyshortcuts="." onClick={turn}>
          {isPaused ? texts.resume : texts.pause} <kbd class="wide">.</kbd>
        </button>
      )}
      {isAsking && (
        <Confirm
          title={texts.resume}
          text={texts.resumeText(texts.on(on))}
          action={texts.resume}
          onClose={() => setAsking(false)}
          submit={async () => {
            await setPaused(false)
            setAsking(false)
          }}
        />
      )}
    </div>
  )
}

/** Links between the Act views, in the place of filters, which they do not take. */
export function ActTabs() {
  const names: Record<string, string> = t().shell.view
  return (
    <section class="chips act-tabs" aria-label={t().shell.act}>
      <nav aria-label={t().shell.act}>
        {ACT_VIEWS.map(({ name }) => (
          <a
            key={name}
            href={hrefTo({ path: viewPath(name) })}
            aria-current={view.value[0] === name ? 'page' : undefined}
          >
            {names[name]}
          </a>
        ))}
      </nav>
      <Now />
    </section>
  )
}
