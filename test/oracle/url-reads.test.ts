import t from 'tap'
import { z } from 'zod'
import type { BlockedUrls, Url } from '../../src/analytics/query/blocked-urls.js'
import { DIMENSIONS } from '../../src/analytics/query/dimensions.js'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import type { CatalogAgent } from '../../src/analytics/query/read-context.js'
import { reads } from '../../src/analytics/reads/index.js'
import { join, sql } from '../../src/storage/sql.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { openStore } from '../fixtures/open-store.js'
import { AGENTS, ASSISTANT_HOSTS, ASSISTANTS, peopleAndAgents, SITEMAP } from '../fixtures/people-and-agents.js'
import { midnight } from './calendar.js'
import type { FileVersion } from './policy-reads.js'
import { type Metrics, recount } from './recount.js'
import { recountUrlReads, type UrlQuestion, type UrlWorld } from './url-reads.js'

/**
 * Stores 10,000 fetches and 10,000 pageviews of two sites, asks every read about URLs and agents, and recounts them.
 */
const TZ = 'Europe/Berlin'
const NOW = Date.parse('2026-11-01T12:34:56.789Z')
/** Windows that run until now end with the ten seconds in which it is. */
const END = Date.parse('2026-11-01T12:35:00.000Z')
const rows = peopleAndAgents({ seed: 20261101, people: 10_000, agents: 10_000 })
const store = await openStore(t)
/** Hits of a few days arrive after these days were counted, so reads mix counted days, changed ones and rows. */
const isLate = ({ timestamp }: { timestamp: Date }, i: number) => i % 4 === 0 && timestamp.getUTCDate() % 9 === 2
const delivery = (late: boolean) => ({
  events: rows.events.filter((row, i) => isLate(row, i) === late),
  agent_events: rows.agent_events.filter((row, i) => isLate(row, i) === late),
})
await store.append(delivery(false))
await store.aggregate(new Date('2026-10-29T12:00:00Z'))
await store.append(delivery(true))
const urls = SITEMAP.map(([hostname, pathname]) => sql`(${hostname}, ${pathname}, null)`)
await store.query(sql`insert into sitemap_urls values ${join(urls, ', ')}`)

const hostOf = (site: number, hostname: string) =>
  hostname === 'two.example' ? site === 2 : hostname.endsWith('one.example') && site === 1
const blocks = ({ hostname, pathname }: Url, operator?: string) =>
  hostname === 'one.example' &&
  (/^\/(m|%6D)embers\//.test(pathname) ||
    /^\/p\/3.*[02468]$/.test(pathname) ||
    (operator === 'OpenAI' && pathname === '/'))
const blocked = async (_: number, operator: string | undefined): Promise<BlockedUrls> => ({
  candidates: [{ hostname: 'one.example', patterns: ['/members/', '/p/3*', ...(operator === 'OpenAI' ? ['/$'] : [])] }],
  areBlocked: async (urls) => urls.map((url) => blocks(url, operator)),
})
const DECISION = { robots_token: '*', group: ['*'], allowed: true, reason: 'no_rule', rules: 0 }
const catalog = AGENTS.map(
  ([agent_id, operator, purpose, respects_robots]): CatalogAgent => ({
    ...{ agent_id, name: agent_id, operator, purpose, respects_robots, docs_url: 'undocumented', verification: [] },
  }),
)
const given: UrlWorld = {
  ...{ rows, sitemap: SITEMAP, hostOf, blocks },
  obeys: new Map(AGENTS.map(([id, , , obeys]) => [id, obeys])),
  assistants: new Map([...ASSISTANTS, ...ASSISTANT_HOSTS]),
}
const deps: ReadDependencies = {
  ...{ store, catalog, blockedUrls: blocked, now: () => new Date(NOW) },
  site: async (id) => ({
    ...{ id, timezone: TZ, visitor_salt: 'never', owns: (hostname) => hostOf(id, hostname) },
    ...(id === 2 ? { citation_threshold: 1.5 } : {}),
  }),
  segment: async () => undefined,
  assistants: [...ASSISTANTS, ...ASSISTANT_HOSTS].map(([source, operator]) => ({ source, operator })),
  policyVersions: async (_, { before }) => ({
    hostname: 'one.example',
    versions: VERSIONS.filter(({ since }) => since < before).map((version) => ({
      ...versionFields(version),
      until: new Date(version.until).toISOString(),
    })),
  }),
  policy: async (_, { path = '/', seen = [] }) => ({
    ...{ hostnames: ['one.example'], hostname: 'one.example', path, versions: [] },
    agents: seen.map((agent_id) => ({ agent_id, ...DECISION })),
  }),
}

