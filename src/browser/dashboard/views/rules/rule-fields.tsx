import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { Choices } from '../../parts/buttons.js'
import { operatorName } from '../../parts/claimed-name.js'
import { Check, Choose, Field, Wrong } from '../../parts/fields.js'
import { Icon } from '../../parts/marks.js'
import { Popover } from '../../parts/popover.js'
import { timeZone } from '../../state/session.js'
import { dayOf, instantOf } from '../../state/zone.js'
import { t } from '../../texts/index.js'
import { ACTIONS, answerText, BUDGET, type Draft, IDENTITIES, type Names, STATUS } from './draft.js'

interface FieldsProps {
  draft: Draft
  onChange: (changed: Partial<Draft>) => void
  catalog: DataOf<'/api/agents/catalog'>
  names: Names
}

/** One line of the form: what it is about, and its controls. */
const Line = ({ label, names = [], children }: { label: string; names?: string[]; children: ComponentChildren }) => (
  <fieldset class="field rule-line">
    <legend>{label}</legend>
    {children}
    <Wrong names={names} />
  </fieldset>
)

/** A value of one of the lists that say who a rule is about. */
interface Choice {
  list: 'agents' | 'operators' | 'purposes' | 'except'
  value: string
  label: string
}

/** A button with a field that finds choices by their name. */
function Adder({ label, choices, onAdd }: { label: string; choices: readonly Choice[]; onAdd: (one: Choice) => void }) {
  const [text, setText] = useState('')
  const matches = choices.filter((each) => each.label.toLowerCase().includes(text.trim().toLowerCase())).slice(0, 8)
  return (
    <Popover class="chip add" button={`+ ${label}`}>
      {(close) => {
        const add = (one: Choice | undefined) => {
          if (one) onAdd(one)
          setText('')
          close()
        }
        return (
          <div class="menu">
            <input
              type="search"
              autofocus
              aria-label={label}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter') return
                event.preventDefault()
                add(matches[0])
              }}
            />
            {matches.map((one) => (
              <button key={one.list + one.value} type="button" onClick={() => add(one)}>
                <span dir="auto">{one.label}</span> <span class="muted small">{t().rules.list[one.list]}</span>
              </button>
            ))}
          </div>
        )
      }}
    </Popover>
  )
}

const MAX_CHIPS = 12

/** The agents that the rule is about, and those that are left out. */
function Who({ draft, onChange, catalog, names }: FieldsProps) {
  const { rules: texts, parts } = t()
  const purposes = [...new Set(catalog.map(({ purpose }) => purpose))]
  const choices: Choice[] = [
    ...purposes.map((value) => ({ list: 'purposes' as const, value, label: parts.purpose[value] ?? value })),
    ...catalog.map((agent) => ({ list: 'agents' as const, value: agent.agent_id, label: agent.name })),
    ...[...new Set(catalog.map(({ operator }) => operator))].map((value) => ({
      ...{ list: 'operators' as const, value, label: operatorName(value) },
    })),
  ]
  const change = ({ list, value }: Choice, isAdded: boolean) => {
    const rest = draft[list].filter((each) => each !== value)
    onChange({ [list]: isAdded ? [...rest, value] : rest })
  }
  const chosen = (['purposes', 'operators', 'agents', 'except'] as const).flatMap((list) =>
    draft[list].map((value) => ({
      list,
      value,
      label: names.get(value) ?? parts.purpose[value] ?? operatorName(value),
    })),
  )
  return (
    <Line label={texts.who} names={['agents', 'operators', 'purposes', 'except', 'refuse_search_engines', 'state']}>
      {chosen.slice(0, MAX_CHIPS).map((one) => (
        <span key={one.list + one.value} class="chip">
          {texts.list[one.list]} <b>{one.label}</b>
          <button type="button" class="remove" aria-label={texts.remove(one.label)} onClick={() => change(one, false)}>
            <Icon name="close" />
          </button>
        </span>
      ))}
      {chosen.length > MAX_CHIPS && <span class="muted small">{texts.more(chosen.length - MAX_CHIPS)}</span>}
      <Adder label={texts.addWho} choices={choices} onAdd={(one) => change(one, true)} />
      <Adder
        label={texts.addExcept}
        choices={choices.filter(({ list }) => list === 'agents').map((one) => ({ ...one, list: 'except' }))}
        onAdd={(one) => change(one, true)}
      />
    </Line>
  )
}

