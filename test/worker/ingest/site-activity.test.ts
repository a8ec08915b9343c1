import t from 'tap'
import { createSiteActivityCounter } from '../../../src/worker/ingest/site-activity.js'

const NOW = Date.UTC(2026, 10, 21, 10, 0, 30)
const MINUTE = 60_000

t.test('responses are counted by site and minute, and taken once', async (t) => {
  const { addResponse, addAgents, take } = createSiteActivityCounter(() => NOW)
  const responses: [site: number, status: number, secondsAgo: number][] = [
    [1, 200, 0],
    [1, 500, 30],
    [1, 503, 31],
    [1, 503, 32],
    [1, 404, 33],
    [2, 499, 0],
    // Late deliveries and clocks that are wrong.
    [1, 500, 600],
    [1, 500, -600],
    [1, 500, Number.NaN],
    [3, 500, 86_400],
  ]
  const page = { pathname: '/', content_type: 'text/html' }
  for (const [site, status, secondsAgo] of responses) addResponse(site, { ...page, status }, NOW - secondsAgo * 1_000)
  const rows: [agent: string, verification: string][] = [
    ['gptbot', 'ranges'],
    ['gptbot', 'unverifiable'],
    ['ccbot', 'unverifiable'],
    ['bytespider', 'spoofed'],
    ['claudebot', 'indeterminate'],
  ]
  addAgents(rows.map(([agent_id, verification]) => ({ site_id: 2, agent_id, verification })))
  t.same(take(), [
    {
      site: 1,
      minutes: [
        { at: NOW - 30_000, responses: 2, statuses: { 500: 1 } },
        { at: NOW - 30_000 - MINUTE, responses: 3, statuses: { 503: 2 } },
      ],
      agents: [],
      assets: [],
    },
    { site: 2, minutes: [{ at: NOW - 30_000, responses: 1, statuses: {} }], agents: ['gptbot', 'ccbot'], assets: [] },
  ])
  t.same(take(), [])
})

t.test('scripts and styles with a hash in their names are counted if the origin has them', async (t) => {
  const { addResponse, take } = createSiteActivityCounter(() => NOW)
  const js = 'text/javascript; charset=utf-8'
  const responses: [pathname: string, status: number, type: string, secondsAgo: number][] = [
    ['/app.3f9a1c2b.js', 200, js, 1],
    ['/app.3f9a1c2b.js', 200, 'application/javascript', 2],
    ['/main.3f9a1c2b.css', 200, 'text/css', 0],
    // An origin without the file, one that sends its front page for any path, a request that asks again, another name.
    ['/app.00000001.js', 404, js, 0],
    ['/app.00000002.js', 200, 'text/html', 0],
    ['/app.00000003.js', 304, js, 0],
    ['/app.js', 200, js, 0],
  ]
  for (const [pathname, status, content_type, secondsAgo] of responses)
    addResponse(1, { pathname, status, content_type }, NOW - secondsAgo * 1_000)
  const [app, main] = [
    { pathname: '/app.3f9a1c2b.js', stem: '/app.*.js', hash: '3f9a1c2b', at: NOW - 2_000, count: 2 },
    { pathname: '/main.3f9a1c2b.css', stem: '/main.*.css', hash: '3f9a1c2b', at: NOW, count: 1 },
  ]
  t.same(take()[0]?.assets, [app, main])
  for (let n = 0; n < 5_000; n++)
    addResponse(1, { pathname: `/app.${10_000_000 + n}.js`, status: 200, content_type: js }, NOW)
  t.equal(take()[0]?.assets.length, 200, 'made-up names take no more memory')
})
