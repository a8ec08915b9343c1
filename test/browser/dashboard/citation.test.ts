import t from 'tap'
import { z } from 'zod'
import { loadDashboardModule } from '../../fixtures/dashboard-module.js'

const { citedAgainst } = z
  .object({ citedAgainst: z.custom<(ratio: number, median: number) => { kind: string; factor: number }>() })
  .parse(await loadDashboardModule('state/citation.ts'))

t.test('a page is cited about as often as others only near the median', async (t) => {
  const rows: readonly [ratio: number, median: number, kind: string, factor: number, why: string][] = [
    [7, 21, 'more', 3, 'a third of the reads for each AI visit'],
    [14, 21, 'more', 1.5, 'two thirds'],
    [18, 21, 'alike', 1, 'nearly the median'],
    [21, 21, 'alike', 1, 'the median'],
    [26, 21, 'alike', 1, 'a little more reads'],
    [42, 21, 'less', 2, 'twice the reads for each AI visit'],
    [63, 21, 'less', 3, 'three times'],
  ]
  for (const [ratio, median, kind, factor, why] of rows)
    t.strictSame(citedAgainst(ratio, median), { kind, factor }, why)
})
