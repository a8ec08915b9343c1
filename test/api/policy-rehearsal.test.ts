import t from 'tap'
import { z } from 'zod'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { createApp } from '../../src/api/app.js'
import { createRehearsalRunner } from '../../src/api/rehearsal/run.js'
import { createTextRehearser, policyRehearsalRoutes } from '../../src/api/rehearsal/text.js'
import { ApiError } from '../../src/base/errors.js'
import { ManagedSite } from '../../src/manage/sites.js'
import type { AgentEventRow } from '../../src/storage/rows.js'
import { openStore } from '../fixtures/open-store.js'
import { agentRow } from '../fixtures/rows.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const at = (hour: number) => new Date(`2026-11-20T${String(hour).padStart(2, '0')}:00:00.000Z`)
const TODAY = ['User-agent: *', 'Disallow: /old', '', 'User-agent: GPTBot', 'Disallow: /drafts'].join('\n')
const TEXT = [
  'User-agent: *', // 1
  'Disallow: /new', // 2
  'Allow: /new/open', // 3
  '',
  'User-agent: GPTBot', // 5
  'User-agent: Googlebot', // 6
  'Disallow: /new', // 7
  'Crawl-delay: 2', // 8
  'Disallow: /a*z$', // 9
].join('\n')

/** How often each agent fetched each page, and whether the texts above let it: decided by hand. */
const FETCHES: [agent: string, path: string, fetches: number, today: boolean, text: boolean, line?: number][] = [
  ['gptbot', '/new/1', 3, true, false, 7],
  ['gptbot', '/new/open', 2, true, false, 7],
  ['gptbot', '/drafts/1', 4, false, true],
  ['gptbot', '/old', 1, true, true],
  ['gptbot', '/abcz', 1, true, false, 9],
  ['gptbot', '/robots.txt', 2, true, true],
  ['googlebot', '/new/1', 5, true, false, 7],
  ['googlebot', '/old/1', 2, false, true],
  ['claudebot', '/new/1', 1, true, false, 2],
  ['claudebot', '/new/open', 6, true, true, 3],
  ['other', '/old/1', 7, false, true],
  ['other', '/new', 1, true, false, 2],
]
const sum = (rows: readonly (readonly unknown[])[]) => rows.reduce((all, [, , n]) => all + Number(n), 0)
const newly = FETCHES.filter(([, , , today, text]) => today && !text)
const opened = FETCHES.filter(([, , , today, text]) => !today && text)

async function start() {
  const catalog = loadCatalog()
  const store = await openStore(t)
  const row = (agent_id: string, of: Partial<AgentEventRow>) => {
    const agent = catalog.get(agent_id)
    return agentRow({ agent_id, timestamp: at(8), bytes: 10, ...(agent && { operator: agent.operator }), ...of })
  }
  const shut = { robots_allowed: false, robots_grace: false, pathname: '/old' }
  await store.append({
    events: [],
    agent_events: [
      ...FETCHES.flatMap(([agent, pathname, n]) => Array.from({ length: n }, () => row(agent, { pathname }))),
      // Not judged: another site, before the window, another hostname, spoofed.
      row('gptbot', { pathname: '/new/1', site_id: 2 }),
      row('gptbot', { pathname: '/new/1', timestamp: new Date('2026-09-01T00:00:00Z') }),
      row('gptbot', { pathname: '/new/1', hostname: 'unknown.example' }),
      row('googlebot', { pathname: '/new/1', verified: false, verification: 'spoofed' }),
      // After the last rule: 3 ignored, of which 2 by the verified agent; one within the day of an old copy; one spoofed.
      row('claudebot', { ...shut, verified: true, verification: 'ranges' }),
      row('claudebot', { ...shut, verified: true, verification: 'ranges' }),
      row('claudebot', shut),
      row('claudebot', { ...shut, robots_grace: true }),
      row('claudebot', { ...shut, verified: false, verification: 'spoofed' }),
      row('gptbot', { pathname: '/robots.txt', timestamp: at(11) }),
    ],
  })
  await store.replaceSitemap(
    'example.com',
    ['/new/1', '/new/open', '/drafts/1'].map((pathname) => ({ pathname, lastmod: null })),
  )
  const LLMS = '# A\n\n- [one](/new/1)\n- [two](/new/two?x=1)\n- [three](/three)\n- [four](https://b.example/new)\n'
  const versions = (kind: string) =>
    kind === 'llms'
      ? [{ since: at(0).toISOString(), standing: 'served', status: 200, text: LLMS }]
      : [
          { since: at(12).toISOString(), standing: 'unreachable', status: 503 },
          { since: at(10).toISOString(), standing: 'served', status: 200, text: TODAY },
        ]
  const site = ManagedSite.parse({
    id: 1,
    version: 1,
    org: 1,
    name: 'A',
    domains: ['example.com'],
    timezone: 'UTC',
    currency: 'EUR',
    excluded_paths: [],
    respect_gpc: false,
    visitor_salt: 'day',
    sections: [],
  })
  const deps = {
    store,
    now: () => NOW,
    catalog: listAgents(catalog),
    sites: { get: async (id: number) => (id === 1 ? site : undefined), list: async () => [site] },
    policy: async () => ({ hostnames: ['example.com'] }),
    policyVersions: async (_: number, { kind = 'robots' }: { kind?: string }) => ({ versions: versions(kind) }),
  }
  const app = createApp({
    routes: policyRehearsalRoutes({ ...deps, log() {} }, createTextRehearser(createRehearsalRunner(deps))),
    credentials: { keys: { authenticate: async () => t.fail('no key') as never, isActive: async () => true } },
    version: '0',
    log: (error) => (error instanceof ApiError ? undefined : t.fail(String(error))),
  })
  return async (body: object, signal?: AbortSignal) => {
    const sent = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const url = 'http://127.0.0.1/api/policy/rehearsal'
    const response = await app(new Request(url, { ...sent, ...(signal && { signal }) }), { ip: '', operator: true })
    const Answer = z.object({ data: z.looseObject({ agents: z.array(z.looseObject({ agent_id: z.string() })) }) })
    const json = await response.json()
    return { status: response.status, json, data: response.ok ? Answer.parse(json).data : undefined }
  }
}

