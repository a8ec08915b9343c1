import t, { type Test } from 'tap'
import { z } from 'zod'
import { type Meta, type ReadDependencies, runRead } from '../../src/query/read.js'
import { reads } from '../../src/reads/index.js'
import type { EventRow } from '../../src/rows.js'
import { openStore } from '../fixtures/open-store.js'
import { peopleAndAgents } from '../fixtures/people-and-agents.js'
import { eventRow } from '../fixtures/rows.js'

/** A Wednesday. The site is in Berlin, whose clocks went back on Sunday the 25th at 01:00 UTC. */
const NOW = new Date('2026-10-28T12:00:00Z')
const at = (iso: string) => new Date(iso.length > 12 ? iso : `2026-10-${iso}Z`)
const hex = (id: number) => id.toString(16).padStart(16, '0')

const deps = (visitor_salt: 'day' | 'week' | 'month' | 'never'): Omit<ReadDependencies, 'store'> => ({
  now: () => NOW,
  site: async (id) => (id < 3 ? { id, timezone: 'Europe/Berlin', visitor_salt, owns: () => true } : undefined),
  segment: async () => undefined,
  catalog: [],
  assistants: [],
})

async function asker(t: Test, events: EventRow[], salt: 'day' | 'week' | 'month' | 'never' = 'never') {
  const store = await openStore(t)
  await store.append({ events, agent_events: [] })
  return async (path: string, query: string): Promise<{ data: unknown; meta: Meta }> => {
    const [, name, id] = /^(\w+)(?:\/(.+))?$/.exec(path) ?? []
    const read = reads.find((each) => each.path === `/api/stats/${name}${id === undefined ? '' : '/{id}'}`)
    if (!read) throw new Error(path)
    const words: Record<string, string> = id === undefined ? {} : { id }
    const answer = await runRead(read, new URLSearchParams(query), { ...deps(salt), store }, words)
    const parsed = z.strictObject({ data: read.data }).safeParse({ data: answer.data })
    t.ok(parsed.success, `${path}?${query} has the shape it declares ${parsed.error ?? ''}`)
    return answer
  }
}
const filters = (value: unknown) => `&filters=${encodeURIComponent(JSON.stringify(value))}`
const is = (dimension: string, value: unknown) => ({ dimension, op: 'is', value })

type Hit = [at: string, pathname: string, more?: Partial<EventRow>]
const session = (visitor: number, id: number, common: Partial<EventRow>, ...hits: Hit[]): EventRow[] =>
  hits.map(([time, pathname, more]) =>
    eventRow({
      ...{ visitor_id: BigInt(visitor), session_id: BigInt(id), session_start: at(hits[0]?.[0] ?? '') },
      ...{ entry_page: hits[0]?.[1] ?? null, ...common, timestamp: at(time), pathname, ...more },
    }),
  )
const custom = (event_name: string, props: string | null = null) => ({ kind: 'custom', event_name, props })

const ann = { channel: 'Organic Search', source: 'Google', country: 'DE', browser: 'Firefox', os: 'Linux' }
const WORLD: EventRow[] = [
  // A visitor long before the window.
  ...session(6, 70, {}, ['2026-06-01T10:00:00Z', '/']),
  ...session(4, 50, {}, ['23T21:50:00', '/'], ['23T22:05:00', '/pricing']),
  ...session(
    ...([1, 10, { ...ann, device_type: 'desktop' }] as const),
    ['24T08:00:00', '/', { country: null }],
    ['24T08:01:00', '/docs', { country: 'AT' }],
    ['24T08:02:00', '/docs'],
    ['24T08:03:00', '/'],
    ['24T08:04:00', '/pricing', { identified_id: 'ann', traits: '{"plan":"free","seats":1}' }],
    ['24T08:10:00', '/pricing', { kind: 'engagement', engaged_ms: 30_000, scroll: 70 }],
  ),
  // Over midnight in Berlin.
  ...session(2, 20, { country: 'US' }, ['24T21:50:00', '/'], ['24T22:10:00', '/docs']),
  // In the hour that the clocks show twice, and only an event.
  ...session(3, 40, {}, ['25T00:30:00', '/', custom('ping')]),
  ...session(6, 71, {}, ['25T10:00:00', '/pricing']),
  ...session(2, 30, { country: 'US' }, ['26T09:00:00', '/docs'], ['26T09:00:30', '/docs', custom('signup', '{"n":1}')]),
  // Ann under another visitor id, with a hit after the window.
  ...session(
    ...([5, 60, { country: 'FR', browser: 'Safari' }] as const),
    ['26T22:50:00', '/', { identified_id: 'ann', traits: '{"plan":"pro"}' }],
    ['26T23:20:00', '/docs'],
  ),
  // Another site's sessions, with every id that the first site has.
  ...session(1, 10, { site_id: 2, hostname: 'two.example' }, ['24T09:00:00', '/secret', { identified_id: 'ann' }]),
  ...session(2, 99, { site_id: 2, hostname: 'two.example' }, ['24T09:00:00', '/secret']),
]
/** Saturday, the long Sunday and Monday in Berlin. */
const THREE = 'site=1&start=2026-10-23T22:00:00Z&end=2026-10-26T23:00:00Z'

