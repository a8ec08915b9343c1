import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
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

function openClassifier(t: Test) {
  const site = {
    id: 1,
    domains: [],
    timezone: 'UTC',
    respect_gpc: true,
    visitor_salt: 'day' as const,
    excluded_paths: [],
  }
  const now = () => START
  return createClassifier({
    catalog: loadCatalog(),
    places: openPlaceLookup(),
    siteOf: () => site,
    siteById: () => site,
    salts: new SaltStore({ file: { read: () => undefined, write() {} }, now, random: randomBytes, log: () => {} }),
    sessions: new SessionMemory({ now }),
    verifier: noVerifier,
    policyJudge: noPolicyJudge,
    log: (message, error) => t.fail(`${message}: ${error}`),
  })
}

t.test('the classifier writes suspicion into the row, and still counts the person', async (t) => {
  const classifier = openClassifier(t)
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

t.test('clients that load parts of pages are told from scripts', async (t) => {
  const classifier = openClassifier(t)
  const ask = (ip: string, seconds: number, given: Partial<Observation> = {}): Observation =>
    observation({
      ...{ timestamp: new Date(START + seconds * 1_000).toISOString(), ip, head_form: '2myzpuae', headers: CHROME_TLS },
      ...{ user_agent: CHROME, pathname: `/${seconds}`, ...given },
    })
  const part: Partial<Observation> = { pathname: '/style.css', content_type: 'text/css' }
  for (let n = 0; n < 201; n++) {
    const ip = `84.160.${n}.1`
    classifier.classify([ask(ip, 0), ask(ip, 1, part), ask(ip, 11)])
  }
  const rows: [why: string, expected: string | null, between: Partial<Observation>, pages?: Partial<Observation>][] = [
    ['a style', null, part],
    ['an image that is still good', null, { status: 304, content_type: '', pathname: '/logo.png' }],
    ['a script', null, { content_type: 'text/javascript', pathname: '/main.js' }],
    ['data', 'behaviour:no_assets', { content_type: 'application/json', pathname: '/api' }],
    [
      'a sitemap that is still good',
      'behaviour:no_assets',
      { status: 304, content_type: '', pathname: '/sitemap.xml' },
    ],
    ['a style of a visitor who opted out', 'behaviour:no_assets', { ...part, headers: { 'sec-gpc': '1' } }],
    ['a style that another server got', 'behaviour:no_assets', { ...part, shipped: { site: 1, as: 'human' } }],
    ['pages of another server', null, { pathname: '/api', content_type: '' }, { shipped: { site: 1, as: 'human' } }],
    ['a head in another order', 'headers:order', part, { head_form: '1HUEA' }],
    ['the same of another server', null, part, { head_form: '1HUEA', shipped: { site: 1, as: 'human' } }],
  ]
  rows.forEach(([why, expected, between, pages = {}], n) => {
    // Addresses of Google Cloud, because a visitor from there says nothing about what is usual.
    const ip = `34.91.${n}.1`
    const { rows } = classifier.classify([ask(ip, 0, pages), ask(ip, 1, between), ask(ip, 12, pages)])
    const by = rows.events
      .at(-1)
      ?.suspected_by?.split(',')
      .filter((signal) => signal !== 'network:hosting')
    t.strictSame(by, expected === null ? [] : [expected], why)
  })
})
