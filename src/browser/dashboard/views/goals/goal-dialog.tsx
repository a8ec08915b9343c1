import { useState } from 'preact/hooks'
import { LinkButton } from '../../parts/buttons.js'
import { Dialog, Form, toast } from '../../parts/dialogs.js'
import { Field } from '../../parts/fields.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { forget } from '../../state/data.js'
import { store } from '../../state/records.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { blank, GOAL_TYPES, type GoalRecord } from './condition.js'
import { ConditionFields } from './condition-fields.js'
import { describeCondition } from './describe.js'

type Draft = Pick<GoalRecord, 'name' | 'type' | 'match' | 'revenue'>

interface GoalDialogProps {
  goal?: GoalRecord
  onClose: () => void
  onDelete?: () => void
}

/** Creates or changes a goal. If another member changed it meanwhile, the reader chooses; no input is lost. */
export function GoalDialog({ goal, onClose, onDelete }: GoalDialogProps) {
  const { parts, behaviour } = t()
  const texts = behaviour.goals
  const [draft, setDraft] = useState<Draft>(() => goal ?? { name: '', ...blank('page') })
  const edit = useVersion<GoalRecord>('/api/goals', goal, async (version) => {
    const { name, type, match, revenue = null } = draft
    await store('/api/goals', { name, type, match, revenue }, goal && { id: goal.id, version })
    forget('/goals')
    onClose()
    toast(parts.saved)
  })
  return (
    <Dialog title={goal ? texts.edit : texts.create} onClose={onClose}>
      <Form action={goal ? parts.save : parts.create} onCancel={onClose} submit={edit.store}>
        <Field label={t().parts.name} name="name">
          <input
            required
            maxLength={100}
            autofocus
            value={draft.name}
            onInput={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
          />
        </Field>
        <ConditionFields of={draft} types={GOAL_TYPES} onChange={(condition) => setDraft({ ...draft, ...condition })} />
        {draft.type === 'event' && <Revenue draft={draft} onChange={setDraft} />}
        {onDelete && (
          <p>
            <LinkButton onClick={onDelete}>{texts.deleteTitle}</LinkButton>
          </p>
        )}
        <NewerVersion
          edit={edit}
          summary={(theirs) => `${theirs.name}: ${describeCondition(theirs)}`}
          onTake={setDraft}
        />
      </Form>
    </Dialog>
  )
}

/** The property of an event that holds an amount, and its currency. */
function Revenue({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const texts = t().behaviour.goals
  const { revenue, ...rest } = draft
  if (!revenue)
    return (
      <LinkButton
        onClick={() => onChange({ ...draft, revenue: { property: 'price', currency: site.value?.currency ?? 'EUR' } })}
      >
        {texts.addRevenue}
      </LinkButton>
    )
  return (
    <fieldset class="field">
      <legend>{texts.revenue}</legend>
      <div class="property">
        <input
          required
          maxLength={200}
          aria-label={texts.amount}
          value={revenue.property}
          onInput={(event) => onChange({ ...draft, revenue: { ...revenue, property: event.currentTarget.value } })}
        />
        <input
          required
          pattern="[A-Z]{3}"
          maxLength={3}
          aria-label={t().settings.site.currency}
          value={revenue.currency}
          onInput={(event) =>
            onChange({ ...draft, revenue: { ...revenue, currency: event.currentTarget.value.toUpperCase() } })
          }
        />
        <LinkButton onClick={() => onChange(rest)}>{texts.remove}</LinkButton>
      </div>
      <span class="hint">{texts.revenueHint}</span>
    </fieldset>
  )
}
