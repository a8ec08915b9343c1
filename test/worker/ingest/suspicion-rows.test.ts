import { randomBytes } from 'node:crypto'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import type { Observation } from '../../../src/capture/observation.js'
import { createClassifier } from '../../../src/worker/ingest/classifier.js'
import { openPlaceLookup } from '../../../src/worker/ingest/place/place-lookup.js'
import { SaltStore } from '../../../src/worker/ingest/salts.js'
import { SessionMemory } from '../../../src/worker/ingest/session-memory.js'
import { CHROME, CHROME_TLS, type Headers } from '../../fixtures/browser-headers.js'
import { noPolicyJudge, noVerifier } from '../../fixtures/classifier-stubs.js'
import { observation } from '../../fixtures/observations.js'

const START = Date.parse('2026-11-21T08:00:00Z')

t.test('the classifier writes suspicion into the row, and still counts the person', async (t) => {
  const site = {
    id: 1,
    domains: [],
    timezone: 'UTC',
    respect_gpc: true,
    visitor_salt: 'day' as const,
    excluded_paths: [],
  }
  const now = () => START
  const classifier = createClassifier({
    catalog: loadCatalog(),
    places: openPlaceLookup(),
    siteOf: () => site,
    salts: new SaltStore({ file: { read: () => undefined, write() {} }, now, random: randomBytes, log: () => {} }),
    sessions: new SessionMemory({ now }),
    verifier: noVerifier,
    policyJudge: noPolicyJudge,
    log: (message, error) => t.fail(`${message}: ${error}`),
  })
  // An address of Google Cloud, which the shipped data knows as AS396982.
  const ask = (pathname: string, ip: string, headers: Headers): Observation =>
    observation({ timestamp: new Date(START).toISOString(), pathname, ip, headers, user_agent: CHROME })
  const robots = (ip: string, headers: Headers) => ({
    ...ask('/robots.txt', ip, headers),
    content_type: 'text/plain',
  })
  const { rows, drops } = classifier.classify([
    robots('34.91.0.1', {}),
    ask('/a', '34.91.0.1', CHROME_TLS),
    ask('/b', '34.91.0.1', CHROME_TLS),
    robots('34.91.0.2', { 'sec-gpc': '1' }),
    ask('/a', '34.91.0.2', CHROME_TLS),
    ask('/a', '84.160.0.1', CHROME_TLS),
  ])
  t.strictSame(drops, { not_a_page: 2 })
  t.strictSame(
    rows.events.map(({ pathname, suspected, suspected_by }) => [pathname, suspected, suspected_by]),
    [
      ['/a', true, 'network:hosting,behaviour:policy_first'],
      ['/b', true, 'network:hosting,behaviour:policy_first'],
      ['/a', false, 'network:hosting'],
      ['/a', false, null],
    ],
    'a visitor who opted out is not remembered either',
  )
})
