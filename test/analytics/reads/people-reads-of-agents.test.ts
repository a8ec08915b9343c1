import t from 'tap'
import { WORLD } from '../../fixtures/world.js'
import { asker, DAY } from './world-reads.js'

/** Reads about people that are asked about agents: each answers with what agents have, and names the read to ask instead. */

const ROWS: readonly [path: string, data: unknown, instead: string | undefined, why: string][] = [
  ['stats/sources', {}, '/api/agents/breakdown?dimension=operator', 'agents tell no source'],
  ['stats/sessions', [], '/api/agents/breakdown?dimension=agent_id', 'agents have no sessions'],
  ['stats/visitors', [], '/api/agents/breakdown?dimension=agent_id', 'agents are not visitors'],
  ['stats/retention', {}, '/api/agents/timeseries', 'no agent is known again'],
  ['stats/journeys', {}, '/api/agents/coverage', 'agents follow no path'],
  ['stats/goals', [], '/api/agents/breakdown?dimension=pathname', 'agents have no goals'],
  ['stats/errors', [], '/api/agents/breakdown?dimension=status', 'agents run no scripts'],
  ['stats/performance', {}, '/api/agents/overview', 'agents measure no vitals'],
  [
    'stats/funnel/{id}',
    { id: 1, name: 'Shop' },
    '/api/agents/breakdown?dimension=pathname',
    'the funnel, without steps',
  ],
]

t.test('a read about people answers for agents with what they have', async (t) => {
  const ask = await asker(WORLD)
  for (const [path, data, instead, why] of ROWS) {
    const found = await ask(path, `${DAY}&audience=agent`)
    t.strictSame(found.data, data, `${path}: ${why}`)
    t.equal(found.meta.query.audience, 'agent', path)
    t.notOk('total' in found.meta, `${path}: nothing was counted, so there is no total`)
    const warned = found.meta.warnings?.filter(({ code }) => code === 'ask_instead') ?? []
    t.match(warned, [{ message: `; for agents, ask GET ${instead}.` }], `${path} names the read to ask`)
  }
})

t.test('agents have user agents instead of devices, and fetches by method instead of events', async (t) => {
  const ask = await asker(WORLD)
  // That day GPTBot read /docs, and a spoofed fetch got 404.
  const both = { fetches: 2, pageviews: 1, verified_fetches: 1, spoofed: 1, verified: 0.5, bytes: 1200 }
  const devices = await ask('stats/devices', `${DAY}&audience=agent`)
  t.match(devices.data, { user_agents: [{ user_agent: String, ...both }] })
  t.strictSame(Object.keys(Object(devices.data)), ['user_agents'], 'no browser, system, type or screen')
  const events = await ask('stats/events', `${DAY}&audience=agent`)
  t.match(events.data, [{ name: 'GET', kind: 'fetch', ...both }])
  t.notMatch(events.data, [{ visitors: Number }], 'absent, never 0')
  t.notMatch(events.data, [{ properties: Array }])
  t.strictSame((await ask('stats/events', `${DAY}&audience=agent&name=POST`)).data, [], 'one method')
  const steps = await ask('stats/journeys/steps', `${DAY}&audience=agent&steps=/docs`)
  t.match(steps.data, { steps: [{ pathname: '/docs', times: 1 }] })
  for (const [name, { meta }] of Object.entries({ devices, events, steps }))
    t.notMatch(meta.warnings ?? [], [{ code: 'ask_instead' }], `${name}: this is the answer`)
  const session = await ask('stats/sessions/{id}', `${DAY}&audience=agent`)
  t.match(
    session,
    { data: { id: '0000000000000001' }, meta: { query: { audience: 'human' } } },
    "a session is a person's",
  )
})
