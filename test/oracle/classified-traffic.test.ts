import t, { type Test } from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import { reads } from '../../src/analytics/reads/index.js'
import { createSiteLookup } from '../../src/capture/site.js'
import type { Rows } from '../../src/storage/rows.js'
import { createClassifier } from '../../src/worker/ingest/classifier.js'
import { openPlaceLookup } from '../../src/worker/ingest/place/place-lookup.js'
import { SaltStore } from '../../src/worker/ingest/salts.js'
import { SessionMemory } from '../../src/worker/ingest/session-memory.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { noPolicyJudge, noVerifier } from '../fixtures/classifier-stubs.js'
import { openStore } from '../fixtures/open-store.js'
import { browsed, downloads, judged, traffic } from '../fixtures/traffic.js'
import { midnight } from './calendar.js'
import { type Metrics, type Question, recount } from './recount.js'

const TZ = 'Europe/Berlin'
const NOW = Date.parse('2026-11-01T12:34:56.789Z')
/** Windows that run until now end with the ten seconds in which it is. */
const END = Date.parse('2026-11-01T12:35:00.000Z')

/**
 * Sends observations through the classifier to rows, and rows through the store to reads; recounts the same rows. There
 * are 10,000 hits of people and 10,000 fetches on two sites, with what browsers and robots.txt checks would add.
 */
const now = () => NOW
const common = { timezone: TZ, respect_gpc: false, visitor_salt: 'never' as const, excluded_paths: [] }
const classifier = createClassifier({
  catalog: loadCatalog(),
  places: openPlaceLookup(),
  siteOf: createSiteLookup([
    { id: 1, domains: ['one.example', 'www.one.example'], ...common },
    { id: 2, domains: ['two.example'], ...common },
  ]),
  salts: new SaltStore({
    file: { read: () => undefined, write: () => {} },
    now,
    random: (size) => Buffer.alloc(size, 7),
    log: () => {},
  }),
  sessions: new SessionMemory({ now }),
  verifier: noVerifier,
  policyJudge: noPolicyJudge,
  log: (message, error) => t.fail(message, { error }),
})
const seen = traffic({ seed: 20261025, people: 10_000, agents: 10_000 })
const loads = downloads({ seed: 20261101, count: 3_000 })
const { rows: classified, drops } = classifier.classify([...seen, ...loads])
const rows: Rows = { events: browsed(classified.events, 7), agent_events: judged(classified.agent_events, 8) }

const store = await openStore(t)
await store.append(rows)

const deps: ReadDependencies = {
  store,
  now: () => new Date(NOW),
  site: async (id) => ({
    id,
    timezone: TZ,
    visitor_salt: 'never',
    owns: (hostname) => hostname.endsWith(id === 2 ? 'two.example' : 'one.example'),
  }),
  segment: async () => undefined,
  catalog: [],
  assistants: [],
}

/** The site has one file beside its pages: `/robots.txt`. */
const isAgentPage = ({ headers, method, pathname, status }: (typeof seen)[number]): boolean =>
  headers === undefined && method === 'GET' && pathname !== '/robots.txt' && (status === 200 || status === 304)

type Window = readonly [number, number]
const at = (iso: string) => Date.parse(iso)
/** The query's window, and its bounds by the oracle's own calendar. */
const WINDOWS: readonly [query: string, window: Window, unit: string][] = [
  ['range=30d', [midnight(NOW, TZ, -29), END], 'day'],
  ['range=7d', [midnight(NOW, TZ, -6), END], 'hour'],
  ['start=2026-10-24T22:00:00Z&end=2026-10-25T23:00:00Z', [at('2026-10-24T22:00Z'), at('2026-10-25T23:00Z')], 'hour'],
  ['start=2026-10-25T00:10:00Z&end=2026-10-25T02:20:00Z', [at('2026-10-25T00:10Z'), at('2026-10-25T02:20Z')], 'minute'],
  ['start=2026-03-20T05:00:00Z&end=2026-03-31T07:30:00Z', [at('2026-03-20T05:00Z'), at('2026-03-31T07:30Z')], 'hour'],
]
const [LONG, , NIGHT] = WINDOWS