const plain = { channel: 'Direct' }
const SESSIONS = {
  60: {
    ...{
      id: hex(60),
      visitor_id: hex(5),
      started_at: '2026-10-26T22:50:00.000Z',
      ended_at: '2026-10-26T23:20:00.000Z',
    },
    ...{ duration: 1800, pageviews: 2, events: 0, entry_page: '/', exit_page: '/docs', ...plain },
    ...{ country: 'FR', browser: 'Safari', identified_id: 'ann' },
  },
  30: {
    ...{
      id: hex(30),
      visitor_id: hex(2),
      started_at: '2026-10-26T09:00:00.000Z',
      ended_at: '2026-10-26T09:00:30.000Z',
    },
    ...{ duration: 30, pageviews: 1, events: 1, entry_page: '/docs', exit_page: '/docs', ...plain, country: 'US' },
  },
  71: {
    ...{
      id: hex(71),
      visitor_id: hex(6),
      started_at: '2026-10-25T10:00:00.000Z',
      ended_at: '2026-10-25T10:00:00.000Z',
    },
    ...{ duration: 0, pageviews: 1, events: 0, entry_page: '/pricing', exit_page: '/pricing', ...plain },
  },
  40: {
    ...{
      id: hex(40),
      visitor_id: hex(3),
      started_at: '2026-10-25T00:30:00.000Z',
      ended_at: '2026-10-25T00:30:00.000Z',
    },
    ...{ duration: 0, pageviews: 0, events: 1, entry_page: '/', ...plain },
  },
  20: {
    ...{
      id: hex(20),
      visitor_id: hex(2),
      started_at: '2026-10-24T21:50:00.000Z',
      ended_at: '2026-10-24T22:10:00.000Z',
    },
    ...{ duration: 1200, pageviews: 2, events: 0, entry_page: '/', exit_page: '/docs', ...plain, country: 'US' },
  },
  10: {
    ...{
      id: hex(10),
      visitor_id: hex(1),
      started_at: '2026-10-24T08:00:00.000Z',
      ended_at: '2026-10-24T08:10:00.000Z',
    },
    ...{ duration: 600, pageviews: 5, events: 0, entry_page: '/', exit_page: '/pricing', channel: 'Organic Search' },
    ...{
      source: 'Google',
      country: 'AT',
      browser: 'Firefox',
      os: 'Linux',
      device_type: 'desktop',
      identified_id: 'ann',
    },
  },
}
type Id = keyof typeof SESSIONS
const all: readonly Id[] = [60, 30, 71, 40, 20, 10]

t.test('sessions', async (t) => {
  const ask = await asker(t, WORLD)
  const lists: [query: string, ids: readonly Id[], total: number, why: string][] = [
    [THREE, all, 6, 'newest first; the one that began before the window is not among them, the one that ends after is'],
    [`${THREE}&limit=2`, [60, 30], 6, 'a page'],
    [`${THREE}&limit=2&page=3`, [20, 10], 6, 'the last one'],
    [`${THREE}&limit=2&page=4`, [], 6, 'beyond it'],
    [
      `${THREE}${filters([is('pathname', '/pricing')])}`,
      [71, 10],
      2,
      'one hit passes: the values are of the whole session',
    ],
    [`${THREE}${filters([is('pathname', '/pricing')])}&limit=1&page=2`, [10], 2, 'pages of those'],
    [`${THREE}${filters([is('event_name', 'signup')])}`, [30], 1, 'an event'],
    [`${THREE}${filters([is('exit_page', '/docs')])}`, [60, 30, 20], 3, 'where they left'],
    [`${THREE}${filters([{ has_done: is('event_name', 'signup') }])}`, [30, 20], 2, 'who did it'],
    [`${THREE}${filters([is('country', 'DE')])}`, [10], 1, 'on a later hit than the first'],
    [`${THREE}${filters([is('pathname', "' or 1=1 --")])}`, [], 0, 'a value is never SQL'],
    [
      'site=1&start=2026-10-24T22:00:00Z&end=2026-10-24T23:00:00Z',
      [],
      0,
      'a hit in the window of a session from before',
    ],
    ['site=1&start=2026-10-24T22:00:00Z&end=2026-10-24T22:00:00Z', [], 0, 'an empty window'],
  ]
  for (const [query, ids, total, why] of lists) {
    const { data, meta } = await ask('sessions', query)
    t.strictSame(
      data,
      ids.map((id) => SESSIONS[id]),
      why,
    )
    t.match(meta, { rows: ids.length, total }, why)
  }
  const { meta } = await ask('sessions', `${THREE}&compare=previous`)
  t.match(meta, { comparison: undefined, query: { compare: 'none' } }, 'a list of sessions is compared with nothing')
  await t.rejects(ask('sessions', `${THREE}&audience=agent`), { code: 'validation_error', field: 'audience' })

  const other = await ask('sessions', 'site=2&start=2026-10-23T22:00:00Z&end=2026-10-26T23:00:00Z')
  t.match(other.data, [{ id: hex(10), entry_page: '/secret' }, { id: hex(99) }], 'at one moment, by id')
})

