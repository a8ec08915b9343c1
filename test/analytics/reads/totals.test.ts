import t from 'tap'
import { z } from 'zod'
import { NOW, WORLD } from '../../fixtures/world.js'
import { asker, DAY, filters, gptbot, is, row } from './world-reads.js'

const ask = await asker(WORLD)

/** The fetches of an agent by verification. */
const proof = (verified_fetches: number, spoofed: number, indeterminate: number, unverifiable: number) => ({
  verified_fetches,
  spoofed,
  indeterminate,
  unverifiable,
})
const none = { visitors: 0, sessions: 0, pageviews: 0, events: 0 }
const day = { visitors: 3, sessions: 2, pageviews: 4, bounce: 0.5, duration: 480, views_per_session: 1.5, events: 0 }
const eves = { visitors: 1, sessions: 1, pageviews: 1, bounce: 0, duration: 1200, views_per_session: 2, events: 0 }

const overviews: [query: string, data: object, why: string][] = [
  [DAY, day, 'eve read on after midnight, but her session is of the day before'],
  [
    'site=1&range=7d',
    { visitors: 3, sessions: 4, pageviews: 6, bounce: 0.25, duration: 547.5, views_per_session: 1.5, events: 1 },
    'an event is not a bounce',
  ],
  [
    `${DAY}&audience=agent`,
    { fetches: 2, pageviews: 1, agents: 1, verified: 0.5, ...proof(1, 1, 0, 0), bytes: 1200 },
    'agents have no bounce',
  ],
  [
    'site=1&audience=agent&range=today',
    { fetches: 1, pageviews: 0, agents: 1, ...proof(0, 0, 0, 1), bytes: 50 },
    'nothing to verify: absent',
  ],
  [`${DAY}&audience=all`, { pageviews: 5 }, 'only what may be summed is'],
  ['site=1&start=2020-01-01T00:00:00Z&end=2020-01-02T00:00:00Z', {}, "before the site's first row nothing is known"],
  ['site=1&start=2026-10-25T10:00:00Z&end=2026-10-25T11:00:00Z', none, 'no rows: counts are 0, means absent'],
  [
    'site=1&audience=agent&start=2026-10-25T10:00:00Z&end=2026-10-25T11:00:00Z',
    { fetches: 0, pageviews: 0, agents: 0, ...proof(0, 0, 0, 0), bytes: 0 },
    'no rows of agents',
  ],
  ['site=1&start=2026-10-25T00:00:00Z&end=2026-10-25T00:00:00Z', none, 'an empty window'],
  [
    `${DAY}${filters([is('pathname', '/docs')])}`,
    { visitors: 2, sessions: 1, pageviews: 2, duration: 960, views_per_session: 2, events: 0 },
    'nobody entered at /docs: no bounce there',
  ],
  [
    `${DAY}${filters([is('pathname', '/')])}`,
    { visitors: 2, sessions: 2, pageviews: 2, bounce: 0.5, duration: 480, views_per_session: 1.5, events: 0 },
    'both entered at /',
  ],
  [
    `site=1&range=7d${filters([{ has_done: is('event_name', 'signup') }])}`,
    { visitors: 1, sessions: 2, pageviews: 2, bounce: 0.5, duration: 15, views_per_session: 1, events: 1 },
    'all that bob did, who signed up once; zoe of the other site did too',
  ],
  [
    `site=1&range=7d${filters([{ has_not_done: is('event_name', 'signup') }])}`,
    { visitors: 2, sessions: 2, pageviews: 4, bounce: 0, duration: 1080, views_per_session: 2, events: 0 },
    'all that ann did, whose id is that of zoe, who signed up elsewhere',
  ],
  [
    `site=1&range=7d${filters([is('event_name', 'signup')])}`,
    { visitors: 1, sessions: 1, pageviews: 0, bounce: 0, duration: 30, views_per_session: 1, events: 1 },
    'the session in which it happened',
  ],
  [
    `site=1&range=7d${filters([is('prop:plan', 'pro')])}`,
    { visitors: 1, sessions: 1, pageviews: 0, bounce: 0, duration: 30, views_per_session: 1, events: 1 },
    'and by property',
  ],
  [
    `${DAY}${filters([is('exit_page', '/docs')])}`,
    { visitors: 2, sessions: 1, pageviews: 3, bounce: 0, duration: 960, views_per_session: 2, events: 0 },
    'where ann and eve left',
  ],
  [`${DAY}${filters([is('pathname', "' or 1=1 --")])}`, none, 'a value is never SQL'],
  [
    `${DAY}&segment=german`,
    { visitors: 1, sessions: 1, pageviews: 2, bounce: 0, duration: 960, views_per_session: 2, events: 0 },
    "a segment's filters",
  ],
  [`${DAY}&segment=german${filters([is('country', 'US')])}`, none, 'hold besides those that are asked for'],
  [
    `${DAY}&compare=previous`,
    {
      ...day,
      comparison: eves,
      change: { visitors: 2, sessions: 1, pageviews: 3, duration: -0.6, views_per_session: -0.25 },
    },
    'a change of nothing is absent',
  ],
  [`${DAY}&compare=year`, { ...day, comparison: {}, change: {} }, 'nothing was recorded a year ago'],
  [
    'site=2&range=7d',
    { visitors: 1, sessions: 1, pageviews: 1, bounce: 0, duration: 5, views_per_session: 1, events: 1 },
    'the other site',
  ],
]
t.test('stats/overview', async (t) => {
  for (const [query, data, why] of overviews) t.strictSame((await ask('stats/overview', query)).data, data, why)
})

