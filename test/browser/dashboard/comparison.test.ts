import t from 'tap'
import { z } from 'zod'
import { loadDashboardModule } from '../../fixtures/dashboard-module.js'

const { pointsBeyondChance, unrecordedComparison, withoutComparison, isComparable } = z
  .object({
    pointsBeyondChance: z.custom<(now: object, before: object) => number>(),
    unrecordedComparison: z.custom<(meta: unknown) => { share: number } | undefined>(),
    isComparable: z.custom<(meta: unknown, start: number, now: number) => boolean>(),
    withoutComparison: z.custom<(data: unknown) => unknown>(),
  })
  .parse(await loadDashboardModule('state/comparison.ts'))

const day = (n: number, month = '09') => `2026-${month}-${`${n}`.padStart(2, '0')}T00:00:00.000Z`
const time = (from: number, to: number, month?: string) => ({ start: day(from, month), end: day(to, month) })
const gap = (from: number, to: number, month?: string) => ({ ...time(from, to, month), reason: 'not_running' })
/** Twenty days from 1 October against twenty from 1 September: a day is 5 %. */
const meta = (recorded: object | undefined, more: object = {}) => ({
  query: time(1, 21, '10'),
  comparison: time(1, 21),
  recorded,
  ...more,
})
const before = '2026-08-01T00:00:00.000Z'

t.test('a comparison of which clearly less is recorded than of the window', async (t) => {
  const rows: readonly [meta: unknown, share: number | undefined, why: string][] = [
    [meta({ since: before, gaps: [] }), undefined, 'both are recorded whole'],
    [meta({ since: day(11), gaps: [] }), 0.5, 'ten of twenty days'],
    [meta({ since: day(2), gaps: [] }), undefined, '95 % is enough'],
    [meta({ since: '2026-09-02T01:00:00.000Z', gaps: [] }), 1 - 25 / 480, 'an hour less is not'],
    [meta({ since: day(21), gaps: [] }), 0, 'it ended before the first row'],
    [meta({ gaps: [] }), 0, 'nothing is recorded yet'],
    [meta({ since: before, gaps: [], comparison: [gap(3, 5), gap(9, 11)] }), 0.8, 'four days were lost'],
    [meta({ since: day(6), gaps: [], comparison: [gap(9, 14)] }), 0.5, 'five days before the first row, five lost'],
    [
      meta({ since: before, gaps: [gap(3, 7, '10')], comparison: [gap(3, 7)] }),
      undefined,
      'as much is missing in the window itself',
    ],
    [meta({ since: before, gaps: [gap(3, 5, '10')], comparison: [gap(3, 7)] }), 0.8, '80 % of it, 90 % of the window'],
    [meta({ since: before, gaps: [], comparison: [gap(1, 21)] }), 0, 'all of it was lost'],
    [
      meta({ since: before, gaps: [], comparison: [{ ...gap(1, 21), joined: 300 }] }),
      undefined,
      'how much lies between joined gaps is not known',
    ],
    [meta({ since: day(11), gaps: [] }, { comparison: undefined }), undefined, 'nothing is compared'],
    [meta(undefined), undefined, 'the read is about no site'],
    [
      meta({ since: day(11), gaps: [] }, { warnings: [{ code: 'imported_history' }] }),
      undefined,
      'another tool counted the days before the first row',
    ],
  ]
  for (const [of, share, why] of rows) {
    const found = unrecordedComparison(of)?.share
    t.equal(found === undefined ? undefined : found.toFixed(6), share?.toFixed(6), why)
  }
})

t.test('numbers of the comparison are removed wherever they are, series are not', async (t) => {
  t.same(
    withoutComparison({
      visitors: 9,
      comparison: { visitors: 4 },
      rows: [{ key: 'a', comparison: { visitors: 1 }, inner: { comparison: {}, n: null } }],
      buckets: [{ t: 'x', value: 2 }],
    }),
    { visitors: 9, rows: [{ key: 'a', inner: { n: null } }], buckets: [{ t: 'x', value: 2 }] },
  )
  t.same(withoutComparison({ comparison: [{ t: 'x', value: 2 }] }), { comparison: [{ t: 'x', value: 2 }] })
})

t.test('a share changes by whole points, if not by chance', async (t) => {
  const rows: readonly [now: [n: number, of: number], before: [n: number, of: number], points: number, why: string][] =
    [
      [[60, 100], [40, 100], 20, 'more'],
      [[50, 120], [80, 100], -38, 'less'],
      [[55, 100], [45, 100], 0, 'two samples of one share differ as much'],
      [[5_500, 10_000], [4_500, 10_000], 10, 'large samples do not'],
      [[10_010, 20_000], [9_990, 20_000], 0, 'less than a point'],
      [[6, 10], [0, 0], 0, 'nothing before'],
      [[5, 5], [9, 9], 0, 'all of both'],
    ]
  for (const [[n, of], [m, all], points, why] of rows)
    t.equal(pointsBeyondChance({ n, of }, { n: m, of: all }), points, why)
})

t.test('a last part of the window that can be compared by itself', async (t) => {
  /** All of October and November, against the 61 days before. */
  const long = (recorded: object | undefined, more: object = {}) => ({
    query: { start: day(1, '10'), end: day(1, '12') },
    comparison: { start: day(1, '08'), end: day(1, '10') },
    recorded,
    ...more,
  })
  const [thirty, ten] = [day(1, '11'), day(21, '11')]
  const year = { comparison: { start: '2025-10-01T00:00:00.000Z', end: '2025-12-01T00:00:00.000Z' } }
  const rows: readonly [meta: unknown, start: string, is: boolean, why: string][] = [
    [long({ since: day(1, '10'), gaps: [] }), thirty, true, 'thirty days, and thirty of the 31 before them'],
    [long({ since: day(15, '10'), gaps: [] }), thirty, true, 'the last 17 of thirty have a time before'],
    [long({ since: day(18, '10'), gaps: [] }), thirty, false, '14 of thirty have one'],
    [long({ since: day(18, '10'), gaps: [] }), ten, true, 'ten days have one'],
    [long({ since: before, gaps: [gap(2, 17, '11')] }), thirty, false, 'more than half of the part is missing'],
    [long({ since: before, gaps: [gap(3, 17, '10')] }), thirty, true, '14 days of the time before are'],
    [
      long({ since: before, gaps: [gap(3, 12, '10'), gap(18, 26, '11')] }),
      thirty,
      false,
      'nine before and eight other ones',
    ],
    [long({ since: before, gaps: [gap(3, 12, '10'), gap(3, 12, '11')] }), thirty, true, 'the same nine in both'],
    [
      long({ since: before, gaps: [{ ...gap(1, 30, '11'), joined: 200 }] }),
      thirty,
      false,
      'joined gaps are no promise',
    ],
    [long({ since: before, gaps: [] }, year), thirty, false, 'nothing is recorded of the year before'],
    [long({ since: '2025-11-10T00:00:00.000Z', gaps: [] }, year), thirty, true, 'twenty days of the year before are'],
    [long({ gaps: [] }), thirty, false, 'nothing is recorded at all'],
    [long(undefined), thirty, false, 'the read is about no site'],
    [long({ since: before, gaps: [] }, { comparison: undefined }), thirty, false, 'nothing is compared'],
  ]
  const now = Date.parse(day(1, '12'))
  for (const [of, start, is, why] of rows) t.equal(isComparable(of, Date.parse(start), now), is, why)
  const today = Date.parse(day(12, '11'))
  t.equal(isComparable(long({ since: before, gaps: [] }), Date.parse(thirty), today), false, 'most of it lies ahead')
})
