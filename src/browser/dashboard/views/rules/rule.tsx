import { useEffect, useRef, useState } from 'preact/hooks'
import { LinkButton, PlainButton } from '../../parts/buttons.js'
import { Confirm, Dialog, Form, toast } from '../../parts/dialogs.js'
import { Gate } from '../../parts/gate.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { Sheet } from '../../parts/panel.js'
import { Empty, Skeleton } from '../../parts/states.js'
import { go, viewPath } from '../../state/address.js'
import type { Problem } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { siteQuery } from '../../state/question.js'
import { load, remove, store } from '../../state/records.js'
import { type RehearsedRule, type Rule, type RuleState, useRehearsal, useRules } from '../../state/rules.js'
import { hasRole, pageTitle } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { type Draft, draftOf, matchesAll, prefilled, ruleText, tried } from './draft.js'
import { RuleFields } from './rule-fields.js'
import { Result, ResultSentence } from './rule-result.js'
import { EnginesBand, EnginesChosen, enginesOf } from './search-engines.js'

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
  const isAll = matchesAll(draft)
  const others = list.filter(({ id, state }) => id !== rule?.id && state !== 'off')
  const at = rule ? others.filter(({ position }) => position < rule.position).length : others.length
  const set = [...others.slice(0, at).map(asTried), tried(draft, rule?.id), ...others.slice(at).map(asTried)]
  const result = useRehearsal(isAll ? undefined : set)
  const rehearsed = isAll ? undefined : result.data?.rules[at]
  const engines = enginesOf(draft, catalog, rehearsed)
  const isLocked = engines.length > 0 && !draft.refuse_search_engines
  const left = catalog.filter(({ agent_id, purpose }) => purpose === 'search' && draft.except.includes(agent_id))
  // The owner agreed to refuse the search engines that the rule named then.
  const withdrawn = (changed: Partial<Draft>) =>
    changed.agents || changed.operators || changed.purposes ? { refuse_search_engines: false } : {}
  const change = (changed: Partial<Draft>) => setDraft((old) => ({ ...old, ...withdrawn(changed), ...changed }))
  const submit = (state?: RuleState) => {
    next.current = state
    if (state) change({ state })
    box.current?.querySelector('form')?.requestSubmit()
  }
  const edit = useVersion<Rule>('/api/rules', rule, async (version) => {
    const state = next.current ?? draft.state
    next.current = undefined
    if (isAll)
      throw {
        status: 400,
        code: 'validation_error',
        message: texts.everything,
        field: 'agents',
        at: new Date(),
      } satisfies Problem
    const { budget = null, license_url = null, until = null } = draft
    const input = { ...draft, state, budget, license_url, until }
    const made = await store('/api/rules', input, rule && { id: rule.id, version })
    forget('/api/rules')
    toast(state === 'on' ? texts.isOn : parts.saved)
    const id = made?.id ?? rule?.id
    if (id === undefined) return
    if (rule) onSaved(await load<Rule>('/api/rules', id))
    else go({ path: viewPath('rules', `${id}`), own: {} }, true)
  })
  const choose = (state: RuleState) => {
    if (state === 'on' && isLocked) return document.getElementById('engines')?.focus()
    if (state === 'on') return setAsks('on')
    if (rule) submit(state)
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
    <div ref={box} class="one-rule">
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
        {isAll ? (
          <div class="cell">
            <p class="sentence">{texts.everything}</p>
          </div>
        ) : (
          <ResultSentence of={result} also={asked} rule={rehearsed} />
        )}
        {isLocked ? (
          <EnginesBand engines={engines} draft={draft} onChange={change} />
        ) : (
          <EnginesChosen left={left.map(({ agent_id }) => agent_id)} draft={draft} onChange={change} />
        )}
        <div class="cell span-5 rule-form">
          <div class="head">
            <h2>{texts.theRule}</h2>
            <span class="right muted small">
              {mayChange
                ? rule && texts.saved(formatInstant(rule.changed_at), rule.changed_by ?? '')
                : parts.needsRole('admin')}
            </span>
          </div>
          {mayChange ? (
            <Form
              action={parts.save}
              submit={edit.store}
              onCancel={() => (rule ? setDraft(draftOf(rule)) : go({ path: viewPath('rules'), own: {} }))}
              cancelLabel={texts.discard}
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
          )}
          {rule && mayChange && <LinkButton onClick={() => setAsks('delete')}>{texts.delete}</LinkButton>}
        </div>
        <Result of={result} rule={rehearsed} />
      </Sheet>
      {asks === 'on' && (
        <ConfirmOn
          of={rehearsed}
          onClose={() => setAsks(undefined)}
          onConfirm={() => {
            setAsks(undefined)
            submit('on')
          }}
        />
      )}
      {asks === 'delete' && rule && (
        <Confirm
          title={texts.delete}
          text={parts.sure}
          action={parts.delete}
          onClose={() => setAsks(undefined)}
          submit={async () => {
            await remove('/api/rules', { id: rule.id })
            forget('/api/rules')
            toast(parts.deleted)
            go({ path: viewPath('rules'), own: {} })
          }}
        />
      )}
    </div>
  )
}

/** A stored rule as the rehearsal takes it. */
export const asTried = (rule: Rule) => tried(draftOf(rule), rule.id)

interface ConfirmOnProps {
  /** The rule in the rehearsal. */
  of: RehearsedRule | undefined
  onClose: () => void
  onConfirm: () => void
}

/** Asks before a rule begins to refuse. */
export function ConfirmOn({ of, onClose, onConfirm }: ConfirmOnProps) {
  const { rules: texts, units, parts } = t()
  return (
    <Dialog title={texts.onTitle} onClose={onClose}>
      <p>{texts.onText(units.fetches(of?.would.fetches ?? 0), units.people(of?.readers ?? 0))}</p>
      <div class="buttons">
        <button type="button" class="button" autofocus onClick={onConfirm}>
          {texts.states.on}
        </button>
        <PlainButton onClick={onClose}>{parts.cancel}</PlainButton>
      </div>
    </Dialog>
  )
}