t.test('stats/timeseries', async (t) => {
  const hours = async (query: string) => {
    const { data, meta } = await ask('stats/timeseries', `${DAY}&granularity=hour${query}`)
    const shape = z.object({ buckets: z.array(z.object({ t: z.string(), value: z.number().optional() })) })
    const { buckets } = shape.parse(data)
    t.equal(meta.rows, 25, 'a day of 25 hours')
    t.equal(buckets.length, 25)
    return buckets.flatMap(({ t, value }) => (value ? [`${t.slice(8, 16)} ${value}`] : []))
  }
  t.strictSame(
    await hours(''),
    ['24T22:00 1', '25T00:00 1', '25T01:00 1'],
    'ann and bob at half past two, an hour apart',
  )
  t.strictSame(await hours('&metric=pageviews'), ['24T22:00 1', '25T00:00 2', '25T01:00 1'])
  t.strictSame(await hours('&metric=sessions'), ['25T00:00 1', '25T01:00 1'], 'sessions where they started')
  t.strictSame(await hours('&audience=agent'), ['25T05:00 1', '25T06:00 1'])
  t.strictSame(await hours('&audience=all'), ['24T22:00 1', '25T00:00 2', '25T01:00 1', '25T05:00 1'])
  const { data } = await ask('stats/timeseries', 'site=1&range=7d&granularity=day&metric=bounce&compare=previous')
  const bucket = (day: string, value?: number) => ({
    t: `2026-10-${day}.000Z`,
    ...(value === undefined ? {} : { value }),
  })
  t.match(data, {
    buckets: [
      ...['19', '20', '21', '22'].map((day) => bucket(`${day}T22:00:00`)),
      bucket('23T22:00:00', 0),
      bucket('24T22:00:00', 0.5),
      bucket('25T23:00:00', 0),
    ],
    comparison: [],
  })
  t.match(data, { comparison: { length: 7, 0: { t: '2026-10-12T22:00:00.000Z' } } }, 'from the 13th, ten o’clock')
  const unknown = { code: 'validation_error', field: 'metric', message: /did you mean visitors\?/ }
  await t.rejects(ask('stats/timeseries', `${DAY}&metric=visitor`), unknown, 'the nearest metric is named')
  await t.rejects(ask('stats/timeseries', `${DAY}&metric=constructor`), { code: 'validation_error', field: 'metric' })
  await t.rejects(ask('stats/timeseries', 'site=1&range=90d&granularity=minute'), {
    code: 'validation_error',
    field: 'granularity',
  })
})
const lists: [path: string, query: string, data: object[], total: number, why: string][] = [
  [
    'stats/breakdown',
    `${DAY}&dimension=country`,
    [
      { value: 'DE', visitors: 1, sessions: 1, pageviews: 2, ...row },
      { value: 'US', visitors: 1, sessions: 1, pageviews: 1, bounce: 1, duration: 0, views_per_session: 1, events: 0 },
      { visitors: 1, sessions: 0, pageviews: 1, events: 0 },
    ],
    3,
    'eve came from nowhere that is known',
  ],
  [
    'stats/breakdown',
    `${DAY}&dimension=event:page&limit=1&page=2`,
    [{ value: '/docs', visitors: 2, sessions: 1, pageviews: 2, duration: 960, views_per_session: 2, events: 0 }],
    2,
    'page by page, and another name for it',
  ],
  [
    'stats/breakdown',
    'site=1&range=7d&dimension=event_name',
    [
      {
        value: 'signup',
        visitors: 1,
        sessions: 1,
        pageviews: 0,
        bounce: 0,
        duration: 30,
        views_per_session: 1,
        events: 1,
      },
    ],
    1,
    'what is not an event has no row',
  ],
  [
    'stats/breakdown',
    'site=1&range=7d&dimension=exit_page',
    [
      { value: '/docs', visitors: 2, sessions: 2, pageviews: 4, ...row, duration: 1080 },
      { value: '/', visitors: 1, sessions: 1, pageviews: 1, bounce: 1, duration: 0, views_per_session: 1, events: 0 },
      {
        value: '/pricing',
        visitors: 1,
        sessions: 1,
        pageviews: 1,
        bounce: 0,
        duration: 30,
        views_per_session: 1,
        events: 1,
      },
    ],
    3,
    'last pages; of equals the first by name',
  ],
  [
    'stats/breakdown',
    `${DAY}&dimension=pathname&audience=all&compare=previous`,
    [
      { value: '/docs', pageviews: 3, comparison: { pageviews: 0 }, change: {} },
      { value: '/', pageviews: 2, comparison: { pageviews: 1 }, change: { pageviews: 1 } },
    ],
    2,
    'a path that the other window did not see',
  ],
  [
    'stats/pages',
    DAY,
    [
      {
        ...{ pathname: '/', visitors: 2, sessions: 2, pageviews: 2, entries: 2, exits: 1, exit_rate: 0.5, bounce: 0.5 },
      },
      {
        ...{ pathname: '/docs', visitors: 2, sessions: 1, pageviews: 2, entries: 0, exits: 1, exit_rate: 0.5 },
        ...{ time_on_page: 20, scroll_depth: 80 },
      },
    ],
    2,
    'what nobody measured on / is absent',
  ],
  ['stats/pages', `${DAY}&page=9`, [], 2, 'beyond the last page'],
  [
    'stats/pages',
    `${DAY}&audience=all`,
    [
      { pathname: '/docs', pageviews: 3 },
      { pathname: '/', pageviews: 2 },
    ],
    2,
    'all',
  ],
  [
    'stats/pages',
    `${DAY}&audience=agent`,
    [
      { pathname: '/docs', fetches: 1, pageviews: 1, agents: 1, verified: 1, ...proof(1, 0, 0, 0), bytes: 1000 },
      { pathname: '/', fetches: 1, pageviews: 0, agents: 1, verified: 0, ...proof(0, 1, 0, 0), bytes: 200 },
    ],
    2,
    'agents',
  ],
  [
    'agents/breakdown',
    'site=1&range=7d&dimension=verified&audience=human',
    [
      {
        ...{ value: true, fetches: 2, pageviews: 2, agents: 2, verified: 1, ...proof(2, 0, 0, 0), bytes: 2000 },
        last_seen: '2026-10-25T05:00:00.000Z',
      },
      {
        ...{ value: false, fetches: 1, pageviews: 0, agents: 1, verified: 0, ...proof(0, 1, 0, 0), bytes: 200 },
        last_seen: '2026-10-25T06:00:00.000Z',
      },
      {
        ...{ fetches: 1, pageviews: 0, agents: 1, ...proof(0, 0, 0, 1), bytes: 50 },
        last_seen: '2026-10-26T09:00:00.000Z',
      },
    ],
    3,
    'proven, spoofed, neither; about agents whoever is asked for',
  ],
  [
    'agents/breakdown',
    'site=1&range=7d&dimension=agent_id',
    [
      {
        ...{ value: 'gptbot', name: 'GPTBot', operator: 'OpenAI', purpose: 'training', fetches: 2, pageviews: 1 },
        ...{ agents: 1, verified: 0.5, ...proof(1, 1, 0, 0), bytes: 1200, last_seen: '2026-10-25T06:00:00.000Z' },
      },
      {
        ...{ value: 'bingbot', name: 'bingbot', fetches: 1, pageviews: 1, agents: 1, verified: 1 },
        ...{ ...proof(1, 0, 0, 0), bytes: 1000, last_seen: '2026-10-24T10:00:00.000Z' },
      },
      {
        ...{ value: 'other', name: 'Other agents', fetches: 1, pageviews: 0, agents: 1 },
        ...{ ...proof(0, 0, 0, 1), bytes: 50, last_seen: '2026-10-26T09:00:00.000Z' },
      },
    ],
    3,
    'agents with what the catalogue says, the last fetch with a spoofed one',
  ],
  [
    'agents/breakdown',
    `site=1&range=7d&dimension=status${filters([{ dimension: 'status', op: 'gte', value: 400 }])}`,
    [
      {
        ...{ value: 404, fetches: 1, pageviews: 0, agents: 1, verified: 0, ...proof(0, 1, 0, 0), bytes: 200 },
        last_seen: '2026-10-25T06:00:00.000Z',
      },
    ],
    1,
    'a number is a number',
  ],
  [
    'agents/catalog',
    `${DAY}&limit=1`,
    [
      {
        ...gptbot,
        ...{ docs_url: 'https://openai.com/gptbot', robots_token: 'GPTBot', verification: ['ranges'] },
        seen: { fetches: 2, last_seen: '2026-10-25T06:00:00.000Z' },
      },
    ],
    2,
    'seen in the window',
  ],
]
t.test('lists are sorted and paged', async (t) => {
  for (const [path, query, data, total, why] of lists) {
    const answer = await ask(path, query)
    t.strictSame(answer.data, data, `${path}: ${why}`)
    t.match(answer.meta, { total, rows: data.length, limit: Number, page: Number }, 'meta')
  }
  await t.rejects(ask('stats/breakdown', DAY), { code: 'validation_error', field: 'dimension' }, 'none asked for')
  const wrong = ['dimension=operator', 'dimension=constructor', 'dimension=channel&audience=all', 'dimension=site_id']
  for (const query of wrong) {
    await t.rejects(ask('stats/breakdown', `${DAY}&${query}`), { code: 'validation_error', field: 'dimension' }, query)
  }
  await t.rejects(ask('agents/breakdown', `${DAY}&dimension=channel`), { code: 'validation_error', field: 'dimension' })
})

