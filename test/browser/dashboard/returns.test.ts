import t from 'tap'
import { z } from 'zod'
import { loadDashboardModule } from '../../fixtures/dashboard-module.js'

interface Cell {
  period: number
  visitors?: number
  rate?: number
  at_least?: true
  so_far?: true
  reason?: string
}
interface Cohort {
  start: string
  size?: number
  periods: Cell[]
}
interface Returns {
  people: number
  share: number
  outlier?: { cohort: Cohort; share: number; isLow: boolean }
}
const { returnsOf, columnsOf, stateOf, isAfterChange } = z
  .object({
    returnsOf: z.custom<(cohorts: readonly Cohort[]) => Returns | undefined>(),
    columnsOf: z.custom<(cohorts: readonly Cohort[]) => number>(),
    stateOf: z.custom<(cell: Cell | undefined) => string>(),
    isAfterChange: z.custom<(before: Cohort | undefined, cohort: Cohort) => boolean>(),
  })
  .parse(await loadDashboardModule('views/retention/returns.ts'))

/** A cohort with the people of its period, and a cell of the next one: a number of people, or a state. */
const cohort = (size: number, next: number | Partial<Cell>): Cohort => ({
  start: `${size}`,
  size,
  periods: [
    { period: 0, visitors: size, rate: 1 },
    { period: 1, ...(typeof next === 'number' ? { visitors: next, rate: next / size } : next) },
  ],
})
const CHANGED = { reason: 'salt_changed' }

t.test('the states of a cell', async (t) => {
  const rows: [Cell | undefined, string][] = [
    [{ period: 1, visitors: 0, rate: 0 }, 'known'],
    [{ period: 1, visitors: 3, rate: 0.1, at_least: true }, 'atLeast'],
    [{ period: 1, visitors: 3, rate: 0.1, so_far: true }, 'soFar'],
    [{ period: 1, ...CHANGED }, 'unknown'],
    [{ period: 1, reason: 'not_recorded' }, 'notRecorded'],
    [undefined, 'notBegun'],
  ]
  for (const [cell, state] of rows) t.equal(stateOf(cell), state)
})

t.test('the sentence takes known cells alone, and names a cohort that stands out', async (t) => {
  const usual = [cohort(200, 20), cohort(200, 22), cohort(200, 18)]
  const rows: [Cohort[], people: number | undefined, share: number | undefined, outlier: unknown, why: string][] = [
    [[], undefined, undefined, undefined, 'nothing'],
    [[cohort(100, CHANGED)], undefined, undefined, undefined, 'not to be known'],
    [[cohort(100, { visitors: 9, rate: 0.09, so_far: true })], undefined, undefined, undefined, 'not over'],
    [[cohort(100, 10), cohort(50, { visitors: 1, rate: 0.02, at_least: true })], 100, 0.1, undefined, 'at least'],
    [usual, 600, 0.1, undefined, '9, 10 and 11 in 100 are within chance'],
    // 76 of 996: 0.0763, and a deviation of 0.0134 for 396: 16 of 396 are 0.0404, 2.7 deviations below.
    [[...usual, cohort(396, 16)], 996, 76 / 996, undefined, 'below three deviations'],
    // 72 of 996: 0.0723, and a deviation of 0.0130 for 396: 12 of 396 are 0.0303, 3.2 deviations below.
    [[...usual, cohort(396, 12)], 996, 72 / 996, [396, true], 'far fewer of many'],
    [[...usual, cohort(40, 20)], 640, 80 / 640, [40, false], 'far more'],
    [[...usual, cohort(20, 20)], 620, 80 / 620, undefined, 'too few to stand out'],
    [[cohort(200, 2), cohort(200, 60)], 400, 62 / 400, undefined, 'two do not show what is usual'],
    [[cohort(200, 0), cohort(200, 0), cohort(200, 0)], 600, 0, undefined, 'no one came back'],
  ]
  for (const [cohorts, people, share, outlier, why] of rows) {
    const found = returnsOf(cohorts)
    t.equal(found?.people, people, why)
    t.equal(found?.share, share, why)
    t.same(found?.outlier && [found.outlier.cohort.size, found.outlier.isLow], outlier, why)
  }
})

t.test('columns end with the last that some cohort has; a line stands where ids change', async (t) => {
  t.equal(columnsOf([]), 0)
  t.equal(columnsOf([cohort(1, CHANGED), { start: 'x', periods: [] }]), 1)
  t.equal(isAfterChange(undefined, cohort(1, 1)), false, 'the first row')
  t.equal(isAfterChange(cohort(1, 1), cohort(2, 1)), false, 'the same ids')
  t.equal(isAfterChange(cohort(1, CHANGED), cohort(2, 1)), true, 'ids have changed')
})
