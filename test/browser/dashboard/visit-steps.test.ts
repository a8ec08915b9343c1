import t from 'tap'
import { z } from 'zod'
import { loadDashboardModule } from '../../fixtures/dashboard-module.js'

interface Visit {
  steps: { at: number; page?: number; engaged?: number; scroll?: number }[]
  length: number
  inUse: { from: number; to: number }[]
  engaged?: number
}
const { visitSteps, longestPage, clockOf, placeAmong } = z
  .object({
    visitSteps: z.custom<(timeline: readonly object[]) => Visit>(),
    longestPage: z.custom<(visit: Visit) => { pathname: string; engaged: number } | undefined>(),
    clockOf: z.custom<(ms: number) => string>(),
    placeAmong: z.custom<(id: string, visits: readonly object[], total?: number) => object | undefined>(),
  })
  .parse(await loadDashboardModule('views/sessions/visit-steps.ts'))
const { idPeriod } = z
  .object({ idPeriod: z.custom<(salt: string, at: number) => { start: number; end: number } | undefined>() })
  .parse(await loadDashboardModule('state/id-period.ts'))

const START = Date.parse('2026-11-24T08:50:35Z')
const hit = (seconds: number, kind: string, pathname: string, more: object = {}) => ({
  ...{ timestamp: new Date(START + seconds * 1_000).toISOString(), kind, hostname: 'one.example', pathname, ...more },
})
const report = (seconds: number, pathname: string, engaged: number, scroll = 50, more: object = {}) =>
  hit(seconds, 'engagement', pathname, { engaged_ms: engaged * 1_000, scroll, ...more })
const view = (seconds: number, pathname: string) => hit(seconds, 'pageview', pathname)

/** `[what happened, [pages as page, engaged, scroll], in use from and to, all in seconds, why]` */
type Case = [object[], (number | undefined)[][], number[][], why: string]
const CASES: Case[] = [
  [[view(0, '/')], [[1, undefined, undefined]], [], 'one page without the script'],
  [
    [view(0, '/'), report(18, '/', 18, 60), view(24, '/fog'), report(165, '/fog', 141, 92)],
    [
      [1, 18, 60],
      [2, 141, 92],
    ],
    [
      [0, 18],
      [24, 165],
    ],
    'in use from the start of each page; six seconds in the background',
  ],
  [
    [view(0, '/'), report(30, '/', 10), report(90, '/', 20, 80)],
    [[1, 30, 80]],
    [
      [20, 30],
      [70, 90],
    ],
    'hidden in between: each report ends a time in use; the deepest scroll',
  ],
  [
    [view(0, '/'), view(10, '/fog'), report(11, '/', 11), report(40, '/fog', 29)],
    [
      [1, 11, 50],
      [2, 29, 50],
    ],
    [[0, 40]],
    'the report of a page arrives after the next page',
  ],
  [[view(5, '/'), report(10, '/', 60)], [[1, 60, 50]], [[0, 5]], 'no time in use before the page was opened'],
  [
    [view(0, '/'), view(10, '/'), report(20, '/', 5)],
    [
      [1, undefined, undefined],
      [2, 5, 50],
    ],
    [[15, 20]],
    'of two views of a page the later one',
  ],
  [
    [view(0, '/'), report(9, '/', 9, 10, { hostname: 'two.example' })],
    [[1, undefined, undefined]],
    [[0, 9]],
    'a page of the same path on another host: in use, but not this page',
  ],
  [
    [view(0, '/'), hit(3, 'custom', '/', { name: 'Signup' }), hit(4, 'web_vitals', '/')],
    [
      [1, undefined, undefined],
      [undefined, undefined, undefined],
    ],
    [],
    'an event is a step, measured vitals are none',
  ],
]

t.test('a visit is its pages with what their reports measured', async (t) => {
  for (const [timeline, pages, spans, why] of CASES) {
    const { steps, inUse } = visitSteps(timeline)
    const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000)
    t.same(
      steps.map(({ page, engaged, scroll }) => [page, seconds(engaged), scroll]),
      pages,
      why,
    )
    t.same(
      inUse.map(({ from, to }) => [from / 1_000, to / 1_000]),
      spans,
      why,
    )
  }
  t.same(visitSteps([]), { steps: [], length: 0, inUse: [] }, 'nothing')
  t.equal(visitSteps([view(0, '/'), hit(3, 'web_vitals', '/')]).engaged, undefined, 'no report of engagement: not 0')
})

t.test('the page in use for longest is named where it had more than half', async (t) => {
  const of = (...timeline: object[]) => longestPage(visitSteps(timeline))
  t.same(of(view(0, '/'), report(9, '/', 9)), undefined, 'the only page')
  t.same(of(view(0, '/'), report(9, '/', 9), view(10, '/a'), report(19, '/a', 9)), undefined, 'half')
  t.same(of(view(0, '/'), report(9, '/', 9), view(10, '/a'), report(20, '/a', 10)), { pathname: '/a', engaged: 10_000 })
  t.same(of(view(0, '/'), view(10, '/a')), undefined, 'nothing was measured')
})

t.test('times of a visit, its place, and how long an id lasts', async (t) => {
  const clocks: [ms: number, shown: string][] = [
    [0, '0:00'],
    [59_999, '0:59'],
    [65_000, '1:05'],
    [3_605_000, '1:00:05'],
  ]
  for (const [ms, shown] of clocks) t.equal(clockOf(ms), shown)
  const visits = [{ id: 'c' }, { id: 'b' }, { id: 'a' }]
  t.same(placeAmong('b', visits, 3), { place: 2, of: 3 }, 'the newest is first in the list')
  t.same(placeAmong('a', visits, 3), { place: 1, of: 3 })
  t.same(placeAmong('a', visits, 900), undefined, 'only the newest are known')
  t.same(placeAmong('a', [{ id: 'a' }], 1), undefined, 'the only one')
  t.same(placeAmong('x', visits, 3), undefined)

  const at = (iso: string) => Date.parse(iso)
  const periods: [salt: string, at: string, start: string, end: string, why: string][] = [
    ['month', '2026-11-24T08:50:35Z', '2026-11-01', '2026-12-01', 'a month'],
    ['month', '2026-12-31T23:59:59Z', '2026-12-01', '2027-01-01', 'a month at the end of the year'],
    ['week', '2026-11-24T08:50:35Z', '2026-11-23', '2026-11-30', 'a Tuesday: from Monday'],
    ['week', '2026-11-29T23:59:59Z', '2026-11-23', '2026-11-30', 'a Sunday'],
    ['week', '2026-11-30T00:00:00Z', '2026-11-30', '2026-12-07', 'a Monday'],
    ['day', '2026-10-25T00:30:00Z', '2026-10-25', '2026-10-26', 'a day of UTC has 24 hours'],
  ]
  for (const [salt, instant, start, end, why] of periods)
    t.same(idPeriod(salt, at(instant)), { start: at(start), end: at(end) }, why)
  t.equal(idPeriod('never', at('2026-11-24T08:50:35Z')), undefined)
})
