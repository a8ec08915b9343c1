import t from 'tap'
import type { Evidence } from '../../../src/capture/hit.js'
import type { Observation } from '../../../src/capture/observation.js'
import { hitAt, startClassifier, view } from '../../fixtures/hit-classifier.js'
import { agentObservation } from '../../fixtures/observations.js'

t.test('a row of another server belongs to the site it names', async (t) => {
  const shipped = (as: 'agent' | 'human', given: Partial<Observation> = {}) =>
    view(0, { hostname: 'else.example', shipped: { site: 2, as, props: { plan: 'pro' } }, ...given })
  const bare = { content_type: '', status: 500, method: 'POST' }
  const gptbot = agentObservation().user_agent
  const person = {
    site_id: 2,
    recorded_by: 'edge',
    kind: 'pageview',
    props: '{"plan":"pro"}',
    hostname: 'else.example',
  }
  const rows: [Observation, object, string][] = [
    [shipped('human'), { events: [person], agent_events: [] }, 'a row of a person'],
    [shipped('human', bare), { events: [person] }, 'a page because the sender says so'],
    [
      shipped('human', { user_agent: gptbot, ...bare }),
      { events: [], agent_events: [{ site_id: 2, agent_id: 'gptbot', is_pageview: true }] },
      'an agent in the list of people stays an agent',
    ],
    [
      shipped('agent', { user_agent: gptbot }),
      { events: [], agent_events: [{ site_id: 2, agent_id: 'gptbot' }] },
      'a row of an agent',
    ],
    [
      shipped('agent', { user_agent: 'NewThing/1.0 (friendly)' }),
      { agent_events: [{ agent_id: 'other', user_agent: 'NewThing/1.0 (friendly)' }] },
      'an unknown agent',
    ],
    [shipped('agent'), { events: [], agent_events: [{ agent_id: 'other' }] }, 'an agent that looks like a browser'],
  ]
  for (const [one, expected, why] of rows) t.match(startClassifier()(one).rows, expected, why)
  t.strictSame(startClassifier()(view(0, { shipped: { site: 9, as: 'human' } })).drops, { unknown_host: 1 })
  const quiet = startClassifier()
  const { rows: made } = quiet(
    view(0, { hostname: 'two.example', shipped: { site: 2, as: 'human' } }),
    hitAt(0.1, { site: 2, hostname: 'two.example', screen_width: 400 }),
  )
  t.match(made.events, [{ recorded_by: 'browser', screen_class: 'xs', status: 200 }])
  t.equal(made.events.length, 1, 'its browser completes the row')
})

t.test('counts drops by site and ingest endpoint', async (t) => {
  const edge = (given: Partial<Observation>, site = 1) => view(0, { shipped: { site, as: 'human' }, ...given })
  const agents = { user_agent: agentObservation().user_agent }
  const rows: [Evidence, [number, string, string] | undefined, string][] = [
    [hitAt(0, { kind: 'engagement' }), [1, 'track', 'nothing_measured'], 'a hit of a person'],
    [hitAt(0, { ...agents, kind: 'form' }), [1, 'track', 'agent'], 'a row of an agent'],
    [hitAt(0, { pathname: '/admin' }), [1, 'track', 'excluded_path'], 'a hit on an excluded path'],
    [hitAt(0, { hostname: 'two.example' }), [1, 'track', 'unknown_host'], 'a hit of another site’s page'],
    [hitAt(0, { site: 9 }), undefined, 'a hit for no site'],
    [edge({ pathname: '/admin' }), [1, 'edge', 'excluded_path'], 'a row of another server'],
    [edge({ headers: { 'sec-purpose': 'prefetch' } }, 2), [2, 'edge', 'prefetch'], 'a row for another site'],
    [edge({}, 9), undefined, 'a row for no site'],
    [view(0, { pathname: '/admin' }), undefined, 'an observation of this server came in at no endpoint'],
    [hitAt(0), undefined, 'nothing dropped'],
  ]
  for (const [one, expected, why] of rows) {
    const { endpointDrops: dropped } = startClassifier({ excluded_paths: ['/admin'] })(one, one)
    const [site, door, reason] = expected ?? []
    t.strictSame(dropped, expected ? [{ site, door, reason, count: 2 }] : [], why)
  }
})
