import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { LinkButton } from '../../parts/buttons.js'
import { Choose } from '../../parts/fields.js'
import { Icon, Mark } from '../../parts/marks.js'
import { PageLink } from '../../parts/names.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { AnyText } from '../../parts/path-text.js'
import { Warnings } from '../../parts/states.js'
import { type Audience, go, place } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatNumber, formatShare } from '../../state/format.js'
import { shownPath } from '../../state/path-name.js'
import { quantity } from '../../state/quantity.js'
import { audiences, type Pair, siteQuery, usePair } from '../../state/question.js'
import { onKey } from '../../state/view-keys.js'
import { t } from '../../texts/index.js'

type Answer = DataOf<'/api/stats/journeys/steps'>
type Neighbour = Answer['before'][number]

const MAX_STEPS = 8
/** Rows of a list before the rest is together: more would push the agents' lists off the screen. */
const MAX_ROWS = 8

/** Chains that were left by a choice, for Undo. The browser's back button goes the same way. */
const earlier = signal<readonly (readonly string[])[]>([])

/** The steps in the address; a text that is not a list of paths counts as absent. */
function stepsInAddress(): readonly string[] {
  try {
    const steps: unknown = JSON.parse(place.value.own.steps ?? '[]')
    return Array.isArray(steps)
      ? steps.filter((step) => typeof step === 'string' && step !== '').slice(0, MAX_STEPS)
      : []
  } catch {
    return []
  }
}

const goTo = (steps: readonly string[]) =>
  go({ own: { ...place.value.own, steps: steps.length > 0 ? JSON.stringify(steps) : '' } })

function undo(): void {
  const last = earlier.value.at(-1)
  if (last === undefined) return
  earlier.value = earlier.value.slice(0, -1)
  goTo(last)
}

/** A page with what came before and after it, as a chain that the reader makes longer and shorter. */
export function Explorer() {
  const texts = t().behaviour.steps
  const pages = useTopPages()
  const chosen = stepsInAddress()
  // A share link of this view alone has no list of pages.
  const first = pages.paths[0] ?? (pages.answer.problem ? '/' : undefined)
  const steps = chosen.length > 0 ? chosen : first === undefined ? [] : [first]
  const asked = { steps: JSON.stringify(steps), compare: undefined }
  const answers = usePair('/api/stats/journeys/steps', () => (steps.length > 0 ? asked : undefined))
  useEffect(() => onKey('Backspace', undo), [])
  // Chains of another site have other pages.
  useEffect(
    () => () => {
      earlier.value = []
    },
    [place.value.path[1]],
  )
  const choose = (next: readonly string[]) => {
    earlier.value = [...earlier.value, chosen]
    goTo(next)
  }
  const shown = audiences.value.map((of) => answers[of])
  const all = steps.length > 0 ? shown : [pages.answer]
  return (
    <>
      <Sentence answers={shown}>{() => sentence(answers, steps)}</Sentence>
      <Panel
        title={texts.title}
        aside={texts.hint}
        answers={all}
        skeleton={3}
        empty={steps.length === 0}
        right={
          <>
            {earlier.value.length > 0 && (
              <LinkButton onClick={undo}>
                {texts.undo} <kbd>{texts.undoKey}</kbd>
              </LinkButton>
            )}
            <label class="legend">
              {texts.startFrom}
              <Choose
                class="small-field"
                value={steps.length === 1 ? steps[0] : ''}
                choices={[
                  ...(steps.length === 1 && pages.paths.includes(steps[0] ?? '') ? [] : [['', ''] as const]),
                  ...pages.paths.map((path) => [path, shownPath(path).slice(0, 60)] as const),
                ]}
                onChoose={(path) => path !== '' && choose([path])}
              />
            </label>
          </>
        }
      >
        {() => <Trail steps={steps} answers={answers} onChoose={choose} />}
      </Panel>
      {audiences.value.map((of) => (
        <Band key={of} of={of} answers={answers} steps={steps} onChoose={choose} />
      ))}
      {audiences.value.includes('human') && steps.length > 0 && <Visits answer={answers.human} steps={steps} />}
    </>
  )
}

