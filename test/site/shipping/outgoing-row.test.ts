import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { createRowBuilder } from '../../../src/site/shipping/outgoing-row.js'
import { agentObservation, observation } from '../../fixtures/observations.js'

/** The rows that observations and hits become on their way to a collector. */

const { of, ofHit } = createRowBuilder(loadCatalog())

t.test('an observation goes into the array of its audience, or has a reason not to', async (t) => {
  const html = 'text/html'
  const rows: [Parameters<typeof observation>[0], string, string][] = [
    [{}, 'events', 'a page that a person read'],
    [{ status: 304, content_type: '', headers: { accept: 'text/html' } }, 'events', 'a page not modified'],
    [{ user_agent: '' }, 'agent_events', 'no user agent'],
    [
      { user_agent: 'curl/8.0', method: 'POST', status: 500, content_type: '' },
      'agent_events',
      'an agent, whatever it did',
    ],
    [{ headers: { 'signature-input': 'sig=()' } }, 'agent_events', 'a signed request may come from an agent'],
    [{ content_type: 'text/css' }, 'not_a_page', 'an asset'],
    [{ status: 404 }, 'not_a_page', 'an error page'],
    [{ method: 'POST', content_type: html }, 'not_a_page', 'a form'],
    [{ headers: { 'sec-fetch-dest': 'iframe' } }, 'not_a_page', 'a frame'],
    [{ headers: { 'sec-purpose': 'prefetch' } }, 'prefetch', 'a prefetch'],
    [{ opted_out: true }, 'opted_out', 'an opt-out holds for every site'],
    [{ opted_out: true, user_agent: '' }, 'agent_events', 'an opt-out does not hold for agents'],
    [{ headers: { 'sec-gpc': '1' } }, 'events', "the collector knows the site's rule"],
  ]
  for (const [given, expected, why] of rows) {
    const item = of(observation(given))
    t.equal(typeof item === 'string' ? item : item.list, expected, why)
  }
})

const fields = (item: ReturnType<typeof of>): unknown => (typeof item === 'string' ? item : JSON.parse(item.json))

t.test('an agent’s row has the eleven fields of the interface, and those that only readership sends', async (t) => {
  const seen = agentObservation({
    timestamp: '2026-11-21T08:00:00.000Z',
    query: 'a=1',
    referrer: 'https://elsewhere.example/',
    duration_ms: 12.4,
    headers: { accept: '*/*', 'signature-input': 's', cookie: 'secret=1' },
    response: { 'x-robots-tag': 'noindex', 'set-cookie': 'secret=2' },
    signed: { scheme: 'https', authority: 'example.com', target: '/?a=1' },
    shipped: { site: 9, as: 'human' },
  })
  t.same(fields(of({ ...seen, ...{ verified: true, agent_id: 'gptbot' } })), {
    timestamp: '2026-11-21T08:00:00.000Z',
    user_agent: seen.user_agent,
    method: 'GET',
    hostname: 'example.com',
    pathname: '/',
    status: 200,
    bytes: 1234,
    duration_ms: 12,
    content_type: 'text/html; charset=utf-8',
    conditional: 0,
    ip: '203.0.113.7',
    query: 'a=1',
    referrer: 'https://elsewhere.example/',
    headers: { accept: '*/*', 'signature-input': 's' },
    response: { 'x-robots-tag': 'noindex' },
    signed: { scheme: 'https', authority: 'example.com', target: '/?a=1' },
  })
})

t.test('a person’s row has the fields of a pageview', async (t) => {
  const seen = observation({ timestamp: '2026-11-21T08:00:00.000Z', headers: { 'accept-language': 'de' } })
  t.same(fields(of(seen)), {
    timestamp: '2026-11-21T08:00:00.000Z',
    user_agent: seen.user_agent,
    hostname: 'example.com',
    pathname: '/',
    status: 200,
    duration_ms: 12,
    ip: '203.0.113.7',
    headers: { 'accept-language': 'de' },
  })
})

t.test('long and hostile texts are truncated or refused', async (t) => {
  const long = of(agentObservation({ pathname: `/${'x'.repeat(100_000)}`, query: '\u0000\ud800'.repeat(50_000) }))
  t.ok(typeof long !== 'string' && long.json.length < 100_000, 'cut')
  const whole = of(
    agentObservation({
      headers: { 'signature-input': 'x' },
      signed: { scheme: 'https', authority: 'a', target: `/${'x'.repeat(9_000)}` },
    }),
  )
  t.notMatch(fields(whole), { signed: {} }, 'half a signature base would be a wrong one')
  const hit = { timestamp: '2026-11-21T08:00:00Z', ip: '::1', user_agent: 'x' }
  t.same(fields(ofHit({ ...hit, headers: { dnt: '1', cookie: 'x' }, payload: { s: 1, u: '\ud800' } })), {
    ...hit,
    timestamp: '2026-11-21T08:00:00.000Z',
    headers: { dnt: '1' },
    payload: { s: 1, u: '\ud800' },
  })
  t.equal(ofHit({ ...hit, payload: 'x'.repeat(2_000_000) }), 'fault', 'a row that no delivery could hold')
})
