import t from 'tap'
import type { Goal } from '../../../src/analytics/query/goals.js'
import { type ReadDependencies, runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import { GoalChange, NewGoal, normaliseGoal } from '../../../src/manage/goals.js'
import type { EventRow } from '../../../src/storage/rows.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'

const NOW = new Date('2026-11-21T12:00:00Z')
const at = (time: string) => new Date(`2026-11-${time}Z`)

const GOALS: Goal[] = [
  { id: 1, name: 'Blog', type: 'page', match: { op: 'matches_wildcard', value: '/blog/*' } },
  {
    ...{ id: 2, name: 'Buy', type: 'event', revenue: { property: 'price', currency: 'EUR' } },
    match: { op: 'is', value: 'buy', props: [{ key: 'plan', op: 'is', value: 'pro' }] },
  },
  { id: 3, name: 'Out', type: 'outbound', match: { op: 'starts_with', value: 'https://shop.' } },
  { id: 4, name: 'PDF', type: 'file_download', match: { op: 'ends_with', value: '.pdf' } },
  { id: 5, name: 'Signup form', type: 'form', match: { op: 'is', value: 'signup' } },
  {
    ...{ id: 6, name: 'Read it', type: 'scroll' },
    match: { op: 'gte', value: 75, pathname: { op: 'starts_with', value: '/blog/' } },
  },
  { id: 7, name: 'A minute', type: 'duration', match: { op: 'gte', value: 60 } },
  { id: 8, name: 'Nothing', type: 'page', match: { op: 'is', value: '/nowhere' } },
  // One goal's name is another goal's id.
  { id: 9, name: '1', type: 'page', match: { op: 'is', value: '/' } },
]

const visit = (visitor_id: bigint, session_id: bigint, started: string, of: Partial<EventRow> = {}) => {
  const session_start = at(started)
  return (time: string, pathname: string, more: Partial<EventRow> = {}): EventRow =>
    eventRow({ visitor_id, session_id, session_start, ...of, timestamp: at(time), pathname, ...more })
}
const buy = (props: object): Partial<EventRow> => ({
  kind: 'custom',
  event_name: 'buy',
  props: JSON.stringify({ plan: 'pro', ...props }),
})
const ann = visit(1n, 1n, '20T10:00:00', { country: 'DE' })
const bob = visit(2n, 2n, '20T11:00:00', { country: 'US' })
const cid = visit(3n, 3n, '20T23:59:30', { country: 'US' })
const dan = visit(4n, 4n, '19T23:50:00', { country: 'DE' })
const zoe = visit(1n, 1n, '20T10:00:00', { site_id: 2 })

/** The window is the whole of the 20th. */
const EVENTS: EventRow[] = [
  ann('20T10:00:00', '/'),
  ann('20T10:00:10', '/blog/a'),
  ann('20T10:00:20', '/blog/a', { kind: 'engagement', scroll: 80 }),
  ann('20T10:00:30', '/blog/a', { kind: 'engagement', scroll: 90 }),
  ann('20T10:00:40', '/blog/b', { scroll: 75 }),
  ann('20T10:00:50', '/pricing', { scroll: 100 }),
  ann('20T10:00:59', '/pricing', buy({ price: 0.1 })),
  bob('20T11:00:00', '/blog/a/b'),
  bob('20T11:00:01', '/blog/c', { scroll: 74 }),
  bob('20T11:00:02', '/blog/c', buy({ price: 0.2 })),
  bob('20T11:00:03', '/blog/c', buy({ price: '19.99' })),
  bob('20T11:00:04', '/blog/c', buy({ price: 5, currency: 'usd' })),
  bob('20T11:00:05', '/blog/c', buy({ price: 7, plan: 'free' })),
  bob('20T11:00:06', '/blog/c', { kind: 'outbound', props: '{"url":"https://shop.example/x"}' }),
  bob('20T11:00:07', '/blog/c', { kind: 'outbound', props: '{"url":"https://other.example/?https://shop."}' }),
  bob('20T11:00:08', '/blog/c', { kind: 'file_download', props: '{"url":"/paper.pdf"}' }),
  bob('20T11:01:00', '/blog/c', { kind: 'form', props: '{"form":"signup"}' }),
  // A session over midnight belongs to the day it began on; only the hits after midnight make it long enough.
  cid('20T23:59:30', '/'),
  cid('21T00:00:31', '/blog/late'),
  // A session that began the day before: its hits count on the 20th, its duration does not.
  dan('19T23:50:00', '/'),
  dan('20T00:05:00', '/blog/z'),
  zoe('20T10:00:00', '/blog/zoe'),
  zoe('20T10:02:00', '/blog/zoe', buy({ price: 1000 })),
]

const HOSTILE = [
  ...['NaN', 'Infinity', '-Infinity', '1e999', '1e15', '', ' ', 'abc', '0x10', '1_000', '1,5', '1.', '.5', '12 EUR'],
  ...[null, true, [1], { a: 1 }],
]

const deps = (goals: readonly Goal[]): Omit<ReadDependencies, 'store'> => ({
  now: () => NOW,
  site: async (id) => (id < 3 ? { id, timezone: 'UTC', visitor_salt: 'month', owns: () => true } : undefined),
  segment: async (id) => (id === '1' ? [{ dimension: 'goal', op: 'is', value: 'Blog' }] : undefined),
  goals: async (site) => (site === 1 ? goals : []),
  catalog: [],
  assistants: [],
})
async function asker(events: EventRow[], goals: readonly Goal[] = GOALS) {
  const store = await openStore(t)
  const fetched = { timestamp: at('20T09:00:00'), pathname: '/blog/a' }
  await store.append({ events, agent_events: [agentRow(fetched), agentRow({ ...fetched, pathname: '/' })] })
  return (path: string, query: string) => {
    const read = reads.find((each) => each.path === `/api/${path}`)
    if (!read) throw new Error(path)
    return runRead(read, new URLSearchParams(query), { ...deps(goals), store })
  }
}
const ask = await asker(EVENTS)
const DAY = 'site=1&start=2026-11-20T00:00:00Z&end=2026-11-21T00:00:00Z'
const filters = (value: unknown) => `&filters=${encodeURIComponent(JSON.stringify(value))}`
const is = (dimension: string, value: unknown) => ({ dimension, op: 'is', value })

const euros = (amount: number) => ({ currency: 'EUR', amount })
const row = (id: number, conversions: number, visitors: number, all: number, more = {}) => ({
  ...{ id, name: GOALS.find((goal) => goal.id === id)?.name, conversions, visitors, rate: visitors / all },
  ...more,
})

t.test('goals have conversions, visitors, rate and revenue', async (t) => {
  const revenue = [euros(20.29), { currency: 'USD', amount: 5 }]
  const rows = [
    // Ann a, b; Bob c (not /blog/a/b, which is a segment deeper); Dan z. Cid's was after midnight.
    [1, row(1, 4, 3, 4), 'a star stays in its segment'],
    [2, row(2, 4, 2, 4, { revenue }), '0.1 + 0.2 + 19.99 and not their binary dust; the free plan is none'],
    [3, row(3, 1, 1, 4), 'the address begins so'],
    [4, row(4, 1, 1, 4), 'a download'],
    [5, row(5, 1, 1, 4), 'a form'],
    [6, row(6, 2, 1, 4), 'a page once a session, however often it was said; not /pricing, not 74'],
    [7, row(7, 2, 2, 4), 'Bob exactly, Cid by what came after midnight; Ann is a second short, Dan is of the 19th'],
    [8, row(8, 0, 0, 4), 'nothing is 0'],
    [9, row(9, 2, 2, 4), 'Ann, Cid'],
  ] as const
  const { data, meta } = await ask('stats/goals', DAY)
  const found = Array.isArray(data) ? data : []
  for (const [id, expected, why] of rows)
    t.strictSame(
      found.find((each) => each.id === id),
      expected,
      why,
    )
  t.strictSame(
    found.map(({ id }) => id),
    [2, 1, 7, 9, 6, 3, 4, 5, 8].toSorted((a, b) => rank(a) - rank(b)),
    'most conversions first, then visitors, then id',
  )
  t.match(meta, { total: 9, rows: 9 })
  t.equal((await ask('stats/goals', `${DAY}&limit=2&page=5`)).meta.rows, 1, 'pages')
})
const rank = (id: number) => [1, 2, 7, 9, 6, 3, 4, 5, 8].indexOf(id)

t.test('goals respect filters and windows', async (t) => {
  const one = async (id: number, query: string) => {
    const { data } = await ask('stats/goals', query)
    return Array.isArray(data) ? data.find((each) => each.id === id) : undefined
  }
  const cases: [id: number, query: string, expected: object, why: string][] = [
    [1, `${DAY}${filters([is('country', 'US')])}`, row(1, 1, 1, 2), 'of the Americans'],
    [2, `${DAY}${filters([is('pathname', '/pricing')])}`, row(2, 1, 1, 1, { revenue: [euros(0.1)] }), 'where it was'],
    [7, `${DAY}${filters([is('country', 'DE')])}`, row(7, 0, 0, 2), 'no long German session began then'],
    [
      7,
      `${DAY}${filters([is('pathname', '/blog/late')])}`,
      { ...row(7, 1, 1, 1), rate: undefined },
      'nobody in the window',
    ],
    [3, `${DAY}${filters([is('goal', 'Out')])}`, row(3, 1, 1, 4), "the goal's own condition is not of all visitors"],
    [3, `${DAY}${filters([is('goal', 'Out'), is('country', 'US')])}`, row(3, 1, 1, 2), 'the others are'],
    [3, `${DAY}${filters([{ and: [is('goal', 'Out'), is('country', 'US')] }])}`, row(3, 1, 1, 2), 'in a group too'],
    [3, `${DAY}${filters([{ has_done: is('goal', 'Out') }])}`, row(3, 1, 1, 1), 'who did it: Bob'],
    [2, `${DAY}&segment=1`, row(2, 0, 0, 4, { revenue: [] }), 'no hit is both'],
    [1, 'site=1&start=2026-11-21T00:00:00Z&end=2026-11-22T00:00:00Z', row(1, 1, 1, 1), 'Cid, the day after'],
    [7, 'site=1&start=2026-11-21T00:00:00Z&end=2026-11-22T00:00:00Z', row(7, 0, 0, 1), 'whose session is counted once'],
  ]
  for (const [id, query, expected, why] of cases) t.match(await one(id, query), expected, why)
  const none = await one(1, 'site=1&start=2020-01-01T00:00:00Z&end=2020-01-02T00:00:00Z')
  t.strictSame(none, { id: 1, name: 'Blog' }, 'nothing was recorded: no number is known')
  t.strictSame((await ask('stats/goals', DAY.replace('site=1', 'site=2'))).data, [], "the other site's are its own")
})

t.test('goals are compared with the other window', async (t) => {
  const query = 'site=1&start=2026-11-21T00:00:00Z&end=2026-11-22T00:00:00Z&compare=previous'
  const { data } = await ask('stats/goals', query)
  const found = Array.isArray(data) ? data : []
  t.strictSame(
    found.find(({ id }) => id === 1),
    {
      ...row(1, 1, 1, 1),
      comparison: { conversions: 4, visitors: 3, rate: 0.75 },
      change: { conversions: -0.75, visitors: -2 / 3, rate: 1 / 3 },
    },
  )
  t.strictSame(found.find(({ id }) => id === 2)?.revenue, [
    { ...euros(0), comparison: { amount: 20.29 }, change: { amount: -1 } },
    { currency: 'USD', amount: 0, comparison: { amount: 5 }, change: { amount: -1 } },
  ])
})

t.test('amounts are exact, and another text is not an amount, which a warning says', async (t) => {
  const goal: Goal = {
    id: 1,
    name: 'Buy',
    type: 'event',
    match: { op: 'is', value: 'buy' },
    revenue: { property: 'a/b~"', currency: 'CHF' },
  }
  const rows = (prices: unknown[], currency?: unknown) =>
    prices.map((price) =>
      visit(9n, 9n, '20T10:00:00')(
        '20T10:00:00',
        '/',
        buy({ 'a/b~"': price, ...(currency === undefined ? {} : { currency }) }),
      ),
    )
  const broken = visit(9n, 9n, '20T10:00:00')('20T10:00:00', '/', { ...buy({}), props: '{"a/b~\\"":1,' })
  const cases: [EventRow[], object[], string, unread?: number][] = [
    // All but the empty text and null, which say nothing.
    [rows(HOSTILE), [], 'none of these is an amount', HOSTILE.length - 2],
    [rows(['1.234,56', '1,234.56', '1234.56']), [{ currency: 'CHF', amount: 1234.56 }], 'no notation is guessed', 2],
    [rows([1, 'ten']), [{ currency: 'CHF', amount: 1 }], 'one of two', 1],
    [
      [...rows([1], 'USD'), ...rows(['ten'], 'EUR')],
      [{ currency: 'USD', amount: 1 }],
      'no currency without amounts',
      1,
    ],
    [[broken], [], 'broken JSON holds nothing'],
    [rows(Array(1000).fill(0.1)), [{ currency: 'CHF', amount: 100 }], 'a thousand dimes'],
    [rows([0.1, 0.2, 'NaN', 1e300]), [{ currency: 'CHF', amount: 0.3 }], 'the bad do not spoil the good', 2],
    [rows([10, -2.5]), [{ currency: 'CHF', amount: 7.5 }], 'a refund'],
    [rows(['1e2', 1e-3]), [{ currency: 'CHF', amount: 100.001 }], 'JSON writes numbers so'],
    [rows([99_999_999_999.99, 0.01]), [{ currency: 'CHF', amount: 1e11 }], 'much'],
    [rows([1], 'eur'), [{ currency: 'EUR', amount: 1 }], "the hit's own"],
    [
      [...rows([1], 'euro'), ...rows([2], ''), ...rows([4], 7), ...rows([8], null)],
      [{ currency: 'CHF', amount: 15 }],
      'which is none',
    ],
  ]
  for (const [events, expected, why, unread] of cases) {
    const { data, meta } = await (await asker(events, [goal]))('stats/goals', DAY)
    t.match(data, [{ conversions: events.length }], `${why}: still conversions`)
    t.strictSame(Array.isArray(data) ? data[0].revenue : undefined, expected, why)
    const said = meta.warnings?.filter(({ code }) => code === 'revenue_unreadable').map(({ message }) => message) ?? []
    const message = `and add no revenue: ${unread} of "Buy". Send a number with a dot and no other sign, such as 1234.56.`
    t.match(said, unread === undefined ? [] : [message], `${why}: what adds nothing is said`)
    t.equal(said.length, unread === undefined ? 0 : 1)
  }
})

t.test('filters on goal take names and ids', async (t) => {
  const overview = async (asked: unknown, path = 'stats/overview') => (await ask(path, `${DAY}${filters(asked)}`)).data
  const cases: [asked: unknown, expected: object, why: string][] = [
    [
      [is('goal', 'Blog')],
      { visitors: 3, pageviews: 4, sessions: 3 },
      'hits of the 20th; sessions that began then, Cid among them',
    ],
    [[is('goal', 'blog')], { code: 'validation_error', field: 'filters' }, 'case counts'],
    [[{ ...is('goal', 'blog'), case_sensitive: false }], { pageviews: 4 }, 'unless it does not'],
    [[is('goal', 3)], { events: 1, visitors: 1 }, 'by id'],
    [[is('goal', '1')], { pageviews: 2, visitors: 2 }, 'a name comes before an id'],
    [[is('goal', ['Out', 'PDF'])], { events: 2, visitors: 1 }, 'any of'],
    [[{ dimension: 'goal', op: 'is_not', value: ['Blog', '1'] }], { pageviews: 2 }, 'none of: /pricing and /blog/a/b'],
    [[{ not: is('goal', 'Blog') }], { pageviews: 4 }, 'negated'],
    [
      [{ dimension: 'goal', op: 'contains', value: 'o' }],
      { pageviews: 4, events: 1 },
      'Blog, Signup form, Nothing; not Out',
    ],
    [[{ dimension: 'goal', op: 'contains', value: 'xyz' }], { visitors: 0 }, 'no goal, no hit'],
    [
      [{ dimension: 'event:goal', op: 'is_not_set' }, is('kind', 'custom')],
      { events: 0 },
      'every sale of Bob is in a session of a minute',
    ],
    [
      [is('goal', 'A minute')],
      { visitors: 3, pageviews: 4, sessions: 2 },
      'hits of the 20th of any session so long, Dan’s too; sessions that began then',
    ],
    [[{ has_done: is('goal', 'Buy') }, is('goal', 'Blog')], { visitors: 2, pageviews: 3 }, 'buyers who read'],
    [[{ has_not_done: is('goal', 'Buy') }, is('goal', 'Blog')], { visitors: 1, pageviews: 1 }, 'Dan'],
    [[is('goal', 'Bye')], { code: 'validation_error', field: 'filters' }, 'no such goal'],
    [[is('goal', ['Blog', 'Bye'])], { code: 'validation_error', field: 'filters' }, 'one of them'],
    [
      [{ dimension: 'goal', op: 'matches', value: '(a+)+$' }],
      { code: 'validation_error', field: 'filters' },
      'no patterns of names',
    ],
  ]
  for (const [asked, expected, why] of cases) {
    t.match(await overview(asked).catch((error: unknown) => error), expected, `${JSON.stringify(asked)}: ${why}`)
  }
})

t.test('a breakdown by goal', async (t) => {
  const { data, meta } = await ask('stats/breakdown', `${DAY}&dimension=goal`)
  const found = Array.isArray(data) ? data : []
  const expected = [
    // visitors, sessions, pageviews, events per value
    ['A minute', 3, 2, 4, 8],
    ['Blog', 3, 3, 4, 0],
    ['1', 2, 2, 2, 0],
    ['Buy', 2, 2, 0, 4],
    ['Read it', 1, 1, 1, 0],
    ['Out', 1, 1, 0, 1],
    ['PDF', 1, 1, 0, 1],
    ['Signup form', 1, 1, 0, 1],
  ]
  const rows = found.map((each) => [each.value, each.visitors, each.sessions, each.pageviews, each.events])
  t.strictSame(new Map(rows.map((each) => [each[0], each])), new Map(expected.map((each) => [each[0], each])))
  t.strictSame(
    rows.map(([, visitors]) => visitors),
    [3, 3, 2, 2, 1, 1, 1, 1],
    'ranked',
  )
  t.equal(meta.total, 8, 'what nobody reached is not a value')
  for (const { value, ...metrics } of found) {
    const { data: alone } = await ask('stats/overview', `${DAY}${filters([is('goal', value)])}`)
    t.strictSame(metrics, alone, `${value}: as a filter has it`)
  }
  const german = await ask(
    'stats/breakdown',
    `${DAY}&dimension=goal${filters([is('country', 'DE'), is('exit_page', '/pricing')])}`,
  )
  t.match(german.data, [{ value: 'Blog', pageviews: 2 }, { value: '1' }, { value: 'Read it' }, { value: 'Buy' }])
  const none = await asker(EVENTS, [])
  t.strictSame((await none('stats/breakdown', `${DAY}&dimension=goal`)).data, [], 'a site without goals')
  t.strictSame((await none('stats/goals', DAY)).data, [])
  t.match((await none('stats/overview', `${DAY}${filters([{ dimension: 'goal', op: 'is_set' }])}`)).data, {
    visitors: 0,
  })
})

t.test('goals apply to people only in reads of both audiences', async (t) => {
  const query = `${DAY}${filters([is('goal', 'Blog')])}`
  const { data } = await ask('citation-gap', query)
  const gaps = Array.isArray(data) ? data : []
  const all = await ask('citation-gap', DAY)
  const fetched = (rows: unknown) => (Array.isArray(rows) ? rows.reduce((sum, each) => sum + each.fetches, 0) : 0)
  t.equal(fetched(gaps), fetched(all.data), 'fetches are not cut to the pages of a goal')
  await t.rejects(ask('stats/overview', `${query}&audience=agent`), { code: 'validation_error', field: 'filters' })
  await t.rejects(ask('stats/overview', `${DAY}&segment=1&audience=all`), {
    code: 'validation_error',
    field: 'segment',
  })
  // The goal's path is not a filter on the entry, so all of Blog's sessions entered.
  t.match((await ask('stats/overview', query)).data, { bounce: 0 })
})

t.test('a goal without a condition counts every hit of its type, even one without the property', async (t) => {
  const hits = [
    bob('20T11:00:00', '/', { kind: 'form', props: '{"form":"signup"}' }),
    bob('20T11:00:01', '/', { kind: 'form', props: '{"plan":"pro"}' }),
    bob('20T11:00:02', '/', { kind: 'form' }),
    bob('20T11:00:03', '/', { kind: 'file_download' }),
    bob('20T11:00:04', '/', { kind: 'custom', event_name: 'buy' }),
  ]
  const any = { op: 'is_set' }
  const none = await asker(hits, [
    { id: 1, name: 'Any form', type: 'form', match: any },
    { id: 2, name: 'Signup', type: 'form', match: { op: 'is', value: 'signup' } },
    { id: 3, name: 'Nameless', type: 'form', match: { op: 'is_not_set' } },
    { id: 4, name: 'Any download', type: 'file_download', match: any },
    { id: 5, name: 'Any event', type: 'event', match: any },
    { id: 6, name: 'Pro', type: 'event', match: { ...any, props: [{ key: 'plan', op: 'is', value: 'pro' }] } },
  ])
  const { data } = await none('stats/goals', DAY)
  const found = Array.isArray(data) ? data.map(({ id, conversions }) => `${id}: ${conversions}`).sort() : []
  t.strictSame(found, ['1: 3', '2: 1', '3: 2', '4: 1', '5: 1', '6: 0'])
  const made = NewGoal.parse({ site: 1, name: 'Any form', type: 'form' })
  t.strictSame(normaliseGoal(made).match, any, 'a goal that is made without a condition')
  t.notOk('match' in GoalChange.parse({ name: 'New name' }), 'a change without one keeps what there is')
  t.throws(() => normaliseGoal(NewGoal.parse({ site: 1, name: 'Deep', type: 'scroll' })), {
    code: 'validation_error',
    field: 'match.op',
  })
})