const at = (iso: string) => Date.parse(iso)
const WINDOWS: readonly [query: string, window: readonly [number, number]][] = [
  ['range=30d', [midnight(NOW, TZ, -29), END]],
  ['range=7d', [midnight(NOW, TZ, -6), END]],
  ['start=2026-10-24T22:00:00Z&end=2026-10-25T23:00:00Z', [at('2026-10-24T22:00Z'), at('2026-10-25T23:00Z')]],
  // 28 days in Berlin, an hour longer than elsewhere; and an hour less than that.
  ['start=2026-10-03T22:00:00Z&end=2026-10-31T23:00:00Z', [at('2026-10-03T22:00Z'), at('2026-10-31T23:00Z')]],
  ['start=2026-10-03T22:00:00Z&end=2026-10-31T22:00:00Z', [at('2026-10-03T22:00Z'), at('2026-10-31T22:00Z')]],
]
const is = (dimension: string, value: unknown, op = 'is') => ({ dimension, op, value })
const FILTERS = [
  [],
  [is('pathname', '/p/1', 'starts_with')],
  [is('hostname', 'www.one.example', 'is_not'), is('pathname', ['/', "/it's", '/🦆', '/members/one', '/p/30', '/p/3'])],
  [is('country', 'DE')],
  [is('suspected', false), is('verified', true)],
  [is('operator', ['OpenAI', 'Google'])],
  [{ or: [is('suspected', true), is('pathname', '/p/', 'contains')] }, is('verification', 'ranges', 'is_not')],
  [{ not: { or: [is('status', 200), is('pathname', '/')] } }, is('exit_page', '/p/', 'starts_with')],
  [{ or: [is('operator', 'Microsoft'), { and: [is('source', 'ChatGPT'), is('hostname', 'one.example')] }] }],
]
const ofAgents = (filters: readonly object[]) => !/suspected|exit_page|source/.test(JSON.stringify(filters))

/** The versions of one hostname; the newest of each file is active. */
const VERSIONS: readonly (FileVersion & { kind: 'robots' | 'llms' })[] = [
  { kind: 'robots', file: '/robots.txt', since: at('2026-10-24T12:00Z'), until: at('2026-11-02T12:00Z'), served: true },
  { kind: 'llms', file: '/llms.txt', since: at('2026-09-10T00:00Z'), until: at('2026-11-02T12:00Z'), served: false },
  { kind: 'robots', file: '/robots.txt', since: at('2026-09-10T00:00Z'), until: at('2026-10-24T12:00Z'), served: true },
  {
    ...{ kind: 'robots', file: '/robots.txt', served: false },
    ...{ since: at('2026-09-01T00:00Z'), until: at('2026-09-10T00:00Z') },
  },
]
const versionFields = ({ kind, since, served }: (typeof VERSIONS)[number]) => ({
  ...{ kind, since: new Date(since).toISOString() },
  ...(served ? { standing: 'served', status: 200 } : { standing: 'unavailable', status: 404 }),
})

