import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { Choices } from '../../parts/buttons.js'
import { operatorName } from '../../parts/claimed-name.js'
import { Check, Choose, dayOfForm, Input, Lines, Wrong } from '../../parts/fields.js'
import { Icon } from '../../parts/marks.js'
import { timeZone } from '../../state/session.js'
import { dayOf } from '../../state/zone.js'
import { t } from '../../texts/index.js'
import { ACTIONS, BUDGET, type Draft, IDENTITIES, type Names, STATUS } from './draft.js'

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

/** A value of one of the lists that say who a rule is about, and its name with that of the list. */
interface Choice {
  list: 'agents' | 'operators' | 'purposes' | 'except'
  value: string
  label: string
}

const choice = (list: Choice['list'], value: string, name: string): Choice => ({
  ...{ list, value, label: `${t().rules.list[list]} ${name}` },
})

/** A field that finds choices by their name. */
function Adder({ label, choices, onAdd }: { label: string; choices: readonly Choice[]; onAdd: (one: Choice) => void }) {
  const id = useId()
  const add = (field: HTMLInputElement, isSought: (one: Choice) => boolean) => {
    const found = choices.find(isSought)
    if (!found) return
    field.value = ''
    onAdd(found)
  }
  return (
    <>
      <input
        class="chip add"
        list={id}
        aria-label={label}
        placeholder={`+ ${label}`}
        onInput={({ currentTarget }) => add(currentTarget, (one) => one.label === currentTarget.value)}
        onKeyDown={(event) => {
          const text = event.currentTarget.value.trim().toLowerCase()
          if (event.key !== 'Enter' || text === '') return
          event.preventDefault()
          add(event.currentTarget, (one) => one.label.toLowerCase().includes(text))
        }}
      />
      <datalist id={id}>
        {choices.map((one) => (
          <option key={one.label} value={one.label} />
        ))}
      </datalist>
    </>
  )
}

const MAX_CHIPS = 12