const is = (dimension: string, value: unknown, op = 'is') => ({ dimension, op, value })
const BOTH = [
  [],
  [is('pathname', '/docs', 'starts_with')],
  [is('pathname', ['/', '/docs'], 'is_not'), is('hostname', 'one.example')],
  [{ or: [is('pathname', '_', 'contains'), { dimension: 'country', op: 'is_not_set' }] }],
  [{ not: { and: [is('country', ['DE', 'US']), is('pathname', '/docs/*', 'matches_wildcard')] } }],
  [is('asn', [64_501, 20_000_000], 'between')],
  [{ dimension: 'pathname', op: 'is', value: '/DOCS', case_sensitive: false }],
  [is('pathname', ['^/[a-c]', '\\\\'], 'matches')],
  [is('pathname', ["/it's", '/a"b', '/🦆', '/100%25'])],
]
const PEOPLE = [
  ...BOTH,
  [is('channel', 'AI Assistants')],
  [is('exit_page', '/'), is('entry_page', '/', 'is_not')],
  [is('entry_page', '/docs/**', 'matches_wildcard')],
  [{ has_done: is('event_name', "drop'; --") }],
  [{ has_not_done: is('prop:plan', 'pro') }, is('browser', 'Chrome')],
  [is('prop:price', 50, 'gt')],
  [is('prop:a/b~c"d', '1')],
  [is('kind', 'pageview')],
  [{ or: [is('pathname', '/pricing'), is('event_name', 'SIGN', 'contains')] }],
  [
    { dimension: 'event_name', op: 'contains', value: 'SIGN', case_sensitive: false },
    is('pathname', '/blog', 'starts_with'),
  ],
  [{ dimension: 'source', op: 'is_set' }, is('language', 'de', 'is_not')],
  [{ or: [is('exit_page', '/docs', 'starts_with'), { has_done: is('exit_page', '/pricing') }] }],
  [{ dimension: 'identified_id', op: 'is_set' }],
]
const AGENTS = [
  ...BOTH,
  [is('verified', true)],
  [is('verified', false, 'is_not'), is('purpose', ['search', 'training'])],
  [is('status', '4', 'starts_with')],
  [is('status', 400, 'gte'), is('conditional', 0)],
  [is('robots_allowed', true, 'is_not'), is('llms_listed', 1)],
  [{ dimension: 'user_agent', op: 'is_not_set' }],
  [is('agent_id', 'other', 'is_not'), is('method', 'HEAD')],
]
const FILTERS: Record<Question['audience'], typeof PEOPLE> = { human: PEOPLE, agent: AGENTS, all: BOTH }

async function ask(path: string, q: Question, query: string, more = '') {
  const read = reads.find((each) => each.path === path)
  if (!read) throw new Error(path)
  const filters = encodeURIComponent(JSON.stringify(q.filters))
  const text = `site=${q.site}&audience=${q.audience}&filters=${filters}&${query}&${more}`
  const { data, meta } = await runRead(read, new URLSearchParams(text), deps)
  return { data: rounded(data), meta }
}

/** The two sum in another order, so eleven digits have to agree. */
function rounded(value: unknown): unknown {
  if (typeof value === 'number') return Number(value.toPrecision(11))
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rounded(each)]))
}

const earlier = (q: Question): Question => ({ ...q, window: [2 * q.window[0] - q.window[1], q.window[0]] })
const compared = (now: Metrics, then: Metrics) => ({
  ...now,
  comparison: then,
  change: Object.fromEntries(
    Object.entries(then).flatMap(([name, base]) => {
      const value = now[name]
      return base === 0 || value === undefined ? [] : [[name, (value - base) / base]]
    }),
  ),
})
const pick = (metrics: Metrics, names: readonly string[]): Metrics =>
  Object.fromEntries(Object.entries(metrics).filter(([name]) => names.includes(name)))

const PROOF = ['verified', 'verified_fetches', 'spoofed', 'indeterminate', 'unverifiable']
const METRICS = {
  human: ['visitors', 'sessions', 'pageviews', 'bounce', 'duration', 'views_per_session', 'events'],
  agent: [
    'fetches',
    'verified',
    'pageviews',
    'agents',
    'verified_fetches',
    'spoofed',
    'indeterminate',
    'unverifiable',
    'bytes',
  ],
  all: ['pageviews'],
}
const DIMENSIONS = {
  human: ['pathname', 'exit_page', 'channel', 'country', 'event_name', 'prop:price'],
  agent: ['agent_id', 'operator', 'status', 'verified', 'llms_listed', 'pathname'],
  all: ['pathname', 'country', 'asn'],
}

