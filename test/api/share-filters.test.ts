import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { type Filter, parseFilters } from '../../src/analytics/query/filters.js'
import { reads } from '../../src/analytics/reads/index.js'
import { createApp } from '../../src/api/app.js'
import { exportRoutes } from '../../src/api/export.js'
import { createRateLimit } from '../../src/api/rate-limit.js'
import { readRoutes } from '../../src/api/reads.js'
import { createShareAccess } from '../../src/api/share/access.js'
import { createFunnels } from '../../src/manage/funnels.js'
import { createGoals } from '../../src/manage/goals.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSegments } from '../../src/manage/segments.js'
import { createShares, SHARE_SCOPES } from '../../src/manage/shares.js'
import { createSites } from '../../src/manage/sites.js'
import type { AgentEventRow, EventRow } from '../../src/storage/rows.js'
import { sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

const now = () => new Date('2026-11-21T10:00:00.000Z')
const SLUG = 'A'.repeat(24)
const HOUR = 3_600_000

/** A person's visit, `hours` before now. */
function visit(
  visitor: number,
  hours: number,
  country: string,
  paths: readonly string[],
  channel = 'Direct',
): EventRow[] {
  const session_start = new Date(now().getTime() - hours * HOUR)
  const common = {
    ...{ visitor_id: BigInt(visitor), session_id: BigInt(visitor * 1000 + hours), session_start, country, channel },
    ...{ entry_page: paths[0] ?? '/', browser: 'Firefox', identified_id: `reader-${visitor}`, source: 'ChatGPT' },
  }
  const at = (minutes: number) => new Date(session_start.getTime() + minutes * 60_000)
  return [
    ...paths.map((pathname, i) => eventRow({ ...common, timestamp: at(i), pathname, engaged_ms: 9_000 })),
    eventRow({
      ...common,
      timestamp: at(1),
      kind: 'custom',
      event_name: `in-${country}`,
      props: `{"from":"${country}"}`,
    }),
    eventRow({
      ...{ ...common, timestamp: at(1), kind: 'web_vitals' },
      vitals: { lcp: country === 'DE' ? 1000 : 9000, cls: 0, inp: 1, fcp: 1, ttfb: 1 },
    }),
    eventRow({
      ...{ ...common, timestamp: at(1), kind: 'error' },
      error: { type: 'Error', message: `in ${country}`, frame: null, fingerprint: country },
    }),
  ]
}
const fetched = (hours: number, country: string, pathname: string, agent_id = 'gptbot'): AgentEventRow =>
  agentRow({
    ...{ timestamp: new Date(now().getTime() - hours * HOUR), country, pathname, agent_id, purpose: 'search' },
    ...{ verified: true, verification: 'ranges', robots_allowed: false, robots_rule: pathname, robots_line: 1 },
    x_robots_tag: `of ${country}`,
  })

const INSIDE = {
  events: [
    // Before everything outside: a share tells since when the site is recorded, by whichever row that was.
    ...visit(5, 400, 'DE', ['/a']),
    ...visit(1, 2, 'DE', ['/', '/a', '/b'], 'AI Assistants'),
    ...visit(1, 50, 'DE', ['/a']),
    ...visit(2, 30, 'DE', ['/b', '/']),
    ...visit(3, 200, 'DE', ['/a', '/b']),
    ...visit(4, 0, 'DE', ['/']),
  ],
  agent_events: [fetched(1, 'DE', '/a'), fetched(26, 'DE', '/b', 'claudebot'), fetched(27, 'DE', '/a')],
}
/** Visits outside the filter: of the same people before, between and after, and of others. */
const OUTSIDE = {
  events: [
    ...visit(1, 300, 'FR', ['/secret', '/a']),
    ...visit(2, 20, 'FR', ['/secret', '/b']),
    ...visit(3, 1, 'FR', ['/a', '/b', '/secret']),
    ...visit(8, 3, 'FR', ['/', '/a', '/b'], 'AI Assistants'),
    ...visit(9, 0, 'FR', ['/secret']),
  ],
  agent_events: [fetched(2, 'FR', '/a'), fetched(5, 'FR', '/secret'), fetched(90, 'FR', '/b', 'ccbot')],
}

const german: Filter = { dimension: 'country', op: 'is', value: 'DE' }
const french: Filter = { dimension: 'country', op: 'is', value: 'FR' }

/** The service over some rows, seen through a share that shows Germany only. */
async function open(
  t: Test,
  { mapped = [], ...rows }: { events: EventRow[]; agent_events: AgentEventRow[]; mapped?: string[] },
  filters: Filter[] = [german],
) {
  const { workerClient, commit } = await createInProcessEngine(t)
  const { records, events } = workerClient
  await bootstrap(records, { domains: ['example.com'], timezone: 'UTC', now: now() })
  await commit(rows)
  for (const path of mapped) await events.query(sql`insert into sitemap_urls values ('example.com', ${path}, null)`)
  const managed = { goals: createGoals(records), funnels: createFunnels(records), segments: createSegments(records) }
  const page = (value: string) => ({ type: 'page' as const, match: { op: 'is', value } })
  await managed.goals.create({ site: 1, name: 'A', ...page('/a') }, deed)
  await managed.funnels.create(
    {
      site: 1,
      name: 'F',
      steps: [
        { label: 'A', ...page('/a') },
        { label: 'B', ...page('/b') },
      ],
    },
    deed,
  )
  const either = [{ or: [german, french] }]
  await managed.segments.create({ site: 1, name: 'Both', filters: either, shared: true }, deed)
  await managed.segments.create({ site: 1, name: 'Mine', filters: either, shared: false }, deed)
  const shares = createShares(records)
  const link = { site: 1, name: 'S', slug: SLUG, scopes: SHARE_SCOPES, filters, embed: [], badge: false }
  await shares.create({ ...link, created_at: now() }, deed)
  const limit = createRateLimit({ now: () => now().getTime(), random: randomBytes })
  const access = createShareAccess({
    ...{ shares, now, verify: async () => false, limits: { each: limit, all: limit } },
  })
  const deps = {
    ...{ ...managed, sites: createSites(records), store: events, now },
    catalog: ['gptbot', 'claudebot', 'ccbot'].map((agent_id) => ({
      ...{ agent_id, name: agent_id, operator: 'OpenAI', purpose: 'search', respects_robots: 'yes' as const },
      verification: [],
      docs_url: 'undocumented',
    })),
  }
  const logged: unknown[] = []
  const app = createApp({
    routes: [
      ...readRoutes(deps),
      ...exportRoutes({
        ...deps,
        // The content that the PDF would draw.
        pdf: { draw: async (sheet) => new TextEncoder().encode(JSON.stringify(sheet)) },
        log: (error) => logged.push(error),
      }),
    ],
    credentials: {
      keys: { authenticate: () => Promise.reject(new Error('none')), isActive: async () => false },
      shares: access,
    },
    ...{ version: '0', now, log: (error: unknown) => logged.push(error) },
  })
  return {
    logged,
    async ask(path: string, query: string) {
      const request = new Request(`http://localhost${path}?site=1&share=${SLUG}${query}`)
      const response = await app(request, { ip: '', operator: false })
      // The duration differs by itself.
      const text = (await response.text()).replace(/"took_ms":\d+/, '"took_ms":0')
      return { status: response.status, text }
    },
  }
}

const filtersOf = (...filters: unknown[]) => `&filters=${encodeURIComponent(JSON.stringify(filters))}`
const EITHER: [query: string, why: string] = [
  `&compare=previous&range=7d&segment=1${filtersOf({ or: [french, german, { not: german }] })}`,
  'either, by a segment too',
]
/** Queries about people only. */
const BEHAVIOUR: (typeof EITHER)[] = [
  [filtersOf({ has_done: french }), 'visitors who were elsewhere too'],
  [
    filtersOf(
      { has_not_done: { or: [french, { dimension: 'pathname', op: 'is', value: '/secret' }] } },
      {
        or: [
          { dimension: 'goal', op: 'is', value: 'A' },
          { dimension: 'pathname', op: 'is_set' },
        ],
      },
    ),
    'visitors who were not, by goal',
  ],
]
/** Required parameters. */
const needed = (path: string) => (path.endsWith('/breakdown') ? '&dimension=pathname' : '')

t.test('no read through a share shows anything outside its filters', async (t) => {
  const [alone, among] = [
    await open(t, INSIDE),
    await open(t, {
      mapped: ['/secret', '/mapped'],
      events: [...INSIDE.events, ...OUTSIDE.events],
      agent_events: [...INSIDE.agent_events, ...OUTSIDE.agent_events],
    }),
  ]
  let answered = 0
  for (const { path, audience: about } of reads.filter(({ staticResult: fixed }) => !fixed)) {
    const known = path.replace('{id}', '1')
    if (/sessions|visitors|suspected|bill/.test(path)) {
      t.equal((await among.ask(known, '')).status, 403, `${path} is never shared`)
      continue
    }
    const audiences = 'only' in about ? [about.only] : ['human', 'agent', 'all']
    for (const audience of audiences)
      for (const [query, why] of audience === 'human' ? [EITHER, ...BEHAVIOUR] : [EITHER]) {
        const asked = `&audience=${audience}${query}${needed(path)}`
        const [a, b] = [await alone.ask(known, asked), await among.ask(known, asked)]
        t.strictSame(b, a, `${path} ${audience}: ${why}`)
        if (a.status === 200) answered += 1
        // A metric that the audience does not have.
        else t.equal(a.status, 422, `${path} ${audience} ${why}: ${a.text}`)
      }
  }
  t.ok(answered >= 60, `${answered} answers`)
  for (const report of ['overview', 'pages', 'agents/coverage', 'funnel/1'])
    for (const file of ['csv', 'pdf']) {
      const asked = `&report=${report}${filtersOf({ or: [french, german] })}`
      const path = `/api/stats/export.${file}`
      const [a, b] = [await alone.ask(path, asked), await among.ask(path, asked)]
      t.equal(a.status, 200, a.text)
      t.equal(b.text, a.text, `${report}.${file}`)
    }
  t.notMatch((await among.ask('/api/stats/pages', '')).text, 'secret')
  t.strictSame([...alone.logged, ...among.logged], [])
})

t.test('since when the site is recorded does not depend on the filters of a share', async (t) => {
  const { ask } = await open(t, {
    events: [...visit(1, 2, 'DE', ['/a']), ...visit(2, 50, 'FR', ['/a'])],
    agent_events: [],
  })
  const { data, meta } = JSON.parse((await ask('/api/stats/timeseries', '&range=7d&granularity=day')).text)
  t.strictSame(
    data.buckets.map(({ value }: { value?: number }) => value),
    [undefined, undefined, undefined, undefined, 0, 0, 1],
    'the visit of 19 November is outside the filter, and days without value end with it',
  )
  t.match(meta.warnings, [{ code: 'not_recorded', message: /before 2026-11-19T08:00/ }])
})

t.test('nor do numbers that are measured against the whole site', async (t) => {
  const but = parseFilters([{ dimension: 'pathname', op: 'is_not', value: '/secret' }])
  // Inside: ten fetches for one arrival, which is the median. Outside: a hundred for one.
  const ten = Array.from({ length: 10 }, (_, n) => fetched(n + 1, 'DE', '/'))
  const hundred = Array.from({ length: 100 }, (_, n) => fetched(n + 1, 'DE', '/secret'))
  const inside = { events: INSIDE.events, agent_events: [...INSIDE.agent_events, ...ten] }
  const [alone, among] = [
    await open(t, inside, but),
    await open(
      t,
      {
        mapped: ['/secret'],
        events: [...inside.events, ...visit(8, 3, 'DE', ['/secret'], 'AI Assistants')],
        agent_events: [...inside.agent_events, ...hundred],
      },
      but,
    ),
  ]
  for (const path of ['/api/citation-gap', '/api/citation-gap/summary', '/api/content/decay', '/api/agents/coverage'])
    t.strictSame(await among.ask(path, ''), await alone.ask(path, ''), path)
  const { data } = JSON.parse((await among.ask('/api/citation-gap', '&limit=1')).text)
  t.match(data, [{ pathname: '/', fetches: 10, arrivals: 1, verdict: 'balanced' }])
})

t.test('a filter on a dimension of one audience closes the other audience', async (t) => {
  const rows = { events: [...INSIDE.events, ...OUTSIDE.events], agent_events: INSIDE.agent_events }
  const direct = { dimension: 'channel', op: 'is', value: 'Direct' }
  const gptbot = { dimension: 'agent_id', op: 'is', value: 'gptbot' }
  const done = { has_done: { dimension: 'pathname', op: 'is', value: '/b' } }
  const cases: [filter: unknown, asked: [path: string, status: number, why: string][]][] = [
    [
      direct,
      [
        ['/api/stats/overview', 200, 'people have one'],
        ['/api/agents/overview', 422, 'agents do not have it'],
        ['/api/citation-gap', 422, 'nor would half of it'],
        ['/api/agents/coverage', 422, 'which shows both'],
      ],
    ],
    [
      gptbot,
      [
        ['/api/agents/overview', 200, 'agents have one'],
        ['/api/stats/overview', 422, 'people do not have it'],
        ['/api/agents/coverage', 422, 'which shows both'],
      ],
    ],
    [
      done,
      [
        ['/api/stats/overview', 200, 'what people did'],
        ['/api/agents/overview', 422, 'agents do nothing'],
      ],
    ],
    [{ dimension: 'goal', op: 'is', value: 'Gone' }, [['/api/stats/overview', 422, 'a deleted goal']]],
  ]
  for (const [filter, asked] of cases) {
    const { ask, logged } = await open(t, rows, parseFilters([filter]))
    for (const [path, status, why] of asked) {
      const answer = await ask(path, '')
      t.equal(answer.status, status, `${path}: ${why}: ${answer.text}`)
      if (status === 422) t.match(answer.text, '"field":"share"')
    }
    t.strictSame(logged, [])
  }
})

t.test('a share does not show who a visitor is', async (t) => {
  const { ask } = await open(t, INSIDE)
  const who = { dimension: 'user_id', op: 'is', value: 'reader-1' }
  const rows: [path: string, query: string, status: number, field: string][] = [
    ['/api/stats/overview', filtersOf(who), 403, 'filters'],
    ['/api/stats/overview', filtersOf({ or: [german, { not: { has_done: who } }] }), 403, 'filters'],
    ['/api/stats/breakdown', '&dimension=identified_id', 403, 'dimension'],
    ['/api/stats/performance', '&dimension=distinct_id', 403, 'dimension'],
    ['/api/stats/breakdown', '&dimension=visitor_id', 403, 'dimension'],
    ['/api/stats/export.csv', `&report=pages${filtersOf(who)}`, 403, 'filters'],
    ['/api/stats/overview', '&segment=2', 404, 'segment'],
  ]
  for (const [path, query, status, field] of rows) {
    const answer = await ask(path, query)
    t.equal(answer.status, status, `${path} ${query}: ${answer.text}`)
    t.match(answer.text, `"field":"${field}"`)
  }
})

t.test('the rate of a goal is relative to what the share shows', async (t) => {
  const rows = { events: [...INSIDE.events, ...OUTSIDE.events], agent_events: [] }
  const { ask } = await open(t, rows, parseFilters([{ dimension: 'goal', op: 'is', value: 'A' }]))
  const { data } = JSON.parse((await ask('/api/stats/goals', '')).text)
  t.match(data, [{ name: 'A', rate: 1 }], 'every visible visitor has reached it')
})