t.test('agents/overview and agents/timeseries', async (t) => {
  const operator = { operator: 'OpenAI', fetches: 2, bytes: 1200, verified: 0.5, ...proof(1, 1, 0, 0) }
  const totals = { fetches: 2, agents: 1, verified: 0.5, ...proof(1, 1, 0, 0), bytes: 1200 }
  t.strictSame((await ask('agents/overview', DAY)).data, { ...totals, operators: [operator] })
  const { data, meta } = await ask('agents/timeseries', 'site=1&range=7d&granularity=day&limit=1&compare=previous')
  const days = ['19T22', '20T22', '21T22', '22T22', '23T22', '24T22', '25T23']
  const buckets = (values: (number | undefined)[]) =>
    values.map((value, i) => {
      const known = { ...(value === undefined ? {} : { value }), ...(i === 4 || i === 6 ? { partial: true } : {}) }
      return { t: `2026-10-${days[i]}:00:00.000Z`, ...known }
    })
  // The site's first row is of 24 October, ten o'clock UTC: nothing is known of the days before, and it is not a whole day.
  const early = [undefined, undefined, undefined, undefined]
  const before = { comparison: {}, change: {} }
  t.strictSame(data, {
    granularity: 'day',
    series: [
      {
        ...{ agent_id: 'gptbot', name: 'GPTBot', operator: 'OpenAI', fetches: 2, spoofed: 1, ...before },
        buckets: buckets([...early, 0, 2, 0]),
      },
      {
        ...{ agent_id: 'other', name: 'Other agents', fetches: 2, spoofed: 0, ...before },
        buckets: buckets([...early, 1, 0, 1]),
      },
    ],
  })
  t.equal(meta.rows, 2)
  const warning = { code: 'not_recorded', message: /before 2026-10-24T10:00:00\.000Z/ }
  t.match(meta.warnings, [warning], 'and a warning names the first row')
  const people = await ask('stats/timeseries', 'site=1&range=7d&granularity=day&metric=pageviews&compare=previous')
  const Points = z.array(z.object({ value: z.number().optional() }))
  const series = z.object({ buckets: Points, comparison: Points }).parse(people.data)
  const known = (points: z.infer<typeof Points>) => points.map(({ value }) => value !== undefined)
  t.same(known(series.buckets), [false, false, false, false, true, true, true], 'the same for people')
  t.same(known(series.comparison), Array(7).fill(false), 'and for the comparison')
  t.same(people.meta.warnings?.filter(({ code }) => code === 'not_recorded').length, 1, 'one warning for both')
})