t.test('sessions: pages of a past window are stable', async (t) => {
  const store = await openStore(t)
  const read = reads.find(({ path }) => path === '/api/stats/sessions')
  if (!read) throw new Error('no read of sessions')
  // Three sessions at each of forty moments, stored in another order than they are returned.
  const visits = Array.from({ length: 120 }, (_, n) =>
    session(n, 1 + ((n * 77) % 120), {}, [`24T10:${String(Math.floor(n / 3)).padStart(2, '0')}:00`, '/']),
  ).flat()
  const pages = async (limit: number) => {
    const ids: unknown[] = []
    for (let page = 1; page <= 120 / limit; page++) {
      const query = new URLSearchParams(`${THREE}&limit=${limit}&page=${page}`)
      const { data } = await runRead(read, query, { ...deps('never'), store })
      ids.push(
        ...z
          .array(z.object({ id: z.string() }))
          .parse(data)
          .map(({ id }) => id),
      )
    }
    return ids
  }
  await store.append({ events: visits, agent_events: [] })
  const order = visits
    .toSorted((a, b) => b.timestamp.getTime() - a.timestamp.getTime() || Number(a.session_id - b.session_id))
    .map((row) => hex(Number(row.session_id)))
  t.strictSame(await pages(7).then((ids) => ids.length), 119, 'of seven')
  t.strictSame(await pages(8), order, 'every session once, in one order')
  await store.append({ events: session(500, 500, {}, ['27T10:00:00', '/']), agent_events: [] })
  t.strictSame(await pages(5), order, 'also when others come meanwhile')
})

t.test('sessions/{id}', async (t) => {
  const ask = await asker(t, [
    ...WORLD,
    ...session(
      7,
      80,
      {},
      ['20T10:00:00', '/', { props: '{"a":null,"deep":{"b":[1]}}' }],
      ['20T10:00:01', '/', { props: '{' }],
    ),
    ...session(7, 82, {}, ['20T12:00:00', '/', custom('late', '"text"')], ['20T12:00:00', '/z'], ['20T12:00:00', '/a']),
    ...session(
      8,
      81,
      {},
      ...Array.from(
        { length: 1_001 },
        (_, n): Hit => [new Date(at('20T11:00:00').getTime() + n * 1000).toISOString(), `/${n}`],
      ),
    ),
  ])
  const page = (timestamp: string, pathname: string, more = {}) => ({
    ...{ timestamp: `2026-10-${timestamp}.000Z`, kind: 'pageview', hostname: 'example.com', pathname },
    ...more,
  })
  const timelines: [id: number, timeline: object[], why: string][] = [
    [
      10,
      [
        ...[page('24T08:00:00', '/'), page('24T08:01:00', '/docs'), page('24T08:02:00', '/docs')],
        ...[page('24T08:03:00', '/'), page('24T08:04:00', '/pricing')],
        page('24T08:10:00', '/pricing', { kind: 'engagement', engaged_ms: 30_000, scroll: 70 }),
      ],
      'in order, with what was measured, and nothing of the other site that has the same id',
    ],
    [
      30,
      [page('26T09:00:00', '/docs'), page('26T09:00:30', '/docs', { kind: 'custom', name: 'signup', props: { n: 1 } })],
      'an event with its properties',
    ],
    [
      80,
      [page('20T10:00:00', '/', { props: { a: null, deep: { b: [1] } } }), page('20T10:00:01', '/')],
      'what is no JSON is absent',
    ],
    [
      82,
      [
        page('20T12:00:00', '/a'),
        page('20T12:00:00', '/z'),
        page('20T12:00:00', '/', { kind: 'custom', name: 'late' }),
      ],
      'at one moment pages first, by path; text is no properties',
    ],
  ]
  for (const [id, timeline, why] of timelines) {
    const { data } = await ask(`sessions/${hex(id)}`, `site=1&range=today${filters([is('country', 'XX')])}`)
    t.strictSame(z.object({ timeline: z.unknown() }).parse(data).timeline, timeline, why)
  }
  const { data } = await ask(`sessions/${hex(10)}`, THREE)
  t.match(data, SESSIONS[10], 'the row of the list')
  t.match((await ask(`sessions/${hex(10)}`, 'site=2')).data, {
    visitor_id: hex(1),
    entry_page: '/secret',
    pageviews: 1,
  })

  const long = await ask(`sessions/${hex(81)}`, 'site=1')
  t.match(long.meta.warnings, [{ metric: 'timeline', code: 'timeline_truncated' }])
  t.equal(z.object({ timeline: z.array(z.unknown()) }).parse(long.data).timeline.length, 1_000)
  t.match(long.data, { pageviews: 1_001 }, 'the session is counted whole')

  const unknown = [
    hex(98),
    hex(99),
    '10',
    `${hex(10)}0`,
    '000000000000000g',
    "0' or '1'='1",
    'constructor',
    '%00',
    '-1',
    hex(10).replace('0', ' '),
  ]
  for (const id of unknown) {
    await t.rejects(
      ask(`sessions/${id}`, 'site=1'),
      { code: 'not_found', field: 'id' },
      `${id}: of another site, or none`,
    )
  }
  await t.rejects(ask(`sessions/${hex(10)}`, 'site=3'), { code: 'not_found', field: 'site' })
})