/** The agents that the rule is about, and those that are left out. */
function Who({ draft, onChange, catalog, names }: FieldsProps) {
  const { rules: texts, parts } = t()
  const [agents, operators, purposes] = (['agent_id', 'operator', 'purpose'] as const).map((key) =>
    catalog.map((one) => one[key]),
  )
  const nameOf = (value: string) => names.get(value) ?? parts.purpose[value] ?? operatorName(value)
  const each = (list: Choice['list'], values: readonly string[] = []) =>
    [...new Set(values)].map((value) => choice(list, value, nameOf(value)))
  const chosen = (['purposes', 'operators', 'agents', 'except'] as const).flatMap((list) => each(list, draft[list]))
  const change = ({ list, value }: Choice, isAdded: boolean) => {
    const rest = draft[list].filter((one) => one !== value)
    onChange({ [list]: isAdded ? [...rest, value] : rest })
  }
  return (
    <Line label={texts.who} names={['agents', 'operators', 'purposes', 'except', 'refuse_search_engines', 'state']}>
      {chosen.slice(0, MAX_CHIPS).map((one) => (
        <span key={one.list + one.value} class="chip">
          <b>{one.label}</b>
          <button type="button" class="remove" aria-label={texts.remove(one.label)} onClick={() => change(one, false)}>
            <Icon name="close" />
          </button>
        </span>
      ))}
      {chosen.length > MAX_CHIPS && <span class="muted small">{texts.more(chosen.length - MAX_CHIPS)}</span>}
      <Adder
        label={texts.addWho}
        choices={[
          ...each('purposes', purposes),
          ...each('agents', agents),
          ...each('operators', operators),
          ...each('except', agents),
        ]}
        onAdd={(one) => change(one, true)}
      />
      {draft.refuse_search_engines && (
        <Check label={texts.refusedOnPurpose} checked onChange={() => onChange({ refuse_search_engines: false })} />
      )}
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

/** The texts of `src/rules/refusal.ts`, which an agent reads where the owner has written nothing. */
const DEFAULT_TEXT = {
  block: 'This site does not allow this fetch.',
  pay: 'A licence is required to fetch this page.',
  limit: 'Too many fetches. Come back after the time that Retry-After names.',
  gone: 'This page is gone.',
} as const
const FORMS = ['plain', 'html', 'json'] as const

/** The owner's text in each form. An agent that asks for a form without a text gets the plain one. */
function Answer({ draft: { action, text }, onChange }: FieldsProps) {
  const [form, setForm] = useState<(typeof FORMS)[number]>('plain')
  const { [form]: own = '', ...others } = text
  const texts = t().rules
  if (action === 'allow') return null
  return (
    <Line label={texts.text} names={['text']}>
      <Choices values={FORMS} now={form} nameOf={(each) => texts.form[each]} onChoose={setForm} />
      <textarea
        rows={2}
        aria-label={texts.text}
        placeholder={(form === 'plain' ? undefined : text.plain) ?? DEFAULT_TEXT[action]}
        value={own}
        maxLength={20_000}
        onInput={({ currentTarget: { value } }) =>
          onChange({ text: value === '' ? others : { ...others, [form]: value } })
        }
      />
    </Line>
  )
}

/** The texts of a list of values, one a line or between commas. */
const listOf = (text: string) => [...new Set(text.split(/[\n,]/).map((each) => each.trim()))].filter(Boolean)

/** The choice of the answer. */
function Gets({ draft, onChange }: FieldsProps) {
  const texts = t().rules
  // A limit needs a budget, and a rule that lets pass has none.
  const budgetOf = (action: Draft['action']) =>
    action === 'allow' ? undefined : (draft.budget ?? (action === 'limit' ? BUDGET : undefined))
  return (
    <Line label={texts.gets} names={['action']}>
      {ACTIONS.map((action) => (
        <label key={action} class="check action">
          <input
            type="radio"
            name="action"
            checked={draft.action === action}
            onChange={() => onChange({ action, budget: budgetOf(action) })}
          />
          <span>{texts.action[action]}</span>
          <span class="mono muted">{STATUS[action]}</span>
          <span class="muted small">{texts.actionMeaning[action]}</span>
        </label>
      ))}
    </Line>
  )
}

/** All fields of a rule. Long because each has its line. */
export function RuleFields(props: FieldsProps) {
  const { draft, onChange } = props
  const { rules: texts, parts } = t()
  const { until, identity } = draft
  return (
    <>
      <Input
        label={parts.name}
        name="name"
        required
        maxLength={100}
        value={draft.name}
        onInput={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Who {...props} />
      <Line label={texts.identityTitle} names={['identity', 'disallowed']}>
        {IDENTITIES.map((each) => (
          <Check
            key={each}
            label={parts.verification[each]}
            checked={identity.includes(each)}
            onChange={({ currentTarget: { checked } }) =>
              onChange({ identity: IDENTITIES.filter((one) => (one === each ? checked : identity.includes(one))) })
            }
          />
        ))}
        <Check
          label={texts.disallowedOnly}
          checked={draft.disallowed}
          onChange={() => onChange({ disallowed: !draft.disallowed })}
        />
      </Line>
      <Lines
        label={texts.where}
        hint={texts.whereHint}
        name="paths"
        placeholder={texts.everywhere}
        lines={draft.paths}
        onInput={(event) => onChange({ paths: listOf(event.currentTarget.value) })}
      />
      <Input
        label={texts.methods}
        name="methods"
        placeholder={texts.everyMethod}
        defaultValue={draft.methods.join(', ')}
        onInput={(event) => onChange({ methods: listOf(event.currentTarget.value.toUpperCase()) })}
      />
      {draft.action !== 'allow' && <Budget {...props} />}
      <Gets {...props} />
      {draft.action === 'pay' && (
        <Input
          label={texts.licence}
          name="license_url"
          type="url"
          placeholder="https://"
          value={draft.license_url ?? ''}
          onInput={(event) => onChange({ license_url: event.currentTarget.value || undefined })}
        />
      )}
      <Answer {...props} />
      <Check label={texts.waits} checked={draft.strict} onChange={() => onChange({ strict: !draft.strict })} />
      <Input
        label={texts.until}
        hint={texts.thenOff}
        name="until"
        type="date"
        value={until === undefined ? '' : dayOf(Date.parse(until), timeZone.value)}
        onChange={({ currentTarget: { form } }) =>
          onChange({ until: form ? dayOfForm(new FormData(form), 'until') : until })
        }
      />
    </>
  )
}