async function ask(path: string, q: UrlQuestion, query: string) {
  const read = reads.find((each) => each.path === `/api/${path}`)
  if (!read) throw new Error(path)
  const filters = encodeURIComponent(JSON.stringify(q.filters))
  const suspected = q.suspected ? `&suspected=${q.suspected}` : ''
  const { data, meta } = await runRead(
    read,
    new URLSearchParams(`site=${q.site}&filters=${filters}${suspected}&${query}`),
    deps,
  )
  return { data: rounded(data), meta }
}
/** The two sum in another order, so twelve digits have to agree; nearly nothing is 0. */
function rounded(value: unknown): unknown {
  if (typeof value === 'number') return Math.abs(value) < 1e-12 ? 0 : Number(value.toPrecision(12))
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rounded(each)]))
}
const SeenAgents = z.object({ agents: z.array(z.object({ agent_id: z.string(), seen: z.unknown().optional() })) })
const tallies: Record<string, Set<string>> = { gap: new Set(), decay: new Set(), violations: new Set() }

for (const [query, window] of WINDOWS) {
  for (const [i, filters] of FILTERS.entries()) {
    if (window !== WINDOWS[0]?.[1] && i > 1) continue
    t.test(`${query}, ${JSON.stringify(filters)}`, async (t) => {
      for (const site of i === 0 ? [1, 2] : [1 + (i % 2)]) {
        const q: UrlQuestion = { site, window, filters, ...(i % 2 === 1 ? { suspected: 'exclude' } : {}) }
        const own = recountUrlReads(given, q)
        const all = `${query}&limit=1000`

        // Without filters everything is asked; each further filter set meets half of the questions.
        const some = <T>(questions: readonly T[]): T[] => questions.filter((_, n) => i === 0 || (n + i) % 2 === 0)
        for (const order of some(['fetches', 'stale'] as const)) {
          const wanted = own.coverage(order)
          const { data, meta } = await ask('agents/coverage', q, `${all}&order=${order}`)
          assertEqual(t, data, rounded(wanted), `coverage, ${order}`)
          t.equal(meta.total, wanted.length)
        }
        for (const operator of query === 'range=30d' && i < 2 ? [undefined, 'OpenAI', 'xAI', 'nobody'] : [undefined]) {
          const { rows, summary } = own.citations(operator, site === 2 ? 1.5 : 3)
          const whose = operator ? `&operator=${operator}` : ''
          const { data, meta } = await ask('citation-gap', q, `${all}${whose}`)
          assertEqual(t, data, rounded(rows), `citation-gap ${whose}`)
          t.equal(meta.total, rows.length)
          t.match(meta.warnings, [{ code: 'arrivals_are_a_floor' }])
          assertEqual(
            t,
            (await ask('citation-gap/summary', q, `${query}${whose}`)).data,
            rounded(summary),
            `summary ${whose}`,
          )
          for (const { verdict } of rows) tallies.gap?.add(verdict)
        }
        const decayed = own.decay(![WINDOWS[1], WINDOWS[2], WINDOWS[4]].some((each) => each?.[1] === window))
        const decay = await ask('content/decay', q, all)
        assertEqual(t, decay.data, rounded(decayed), 'decay')
        t.equal(decay.meta.total, decayed.length)
        for (const { verdict } of decayed) tallies.decay?.add(verdict)

        if (!ofAgents(filters)) continue
        const versions = await ask('policy/versions', q, all)
        const known = VERSIONS.filter(({ since }) => since < window[1])
        const readOf = known.map((version) => ({
          ...{ hostname: 'one.example', ...versionFields(version) },
          ...(version.until < NOW ? { until: new Date(version.until).toISOString() } : {}),
          ...own.versionReads('one.example', version),
        }))
        assertEqual(t, versions.data, rounded(readOf), 'policy/versions')
        for (const path of some(['/', '/members/one', '/p/1', '/nothing'])) {
          const { data } = await ask('policy', q, `${query}&path=${path}?x=y`)
          const { agents } = SeenAgents.parse(data)
          const seen = agents.flatMap(({ agent_id, seen }) => (seen === undefined ? [] : [[agent_id, seen]]))
          const expected = own.pathFetches('one.example', path)
          assertEqual(t, seen.sort(), rounded([...expected].sort()), `policy, ${path}`)
        }
        for (const { severity } of own.violations()) tallies.violations?.add(severity)
        for (const only of some([undefined, 'unbound'])) {
          const summed: [path: string, wanted: readonly object[]][] = [
            ['policy/violations', own.violations(only)],
            ['policy/violations/agents', own.violationsByAgent(only)],
            ['policy/violations/rules', own.violationsByRule(only)],
            ['policy/violations/pages', own.violationsByPage(only)],
          ]
          for (const [path, wanted] of summed) {
            const { data, meta } = await ask(path, q, only ? `${all}&severity=${only}` : all)
            assertEqual(t, data, rounded(wanted.slice(0, 1000)), `${path}, ${only}`)
            t.equal(meta.total, wanted.length)
          }
        }
      }
    })
  }
}

