import { useState } from 'preact/hooks'
import { Field, Form, toast } from '../../parts/dialogs.js'
import { Icon } from '../../parts/marks.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { go, hrefTo, viewPath } from '../../state/address.js'
import { client, type Problem, send } from '../../state/client.js'
import { forget } from '../../state/data.js'
import { siteQuery } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { blank, GOAL_TYPES } from '../goals/condition.js'
import { ConditionFields } from '../goals/condition-fields.js'
import { describeCondition } from '../goals/describe.js'
import type { Funnel } from './funnels.js'

/** A step with a key of its own, so that its fields move with it. */
type Step = Funnel['steps'][number] & { key: number }

interface Draft {
  name: string
  steps: readonly Step[]
  /** Minutes from the first step to the last, as typed; empty: any time. */
  window: string
}

const TYPES = GOAL_TYPES.filter((type) => type !== 'duration')
const MAX_STEPS = 10

let lastKey = 0
const keyed = (step: Funnel['steps'][number]): Step => {
  lastKey += 1
  return { ...step, key: lastKey }
}
const isStepType = (type: string): type is Step['type'] => TYPES.some((each) => each === type)
const blankStep = (): Step => keyed({ label: '', type: 'page', match: blank('page').match })

const draftOf = (funnel: Funnel | undefined): Draft => ({
  name: funnel?.name ?? '',
  steps: funnel?.steps.map(keyed) ?? [blankStep(), blankStep()],
  window: funnel?.window_minutes === undefined ? '' : `${funnel.window_minutes}`,
})

/** Creates or changes a funnel: 2 to 10 steps in an order, and the time from the first to the last. Long because of its form. */
export function FunnelBuilder({ funnel }: { funnel?: Funnel }) {
  const { parts, shell, behaviour } = t()
  const texts = behaviour.funnels
  const [draft, setDraft] = useState<Draft>(() => draftOf(funnel))
  const setSteps = (steps: readonly Step[]) => setDraft((now) => ({ ...now, steps }))
  const edit = useVersion<Funnel>({
    record: funnel,
    load: async () => (await send(client.GET('/api/funnels/{id}', { params: { path: { id: funnel?.id ?? 0 } } }))).data,
    save: async (version) => {
      const id = await store(draft, funnel?.id, version)
      forget('/api/funnels')
      forget('/api/stats/funnel')
      toast(parts.saved)
      go({ path: viewPath('funnels', id) })
    },
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
        {(problem) => (
          <>
            <Field label={texts.name} name="name" problem={problem}>
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
                  problem={problem}
                  onChange={(changed) => setSteps(draft.steps.map((each) => (each === step ? changed : each)))}
                  onMove={(by) => move(i, by)}
                  onRemove={() => setSteps(draft.steps.filter((each) => each !== step))}
                />
              ))}
            </ol>
            {draft.steps.length < MAX_STEPS && (
              <button type="button" class="button plain" onClick={() => setSteps([...draft.steps, blankStep()])}>
                <Icon name="plus" /> {texts.addStep}
              </button>
            )}
            <Field label={texts.window} hint={texts.windowHint} name="window_minutes" problem={problem}>
              <input
                type="number"
                min={1}
                max={129_600}
                value={draft.window}
                onInput={(event) => setDraft({ ...draft, window: event.currentTarget.value })}
              />
            </Field>
            {edit.newer && (
              <NewerVersion
                at={edit.newer.at}
                summary={`${edit.newer.record.name}: ${edit.newer.record.steps
                  .map((step) => `${step.label} (${describeCondition(step)})`)
                  .join(' → ')}`}
                onTake={() => {
                  setDraft(draftOf(edit.newer?.record))
                  edit.settle()
                }}
              />
            )}
          </>
        )}
      </Form>
    </section>
  )
}

/** Stores a draft; returns its id. A step without a name is named after its condition. */
async function store({ name, steps, window }: Draft, id: number | undefined, version: number | undefined) {
  const body = {
    name,
    steps: steps.map(({ label, type, match }) => ({
      label: label.trim() || describeCondition({ type, match }).slice(0, 100),
      type,
      match,
    })),
  }
  const minutes = window === '' ? undefined : Number(window)
  if (id === undefined) {
    const site = siteQuery.value.site ?? 0
    const created = await send(
      client.POST('/api/funnels', {
        body: { site, ...body, ...(minutes === undefined ? {} : { window_minutes: minutes }) },
      }),
    )
    return created.data.id
  }
  await send(
    client.PATCH('/api/funnels/{id}', {
      params: { path: { id } },
      headers: { 'if-match': `"${version}"` },
      body: { ...body, window_minutes: minutes ?? null },
    }),
  )
  return id
}

interface StepProps {
  step: Step
  index: number
  count: number
  problem: Problem | undefined
  onChange: (step: Step) => void
  onMove: (by: -1 | 1) => void
  onRemove: () => void
}

function StepFields({ step, index, count, problem, onChange, onMove, onRemove }: StepProps) {
  const { behaviour } = t()
  const texts = behaviour.funnels
  return (
    <li>
      <div class="step-head">
        <h3>{texts.step(index + 1)}</h3>
        <button type="button" class="more" disabled={index === 0} onClick={() => onMove(-1)}>
          {texts.earlier}
          <span class="visually-hidden">: {texts.step(index + 1)}</span>
        </button>
        <button type="button" class="more" disabled={index === count - 1} onClick={() => onMove(1)}>
          {texts.later}
          <span class="visually-hidden">: {texts.step(index + 1)}</span>
        </button>
        <button type="button" class="more" disabled={count <= 2} onClick={onRemove}>
          {behaviour.goals.remove}
          <span class="visually-hidden">: {texts.step(index + 1)}</span>
        </button>
      </div>
      <div class="step-fields">
        <Field label={texts.label} hint={texts.labelHint} name="label" problem={undefined}>
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
          problem={problem}
          onChange={({ type, match }) => isStepType(type) && onChange({ ...step, type, match })}
        />
      </div>
    </li>
  )
}