t.test('a text is judged on the stored fetches as the live judge decides, line by line', async (t) => {
  const ask = await start()
  const { data } = await ask({ site: 1, text: TEXT, range: '30d' })
  // The rows of claudebot on /old that are not spoofed: 4, disallowed by today's text and allowed by the new one.
  t.match(data, {
    hostnames: ['example.com'],
    fetches: sum(FETCHES) + 4 + 1,
    bytes: 10 * (sum(FETCHES) + 4 + 1),
    disallowed: sum(FETCHES.filter(([, , , , text]) => !text)),
    newly_disallowed: { fetches: sum(newly), pages: 4, bytes: 10 * sum(newly) },
    newly_allowed: { fetches: sum(opened) + 4, pages: 3, bytes: 10 * (sum(opened) + 4) },
    search_engines: [{ agent_id: 'googlebot', fetches: 5, pages: 1 }],
    since: at(10).toISOString(),
  })
  const lines = [2, 3, 7, 9].map((line) => ({ line, fetches: sum(FETCHES.filter((one) => one[5] === line)) }))
  t.strictSame(data?.lines, lines, 'fetches that each line decides')
  for (const agent of ['gptbot', 'googlebot', 'claudebot', 'other']) {
    const changed = newly.filter(([id]) => id === agent)
    t.match(
      data?.agents.find(({ agent_id }) => agent_id === agent),
      { newly_disallowed: { fetches: sum(changed), pages: changed.length, bytes: 10 * sum(changed) } },
      agent,
    )
  }
  const after = (id: string) => data?.agents.find(({ agent_id }) => agent_id === id)?.after
  const obeys = loadCatalog().get('claudebot')?.respects_robots === 'yes'
  t.strictSame(after('claudebot'), { ignored: 3, breaches: obeys ? 2 : 0, reads: 0 }, 'it ignored the last rule')
  t.strictSame(after('gptbot'), { ignored: 0, breaches: 0, reads: 3, read_at: at(11).toISOString() })
  t.strictSame(
    data?.limits,
    [
      { kind: 'query', fetches: sum(FETCHES.filter(([id]) => id === 'gptbot' || id === 'googlebot')) + 1 },
      { kind: 'spoofed', fetches: 2 },
      { kind: 'no_policy', fetches: 1 },
    ],
    'fetches that rows say too little of',
  )
  t.match(data?.hidden, {
    llms: 2,
    sitemap: 1,
    pages: [
      { hostname: 'example.com', pathname: '/new/1', llms: true, sitemap: true },
      { hostname: 'example.com', pathname: '/new/two', llms: true, sitemap: false },
    ],
    named: [
      { agents: ['GPTBot', 'Applebot'], total: 2, llms: 2, sitemap: 2 },
      { agents: ['Googlebot', 'Googlebot-Image'], llms: 2, sitemap: 2 },
    ],
  })
  t.match(data?.differing, [
    { line: 8, kind: 'crawl_delay' },
    { line: 9, kind: 'pattern' },
  ])
})

t.test('bad input, and a client that goes away', async (t) => {
  const ask = await start()
  const rows: [body: object, status: number, field: string | undefined, why: string][] = [
    [{ site: 1 }, 422, 'text', 'no text'],
    [{ site: 9, text: '' }, 404, 'site', 'another site'],
    [{ site: 1, text: '', range: 'ever' }, 422, 'range', 'no such range'],
    [{ site: 1, text: 'x'.repeat(600_001) }, 422, 'text', 'too long'],
    [{ site: 1, text: '', start: 'soon' }, 422, 'start', 'no instant'],
    [{ site: 1, text: '', period: '30d' }, 422, 'period', 'an unknown field'],
  ]
  for (const [body, status, field, why] of rows) {
    const { status: got, json } = await ask(body)
    t.match({ got, json }, { got: status, json: { error: field === undefined ? {} : { field } } }, why)
  }
  const { data } = await ask({
    site: 1,
    text: `\ufeffUser-agent: *\n${`Disallow: /${'x'.repeat(99)}\n`.repeat(5_000)}`,
  })
  t.match(data?.differing, [{ kind: 'too_long' }, { line: 1, kind: 'byte_order_mark' }], 'longer than 500 KiB')
  t.match(data, { newly_disallowed: { fetches: 0 } })
  const { data: empty } = await ask({ site: 1, text: '' })
  t.match(
    empty,
    { newly_disallowed: { fetches: 0 }, newly_allowed: { fetches: 17 } },
    'an empty text allows everything',
  )
  const gone = new AbortController()
  gone.abort()
  const cancelled = await ask({ site: 1, text: TEXT }, gone.signal)
  t.ok(cancelled.status >= 400, 'nothing is judged for a client that has gone')
})
