import t from 'tap'
import { z } from 'zod'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import journeySteps from '../../../src/analytics/reads/stats/journeys/steps.js'
import type { AgentEventRow } from '../../../src/storage/rows.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow } from '../../fixtures/rows.js'
import { asker, at, deps, filters, is, session, THREE, WORLD } from './behaviour-site.js'

const ask = (steps: readonly string[], query = THREE) => `${query}&steps=${encodeURIComponent(JSON.stringify(steps))}`
const page = (pathname: string, sessions: number) => ({ kind: 'page', pathname, sessions })
const edge = (sessions: number) => ({ kind: 'edge', sessions })
const visit = (sessions: number, ...pathnames: string[]) => ({ pathnames, sessions })

t.test('what came before and after a page that people viewed', async (t) => {
  const read = await asker(t, WORLD)
  // Visits with pages: / /docs / /pricing; / /docs; /pricing; /docs; / /docs. Two of them reloaded nothing else.
  const cases: [query: string, data: object, why: string][] = [
    [
      ask(['/docs']),
      {
        steps: [{ pathname: '/docs', sessions: 4 }],
        before: [page('/', 3), edge(1)],
        after: [page('/', 1), edge(3)],
        visits: [visit(2, '/', '/docs'), visit(1, '/', '/docs', '/', '/pricing'), visit(1, '/docs')],
      },
      'a reload is no step; a whole visit counts although its last hit is after the window',
    ],
    [
      ask(['/']),
      {
        steps: [{ pathname: '/', sessions: 3 }],
        before: [edge(3)],
        after: [page('/docs', 3)],
        visits: [visit(2, '/', '/docs'), visit(1, '/', '/docs', '/', '/pricing')],
      },
      'a visit that comes twice counts once, by the first time',
    ],
    [
      ask(['/', '/pricing']),
      {
        steps: [
          { pathname: '/', sessions: 3 },
          { pathname: '/pricing', sessions: 1 },
        ],
        before: [page('/docs', 1)],
        after: [edge(1)],
        visits: [visit(1, '/', '/docs', '/', '/pricing')],
      },
      'the second time took both steps, so it is the one that counts',
    ],
    [
      ask(['/', '/docs', '/']),
      {
        steps: [
          { pathname: '/', sessions: 3 },
          { pathname: '/docs', sessions: 3 },
          { pathname: '/', sessions: 1 },
        ],
        before: [edge(1)],
        after: [page('/pricing', 1)],
        visits: [visit(1, '/', '/docs', '/', '/pricing')],
      },
      'three steps; each has the visits that took it and all before it',
    ],
    [
      `${ask(['/docs'])}${filters([is('pathname', '/pricing')])}`,
      {
        steps: [{ pathname: '/docs', sessions: 1 }],
        before: [page('/', 1)],
        after: [page('/', 1)],
        visits: [visit(1, '/', '/docs', '/', '/pricing')],
      },
      'one hit passes the filter: its whole visit counts',
    ],
    [
      `${THREE}&steps=/secret`,
      { steps: [{ pathname: '/secret', sessions: 0 }], before: [], after: [], visits: [] },
      "another site's page",
    ],
    [
      `${THREE}&steps=%27%20or%201=1%20--`,
      { steps: [{ pathname: "' or 1=1 --", sessions: 0 }], before: [], after: [], visits: [] },
      'a value is never SQL',
    ],
  ]
  for (const [query, data, why] of cases) t.strictSame((await read('journeys/steps', query)).data, data, why)
})

t.test('pages beyond the first 20 are counted together', async (t) => {
  // 23 visits go from / to 23 pages, one more to the first of them; of equals, the last three by name are not named.
  const name = (n: number) => `/${String(n).padStart(2, '0')}`
  const events = Array.from({ length: 24 }, (_, n) =>
    session(n, 1000 + n, {}, ['24T10:00:00', '/'], ['24T10:01:00', name(n % 23)]),
  ).flat()
  const read = await asker(t, events)
  const { after } = z.object({ after: z.array(z.unknown()) }).parse((await read('journeys/steps', ask(['/']))).data)
  t.strictSame(after, [
    page('/00', 2),
    ...Array.from({ length: 19 }, (_, n) => page(name(n + 1), 1)),
    { kind: 'other', pages: 3, sessions: 3 },
  ])
})

