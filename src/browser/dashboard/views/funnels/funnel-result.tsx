import { useState } from 'preact/hooks'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { Choices, PlainButton } from '../../parts/buttons.js'
import { Dialog } from '../../parts/dialogs.js'
import { Cut } from '../../parts/names.js'
import { changeText } from '../../parts/numbers.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { Empty, Failed, Lacking, Skeleton, Warnings } from '../../parts/states.js'
import { go, hrefTo, place, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatNumber, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope, obstacle } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'

type Result = DataOf<'/api/stats/funnel/{id}'>
type Step = Required<Result>['steps'][number]
type Per = 'session' | 'visitor'
type Outcome = 'reached' | 'dropped'

const PERS: readonly Per[] = ['session', 'visitor']
const MAX_LISTED = 100

/** Visits or people with their word. */
const countedBy = (per: Per, n: number) =>
  quantity(per === 'session' ? '/api/stats/funnel sessions' : '/api/stats/funnel visitors', n)

const countOf = (of: { sessions?: number; visitors?: number }, per: Per): number | undefined =>
  per === 'session' ? of.sessions : of.visitors

const useFunnel = (id: number, more: Record<string, string | number | undefined>) =>
  useRead('/api/stats/funnel/{id}', obstacle('human') === undefined ? { ...envelope('human'), ...more } : undefined, {
    params: { id },
  })

/** How far sessions or visitors came in one funnel, as bars with what was lost between them. */
export function FunnelResult({ id }: { id: number }) {
  const texts = t().behaviour.funnels
  const per = PERS.find((each) => each === place.value.own.per) ?? 'session'
  const answer = useFunnel(id, { per })
  const [listed, setListed] = useState<{ step: number; outcome: Outcome }>()
  const { data } = answer
  const steps = data?.steps ?? []
  const entered = countOf(steps[0] ?? {}, per) ?? 0
  return (
    <>
      <Sentence answers={[answer]}>
        {() => {
          const last = steps.at(-1)
          const worst = worstStep(steps)
          return texts.sentence(
            whenText(),
            countedBy(per, entered),
            last?.rate === undefined ? undefined : formatShare(last.rate),
            worst && <b>{worst.label.slice(0, 80)}</b>,
            worst?.drop_off === undefined ? '' : formatShare(worst.drop_off),
          )
        }}
      </Sentence>
      <Panel
        title={<span dir="auto">{data?.name.slice(0, 200) ?? texts.title}</span>}
        answers={[answer]}
        skeleton={8}
        right={
          <>
            <Choices
              values={PERS}
              now={per}
              nameOf={(each) => texts.per[each]}
              onChoose={(each) => go({ own: { ...place.value.own, per: each === 'session' ? '' : each } }, true)}
            />
            <ExportMenu report={`funnel/${id}`} only="human" more={{ per }} picture={false} />
          </>
        }
        foot={texts.foot(countedBy(per, countOf(data ?? {}, per) ?? 0))}
      >
        {() => (
          <>
            <Lacking of="human" />
            <ol class="funnel">
              {steps.map((step, i) => (
                <StepBar
                  key={i}
                  step={step}
                  index={i}
                  per={per}
                  share={entered > 0 ? (countOf(step, per) ?? 0) / entered : 0}
                  onList={(outcome) => setListed({ step: i + 1, outcome })}
                />
              ))}
            </ol>
            <Warnings of={[answer.meta]} />
          </>
        )}
      </Panel>
      {listed && <Listed id={id} per={per} {...listed} onClose={() => setListed(undefined)} />}
    </>
  )
}

/** The step before which most of those who could reach it were lost. */
const worstStep = (steps: readonly Step[]): Step | undefined =>
  steps.filter(({ drop_off }) => (drop_off ?? 0) > 0).sort((a, b) => (b.drop_off ?? 0) - (a.drop_off ?? 0))[0]

interface StepBarProps {
  step: Step
  index: number
  per: Per
  share: number
  onList: (outcome: Outcome) => void
}

function StepBar({ step, index, per, share, onList }: StepBarProps) {
  const texts = t().behaviour.funnels
  const count = countOf(step, per)
  const before = step.comparison?.[`${per}s`]
  return (
    <li>
      {step.drop_off !== undefined && (
        <button type="button" class="drop-off more" onClick={() => onList('dropped')}>
          ↓ {texts.dropped(formatShare(step.drop_off))}
        </button>
      )}
      <div class="funnel-step">
        <span class="muted">{index + 1}</span>
        <Cut text={step.label} />
        <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
          <rect width="100" height="1" fill="var(--hover)" />
          <rect width={share * 100} height="1" fill="var(--people)" />
        </svg>
        <button type="button" class="cut" onClick={() => onList('reached')}>
          <b>{count === undefined ? '–' : formatNumber(count)}</b>
          <span class="visually-hidden"> {texts.showWho}</span>
        </button>
        <span>{step.rate === undefined ? '' : formatShare(step.rate)}</span>
        <span class="muted small wide">{changeText('sessions', count, before)}</span>
      </div>
    </li>
  )
}

interface ListedProps {
  id: number
  per: Per
  step: number
  outcome: Outcome
  onClose: () => void
}

/** The sessions or visitors that reached a step, or were lost before it. */
function Listed({ id, per, step, outcome, onClose }: ListedProps) {
  const { shell, behaviour } = t()
  const texts = behaviour.funnels
  const answer = useFunnel(id, { per, step, outcome, limit: MAX_LISTED, compare: undefined })
  const behind = answer.data?.behind
  return (
    <Dialog title={texts.listed[outcome](step)} onClose={onClose}>
      {answer.problem && !behind ? (
        <Failed problem={answer.problem} retry={answer.retry} />
      ) : !behind ? (
        <Skeleton />
      ) : behind.length === 0 ? (
        <Empty>{texts.listedNone}</Empty>
      ) : (
        <ul class="listed">
          {behind.map((each) => (
            <li key={each}>
              <a
                class="mono"
                href={hrefTo({ path: viewPath(per === 'session' ? 'sessions' : 'visitors', each) })}
                onClick={onClose}
              >
                {each.slice(0, 24)}
              </a>
            </li>
          ))}
        </ul>
      )}
      <div class="buttons">
        <PlainButton onClick={onClose}>{shell.close}</PlainButton>
      </div>
    </Dialog>
  )
}
