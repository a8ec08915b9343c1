import t from 'tap'
import type { Verifier } from '../../../src/agents/claim-check.js'
import { VERDICTS } from '../../../src/agents/verdict.js'
import type { Evidence, Hit } from '../../../src/capture/hit.js'
import { catalog, hitAt, startClassifier, view } from '../../fixtures/hit-classifier.js'
import { agentObservation } from '../../fixtures/observations.js'

t.test('an agent that runs the script has one row for one view', async (t) => {
  const { user_agent } = agentObservation()
  const page = (minute: number) => view(minute, { user_agent })
  const script = (minute: number, given: Partial<Hit> = {}) => hitAt(minute, { user_agent, ...given })
  const rows: [Evidence[][], number, string][] = [
    [[[page(0), script(1)]], 1, 'the fetch is the view'],
    [[[page(0)], [script(1, { ip: '198.51.100.1' })]], 1, 'rendered from another address'],
    [[[script(1)], [page(0)]], 1, 'the script ran before the response had ended'],
    [[[script(0)], [page(1)]], 2, 'a later fetch is a fetch of its own'],
    [[[page(0)], [script(1)], [script(2)]], 2, 'from the agent’s cache'],
    [[[page(0)], [script(1, { engaged_ms: 0, scroll: 0 })]], 2, 'another page of an app'],
    [[[page(0)], [script(40)]], 2, 'much later'],
    [[[page(0)], [script(1, { kind: 'custom' })]], 1, 'not a pageview'],
  ]
  for (const [batches, expected, why] of rows) {
    const classify = startClassifier()
    const made = batches.map((batch) => classify(...batch).rows)
    t.equal(made.flatMap(({ agent_events }) => agent_events).length, expected, why)
    t.equal(made.flatMap(({ events }) => events).length, 0, why)
  }
  const both = startClassifier()(script(1), page(0)).rows.agent_events
  t.match(both, [{ bytes: 1234 }])
  t.match(startClassifier()(script(0)).rows.agent_events, [
    { method: 'GET', status: 200, bytes: 0, content_type: 'text/html', is_pageview: true },
  ])
  const [agent] = catalog.agents
  const signing: Verifier = {
    signer: ({ headers }) => (headers?.signature && agent ? { agent, proven: true } : undefined),
    check: () => ({ now: VERDICTS.web_bot_auth }),
  }
  const signed = startClassifier({}, {}, signing)(hitAt(0, { headers: { signature: 'x' } })).rows
  t.match(
    signed,
    { events: [], agent_events: [{ agent_id: agent?.id, verified: true }] },
    'the signature wins over the user agent',
  )
})

t.test('all hits of one signed request use its nonce once', async (t) => {
  const [agent] = catalog.agents
  // Like the real verifier: a nonce of another request is a replay, and one request is verified twice.
  const used = new Map<string, object>()
  const signing: Verifier = {
    signer(request) {
      const input = request.headers?.['signature-input']
      if (input === undefined) return undefined
      if (!used.has(input)) used.set(input, request)
      return used.get(input) === request && agent ? { agent, proven: true } : undefined
    },
    check: () => ({ now: VERDICTS.web_bot_auth }),
  }
  const classify = startClassifier({}, {}, signing)
  const signed = { method: 'POST', scheme: 'https' as const, authority: 'a.example', target: '/api/track/batch' }
  // The hits of one request are a millisecond apart.
  let hits = 0
  const by = (nonce: string, minute = 0, given: Partial<Hit> = {}) =>
    hitAt(minute + hits++ / 60_000, {
      headers: { 'signature-input': nonce, signature: 'x' },
      signed: { ...signed, at: `minute ${minute}` },
      ...given,
    })
  const {
    rows,
    drops,
    endpointDrops: dropped,
  } = classify(by('n1'), by('n1', 0, { pathname: '/b' }), by('n1', 0, { kind: 'form' }))
  t.match(rows, { events: [], agent_events: [{ agent_id: agent?.id }, { agent_id: agent?.id, pathname: '/b' }] })
  t.strictSame(drops, { agent: 1 }, 'what an agent does on a page is not an event')
  t.strictSame(dropped, [{ site: 1, door: 'track', reason: 'agent', count: 1 }])
  const count = (one: Hit) => {
    const { events, agent_events } = classify(one).rows
    return [events.length, agent_events.length]
  }
  t.strictSame(count(by('n1', 0, { pathname: '/c' })), [0, 1], 'the rest of the request in the next batch')
  t.strictSame(count(by('n1', 1, { pathname: '/d' })), [1, 0], 'the same nonce in another request is a replay')
  t.strictSame(count(by('n1', 0, { pathname: '/e', ip: '203.0.113.8' })), [1, 0], 'also from another address')
  t.strictSame(count(hitAt(2)), [1, 0], 'an unsigned hit is a person’s')
  t.strictSame(count(by('n2', 3)), [0, 1], 'another signature')
})
