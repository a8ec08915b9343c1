import t from 'tap'
import { z } from 'zod'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import { openStore } from '../../fixtures/open-store.js'
import {
  all,
  asker,
  at,
  custom,
  deps,
  filters,
  type Hit,
  hex,
  type Id,
  is,
  SESSIONS,
  session,
  THREE,
  WORLD,
} from './behaviour-site.js'

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
    ...session(
      7,
      82,
      {},
      ['20T12:00:00', '/', custom('late', '"text"')],
      ['20T12:00:00', '/z'],
      ['20T12:00:00', '/a'],
      ['20T12:00:00', '/', { kind: 'engagement', engaged_ms: 9_000, scroll: 50 }],
      ['20T12:00:00', '/', { kind: 'engagement', engaged_ms: 5_000, scroll: 60 }],
    ),
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
      'what is not JSON is absent',
    ],
    [
      82,
      [
        page('20T12:00:00', '/a'),
        page('20T12:00:00', '/z'),
        page('20T12:00:00', '/', { kind: 'custom', name: 'late' }),
        page('20T12:00:00', '/', { kind: 'engagement', engaged_ms: 5_000, scroll: 60 }),
        page('20T12:00:00', '/', { kind: 'engagement', engaged_ms: 9_000, scroll: 50 }),
      ],
      'at one moment pages first, by path, equal reports by what they measured; text is not properties',
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

t.test('a session over a change of salts is one session of the visitor of its first hit', async (t) => {
  // Midnight UTC. The second id is smaller, so neither the order of ids decides nor that of insertion.
  const start = { session_start: at('24T23:50:00'), entry_page: '/' }
  const [before, after] = [session(21, 90, {}, ['24T23:50:00', '/']), session(20, 90, {}, ['25T00:05:00', '/docs'])]
  const ask = await asker(t, [...before, ...after.map((row) => ({ ...row, ...start }))], 'day')
  t.match((await ask('sessions', THREE)).data, [{ id: hex(90), pageviews: 2, duration: 900, exit_page: '/docs' }])
  t.match((await ask('journeys', THREE)).data, {
    nodes: [{ id: '1:/', sessions: 1 }, { id: '2:/docs' }, { id: 'exit:3' }],
  })
  const { data, meta } = await ask('visitors', THREE)
  t.match(data, [
    { id: hex(20), sessions: 0, pageviews: 1 },
    { id: hex(21), sessions: 1, pageviews: 1 },
  ])
  t.match(meta.warnings, [{ metric: 'visitors', code: 'salt_rotated_in_window' }], 'who may be two')
})