function Budget({ draft, onChange }: FieldsProps) {
  const texts = t().rules
  const shown = draft.budget ?? BUDGET
  const set = (changed: Partial<typeof BUDGET>) => onChange({ budget: { ...shown, ...changed } })
  return (
    <Line label={texts.budget} names={['budget']}>
      <Check
        label={texts.moreThan}
        checked={draft.budget !== undefined}
        onChange={(event) => onChange({ budget: event.currentTarget.checked ? shown : undefined })}
      />
      <input
        type="number"
        min={1}
        aria-label={texts.amount}
        value={shown.limit}
        onInput={(event) => set({ limit: Math.max(1, event.currentTarget.valueAsNumber || 1) })}
      />
      {(['unit', 'per', 'by'] as const).map((key) => (
        <Choose
          key={key}
          aria-label={texts.budgetPart[key]}
          value={shown[key]}
          choices={Object.entries<string>(texts[key])}
          onChoose={(value) => set({ [key]: value })}
        />
      ))}
    </Line>
  )
}

/** The owner's text in each form, and how the answer looks. */
function Answer({ draft, onChange }: FieldsProps) {
  const texts = t().rules
  const [form, setForm] = useState<'plain' | 'html' | 'json'>('plain')
  const { [form]: own = '', ...others } = draft.text
  return (
    <Line label={texts.text} names={['text']}>
      <Choices
        values={['plain', 'html', 'json'] as const}
        now={form}
        nameOf={(each) => ({ plain: texts.plain, html: 'HTML', json: 'JSON' })[each]}
        onChoose={setForm}
      />
      <textarea
        rows={2}
        aria-label={texts.text}
        placeholder={texts.ownText}
        value={own}
        maxLength={20_000}
        onInput={({ currentTarget: { value } }) =>
          onChange({ text: value === '' ? others : { ...others, [form]: value } })
        }
      />
      <pre class="code">{answerText(draft, form)}</pre>
    </Line>
  )
}

/** All fields of a rule. Long because each has its line. */
export function RuleFields(props: FieldsProps) {
  const { draft, onChange } = props
  const texts = t().rules
  const { until } = draft
  const listOf = (text: string) => [...new Set(text.split(/[\n,]/).map((each) => each.trim()))].filter(Boolean)
  const toggle = (identity: (typeof IDENTITIES)[number]) => {
    const rest = draft.identity.filter((each) => each !== identity)
    onChange({ identity: rest.length < draft.identity.length ? rest : [...rest, identity] })
  }
  return (
    <>
      <Field label={t().parts.name} name="name">
        <input
          required
          maxLength={100}
          value={draft.name}
          onInput={(event) => onChange({ name: event.currentTarget.value })}
        />
      </Field>
      <Who {...props} />
      <Line label={texts.identityTitle} names={['identity', 'disallowed']}>
        {IDENTITIES.map((each) => (
          <Check
            key={each}
            label={texts.identity[each]}
            checked={draft.identity.includes(each)}
            onChange={() => toggle(each)}
          />
        ))}
        <Check
          label={texts.disallowedOnly}
          checked={draft.disallowed}
          onChange={() => onChange({ disallowed: !draft.disallowed })}
        />
      </Line>
      <Field label={texts.where} hint={texts.whereHint} name="paths">
        <textarea
          class="mono"
          rows={2}
          placeholder={texts.everywhere}
          defaultValue={draft.paths.join('\n')}
          onInput={(event) => onChange({ paths: listOf(event.currentTarget.value) })}
        />
      </Field>
      <Field label={texts.methods} name="methods">
        <input
          class="mono"
          placeholder={texts.everyMethod}
          defaultValue={draft.methods.join(', ')}
          onInput={(event) => onChange({ methods: listOf(event.currentTarget.value.toUpperCase()) })}
        />
      </Field>
      {draft.action !== 'allow' && <Budget {...props} />}
      <Line label={texts.gets} names={['action']}>
        {ACTIONS.map((action) => (
          <label key={action} class="check action">
            <input
              type="radio"
              name="action"
              checked={draft.action === action}
              onChange={() =>
                // A limit needs a budget, and a rule that lets pass has none.
                onChange({
                  action,
                  budget: action === 'allow' ? undefined : action === 'limit' ? (draft.budget ?? BUDGET) : draft.budget,
                })
              }
            />
            <span>{texts.action[action]}</span>
            <span class="mono muted">{STATUS[action]}</span>
            <span class="muted small">{texts.actionMeaning[action]}</span>
          </label>
        ))}
      </Line>
      {draft.action === 'pay' && (
        <Field label={texts.licence} name="license_url">
          <input
            type="url"
            placeholder="https://"
            value={draft.license_url ?? ''}
            onInput={(event) => onChange({ license_url: event.currentTarget.value || undefined })}
          />
        </Field>
      )}
      {draft.action !== 'allow' && <Answer {...props} />}
      <Check label={texts.waits} checked={draft.strict} onChange={() => onChange({ strict: !draft.strict })} />
      <Field label={texts.until} hint={texts.thenOff} name="until">
        <input
          type="date"
          value={until === undefined ? '' : dayOf(Date.parse(until), timeZone.value)}
          onChange={({ currentTarget: { value } }) =>
            onChange({ until: value ? new Date(instantOf(`${value}T00:00`, timeZone.value)).toISOString() : undefined })
          }
        />
      </Field>
    </>
  )
}
