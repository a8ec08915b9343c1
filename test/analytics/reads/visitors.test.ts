import t from 'tap'
import { z } from 'zod'
import { asker, at, filters, hex, is, session, THREE, WORLD } from './behaviour-site.js'

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
      `${THREE}${filters([is('visitor_id', hex(2))])}`,
      [row(2, 2, 3, '24T21:50:00', '26T09:00:30', { country: 'US' })],
      1,
      'one visitor by id',
    ],
    [`${THREE}${filters([is('visitor_id', '2')])}`, [], 0, 'an id has 16 digits'],
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
