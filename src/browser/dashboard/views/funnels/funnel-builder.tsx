import { useState } from 'preact/hooks'
import { LinkButton, PlainButton } from '../../parts/buttons.js'
import { Form, toast } from '../../parts/dialogs.js'
import { Field } from '../../parts/fields.js'
import { Icon } from '../../parts/marks.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { go, hrefTo, viewPath } from '../../state/address.js'
import { forget } from '../../state/data.js'
import { store } from '../../state/records.js'
import { t } from '../../texts/index.js'
import { blank, GOAL_TYPES } from '../goals/condition.js'
import { ConditionFields } from '../goals/condition-fields.js'
import { describeCondition } from '../goals/describe.js'
import type { FunnelRecord } from './funnel.js'

/** A step with a key of its own, so that its fields move with it. */
type Step = FunnelRecord['steps'][number] & { key: number }

interface Draft {
  name: string
  steps: readonly Step[]
  /** Minutes from the first step to the last, as typed; empty: any time. */
  window: string
}

const TYPES = GOAL_TYPES.filter((type) => type !== 'duration')
const MAX_STEPS = 10

let lastKey = 0
const keyed = (step: FunnelRecord['steps'][number]): Step => {
  lastKey += 1
  return { ...step, key: lastKey }
}
const isStepType = (type: string): type is Step['type'] => TYPES.some((each) => each === type)
const blankStep = (): Step => keyed({ label: '', type: 'page', match: blank('page').match })

const draftOf = (funnel: FunnelRecord | undefined): Draft => ({
  name: funnel?.name ?? '',
  steps: funnel?.steps.map(keyed) ?? [blankStep(), blankStep()],
  window: funnel?.window_minutes === undefined ? '' : `${funnel.window_minutes}`,
})

/** Creates or changes a funnel: 2 to 10 steps in an order, and the time from the first to the last. */
export function FunnelBuilder({ funnel }: { funnel?: FunnelRecord }) {
  const { parts, shell, behaviour } = t()
  const texts = behaviour.funnels
  const [draft, setDraft] = useState<Draft>(() => draftOf(funnel))
  const setSteps = (steps: readonly Step[]) => setDraft((now) => ({ ...now, steps }))
  const edit = useVersion<FunnelRecord>('/api/funnels', funnel, async (version) => {
    const made = await store('/api/funnels', inputOf(draft), funnel && { id: funnel.id, version })
    forget('/api/funnels')
    forget('/api/stats/funnel')
    toast(parts.saved)
    go({ path: viewPath('funnels', (made ?? funnel)?.id ?? '') })
  })
  const move = (i: number, by: -1 | 1) => {
    const steps = [...draft.steps]
    const [step] = steps.splice(i, 1)
    if (step) steps.splice(i + by, 0, step)
    setSteps(steps)
  }
  return (
    <section class="cell builder">
      <p class="crumb">
        <a href={hrefTo({ path: viewPath('funnels') })}>{shell.view.funnels}</a>
      </p>
      <h2 class="title">{funnel ? texts.edit : texts.create}</h2>
      <Form
        action={funnel ? parts.save : parts.create}
        onCancel={() => go({ path: viewPath('funnels', ...(funnel ? [funnel.id] : [])) })}
        submit={edit.store}
      >
        <Field label={t().parts.name} name="name">
          <input
            required
            maxLength={100}
            value={draft.name}
            onInput={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
          />
        </Field>
        <ol class="steps">
          {draft.steps.map((step, i) => (
            <StepFields
              key={step.key}
              step={step}
              index={i}
              count={draft.steps.length}
              onChange={(changed) => setSteps(draft.steps.map((each) => (each === step ? changed : each)))}
              onMove={(by) => move(i, by)}
              onRemove={() => setSteps(draft.steps.filter((each) => each !== step))}
            />
          ))}
        </ol>
        {draft.steps.length < MAX_STEPS && (
          <PlainButton onClick={() => setSteps([...draft.steps, blankStep()])}>
            <Icon name="plus" /> {texts.addStep}
          </PlainButton>
        )}
        <Field label={texts.window} hint={texts.windowHint} name="window_minutes">
          <input
            type="number"
            min={1}
            max={129_600}
            value={draft.window}
            onInput={(event) => setDraft({ ...draft, window: event.currentTarget.value })}
          />
        </Field>
        <NewerVersion
          edit={edit}
          summary={({ name, steps }) =>
            `${name}: ${steps.map((step) => `${step.label} (${describeCondition(step)})`).join(' → ')}`
          }
          onTake={(theirs) => setDraft(draftOf(theirs))}
        />
      </Form>
    </section>
  )
}

/** The funnel of a draft. A step without a name is named after its condition. */
const inputOf = ({ name, steps, window }: Draft) => ({
  name,
  steps: steps.map(({ label, type, match }) => ({
    label: label.trim() || describeCondition({ type, match }).slice(0, 100),
    type,
    match,
  })),
  window_minutes: window === '' ? null : Number(window),
})

interface StepProps {
  step: Step
  index: number
  count: number
  onChange: (step: Step) => void
  onMove: (by: -1 | 1) => void
  onRemove: () => void
}

function StepFields({ step, index, count, onChange, onMove, onRemove }: StepProps) {
  const { behaviour } = t()
  const texts = behaviour.funnels
  return (
    <li>
      <div class="step-head">
        <h3>{texts.step(index + 1)}</h3>
        <LinkButton disabled={index === 0} onClick={() => onMove(-1)}>
          {texts.earlier}
          <span class="visually-hidden">: {texts.step(index + 1)}</span>
        </LinkButton>
        <LinkButton disabled={index === count - 1} onClick={() => onMove(1)}>
          {texts.later}
          <span class="visually-hidden">: {texts.step(index + 1)}</span>
        </LinkButton>
        <LinkButton disabled={count <= 2} onClick={onRemove}>
          {behaviour.goals.remove}
          <span class="visually-hidden">: {texts.step(index + 1)}</span>
        </LinkButton>
      </div>
      <div class="step-fields">
        <Field label={texts.label} hint={texts.labelHint}>
          <input
            maxLength={100}
            value={step.label}
            onInput={(event) => onChange({ ...step, label: event.currentTarget.value })}
          />
        </Field>
        <ConditionFields
          of={step}
          types={TYPES}
          at={`steps[${index}].`}
          onChange={({ type, match }) => isStepType(type) && onChange({ ...step, type, match })}
        />
      </div>
    </li>
  )
}