t.test('stats/realtime', async (t) => {
  const rows = {
    events: WORLD.events.map((row) => ({ ...row, timestamp: new Date(NOW.getTime() - 299_999) })).slice(2, 6),
    agent_events: WORLD.agent_events.map((row) => ({ ...row, timestamp: new Date(NOW.getTime() - 1) })).slice(0, 2),
  }
  const ask = await asker(rows)
  const minutes = (people: number, agents: number) =>
    [0, 1, 2, 3, 4].map((i) => ({
      t: new Date(NOW.getTime() - (5 - i) * 60_000).toISOString(),
      people: i === 0 ? people : 0,
      agents: i === 4 ? agents : 0,
    }))
  const { data, meta } = await ask('stats/realtime', 'site=1&range=yesterday&compare=previous')
  t.strictSame(data, {
    ...{ people: 2, agents: 2 },
    pages: [
      { pathname: '/docs', people: 1, agents: 1 },
      { pathname: '/', people: 1, agents: 0 },
      { pathname: '/old', people: 0, agents: 1 },
    ],
    minutes: minutes(2, 2),
  })
  const own = { start: '2026-10-26T11:55:00.000Z', end: '2026-10-26T12:00:00.000Z', compare: 'none', audience: 'all' }
  t.match(meta.query, own, 'its own window, whatever is asked for')
  t.match((await ask('stats/realtime', 'site=1&audience=human')).data, { people: 2, agents: undefined })
  t.same((await ask('stats/realtime', 'site=2')).data, { pages: [], minutes: minutes(0, 0).map(({ t }) => ({ t })) })
})