t.test('every verdict and severity occurred', async (t) => {
  const gap = ['blocked', 'twin', 'unseen', 'insufficient', 'unfetched', 'gap', 'earning', 'balanced']
  t.strictSame(tallies.gap, new Set(gap))
  t.strictSame(tallies.decay, new Set(['decaying', 'fading', 'insufficient', 'blocked', 'steady']))
  t.strictSame(tallies.violations, new Set(['breach', 'unbound', 'unclear', 'unverified', 'grace']))
})

t.test('pages and comparisons', async (t) => {
  const [query = '', window = [0, 0]] = WINDOWS[0] ?? []
  const q: UrlQuestion = { site: 1, window, filters: FILTERS[1] ?? [] }
  const [own, then] = [
    recountUrlReads(given, q),
    recountUrlReads(given, { ...q, window: [2 * window[0] - window[1], window[0]] }),
  ]
  const NAMES = ['hostname', 'pathname', 'agent_id', 'operator', 'verified', 'severity', 'rule', 'line']
  const beside = (
    now: readonly object[],
    before: readonly object[],
    metrics: readonly string[],
    names: readonly string[] = NAMES,
  ) => {
    const pick = (row: object, names: readonly string[]) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name)))
    const nameOf = (row: object) => JSON.stringify(Object.entries(pick(row, names)).sort())
    const others = new Map(before.map((row) => [nameOf(row), pick(row, metrics)]))
    const nothing = Object.fromEntries(metrics.flatMap((name) => (name === 'ratio' ? [] : [[name, 0]])))
    return now.map((row) => {
      const comparison: Record<string, unknown> = others.get(nameOf(row)) ?? nothing
      const change = Object.entries(pick(row, metrics)).flatMap(([name, value]) => {
        const base = Number(comparison[name])
        return base > 0 ? [[name, (Number(value) - base) / base]] : []
      })
      return { ...row, comparison, change: Object.fromEntries(change) }
    })
  }
  const pages = async (path: string, wanted: readonly object[], asked = q) => {
    for (const page of [1, 2, 3]) {
      const { data, meta } = await ask(path, asked, `${query}&compare=previous&limit=20&page=${page}`)
      t.strictSame(data, rounded(wanted.slice(20 * (page - 1), 20 * page)), `${path}, page ${page}`)
      t.equal(meta.total, wanted.length)
      t.match(meta.comparison, { end: new Date(window[0]).toISOString() })
    }
  }
  const urls = ['fetches', 'spoofed', 'pageviews']
  await pages('agents/coverage', beside(own.coverage('fetches'), then.coverage('fetches'), urls))
  const ratios = ['fetches', 'arrivals', 'ratio']
  const [now, before] = [own.citations(undefined), then.citations(undefined)]
  await pages('citation-gap', beside(now.rows, before.rows, ratios))
  await pages('policy/violations', beside(own.violations(), then.violations(), ['fetches']))
  const whole = { ...q, filters: [] }
  const [nowWhole, thenWhole] = [
    recountUrlReads(given, whole),
    recountUrlReads(given, { ...whole, window: [2 * window[0] - window[1], window[0]] }),
  ]
  const byAgent = [nowWhole.violationsByAgent(), thenWhole.violationsByAgent()] as const
  await pages('policy/violations/agents', beside(...byAgent, ['fetches'], ['agent_id', 'severity']), whole)
  const byRule = [nowWhole.violationsByRule(), thenWhole.violationsByRule()] as const
  const ruleKey = ['agent_id', 'severity', 'rule', 'line']
  await pages('policy/violations/rules', beside(...byRule, ['fetches'], ruleKey), whole)
  const byPage = [nowWhole.violationsByPage(), thenWhole.violationsByPage()] as const
  await pages('policy/violations/pages', beside(...byPage, ['fetches', 'agents'], ['hostname', 'pathname']), whole)
  await pages('content/decay', own.decay(true))
  const { data } = await ask('citation-gap/summary', q, `${query}&compare=previous`)
  const [total] = beside([now.summary], [before.summary], ratios)
  t.strictSame(data, rounded({ ...total, operators: beside(now.summary.operators, before.summary.operators, ratios) }))
})

