import type { DataOf } from '../../client/index.js'

export type Cohort = Required<DataOf<'/api/stats/retention'>>['cohorts'][number]
export type Cell = Cohort['periods'][number]
export type CellState = 'known' | 'atLeast' | 'unknown' | 'notRecorded' | 'soFar' | 'notBegun'

/** Returns the state in which a cell is drawn. */
export function stateOf(cell: Cell | undefined): CellState {
  if (cell === undefined) return 'notBegun'
  if (cell.reason === 'salt_changed') return 'unknown'
  if (cell.visitors === undefined) return 'notRecorded'
  if (cell.so_far) return 'soFar'
  return cell.at_least ? 'atLeast' : 'known'
}

interface Returns {
  people: number
  share: number
  /** The cohort that differs most from the others, if it differs by more than chance. */
  outlier?: { cohort: Cohort; share: number; isLow: boolean }
}

/** A smaller cohort does not stand out, and two do not show what is usual. */
const MIN_PEOPLE = 30
const MIN_COHORTS = 3

/** Counts who came back in the next period, over the cohorts for which that is known; undefined if it is for none. */
export function returnsOf(cohorts: readonly Cohort[]): Returns | undefined {
  const compared = cohorts.flatMap((cohort) => {
    const next = cohort.periods.find(({ period }) => period === 1)
    return cohort.size && stateOf(next) === 'known' ? [{ cohort, size: cohort.size, back: next?.visitors ?? 0 }] : []
  })
  const people = compared.reduce((sum, { size }) => sum + size, 0)
  if (people === 0) return undefined
  const share = compared.reduce((sum, { back }) => sum + back, 0) / people
  const deviation = ({ size, back }: { size: number; back: number }) =>
    (back / size - share) / Math.sqrt((share * (1 - share)) / size)
  const [most] = compared
    .filter(({ size }) => size >= MIN_PEOPLE)
    .toSorted((a, b) => Math.abs(deviation(b)) - Math.abs(deviation(a)))
  // Among a few dozen cohorts one differs by more than three deviations once in ten times.
  if (compared.length < MIN_COHORTS || !most || !(Math.abs(deviation(most)) > 3)) return { people, share }
  return {
    ...{ people, share },
    outlier: { cohort: most.cohort, share: most.back / most.size, isLow: deviation(most) < 0 },
  }
}

/** Leaves out the cohorts before the first that was recorded. */
export function recordedFrom(cohorts: readonly Cohort[]): readonly Cohort[] {
  const first = cohorts.findIndex(({ size }) => size !== undefined)
  return first < 0 ? cohorts : cohorts.slice(first)
}

/** The number of columns of returns: they end where ids end. */
export const columnsOf = (cohorts: readonly Cohort[]): number =>
  Math.max(0, ...cohorts.flatMap(({ periods }) => periods.map(({ period }) => period)))

/** Whether ids change between a cohort and the one before it. */
export const isAfterChange = (before: Cohort | undefined, cohort: Cohort): boolean =>
  isLastOfIds(before) && !isLastOfIds(cohort)
const isLastOfIds = (cohort: Cohort | undefined): boolean =>
  stateOf(cohort?.periods.find(({ period }) => period === 1)) === 'unknown'
