import t from 'tap'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import type { AgentEventRow, Rows } from '../../../src/storage/rows.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { all, asker, BEFORE, common, IN, rowsWith, spoofed, times } from './url-rows.js'

t.test('content/decay', async (t) => {
  const both = (
    pathname: string,
    people: [number, number],
    agents: [number, number],
    of: Partial<AgentEventRow> = {},
  ): Rows => ({
    events: [BEFORE, IN].flatMap((timestamp, i) => times(people[i] ?? 0, () => eventRow({ timestamp, pathname }))),
    agent_events: [BEFORE, IN].flatMap((timestamp, i) =>
      times(agents[i] ?? 0, () => agentRow({ timestamp, pathname, ...(i === 1 ? of : {}) })),
    ),
  })
  // 1000 views before and 500 now: the site lost half, so a page that lost half lost nothing of its own.
  const parts: [
    pathname: string,
    people: [number, number],
    agents: [number, number],
    verdict: string,
    why: string,
    of?: Partial<AgentEventRow>,
  ][] = [
    ['/quarter', [80, 30], [10, 10], 'decaying', 'three quarters of what the site kept: 25 % down'],
    ['/less', [80, 31], [10, 10], 'steady', 'a little less than 25 %'],
    ['/held', [80, 20], [20, 19], 'decaying', 'agents down by 5 %'],
    ['/fading', [80, 20], [10, 9], 'fading', 'agents down by 10 %: both'],
    ['/half', [80, 40], [10, 5], 'steady', 'as the whole site'],
    ['/few', [49, 0], [10, 10], 'insufficient', '49 pageviews'],
    ['/lone', [50, 0], [9, 20], 'insufficient', '9 fetches'],
    ['/gone', [80, 10], [10, 10], 'blocked', 'missing now', { status: 404 }],
    ['/shut', [80, 10], [10, 10], 'blocked', 'disallowed now', { robots_allowed: false }],
    ['/new', [0, 60], [0, 9], 'insufficient', 'of nothing there is no change'],
  ]
  const rest = { before: 1000 - 80 * 7 - 49 - 50, now: 500 - 30 - 31 - 20 - 20 - 40 - 10 - 10 - 60 }
  const opened = (rows: Rows): Rows => ({
    ...rows,
    agent_events: rows.agent_events.map((row) =>
      row.robots_allowed === null ? { ...row, robots_allowed: true } : row,
    ),
  })
  const world = all(
    ...parts.map(([pathname, people, agents, , , of]) => opened(both(pathname, people, agents, of))),
    both('/rest', [rest.before, rest.now], [0, 0]),
    // Fetches that do not count.
    {
      agent_events: [{ purpose: 'seo' }, { purpose: 'monitor' }, spoofed].flatMap((of) =>
        times(5, () => agentRow({ timestamp: BEFORE, pathname: '/lone', ...of })),
      ),
    },
  )
  const ask = await asker(world)
  const { data, meta } = await ask('content/decay', 'compare=none')
  for (const [pathname, , , verdict, why] of parts)
    t.match(data, rowsWith(data, { ...{ pathname, verdict } }), `${pathname}: ${why}`)
  t.match(
    data,
    rowsWith(data, {
      ...{ pathname: '/held', agents: { before: 20, now: 19, change: -0.05 } },
      people: { before: 80, now: 20, change: -0.75, adjusted: -0.5 },
    }),
  )
  t.match(data, rowsWith(data, { ...{ pathname: '/new', people: { before: 0, now: 60, change: undefined } } }))
  t.match(meta, {
    total: 11,
    query: { compare: 'previous' },
    comparison: { start: '2026-09-21T00:00:00.000Z', end: '2026-10-21T00:00:00.000Z' },
    warnings: [
      { code: 'comparison_fixed' },
      { metric: 'people', code: 'site_wide_change_taken_out', message: /-50 %/ },
    ],
  })
  const verdicts = Array.isArray(data) ? data.map((row) => row.verdict) : []
  t.equal(verdicts.lastIndexOf('fading') < verdicts.indexOf('steady'), true, 'what is lost first')
  const one = await ask(
    'content/decay',
    `filters=${encodeURIComponent('{"dimension":"pathname","op":"is","value":"/half"}')}`,
  )
  t.match(one.data, [{ pathname: '/half', verdict: 'steady' }], 'the whole site’s change, whatever is asked about')
})

t.test('content/decay: 28 local days are enough when clocks change', async (t) => {
  const store = await openStore(t)
  const read = reads.find(({ path }) => path === '/api/content/decay')
  if (!read) return t.fail('no such read')
  for (const [query, warned, why] of [
    ['range=30d', false, 'thirty'],
    ['range=7d', true, 'seven'],
    ['start=2026-03-08T23:00:00Z&end=2026-04-05T22:00:00Z', false, '28 days in Berlin, one of 23 hours'],
    ['start=2026-03-08T23:00:00Z&end=2026-04-05T21:59:59.999Z', true, 'a millisecond less'],
  ] as const) {
    const query2 = new URLSearchParams(`site=1&tz=Europe/Berlin&${query}`)
    const { meta } = await runRead(read, query2, { ...common, store })
    t.equal(meta.warnings?.some(({ code }) => code === 'window_too_short') ?? false, warned, why)
  }
})