/** Dimensions of the fetches that a rule decided; a breakdown leaves out the others. */
const OF_SOME = new Set(['action', 'rule'])

t.test('overview, breakdown by every dimension, timeseries and catalog', async (t) => {
  for (const [query, window] of [WINDOWS[0], WINDOWS[2]].flatMap((each) => (each ? [each] : []))) {
    for (const [i, filters] of FILTERS.filter(ofAgents).slice(0, 4).entries()) {
      for (const site of [1 + (i % 2)]) {
        const q = { site, audience: 'agent', window, tz: TZ, filters, sectionsAt: NOW } as const
        const own = recount(rows, q)
        const PROOF = ['verified', 'verified_fetches', 'spoofed', 'indeterminate', 'unverifiable']
        const pick = (metrics: Metrics, names: readonly string[]) =>
          Object.fromEntries(Object.entries(metrics).filter(([name]) => names.includes(name)))
        const operators = own.breakdown('operator').map(({ key, metrics }) => ({
          ...{ operator: key, ...pick(metrics, ['fetches', 'bytes', ...PROOF]) },
        }))
        const totals = pick(own.overview(), ['fetches', 'agents', 'bytes', ...PROOF])
        const overview = await ask('agents/overview', q, query)
        t.strictSame(overview.data, rounded({ ...totals, operators: operators.slice(0, 10) }), 'overview')
        for (const { name } of DIMENSIONS.filter(({ tables }) => tables.includes('agent_events'))) {
          if (query !== 'range=30d' && name !== 'verification') continue
          const wanted = own.breakdown(name).filter(({ key }) => key !== undefined || !OF_SOME.has(name))
          const { data, meta } = await ask('agents/breakdown', q, `${query}&dimension=${name}&limit=1000`)
          const last = own.lastFetches(name)
          const namesOf = (id: unknown) => {
            const agent = AGENTS.find(([known]) => known === id)
            return agent && { name: agent[0], operator: agent[1], purpose: agent[2] }
          }
          const shaped = wanted.map(({ key, metrics }) => ({
            ...(key === undefined ? {} : { value: key }),
            ...(name === 'agent_id' ? namesOf(key) : {}),
            ...metrics,
            last_seen: last.get(key),
          }))
          assertEqual(t, data, rounded(shaped), `by ${name}`)
          t.equal(meta.total, wanted.length)
        }
        const { data } = await ask('agents/timeseries', q, `${query}&limit=3&granularity=day`)
        t.match(data, { granularity: 'day', series: own.series(3, 'day') }, 'timeseries')
        const seen = own.seen()
        const known = catalog.map((agent) => {
          const own = seen.get(agent.agent_id)
          return own ? { ...agent, seen: own } : agent
        })
        t.strictSame((await ask('agents/catalog', q, query)).data, known, 'catalog')
      }
    }
  }
})