t.test('visitors', async (t) => {
  const ask = await asker(t, WORLD)
  const row = (id: number, sessions: number, pageviews: number, first_seen: string, last_seen: string, more = {}) => ({
    ...{
      id: hex(id),
      sessions,
      pageviews,
      first_seen: at(first_seen).toISOString(),
      last_seen: at(last_seen).toISOString(),
    },
    ...more,
  })
  const pro = { identified_id: 'ann', traits: { plan: 'pro' } }
  const everybody = [
    row(5, 2, 6, '24T08:00:00', '26T22:50:00', { ...pro, country: 'FR', browser: 'Safari' }),
    row(2, 2, 3, '24T21:50:00', '26T09:00:30', { country: 'US' }),
    row(6, 1, 1, '2026-06-01T10:00:00Z', '25T10:00:00'),
    row(3, 1, 0, '25T00:30:00', '25T00:30:00'),
    row(4, 0, 1, '23T21:50:00', '23T22:05:00'),
  ]
  const lists: [query: string, data: object[], total: number, why: string][] = [
    [THREE, everybody, 5, 'two ids of ann are one person; who only read on in the window has no session in it'],
    [`${THREE}&limit=2&page=2`, everybody.slice(2, 4), 5, 'a page'],
    [`${THREE}&page=9`, [], 5, 'beyond'],
    [
      `${THREE}${filters([is('pathname', '/pricing')])}`,
      [
        row(6, 1, 1, '2026-06-01T10:00:00Z', '25T10:00:00'),
        row(1, 1, 1, '24T08:00:00', '24T08:10:00', { ...pro, country: 'DE', browser: 'Firefox' }),
        row(4, 0, 1, '23T21:50:00', '23T22:05:00'),
      ],
      3,
      'counts are of what passes; who somebody is, is not',
    ],
    [
      'site=1&start=2026-10-23T22:00:00Z&end=2026-10-24T08:04:00Z',
      [
        row(1, 1, 4, '24T08:00:00', '24T08:03:00', { country: 'DE', browser: 'Firefox' }),
        row(4, 0, 1, '23T21:50:00', '23T22:05:00'),
      ],
      2,
      'before the site said who she is',
    ],
    [
      'site=1&start=2026-10-26T20:00:00Z&end=2026-10-27T23:00:00Z',
      [row(5, 1, 2, '24T08:00:00', '26T23:20:00', { ...pro, country: 'FR', browser: 'Safari' })],
      1,
      'and first seen under the other id, before the window',
    ],
    [
      'site=2&start=2026-10-23T22:00:00Z&end=2026-10-26T23:00:00Z',
      [
        row(1, 1, 1, '24T09:00:00', '24T09:00:00', { identified_id: 'ann' }),
        row(2, 1, 1, '24T09:00:00', '24T09:00:00'),
      ],
      2,
      'another site knows of nothing; at one moment by id',
    ],
    ['site=1&start=2026-10-24T00:00:00Z&end=2026-10-24T00:00:00Z', [], 0, 'an empty window'],
  ]
  for (const [query, data, total, why] of lists) {
    const answer = await ask('visitors', query)
    t.strictSame(answer.data, data, why)
    t.match(answer.meta, { rows: data.length, total }, why)
  }
})

t.test('a session over a change of salts is one session of one visitor', async (t) => {
  // Midnight UTC. The second id is smaller, so insertion order does not decide.
  const start = { session_start: at('24T23:50:00'), entry_page: '/' }
  const [before, after] = [session(21, 90, {}, ['24T23:50:00', '/']), session(20, 90, {}, ['25T00:05:00', '/docs'])]
  const ask = await asker(t, [...before, ...after.map((row) => ({ ...row, ...start }))], 'day')
  t.match((await ask('sessions', THREE)).data, [{ id: hex(90), pageviews: 2, duration: 900, exit_page: '/docs' }])
  t.match((await ask('journeys', THREE)).data, {
    nodes: [{ id: '1:/', sessions: 1 }, { id: '2:/docs' }, { id: 'exit:3' }],
  })
  const { data, meta } = await ask('visitors', THREE)
  t.match(data, [
    { id: hex(20), sessions: 1, pageviews: 1 },
    { id: hex(21), sessions: 0, pageviews: 1 },
  ])
  t.match(meta.warnings, [{ metric: 'visitors', code: 'salt_rotated_in_window' }], 'who may be two')
})

