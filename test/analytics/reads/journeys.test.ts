import t from 'tap'
import { z } from 'zod'
import type { EventRow } from '../../../src/storage/rows.js'
import { peopleAndAgents } from '../../fixtures/people-and-agents.js'
import { asker, at, filters, is, session, THREE, WORLD } from './behaviour-site.js'

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
    [THREE, whole, 'a reload is not a step; a session of events alone leaves before its first page; whole sessions'],
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
      'a path is not an instant: the range holds',
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
