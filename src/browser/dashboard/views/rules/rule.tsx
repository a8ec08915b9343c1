import { useEffect, useRef, useState } from 'preact/hooks'
import { LinkButton } from '../../parts/buttons.js'
import { Confirm, Form, toast } from '../../parts/dialogs.js'
import { EngineBand } from '../../parts/engine-band.js'
import { Gate } from '../../parts/gate.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { Panel, Sheet } from '../../parts/panel.js'
import { Empty, Skeleton } from '../../parts/states.js'
import { go, viewPath } from '../../state/address.js'
import { forget, useRead } from '../../state/data.js'
import { formatInstant, formatNumber } from '../../state/format.js'
import { siteQuery } from '../../state/question.js'
import { load, remove, store } from '../../state/records.js'
import { useRehearsal } from '../../state/rehearsal.js'
import { type RehearsedRule, type Rule, type RuleState, useRules } from '../../state/rules.js'
import { hasRole, pageTitle } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { asTried, type Draft, draftOf, prefilled, ruleText, tried } from './draft.js'
import { RuleFields } from './rule-fields.js'
import { Result, ResultSentence } from './rule-result.js'

export const STATES = ['off', 'rehearse', 'on'] as const

/** The catalogue, for names and for search engines. */
export function useCatalog() {
  const asked = useRead('/api/agents/catalog', { ...siteQuery.value, range: '30d', limit: 1000 })
  const { data: catalog = [] } = asked
  return { asked, catalog, names: new Map(catalog.map(({ agent_id, name }) => [agent_id, name])) }
}

/** One rule, or a new one (`new`), which the address fills in. */
export function OneRule({ id }: { id: string }) {
  const rules = useRules()
  const [saved, setSaved] = useState<Rule>()
  const list = rules.data
  if (!list) return <Skeleton rows={10} />
  const rule = saved ?? list.find((each) => `${each.id}` === id)
  if (!rule && id !== 'new') return <Empty>{t().parts.problem.not_found}</Empty>
  return <RuleEditor key={rule?.version ?? 0} {...(rule ? { rule } : {})} list={list} onSaved={setSaved} />
}

interface EditorProps {
  rule?: Rule
  list: readonly Rule[]
  onSaved: (rule: Rule) => void
}

