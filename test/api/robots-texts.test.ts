import t from 'tap'
import { createApp } from '../../src/api/app.js'
import type { RehearseText } from '../../src/api/rehearsal/text.js'
import { robotsTextRoutes } from '../../src/api/robots-texts.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createRobotsTexts } from '../../src/manage/robots-texts.js'
import { createSites } from '../../src/manage/sites.js'
import { sql } from '../../src/storage/sql.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const A = 'User-agent: *\nDisallow: /a\n'
const B = 'User-agent: *\nDisallow: /b\n'
const NO_SEARCH = 'User-agent: *\nDisallow: /\n'

t.test('a robots.txt is published, rolled back and switched off', async (t) => {
  const { workerClient } = await createInProcessEngine(t)
  const { records } = workerClient
  await bootstrap(records, { domains: [], timezone: 'UTC', now: NOW })
  let changes = 0
  const sites = createSites(records, async () => void changes++)
  const search_engines = [{ agent_id: 'googlebot', name: 'Googlebot', fetches: 1, pages: 1 }]
  const rehearseText = async ({ text }: { text: string }) => ({
    data: { search_engines: text === NO_SEARCH ? search_engines : [] },
  })
  const app = createApp({
    routes: robotsTextRoutes({
      sites,
      users: { get: async () => undefined },
      robotsTexts: createRobotsTexts(records, sites),
      rehearseText: rehearseText as unknown as RehearseText,
    }),
    credentials: { keys: { authenticate: async () => t.fail('no key') as never, isActive: async () => true } },
    version: '0',
    now: () => NOW,
    log: () => {},
  })
  const ask = async (method: string, body?: object) => {
    const query = method === 'POST' ? '' : '?site=1'
    const sent = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const url = `http://127.0.0.1/api/robots-texts${query}`
    const response = await app(new Request(url, { method, ...sent }), { ip: '', operator: true })
    return { status: response.status, json: response.status === 204 ? {} : await response.json() }
  }
  const versions = (...all: [id: number, text: string, is_served: boolean][]) => ({
    data: {
      is_managed: all.some(([, , is_served]) => is_served),
      versions: all.map(([id, text, is_served]) => ({ id, text, is_served, created_by: 'operator' })),
    },
  })
  const rows: [method: string, body: object | undefined, status: number, expected: object, why: string][] = [
    ['GET', undefined, 200, { data: { is_managed: false, versions: [] } }, 'none at first'],
    ['POST', { site: 1, text: A }, 201, versions([1, A, true]), 'published'],
    ['POST', { site: 1, text: B }, 201, versions([2, B, true], [1, A, false]), 'a second version'],
    [
      'POST',
      { site: 1, text: NO_SEARCH },
      422,
      { error: { field: 'disallow_search_engines', message: /Googlebot/ } },
      'locked',
    ],
    ['GET', undefined, 200, versions([2, B, true], [1, A, false]), 'nothing was stored'],
    ['POST', { site: 1, version: 1 }, 201, versions([2, B, false], [1, A, true]), 'rolled back'],
    ['POST', { site: 1, version: 9 }, 404, { error: { field: 'version' } }, 'no such version'],
    ['POST', { site: 1 }, 422, { error: { field: 'text' } }, 'neither'],
    ['POST', { site: 1, text: A, version: 1 }, 422, { error: { field: 'text' } }, 'both'],
    ['POST', { site: 7, text: A }, 404, { error: { field: 'site' } }, 'another site'],
    ['POST', { site: 1, text: 'ä'.repeat(260_000) }, 422, { error: { field: 'text' } }, 'longer than agents read'],
    ['DELETE', undefined, 204, {}, 'switched off'],
    ['GET', undefined, 200, versions([2, B, false], [1, A, false]), 'the versions are kept'],
    [
      'POST',
      { site: 1, text: NO_SEARCH, disallow_search_engines: true },
      201,
      versions([3, NO_SEARCH, true], [2, B, false], [1, A, false]),
      'wanted',
    ],
  ]
  for (const [method, body, status, expected, why] of rows) {
    const { status: got, json } = await ask(method, body)
    t.match({ got, json }, { got: status, json: expected }, why)
  }
  t.equal(changes, 5, 'each change is told to those who depend on sites')
  const audit = await records.query(sql`select action, details from audit where object = 'robots.txt' order by id`)
  t.strictSame(
    audit.map(({ action, details }) => [action, JSON.parse(String(details))]),
    [
      ['change', { site: 1, before: null, after: A }],
      ['change', { site: 1, before: A, after: B }],
      ['change', { site: 1, before: B, after: A }],
      ['delete', { site: 1, before: A, after: null }],
      ['change', { site: 1, before: null, after: NO_SEARCH }],
    ],
    'the audit log has both texts',
  )
})