t.strictSame(
  drops,
  { not_a_page: loads.length },
  'downloads are dropped, also if they are not modified, and nothing else',
)
t.equal(
  classified.agent_events.filter(({ is_pageview }) => is_pageview).length,
  seen.filter(isAgentPage).length,
  'pages of agents',
)
t.equal(classified.events.length, 10_000)
t.equal(classified.agent_events.length, 10_000)
for (const audience of ['human', 'agent', 'all'] as const) {
  for (const [query, window, unit] of WINDOWS) {
    for (const [i, filters] of FILTERS[audience].entries()) {
      // Every filter for the long window or for the night of the change, in turns; two filters for all windows.
      if (i > 1 && window !== (i % 4 < 2 ? LONG : NIGHT)?.[1]) continue
      const q: Question = { site: 1 + (i % 2), audience, window, tz: TZ, filters }
      t.test(`${audience}, ${query}, ${JSON.stringify(filters)}`, async (t) => {
        const own = recount(rows, q)
        const overview = await ask('/api/stats/overview', q, query)
        assertEqual(t, overview.data, rounded(own.overview()), 'overview')
        const page = '&limit=1000'
        const few = i > 1 ? 2 : Infinity
        const series = own.timeseries(unit)
        for (const metric of METRICS[audience].slice(0, few)) {
          const { data } = await ask('/api/stats/timeseries', q, query, `metric=${metric}&granularity=${unit}`)
          assertEqual(t, data, rounded({ metric, granularity: unit, buckets: series(metric) }), metric)
        }
        for (const dimension of DIMENSIONS[audience].slice(0, few)) {
          const optional = dimension === 'event_name' || dimension.startsWith('prop:')
          const wanted = own.breakdown(dimension).filter(({ key }) => key !== undefined || !optional)
          const { data, meta } = await ask('/api/stats/breakdown', q, query, `dimension=${dimension}${page}`)
          const shaped = wanted.map(({ key, metrics }) => ({
            ...(key === undefined ? {} : { value: key }),
            ...metrics,
          }))
          assertEqual(t, data, rounded(shaped), `by ${dimension}`)
          t.equal(meta.total, wanted.length)
        }
        if (audience === 'human') {
          const { data } = await ask('/api/stats/pages', q, query, page)
          assertEqual(t, data, rounded(own.pages().map(({ key, metrics }) => ({ pathname: key, ...metrics }))), 'pages')
        }
        if (audience === 'agent') await agentReads(t, q, query, unit)
      })
    }
  }
}

async function agentReads(t: Test, q: Question, query: string, unit: string) {
  const own = recount(rows, q)
  const operators = own.breakdown('operator').map(({ key, metrics }) => ({
    operator: key,
    ...pick(metrics, ['fetches', 'bytes', ...PROOF]),
  }))
  const totals = pick(own.overview(), ['fetches', 'agents', 'bytes', ...PROOF])
  t.strictSame((await ask('/api/agents/overview', q, query)).data, rounded({ ...totals, operators }), 'agents/overview')
  const last = own.lastFetches('purpose')
  const rowsOf = own
    .breakdown('purpose')
    .map(({ key, metrics }) => ({ value: key, ...metrics, last_seen: last.get(key) }))
  t.strictSame((await ask('/api/agents/breakdown', q, query, 'dimension=purpose')).data, rounded(rowsOf))
  const { data } = await ask('/api/agents/timeseries', q, query, `limit=3&granularity=${unit}`)
  t.match(data, { granularity: unit, series: own.series(3, unit) }, 'agents/timeseries')
}