t.test('agents: the same client within 30 minutes', async (t) => {
  const read = (time: string, pathname: string, more: Partial<AgentEventRow> = {}) =>
    agentRow({ timestamp: at(time), pathname, asn: 1, country: 'US', ...more })
  const agent_events = [
    // One client: / /docs (twice) /pricing, the last exactly 30 minutes later; then a new run a second too late.
    ...[read('24T08:00:00', '/'), read('24T08:00:05', '/docs'), read('24T08:01:00', '/docs')],
    ...[read('24T08:31:00', '/pricing'), read('24T09:01:01', '/docs')],
    // Between them another network, another country, another version and another agent read, each alone.
    read('24T08:00:02', '/a', { asn: 2 }),
    read('24T08:00:03', '/b', { country: 'DE' }),
    read('24T08:00:04', '/docs', { user_agent: 'GPTBot/1.3' }),
    read('24T08:00:04', '/docs', { agent_id: 'claudebot' }),
    // No page was read, or in GPTBot's name only.
    read('24T08:00:06', '/logo.png', { is_pageview: false }),
    read('24T08:00:07', '/x', { verification: 'spoofed' }),
    // A network that is not known is one network.
    ...[read('24T10:00:00', '/docs', { asn: null }), read('24T10:10:00', '/', { asn: null })],
    read('24T08:00:01', '/docs', { site_id: 2 }),
    // Before the window.
    read('23T21:59:59', '/docs'),
  ]
  const store = await openStore(t)
  await store.append({ events: [], agent_events })
  const times = async (steps: readonly string[], more = '') => {
    const query = new URLSearchParams(`${ask(steps)}&audience=agent${more}`)
    return runRead(journeySteps, query, { ...deps('never'), store }, {})
  }
  const step = (pathname: string, n: number) => ({ pathname, times: n })
  const to = (pathname: string, n: number) => ({ kind: 'page', pathname, times: n })
  const cases: [steps: string[], more: string, data: object, why: string][] = [
    [
      ['/docs'],
      '',
      {
        steps: [step('/docs', 5)],
        before: [to('/', 1), { kind: 'edge', times: 4 }],
        after: [to('/', 1), to('/pricing', 1), { kind: 'edge', times: 3 }],
      },
      'five times: twice by the first client, once each by two others, once where the network is not known',
    ],
    [
      ['/', '/docs'],
      '',
      { steps: [step('/', 2), step('/docs', 1)], before: [{ kind: 'edge', times: 1 }], after: [to('/pricing', 1)] },
      'two steps',
    ],
    [
      ['/docs'],
      filters([is('pathname', '/pricing')]),
      { steps: [step('/docs', 1)], before: [to('/', 1)], after: [to('/pricing', 1)] },
      'the run that has a read that passes',
    ],
  ]
  for (const [steps, more, data, why] of cases) t.strictSame((await times(steps, more)).data, data, why)
})

t.test('steps are a path or a list of them', async (t) => {
  const read = await asker(t, WORLD)
  const one = await read('journeys/steps', `${THREE}&steps=/docs`)
  t.strictSame(one.data, (await read('journeys/steps', ask(['/docs']))).data, 'a path alone is one step')
  const refused: [steps: string, why: string][] = [
    ['', 'nothing'],
    ['[]', 'no step'],
    ['[""]', 'an empty path'],
    ['["/"', 'no JSON'],
    ['[1]', 'a number'],
    [JSON.stringify(Array.from({ length: 9 }, () => '/')), 'nine steps'],
    [`/${'a'.repeat(2_000)}`, 'too long'],
  ]
  for (const [steps, why] of refused) {
    const query = `${THREE}&steps=${encodeURIComponent(steps)}`
    await t.rejects(read('journeys/steps', query), { code: 'validation_error', field: 'steps' }, why)
  }
  await t.rejects(read('journeys/steps', THREE), { code: 'validation_error', field: 'steps' }, 'absent')
})

t.test('agents: two reads of a page at one moment begin one run, whichever is sorted first', async (t) => {
  // So many, because the engine returns equal rows in another order only where it sorts much.
  const [clients, runs] = [400, 8]
  const agent_events = Array.from({ length: clients * runs }, (_, n) => {
    const client = Math.floor(n / runs)
    const who = { agent_id: `agent-${client % 7}`, user_agent: `Bot/${client}`, asn: client, country: 'DE' }
    const reads = [[0, '/docs'] as const, [0, '/docs'] as const, [2, '/pricing'] as const]
    return reads.map(([second, pathname]) =>
      agentRow({ timestamp: at(`24T0${n % runs}:00:0${second}`), pathname, ...who }),
    )
  }).flat()
  const store = await openStore(t)
  await store.append({ events: [], agent_events })
  const query = new URLSearchParams(`${ask(['/docs'])}&audience=agent`)
  const { data } = await runRead(journeySteps, query, { ...deps('never'), store }, {})
  t.strictSame(data, {
    steps: [{ pathname: '/docs', times: 3_200 }],
    before: [{ kind: 'edge', times: 3_200 }],
    after: [{ kind: 'page', pathname: '/pricing', times: 3_200 }],
  })
})