/** The pages to start from: those with the most pageviews, or reads where agents alone are on screen. */
function useTopPages() {
  const answer = useRead('/api/stats/breakdown', {
    ...siteQuery.value,
    range: '30d',
    audience: place.value.show === 'agent' ? 'agent' : 'human',
    dimension: 'pathname',
    limit: 30,
  })
  const paths = (answer.data ?? []).flatMap(({ value }) => (value === undefined ? [] : [`${value}`]))
  return { answer, paths }
}

const countOf = ({ sessions, times }: { sessions?: number | undefined; times?: number | undefined }): number =>
  sessions ?? times ?? 0
const lastOf = (answer: Answer | undefined): number => countOf(answer?.steps.at(-1) ?? {})
const edgeOf = (rows: readonly Neighbour[] | undefined): number =>
  countOf(rows?.find(({ kind }) => kind === 'edge') ?? {})

function sentence({ human, agent }: Pair<'/api/stats/journeys/steps'>, steps: readonly string[]): ComponentChildren {
  const texts = t().behaviour.steps
  const way = steps.map((path, i) => [i > 0 && ' › ', <PageLink path={path} key={i} />])
  const visits = quantity('/api/stats/journeys/steps sessions', lastOf(human.data), (text) => (
    <span class="people">{text}</span>
  ))
  const next = human.data?.after.find(({ kind }) => kind === 'page')
  const left = edgeOf(human.data?.after)
  const isShown = (of: Audience) => audiences.value.includes(of)
  const people = steps.length === 1 ? texts.viewed(visits, way) : texts.went(visits, way)
  return [
    isShown('human') &&
      human.data && [
        people,
        visits.n === 0
          ? '. '
          : next?.pathname === undefined
            ? texts.left(left)
            : texts.onward(countOf(next), <PageLink path={next.pathname} />, left),
      ],
    isShown('agent') && agent.data && texts.agents(lastOf(agent.data), edgeOf(agent.data.after)),
  ]
}

interface TrailProps {
  steps: readonly string[]
  answers: Pair<'/api/stats/journeys/steps'>
  onChoose: (steps: readonly string[]) => void
}

/** The chain. Without its first step it begins later; without another it ends before that step. */
function Trail({ steps, answers, onChoose }: TrailProps) {
  const texts = t().behaviour.steps
  return (
    <ol class="trail">
      <li class="end">{texts.cameBefore}</li>
      {steps.map((path, i) => (
        <li key={i} class={i === steps.length - 1 ? 'here' : ''}>
          <b title={path.slice(0, 2_000)}>
            <AnyText text={path} />
          </b>
          {steps.length > 1 && (
            <button
              type="button"
              class="take-off"
              aria-label={texts.takeOff(shownPath(path.slice(0, 200)))}
              onClick={() => onChoose(i === 0 ? steps.slice(1) : steps.slice(0, i))}
            >
              <Icon name="close" />
            </button>
          )}
          <span class="muted small counts">
            {audiences.value.map((of) => {
              const step = answers[of].data?.steps[i]
              return (
                step && (
                  <span key={of}>
                    <Mark of={of} /> {of === 'human' ? t().units.visits(countOf(step)) : texts.times(countOf(step))}
                  </span>
                )
              )
            })}
          </span>
        </li>
      ))}
      <li class="end">{texts.cameAfter}</li>
    </ol>
  )
}

interface BandProps extends TrailProps {
  of: Audience
}

/** One readership: the pages before the chain, how often it was taken, the pages after it. */
function Band({ of, steps, answers, onChoose }: BandProps) {
  const texts = t().behaviour.steps
  const { before, after } = texts.heads[of]
  const answer = answers[of]
  const total = lastOf(answer.data)
  const side = (rows: readonly Neighbour[], name: 'before' | 'after') => (
    <Neighbours
      of={of}
      side={name}
      label={name === 'before' ? before : after}
      rows={rows}
      total={total}
      onChoose={
        steps.length < MAX_STEPS
          ? (path) => onChoose(name === 'before' ? [path, ...steps] : [...steps, path])
          : undefined
      }
    />
  )
  return (
    <Panel
      title={t().shell.show[of]}
      hideTitle
      answers={[answer]}
      class="path-band"
      empty={total === 0}
      emptyText={texts.none[of]}
    >
      {() =>
        answer.data && (
          <div class="around">
            {side(answer.data.before, 'before')}
            <p class="middle">
              <span class="muted">
                <Mark of={of} /> {t().shell.show[of]}
              </span>
              <b class={of === 'human' ? 'people' : 'agents'}>{formatNumber(total)}</b>
              <span class="muted small">{texts.took[of](total)}</span>
            </p>
            {side(answer.data.after, 'after')}
          </div>
        )
      }
    </Panel>
  )
}