t.test('compare=previous returns the previous window', async (t) => {
  for (const audience of ['human', 'agent', 'all'] as const) {
    const q: Question = { site: 1, audience, window: NIGHT?.[1] ?? [0, 0], tz: TZ, filters: BOTH[1] ?? [] }
    const [now, then] = [recount(rows, q), recount(rows, earlier(q))]
    const query = `${NIGHT?.[0]}&compare=previous`
    const overview = await ask('/api/stats/overview', q, query)
    t.strictSame(overview.data, rounded(compared(now.overview(), then.overview())), audience)
    t.strictSame(overview.meta.comparison, { start: '2026-10-23T21:00:00.000Z', end: '2026-10-24T22:00:00.000Z' })

    const before = new Map(then.breakdown('country').map(({ key, metrics }) => [key, metrics]))
    const wanted = now.breakdown('country').map(({ key, metrics }) => ({
      ...(key === undefined ? {} : { value: key }),
      ...compared(metrics, before.get(key) ?? then.nothing),
    }))
    t.strictSame((await ask('/api/stats/breakdown', q, query, 'dimension=country')).data, rounded(wanted))

    if (audience === 'human') {
      const there = new Map(then.pages().map(({ key, metrics }) => [key, metrics]))
      const none: Metrics = { visitors: 0, sessions: 0, pageviews: 0, entries: 0, exits: 0 }
      const pages = now
        .pages()
        .map(({ key, metrics }) => ({ pathname: key, ...compared(metrics, there.get(key) ?? none) }))
      t.strictSame((await ask('/api/stats/pages', q, query)).data, rounded(pages))
    }
    const [metric = ''] = METRICS[audience]
    const { data } = await ask('/api/stats/timeseries', q, query, 'granularity=hour')
    const series = { buckets: now.timeseries('hour')(metric), comparison: then.timeseries('hour')(metric) }
    t.strictSame(data, { metric, granularity: 'hour', ...series })
  }
})

t.test('agents/catalog: fetches per agent', async (t) => {
  const q: Question = { site: 2, audience: 'agent', window: LONG?.[1] ?? [0, 0], tz: TZ, filters: [] }
  const seenOf = recount(rows, q).seen()
  const catalog = ['gptbot', 'nobody', 'other'].map((agent_id) => ({
    ...{
      agent_id,
      name: agent_id,
      operator: 'o',
      purpose: 'other',
      respects_robots: 'unknown' as const,
      docs_url: 'undocumented',
      verification: [],
    },
  }))
  const read = reads.find(({ path }) => path === '/api/agents/catalog')
  const { data } = read ? await runRead(read, new URLSearchParams('site=2'), { ...deps, catalog }) : { data: [] }
  t.ok(seenOf.get('gptbot'))
  t.strictSame(
    data,
    catalog.map((agent) => {
      const seen = seenOf.get(agent.agent_id)
      return { ...agent, ...(seen ? { seen } : {}) }
    }),
  )
})

t.test('realtime: the five minutes before now', async (t) => {
  const busiest = rows.events.find((row) => row.site_id === 1 && row.timestamp.getTime() > at('2026-10-25T01:00Z'))
  const now = (busiest?.timestamp.getTime() ?? 0) + 120_000
  const q: Question = { site: 1, audience: 'all', window: [now - 300_000, now], tz: TZ, filters: [] }
  const own = recount(rows, q).live()
  const read = reads.find(({ path }) => path === '/api/stats/realtime')
  t.ok(read && own.people > 1 && own.agents > 1, 'somebody is there')
  if (!read) return
  const { data } = await runRead(read, new URLSearchParams('site=1'), { ...deps, now: () => new Date(now) })
  const pages = [...own.paths].map((p) => ({
    pathname: p,
    people: own.peopleOn(p ?? ''),
    agents: own.agentsOn(p ?? ''),
  }))
  const byPath = (a: { pathname?: unknown }, b: { pathname?: unknown }) =>
    String(a.pathname) < String(b.pathname) ? -1 : 1
  const minutes = [0, 1, 2, 3, 4].map((i) => ({
    t: new Date(now - 300_000 + i * 60_000).toISOString(),
    people: own.peopleIn(i),
    agents: own.agentsIn(i),
  }))
  t.match(data, { people: own.people, agents: own.agents, minutes })
  t.strictSame(pagesOf(data).sort(byPath), pages.sort(byPath))
})

const pagesOf = (data: unknown): { pathname?: unknown }[] =>
  typeof data === 'object' && data !== null && 'pages' in data && Array.isArray(data.pages) ? data.pages : []
