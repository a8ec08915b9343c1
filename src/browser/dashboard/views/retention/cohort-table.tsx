import { formatDay, formatDays, formatMonth, formatNumber, formatShare } from '../../state/format.js'
import { t } from '../../texts/index.js'
import { type Cell, type Cohort, columnsOf, isAfterChange, stateOf } from './returns.js'

export type Unit = 'day' | 'week' | 'month'

const DAY_MS = 86_400_000
/** A day of UTC where a cohort begins with one, as ids change by UTC; else the instant, in the site's zone. */
const dayOf = (instant: string): string => (instant.endsWith('T00:00:00.000Z') ? instant.slice(0, 10) : instant)
/** The name of a cohort: its days, or its month. */
export function cohortName({ start, end }: Cohort, unit: Unit): string {
  const first = dayOf(start)
  if (unit === 'month') return formatMonth(first)
  if (unit === 'day' || end === undefined) return formatDay(first)
  const last = new Date(Date.parse(end) - DAY_MS).toISOString()
  return formatDays(first, first === start ? last : last.slice(0, 10))
}

/** The share that a full bar stands for: the greatest of the table, rounded up to a number that is easy to read. */
function fullBar(cohorts: readonly Cohort[]): number {
  const rates = cohorts.flatMap(({ periods }) => periods.flatMap(({ period, rate = 0 }) => (period > 0 ? [rate] : [])))
  const top = Math.max(0.01, ...rates)
  return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((step) => step >= top) ?? 1
}

interface TableProps {
  cohorts: readonly Cohort[]
  unit: Unit
  /** Counts in place of shares. */
  counts: boolean
}

/** The returns of each cohort by period; a cell that cannot be known is hatched, because a 0 would be false. */
export function CohortTable({ cohorts, unit, counts }: TableProps) {
  const texts = t().retention
  const columns = columnsOf(cohorts)
  const periods = Array.from({ length: columns }, (_, i) => i + 1)
  const top = fullBar(cohorts)
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={texts.title}>
      <table class="cohorts">
        <thead>
          <tr>
            <th scope="col">{texts.first}</th>
            <th scope="col" class="right-align">
              {t().shell.show.human}
            </th>
            {periods.map((period) => (
              <th scope="col" key={period}>
                {texts.period[unit](period)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cohorts.map((cohort, i) => (
            <tr key={cohort.start} class={isAfterChange(cohorts[i - 1], cohort) ? 'new-ids' : ''}>
              <th scope="row">{cohortName(cohort, unit)}</th>
              {cohort.size === undefined ? (
                <td class="muted" colSpan={columns + 1}>
                  {t().parts.notRecorded}
                </td>
              ) : (
                <>
                  <td class="right-align">{formatNumber(cohort.size)}</td>
                  {periods.map((period) => (
                    <CohortCell
                      key={period}
                      cell={cohort.periods.find((cell) => cell.period === period)}
                      top={top}
                      counts={counts}
                    />
                  ))}
                </>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface CellProps {
  cell: Cell | undefined
  /** The share that a full bar stands for. */
  top: number
  counts: boolean
}

function CohortCell({ cell, top, counts }: CellProps) {
  const texts = t().retention
  const state = stateOf(cell)
  if (state === 'notBegun') return <td />
  if (state === 'unknown' || state === 'notRecorded') {
    const why = state === 'unknown' ? texts.unknown : t().parts.notRecorded
    return (
      <td class="unknown" title={why}>
        <span class="visually-hidden">{why}</span>
      </td>
    )
  }
  const { visitors = 0, rate } = cell ?? {}
  // Without a first visit there is no return.
  if (rate === undefined) return <td class="muted">–</td>
  return (
    <td class={state} title={`${formatNumber(visitors)}, ${formatShare(rate)}`}>
      <span class="cell-text">
        {counts ? formatNumber(visitors) : formatShare(rate)}
        {state !== 'known' && <span class="muted small"> {state === 'atLeast' ? texts.atLeast : texts.soFar}</span>}
      </span>
      <span class="cell-bar" style={{ width: `${Math.min(100, (rate / top) * 100)}%` }} />
    </td>
  )
}

/** Explains the kinds of cells in the table. */
export function CohortKey({ cohorts }: { cohorts: readonly Cohort[] }) {
  const texts = t().retention
  const states = new Set(cohorts.flatMap(({ periods }) => periods.filter(({ period }) => period > 0).map(stateOf)))
  const keys = (['known', 'atLeast', 'unknown', 'soFar'] as const).filter((state) => states.has(state))
  return (
    <ul class="cohort-key">
      {keys.map((state) => (
        <li key={state}>
          <span class={`sample ${state}`} aria-hidden="true">
            <span class="cell-bar" />
          </span>
          <span>
            <b>{texts.keyName[state]}</b>{' '}
            {state === 'known' ? texts.fullBar(formatShare(fullBar(cohorts), 0)) : texts.keyText[state]}
          </span>
        </li>
      ))}
    </ul>
  )
}