t.test('visitors: traits are JSON objects from browsers', async (t) => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const traits: [json: string, read: object | undefined, why: string][] = [
    ['{"plan":"pro","n":1,"a":["x"],"o":{"x":null}}', { plan: 'pro', n: 1, a: ['x'], o: { x: null } }, 'an object'],
    ['{', undefined, 'no JSON'],
    ['[1]', undefined, 'a list'],
    ['"x"', undefined, 'text'],
    ['null', undefined, 'nothing'],
    ['', undefined, 'empty'],
    [`{"a":${deep}}`, undefined, 'too deep to be written'],
    ['{"a":"\\ud800"}', { a: '\ud800' }, 'half a surrogate pair'],
  ]
  const rows = traits.flatMap(([json], n) => session(n + 1, n + 1, {}, [`24T10:00:0${n}`, '/', { traits: json }]))
  const ask = await asker(t, [
    ...rows,
    // The same text as an identified id and as a visitor id.
    ...session(0xab, 101, {}, ['24T09:00:02', '/a']),
    ...session(0xac, 102, {}, ['24T09:00:01', '/b', { identified_id: hex(0xab) }]),
    // Two people use one device: the last one identified counts.
    ...session(
      0xad,
      103,
      {},
      ['24T09:00:00', '/c', { identified_id: 'b' }],
      ['24T09:00:00', '/d', { identified_id: 'a' }],
    ),
  ])
  const { data } = await ask('visitors', THREE)
  const found = z.array(z.looseObject({ id: z.string(), traits: z.unknown().optional() })).parse(data)
  for (const [n, [json, read, why]] of traits.entries()) {
    t.strictSame(found.find(({ id }) => id === hex(n + 1))?.traits, read, `${why}: ${json.slice(0, 30)}`)
  }
  t.match(found.slice(-3), [
    { id: hex(0xab), identified_id: undefined, pageviews: 1 },
    { id: hex(0xac), identified_id: hex(0xab), pageviews: 1 },
    { id: hex(0xad), identified_id: 'b', pageviews: 2 },
  ])
})

type Cohort = [start: string, size: number, visitors: number[]]
const cohorts = (of: Cohort[]) =>
  of.map(([start, size, visitors]) => ({
    start: at(start).toISOString(),
    size,
    periods: visitors.map((n, period) => ({ period, visitors: n, ...(size > 0 ? { rate: n / size } : {}) })),
  }))