/** The form beside its result. Long because the state, the band and the form share the draft. */
function RuleEditor({ rule, list, onSaved }: EditorProps) {
  const { rules: texts, parts } = t()
  const { asked, catalog, names } = useCatalog()
  const [draft, setDraft] = useState<Draft>(() => (rule ? draftOf(rule) : prefilled()))
  const [asks, setAsks] = useState<'on' | 'delete'>()
  const box = useRef<HTMLDivElement>(null)
  /** The state that was chosen last, which the draft does not have until it is drawn again. */
  const next = useRef<RuleState>(undefined)
  const mayChange = hasRole('admin')
  const others = list.filter(({ id, state }) => id !== rule?.id && state !== 'off')
  const at = rule ? others.filter(({ position }) => position < rule.position).length : others.length
  const rules = others.map(asTried).toSpliced(at, 0, tried(draft, rule?.id))
  const result = useRehearsal('/api/rules/rehearsal', { rules })
  const rehearsed = result.data?.rules[at]
  const isLocked = rehearsed !== undefined && rehearsed.named_search_engines.length > 0 && !draft.refuse_search_engines
  // The owner agreed to refuse the search engines that the rule named then.
  const withdrawn = (changed: Partial<Draft>) =>
    changed.agents || changed.operators || changed.purposes || changed.except ? { refuse_search_engines: false } : {}
  const change = (changed: Partial<Draft>) => setDraft((old) => ({ ...old, ...withdrawn(changed), ...changed }))
  const close = () => setAsks(undefined)
  const leave = () => go({ path: viewPath('rules'), own: {} })
  const submit = (state?: RuleState) => {
    const form = box.current?.querySelector('form')
    if (state) change({ state })
    // A form that is incomplete is not sent, and a later one is sent in the state that it shows then.
    next.current = form?.checkValidity() ? state : undefined
    form?.requestSubmit()
  }
  const edit = useVersion<Rule>('/api/rules', rule, async (version) => {
    const state = next.current ?? draft.state
    next.current = undefined
    const { budget = null, license_url = null, until = null } = draft
    const input = { ...draft, state, budget, license_url, until }
    const made = await store('/api/rules', input, rule && { id: rule.id, version })
    forget('/api/rules')
    toast(state === 'on' ? texts.isOn : parts.saved)
    if (rule) onSaved(await load<Rule>('/api/rules', rule.id))
    else if (made) go({ path: viewPath('rules', `${made.id}`), own: {} }, true)
  })
  const choose = (state: RuleState) => {
    if (state === 'on' && isLocked) document.getElementById('engines')?.focus()
    else if (state === 'on') setAsks('on')
    else if (rule) submit(state)
    else change({ state })
  }
  useEffect(() => {
    document.title = pageTitle(draft.name || texts.newRule)
    const onSave = (event: KeyboardEvent) => {
      if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      if (mayChange) submit()
    }
    addEventListener('keydown', onSave)
    return () => removeEventListener('keydown', onSave)
  }, [draft.name, mayChange])
  return (
    <div ref={box}>
      <div class="title-line">
        <h1 class="title" dir="auto">
          {draft.name || texts.newRule}
        </h1>
        {rule && <span class="tag">{texts.place(rule.position, list.length)}</span>}
        <div class="switch states" role="group" aria-label={texts.state}>
          {STATES.map((state) => (
            <button
              key={state}
              type="button"
              aria-pressed={draft.state === state}
              disabled={!mayChange}
              onClick={() => choose(state)}
            >
              <Gate of={state} />
              {texts.states[state]}
            </button>
          ))}
        </div>
      </div>
      <Sheet>
        <ResultSentence of={result} also={asked} rule={rehearsed} />
        {isLocked && <Engines of={rehearsed} draft={draft} onChange={change} />}
        <Panel
          span={5}
          class="rule-form"
          title={texts.rule}
          right={
            <span class="muted small">
              {mayChange
                ? rule && texts.saved(formatInstant(rule.changed_at), rule.changed_by ?? '')
                : parts.needsRole('admin')}
            </span>
          }
          foot={rule && mayChange && <LinkButton onClick={() => setAsks('delete')}>{parts.delete}</LinkButton>}
        >
          {() =>
            mayChange ? (
              <Form
                action={parts.save}
                submit={edit.store}
                problems={rehearsed?.problems}
                onCancel={() => (rule ? setDraft(draftOf(rule)) : leave())}
              >
                <RuleFields draft={draft} onChange={change} catalog={catalog} names={names} />
                <NewerVersion
                  edit={edit}
                  summary={(theirs) => `${theirs.name}: ${ruleText(theirs, names)}`}
                  onTake={onSaved}
                />
              </Form>
            ) : (
              <p>{ruleText(draft, names)}</p>
            )
          }
        </Panel>
        <Result of={result} rule={rehearsed} />
      </Sheet>
      {asks === 'on' && (
        <ConfirmOn
          of={rehearsed}
          onClose={close}
          submit={async () => {
            close()
            submit('on')
          }}
        />
      )}
      {asks === 'delete' && rule && (
        <Confirm
          title={parts.delete}
          text={parts.sure}
          action={parts.delete}
          onClose={close}
          submit={async () => {
            await remove('/api/rules', { id: rule.id })
            forget('/api/rules')
            toast(parts.deleted)
            leave()
          }}
        />
      )}
    </div>
  )
}

interface EnginesProps {
  of: RehearsedRule
  draft: Draft
  onChange: (changed: Partial<Draft>) => void
}

/** Says that a rule names search engines and what that costs, and lets the owner decide. */
function Engines({ of, draft, onChange }: EnginesProps) {
  const { rules: texts, units } = t()
  const named = of.named_search_engines.map(({ agent_id, name }) => {
    const touched = of.search_engines.find((one) => one.agent_id === agent_id)
    const { would, fetches, readers } = touched ?? { would: 0, fetches: 0, readers: 0 }
    const at_stake = texts.engine(formatNumber(would), units.fetches(fetches), units.people(readers))
    return { agent_id, name, would, at_stake }
  })
  const ids = named.map(({ agent_id }) => agent_id)
  return (
    <EngineBand
      title={texts.wouldRefuse(texts.engines(named.length))}
      engines={named.sort((a, b) => b.would - a.would)}
      action={texts.refuseThem}
      onAction={() => onChange({ refuse_search_engines: true })}
    >
      <p class="small">{texts.enginesCost}</p>
      <button type="button" class="button" onClick={() => onChange({ except: [...draft.except, ...ids] })}>
        {texts.leaveOut}
      </button>
    </EngineBand>
  )
}

interface ConfirmOnProps {
  /** The rule in the rehearsal. */
  of: RehearsedRule | undefined
  onClose: () => void
  submit: () => Promise<void>
}

/** Asks before a rule begins to refuse. */
export function ConfirmOn({ of, ...confirm }: ConfirmOnProps) {
  const { rules: texts, units } = t()
  return (
    <Confirm
      {...confirm}
      title={texts.onTitle}
      text={texts.onText(units.fetches(of?.would.fetches ?? 0), units.people(of?.readers ?? 0))}
      action={texts.states.on}
    />
  )
}
