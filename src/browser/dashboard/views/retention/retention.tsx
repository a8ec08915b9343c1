import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { Choices, LinkButton } from '../../parts/buttons.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { Lacking, Warnings } from '../../parts/states.js'
import { go, hrefTo, place, viewPath } from '../../state/address.js'
import { formatDay, formatLongDay, formatMonth, formatNumber, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import '../../styles/behaviour.css'

const UNITS = ['day', 'week', 'month'] as const
type Unit = (typeof UNITS)[number]
type Cohort = Required<DataOf<'/api/stats/retention'>>['cohorts'][number]

/** The people who came back, by when they first came. */
export default function Retention() {
  const { shell, behaviour } = t()
  return (
    <PeopleOnly title={shell.view.retention} why={behaviour.retention.agents} instead={['agents', 'coverage']}>
      {() => <Grid />}
    </PeopleOnly>
  )
}

/** Returns how many came back in the next period, of the cohorts for which it has ended. */
function backSoon(cohorts: readonly Cohort[]): { people: number; share: number } | undefined {
  const shares = cohorts.flatMap(({ size, periods }) => {
    const next = periods.find(({ period }) => period === 1)
    return next?.visitors !== undefined && size ? [{ size, visitors: next.visitors }] : []
  })
  const people = shares.reduce((sum, { size }) => sum + size, 0)
  if (people === 0) return undefined
  return { people, share: shares.reduce((sum, { visitors }) => sum + visitors, 0) / people }
}

/** Returns whether the next period of some cohort is not known, because visitors have other ids in it. */
const isSaltChanged = (cohorts: readonly Cohort[]): boolean =>
  cohorts.some(
    ({ size, periods }) => size && periods.some(({ period, reason }) => period === 1 && reason === 'salt_changed'),
  )

function Grid() {
  const texts = t().behaviour.retention
  const chosen = UNITS.find((unit) => unit === place.value.own.by)
  const answer = useOne('/api/stats/retention', 'human', { granularity: chosen, compare: undefined })
  const counts = place.value.own.as === 'count'
  const unit = answer.data?.granularity ?? chosen ?? 'day'
  const cohorts = answer.data?.cohorts ?? []
  const hasUnknown = cohorts.some(({ periods }) => periods.some(({ reason }) => reason === 'salt_changed'))
  const isEmpty = cohorts.every(({ size }) => !size)
  const choose = (own: Record<string, string>) => go({ own: { ...place.value.own, ...own } }, true)
  return (
    <>
      <Sentence answers={[answer]}>
        {() => {
          const back = backSoon(cohorts)
          if (back === undefined) return (isSaltChanged(cohorts) ? texts.saltChanged : texts.tooEarly)(whenText(), unit)
          const people = quantity('/api/stats/retention size', back.people, (text) => (
            <a href={hrefTo({ path: viewPath('visitors') })}>{text}</a>
          ))
          return texts.sentence(whenText(), people, formatShare(back.share), texts.after[unit])
        }}
      </Sentence>
      <Panel
        title={texts.title}
        aside={texts.aside[unit]}
        answers={[answer]}
        empty={isEmpty}
        right={
          <>
            <Choices
              values={UNITS}
              now={unit}
              nameOf={(each) => t().parts.granularity[each]}
              onChoose={(each) => choose({ by: each })}
            />
            <LinkButton aria-pressed={counts} onClick={() => choose({ as: counts ? '' : 'count' })}>
              {counts ? texts.asShare : texts.asCount}
            </LinkButton>
            <ExportMenu
              report="retention"
              only="human"
              picture={false}
              {...(chosen ? { more: { granularity: chosen } } : {})}
            />
          </>
        }
        foot={
          <>
            {texts.foot}
            {hasUnknown && (
              <span class="legend">
                <span>
                  <span class="key-hatch" />
                  {texts.unknown}
                </span>
              </span>
            )}
          </>
        }
      >
        {() => (
          <>
            <Lacking of="human" />
            <Cohorts cohorts={cohorts} unit={unit} counts={counts} />
            <Warnings of={[answer.meta]} />
          </>
        )}
      </Panel>
    </>
  )
}

const cohortName = (start: string, unit: Unit): string => (unit === 'month' ? formatMonth(start) : formatDay(start))

function Cohorts({ cohorts, unit, counts }: { cohorts: readonly Cohort[]; unit: Unit; counts: boolean }) {
  const texts = t().behaviour.retention
  const most = shownPeriods(cohorts)
  const columns = Array.from({ length: most }, (_, i) => i)
  // The first period is the whole cohort; the shade shows the returns.
  const top = Math.max(
    0.01,
    ...cohorts.flatMap(({ periods }) => periods.filter(({ period }) => period > 0).map(({ rate }) => rate ?? 0)),
  )
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={texts.title}>
      <table class="cohorts">
        <thead>
          <tr>
            <th scope="col">{texts.first[unit]}</th>
            <th scope="col" class="right-align">
              {t().shell.show.human}
            </th>
            {columns.map((period) => (
              <th scope="col" class="right-align" key={period}>
                {texts.period[unit](period)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cohorts.map(({ start, size, periods }) => (
            <tr key={start}>
              <th scope="row" title={formatLongDay(start)}>
                {cohortName(start, unit)}
              </th>
              {size === undefined ? (
                <td class="muted" colSpan={most + 1}>
                  {t().parts.notRecorded}
                </td>
              ) : (
                <>
                  <td class="right-align">{formatNumber(size)}</td>
                  {columns.map((column) => {
                    const cell = periods.find(({ period }) => period === column)
                    return <Cell key={column} cell={cell} top={top} counts={counts} />
                  })}
                </>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The number of columns: they end with the last period that is known of some cohort. */
function shownPeriods(cohorts: readonly Cohort[]): number {
  const known = cohorts.flatMap(({ periods }) => periods.filter(({ visitors }) => visitors !== undefined))
  return Math.max(1, ...known.map(({ period }) => period + 1))
}

interface CellProps {
  cell: Cohort['periods'][number] | undefined
  /** The greatest share of returns, which has the darkest shade. */
  top: number
  counts: boolean
}

/** A period of a cohort; empty if it has not ended, hatched if it cannot be known. The shade repeats the number. */
function Cell({ cell, top, counts }: CellProps) {
  if (cell?.reason !== undefined) {
    const why = cell.reason === 'salt_changed' ? t().behaviour.retention.unknown : t().parts.notRecorded
    return (
      <td class="unknown" title={why}>
        <span class="visually-hidden">{why}</span>
      </td>
    )
  }
  if (cell?.rate === undefined || cell.visitors === undefined) return <td />
  const shade = cell.period === 0 ? 0 : (cell.rate / top) * 45
  return (
    <td
      class={cell.visitors === 0 ? 'right-align muted' : 'right-align'}
      style={{ background: `color-mix(in srgb, var(--people) ${shade.toFixed(0)}%, transparent)` }}
      title={`${formatNumber(cell.visitors)}, ${formatShare(cell.rate)}`}
    >
      {counts ? formatNumber(cell.visitors) : formatShare(cell.rate)}
    </td>
  )
}