t.test('retention', async (t) => {
  const ask = await asker(t, WORLD)
  const SAT = '23T22:00:00'
  const SUN = '24T22:00:00'
  const MON = '25T23:00:00'
  const days: [query: string, cohorts: Cohort[], why: string][] = [
    [
      THREE,
      [
        [SAT, 2, [2, 0, 1]],
        [SUN, 1, [1, 0]],
        [MON, 1, [1]],
      ],
      'reading on after midnight is no return; whom June knew is no newcomer; the long Sunday is one day',
    ],
    [
      THREE.replace('26T23', '26T12'),
      [
        [SAT, 2, [2, 0]],
        [SUN, 1, [1]],
        [MON, 0, []],
      ],
      'Monday is not over in the window: absent, never 0',
    ],
    [
      `${THREE}${filters([is('pathname', '/docs')])}`,
      [
        [SAT, 2, [2, 0, 1]],
        [SUN, 0, [0, 0]],
        [MON, 1, [1]],
      ],
      'visits with a hit that passes',
    ],
    [
      `${THREE}${filters([is('event_name', 'signup')])}`,
      [
        [SAT, 0, [0, 0, 0]],
        [SUN, 0, [0, 0]],
        [MON, 0, [0]],
      ],
      'no newcomer had such a visit in the first period',
    ],
    [
      `${THREE}${filters([{ has_done: is('event_name', 'signup') }])}`,
      [
        [SAT, 1, [1, 0, 1]],
        [SUN, 0, [0, 0]],
        [MON, 0, [0]],
      ],
      'of those who did it at any time in the window',
    ],
    [
      'site=2&start=2026-10-23T22:00:00Z&end=2026-10-25T23:00:00Z',
      [
        [SAT, 2, [2, 0]],
        [SUN, 0, [0]],
      ],
      'another site, another first visit',
    ],
    ['site=1&start=2026-10-24T00:00:00Z&end=2026-10-24T00:00:00Z', [], 'an empty window'],
  ]
  for (const [query, expected, why] of days) {
    const { data, meta } = await ask('retention', `${query}&granularity=day`)
    t.strictSame(data, { granularity: 'day', cohorts: cohorts(expected) }, why)
    t.equal(meta.rows, expected.length)
  }

  const others: [query: string, data: object, why: string][] = [
    [
      'site=1&granularity=month&start=2026-05-31T22:00:00Z&end=2026-10-31T23:00:00Z',
      {
        granularity: 'month',
        cohorts: cohorts([
          ['2026-05-31T22:00:00Z', 1, [1, 0, 0, 0]],
          ['2026-06-30T22:00:00Z', 0, [0, 0, 0]],
          ['2026-07-31T22:00:00Z', 0, [0, 0]],
          ['2026-08-31T22:00:00Z', 0, [0]],
          ['2026-09-30T22:00:00Z', 5, []],
        ]),
      },
      'October is not over by the clock, though the window goes to its end',
    ],
    [
      'site=1&granularity=week&start=2026-10-18T22:00:00Z&end=2026-10-28T00:00:00Z',
      {
        granularity: 'week',
        cohorts: cohorts([
          ['2026-10-18T22:00:00Z', 4, [4]],
          ['2026-10-25T23:00:00Z', 1, []],
        ]),
      },
      'weeks from Monday, one of them of 169 hours',
    ],
    [
      'site=1&granularity=week&tz=UTC&start=2026-10-24T00:00:00Z&end=2026-10-26T00:00:00Z',
      { granularity: 'week', cohorts: cohorts([['2026-10-19T00:00:00Z', 3, [3]]]) },
      'of a week that began before the window those who came first in the window',
    ],
  ]
  for (const [query, data, why] of others) t.strictSame((await ask('retention', query)).data, data, why)

  const defaults: [query: string, granularity: string, count: number][] = [
    ['range=7d', 'day', 7],
    ['range=30d', 'day', 30],
    ['range=90d', 'week', 14],
    ['range=12mo', 'month', 12],
    ['range=today', 'day', 1],
    ['start=1970-01-02T00:00:00Z', 'month', 60],
    ['range=12mo&granularity=day', 'day', 92],
    ['start=2020-01-01T00:00:00Z&granularity=week', 'week', 53],
  ]
  for (const [query, granularity, count] of defaults) {
    const { data, meta } = await ask('retention', `site=1&${query}`)
    t.match(data, { granularity }, query)
    t.match(meta, { rows: count, query: { granularity } }, query)
    const codes = meta.warnings?.map(({ code }) => code) ?? []
    t.equal(codes.includes('cohorts_truncated'), count > 31, `${query}: said, where there are more`)
  }
  const last = z.object({ cohorts: z.array(z.looseObject({ start: z.string() })) })
  const cut = last.parse((await ask('retention', 'site=1&range=12mo&granularity=day')).data).cohorts
  t.equal(cut.at(-1)?.start, '2026-10-27T23:00:00.000Z', 'the last of them')
  for (const unit of ['minute', 'hour', 'year', 'Day', ''])
    await t.rejects(ask('retention', `${THREE}&granularity=${unit}`), {
      code: 'validation_error',
      field: 'granularity',
    })
})

t.test('retention: warnings explain its numbers', async (t) => {
  const codes = async (salt: 'day' | 'week' | 'month' | 'never', query: string) =>
    (await (await asker(t, WORLD, salt))('retention', query)).meta.warnings?.map(({ code }) => code) ?? []
  const week = 'site=1&granularity=day&start=2026-10-18T22:00:00Z&end=2026-10-25T23:00:00Z'
  t.strictSame(await codes('never', week), [])
  t.strictSame(await codes('month', week), [], 'one month')
  t.strictSame(await codes('week', week), ['salt_rotated_in_grid'], 'salts change with the week of UTC')
  t.strictSame(await codes('day', THREE), ['salt_rotated_in_grid'])
  t.strictSame(await codes('never', week.replace('18T22', '18T23')), ['first_cohort_partial'], 'an hour is missing')
})

const node = (depth: number, pathname: string, sessions: number, kind = 'page') => ({
  ...{ id: kind === 'page' ? `${depth}:${pathname}` : `${kind}:${depth}`, depth, kind, pathname, sessions },
})
const exit = (depth: number, sessions: number) => node(depth, 'exit', sessions, 'exit')
const link = (source: string, target: string, sessions: number) => ({ source, target, sessions })