interface NeighboursProps {
  of: Audience
  side: 'before' | 'after'
  label: string
  rows: readonly Neighbour[]
  total: number
  /** Absent where the chain is as long as it can be. */
  onChoose: ((path: string) => void) | undefined
}

/** The pages at one end, most frequent first. Bars grow from the middle; those of pages are filled. */
function Neighbours({ of, side, label, rows, total, onChoose }: NeighboursProps) {
  const texts = t().behaviour.steps
  const shown = foldRows(rows)
  const most = Math.max(1, ...shown.map(countOf))
  return (
    <div class={side}>
      <h3>{label}</h3>
      <ul>
        {shown.map((row) => {
          const { kind, pathname, pages = 0 } = row
          const width = (countOf(row) / most) * 100
          return (
            <li key={pathname ?? kind}>
              {kind === 'page' && pathname !== undefined ? (
                <span class="row-name">
                  <button
                    type="button"
                    class="cut"
                    title={pathname.slice(0, 2_000)}
                    disabled={onChoose === undefined}
                    aria-label={texts[side === 'before' ? 'putBefore' : 'goOn'](shownPath(pathname.slice(0, 200)))}
                    onClick={() => onChoose?.(pathname)}
                  >
                    <AnyText text={pathname} />
                  </button>
                </span>
              ) : (
                <span class="muted">{kind === 'other' ? texts.others(pages) : texts.edges[of][side]}</span>
              )}
              <span class="count">{formatNumber(countOf(row))}</span>
              <span class="muted small share">{formatShare(countOf(row) / total, 0)}</span>
              <svg class={`${kind} ${of}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect x={side === 'before' ? 100 - width : 0} y="0.5" width={width} height="9" />
              </svg>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** The most frequent rows, and the others in one. */
function foldRows(rows: readonly Neighbour[]): readonly Neighbour[] {
  const pages = rows.filter(({ kind }) => kind === 'page')
  const rest = rows.filter(({ kind }) => kind === 'other')
  const more = pages.slice(MAX_ROWS)
  const folded = more.length + rest.reduce((sum, { pages: n = 0 }) => sum + n, 0)
  const times = [...more, ...rest].reduce((sum, row) => sum + countOf(row), 0)
  const named = [...pages.slice(0, MAX_ROWS), ...rows.filter(({ kind }) => kind === 'edge')]
  const sorted = named.toSorted((a, b) => countOf(b) - countOf(a))
  return folded > 0 ? [...sorted, { kind: 'other', pages: folded, times }] : sorted
}

/** Whole visits that took the chain, the most frequent first. */
function Visits({ answer, steps }: { answer: Pair<'/api/stats/journeys/steps'>['human']; steps: readonly string[] }) {
  const texts = t().behaviour.steps
  const visits = answer.data?.visits ?? []
  return (
    <Panel
      title={
        <>
          <Mark of="human" /> {texts.whole}
        </>
      }
      aside={texts.wholeAside}
      answers={[answer]}
      empty={visits.length === 0}
      emptyText={texts.none.human}
      foot={texts.foot}
    >
      {() => (
        <>
          <ol class="whole-visits">
            {visits.map(({ pathnames, sessions }) => (
              <li key={pathnames.join('\n')}>
                <b>{formatNumber(sessions)}</b>
                <ol>
                  {pathnames.map((path, i) => (
                    <li key={i} class={steps.includes(path) ? 'on' : ''} title={path.slice(0, 2_000)}>
                      <AnyText text={path} />
                    </li>
                  ))}
                </ol>
              </li>
            ))}
          </ol>
          <Warnings of={[answer.meta]} />
        </>
      )}
    </Panel>
  )
}
