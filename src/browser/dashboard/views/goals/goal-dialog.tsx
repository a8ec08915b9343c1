import { useState } from 'preact/hooks'
import { Dialog, Field, Form, toast } from '../../parts/dialogs.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { client, send } from '../../state/client.js'
import { forget } from '../../state/data.js'
import { siteQuery } from '../../state/question.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { blank, GOAL_TYPES, type Goal } from './condition.js'
import { ConditionFields } from './condition-fields.js'
import { describeCondition } from './describe.js'

type Draft = Pick<Goal, 'name' | 'type' | 'match' | 'revenue'>

interface GoalDialogProps {
  goal?: Goal
  onClose: () => void
  onDelete?: () => void
}

/** Creates or changes a goal. If another member changed it meanwhile, the reader chooses; no input is lost. */
export function GoalDialog({ goal, onClose, onDelete }: GoalDialogProps) {
  const { parts, behaviour } = t()
  const texts = behaviour.goals
  const [draft, setDraft] = useState<Draft>(() => goal ?? { name: '', ...blank('page') })
  const done = () => {
    forget('/goals')
    onClose()
    toast(parts.saved)
  }
  const edit = useVersion<Goal>({
    record: goal,
    load: async () => (await send(client.GET('/api/goals/{id}', { params: { path: { id: goal?.id ?? 0 } } }))).data,
    save: async (version) => {
      const { name, type, match, revenue } = draft
      if (goal === undefined) {
        const body = { site: siteQuery.value.site ?? 0, name, type, match, ...(revenue ? { revenue } : {}) }
        await send(client.POST('/api/goals', { body }))
      } else
        await send(
          client.PATCH('/api/goals/{id}', {
            params: { path: { id: goal.id } },
            headers: { 'if-match': `"${version}"` },
            body: { name, type, match, revenue: revenue ?? null },
          }),
        )
      done()
    },
  })
  return (
    <Dialog title={goal ? texts.edit : texts.create} onClose={onClose}>
      <Form action={goal ? parts.save : parts.create} onCancel={onClose} submit={edit.store}>
        {(problem) => (
          <>
            <Field label={texts.name} name="name" problem={problem}>
              <input
                required
                maxLength={100}
                autofocus
                value={draft.name}
                onInput={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
              />
            </Field>
            <ConditionFields
              of={draft}
              types={GOAL_TYPES}
              problem={problem}
              onChange={(condition) => setDraft({ ...draft, ...condition })}
            />
            {draft.type === 'event' && <Revenue draft={draft} onChange={setDraft} />}
            {onDelete && (
              <p>
                <button type="button" class="more" onClick={onDelete}>
                  {texts.deleteTitle}
                </button>
              </p>
            )}
            {edit.newer && (
              <NewerVersion
                at={edit.newer.at}
                summary={`${edit.newer.record.name}: ${describeCondition(edit.newer.record)}`}
                onTake={() => {
                  if (edit.newer) setDraft(edit.newer.record)
                  edit.settle()
                }}
              />
            )}
          </>
        )}
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
      <button
        type="button"
        class="more"
        onClick={() => onChange({ ...draft, revenue: { property: 'price', currency: site.value?.currency ?? 'EUR' } })}
      >
        {texts.addRevenue}
      </button>
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
          aria-label={texts.currency}
          value={revenue.currency}
          onInput={(event) =>
            onChange({ ...draft, revenue: { ...revenue, currency: event.currentTarget.value.toUpperCase() } })
          }
        />
        <button type="button" class="more" onClick={() => onChange(rest)}>
          {texts.remove}
        </button>
      </div>
      <span class="hint">{texts.revenueHint}</span>
    </fieldset>
  )
}