t.test('journeys', async (t) => {
  const ask = await asker(t, WORLD)
  const whole = {
    nodes: [
      ...[node(1, '/', 3), node(1, '/docs', 1), node(1, '/pricing', 1), exit(1, 1)],
      ...[node(2, '/docs', 3), exit(2, 2)],
      ...[node(3, '/', 1), exit(3, 2)],
      node(4, '/pricing', 1),
    ],
    links: [
      ...[link('1:/', '2:/docs', 3), link('1:/docs', 'exit:2', 1), link('1:/pricing', 'exit:2', 1)],
      ...[link('2:/docs', '3:/', 1), link('2:/docs', 'exit:3', 2), link('3:/', '4:/pricing', 1)],
    ],
  }
  const two = (depth: number) => ({
    nodes: whole.nodes.filter((n) => n.depth <= depth),
    links: whole.links.filter(({ target }) => Number(/\d/.exec(target)) <= depth),
  })
  const ways: [query: string, data: object, why: string][] = [
    [THREE, whole, 'a reload is no step; a session of events alone leaves before its first page; whole sessions'],
    [`${THREE}&depth=2`, two(2), 'two steps'],
    [`${THREE}&depth=3`, two(3), 'three'],
    [
      `${THREE}&depth=8`,
      { nodes: [...whole.nodes, exit(5, 1)], links: [...whole.links, link('4:/pricing', 'exit:5', 1)] },
      'where nothing is left there are no steps',
    ],
    [
      `${THREE}${filters([is('pathname', '/pricing')])}`,
      {
        nodes: [
          ...[node(1, '/', 1), node(1, '/pricing', 1), node(2, '/docs', 1), exit(2, 1), node(3, '/', 1)],
          node(4, '/pricing', 1),
        ],
        links: [
          ...[link('1:/', '2:/docs', 1), link('1:/pricing', 'exit:2', 1), link('2:/docs', '3:/', 1)],
          link('3:/', '4:/pricing', 1),
        ],
      },
      'one hit passes: the whole way of its session',
    ],
    [
      `${THREE}&start=/docs`,
      {
        nodes: [node(1, '/docs', 4), node(2, '/', 1), exit(2, 3), node(3, '/pricing', 1), exit(4, 1)],
        links: [
          ...[link('1:/docs', '2:/', 1), link('1:/docs', 'exit:2', 3), link('2:/', '3:/pricing', 1)],
          link('3:/pricing', 'exit:4', 1),
        ],
      },
      'from the first view of a page on',
    ],
    [
      `${THREE.replace('start=2026-10-23T22:00:00Z&', '')}&start=/docs&start=2026-10-24T22:00:00Z`,
      { nodes: [node(1, '/docs', 2), exit(2, 2)], links: [link('1:/docs', 'exit:2', 2)] },
      'a path and an instant',
    ],
    [
      `${THREE.replace('start=2026-10-23T22:00:00Z&', 'start=2026-10-24T22:00:00%2B00:00&')}&start=/docs`,
      { nodes: [node(1, '/docs', 2), exit(2, 2)], links: [link('1:/docs', 'exit:2', 2)] },
      'the other way round',
    ],
    [
      'site=1&start=/docs&range=7d',
      {
        nodes: [node(1, '/docs', 4), node(2, '/', 1), exit(2, 3), node(3, '/pricing', 1), exit(4, 1)],
        links: [
          ...[link('1:/docs', '2:/', 1), link('1:/docs', 'exit:2', 3), link('2:/', '3:/pricing', 1)],
          link('3:/pricing', 'exit:4', 1),
        ],
      },
      'a path is no instant: the range holds',
    ],
    [`${THREE}&start=/secret`, { nodes: [], links: [] }, "another site's page"],
    [`${THREE}&start=/' or 1=1 --`, { nodes: [], links: [] }, 'a value is never SQL'],
    ['site=1&start=2026-10-24T00:00:00Z&end=2026-10-24T00:00:00Z', { nodes: [], links: [] }, 'an empty window'],
  ]
  for (const [query, data, why] of ways) t.strictSame((await ask('journeys', query)).data, data, why)

  const { meta } = await ask('journeys', `${THREE}&start=/docs`)
  t.match(meta.query, { start: '2026-10-23T22:00:00.000Z', start_path: '/docs', depth: 4, compare: 'none' })
  t.notOk('start_path' in (await ask('journeys', THREE)).meta.query)

  const refused: [query: string, field: string][] = [
    ['start=/a&start=/b', 'start'],
    ['start=2026-10-24T00:00:00Z&start=2026-10-24T00:00:00Z', 'start'],
    ['start=docs', 'start'],
    ['start=', 'start'],
    ['start=%20/docs', 'start'],
    ['start=/docs&start=yesterday', 'start'],
    ...['1', '9', '0', '-2', '2.5', 'x', '', '99999999999'].map((depth): [string, string] => [
      `depth=${depth}`,
      'depth',
    ]),
    ['depth=2&depth=3', 'depth'],
    ['range=7d&range=7d', 'range'],
  ]
  for (const [query, field] of refused)
    await t.rejects(ask('journeys', `site=1&${query}`), { code: 'validation_error', field }, query)
  for (const path of ['overview', 'sessions', 'retention', 'visitors']) {
    for (const query of ['site=1&start=/docs', `${THREE}&start=/docs`, `${THREE}&start=2026-10-24T00:00:00Z`])
      await t.rejects(ask(path, query), { code: 'validation_error', field: 'start' }, `${path}?${query}`)
  }
})

t.test('journeys: paths beyond the limit are other', async (t) => {
  // 25 first pages, of which /00 has the most sessions. Of equals, the last five by name are not named.
  const name = (n: number) => `/${String(n).padStart(2, '0')}`
  const events = Array.from({ length: 25 }, (_, n) => [
    ...session(n, 1000 + n, {}, ['24T10:00:00', name(n)], ['24T10:01:00', n === 24 ? '/other' : 'other']),
    ...(n === 0 ? session(n, 2000, {}, ['24T11:00:00', name(n)], ['24T11:00:00', '/zz']) : []),
  ]).flat()
  const ask = await asker(t, events)
  const { data } = await ask('journeys', `${THREE}&depth=3`)
  const { nodes, links } = z
    .object({ nodes: z.array(z.looseObject({ depth: z.number() })), links: z.array(z.unknown()) })
    .parse(data)
  t.strictSame(
    nodes.filter(({ depth }) => depth === 1),
    [node(1, '/00', 2), ...Array.from({ length: 19 }, (_, n) => node(1, name(n + 1), 1)), node(1, 'other', 5, 'other')],
  )
  t.equal(links.length, 2 + 19 + 2 + 3, 'from /00, from the others by name, from the rest; and the exits')
  const second = [node(2, 'other', 24), node(2, '/other', 1), node(2, '/zz', 1)]
  t.strictSame(
    nodes.filter(({ depth }) => depth === 2),
    second,
    'a page of that name is a page',
  )
})

t.test('journeys of random sessions equal a recount', async (t) => {
  const { events } = peopleAndAgents({ seed: 7, people: 4_000, agents: 0 })
  const ask = await asker(t, events)
  const start = at('2026-10-20T22:00:00Z')
  const end = at('2026-10-27T23:00:00Z')
  const window = `site=1&start=${start.toISOString()}&end=${end.toISOString()}`
  const sets: [filter: unknown, passes: (row: EventRow) => boolean][] = [
    [[], () => true],
    [[is('pathname', '/')], (row) => row.pathname === '/'],
    [[is('country', 'DE')], (row) => row.country === 'DE'],
    [[is('hostname', 'www.one.example')], (row) => row.hostname === 'www.one.example'],
  ]
  for (const [filter, passes] of sets) {
    const visits = new Map<bigint, EventRow[]>()
    for (const row of events) {
      if (row.site_id !== 1 || row.session_start < start || row.session_start >= end) continue
      visits.set(row.session_id, [...(visits.get(row.session_id) ?? []), row])
    }
    const walks = [...visits.values()].filter((rows) => rows.some(passes)).map((rows) => walk(rows))
    const depth = 6
    const { data } = await ask('journeys', `${window}&depth=${depth}${filters(filter)}`)
    const { nodes, links } = Graph.parse(data)
    const overview = z.object({ sessions: z.number() }).parse((await ask('overview', window + filters(filter))).data)
    t.equal(overview.sessions, walks.length, 'sessions')
    t.ok(walks.length > 20, 'enough of them')
    for (let step = 1, gone = 0; step <= depth; step++) {
      const here = nodes.filter((n) => n.depth === step)
      const sum = here.reduce((all, n) => all + n.sessions, 0)
      t.equal(sum + gone, walks.length, `step ${step} and the exits before it are all sessions`)
      gone += here.find(({ kind }) => kind === 'exit')?.sessions ?? 0
      const counts = new Map<string, number>()
      for (const pages of walks) {
        const page = pages[step - 1]
        if (page !== undefined) counts.set(page, (counts.get(page) ?? 0) + 1)
      }
      const ranked = [...counts].sort(([a, n], [b, m]) => m - n || Buffer.compare(Buffer.from(a), Buffer.from(b)))
      t.strictSame(
        new Map(here.filter(({ kind }) => kind === 'page').map((n) => [n.pathname, n.sessions])),
        new Map(ranked.slice(0, 20)),
        `the pages of step ${step}`,
      )
      for (const { id, kind, sessions } of step === depth ? [] : here) {
        const out = links.filter(({ source }) => source === id).reduce((all, l) => all + l.sessions, 0)
        t.equal(out, kind === 'exit' ? 0 : sessions, `${id}: all go on or leave`)
      }
      for (const { id, sessions } of step === 1 ? [] : here) {
        const into = links.filter(({ target }) => target === id).reduce((all, l) => all + l.sessions, 0)
        t.equal(into, sessions, `${id}: all came from somewhere`)
      }
    }
  }
})

const Graph = z.object({
  nodes: z.array(
    z.object({ id: z.string(), depth: z.number(), kind: z.string(), pathname: z.string(), sessions: z.number() }),
  ),
  links: z.array(z.object({ source: z.string(), target: z.string(), sessions: z.number() })),
})

/** The pages of a session in order; a page that follows itself counts once. */
function walk(rows: EventRow[]): string[] {
  const pages = rows
    .filter(({ kind }) => kind === 'pageview')
    .sort(
      (a, b) =>
        a.timestamp.getTime() - b.timestamp.getTime() ||
        Buffer.compare(Buffer.from(a.pathname), Buffer.from(b.pathname)),
    )
    .map(({ pathname }) => pathname)
  return pages.filter((page, i) => page !== pages[i - 1])
}
