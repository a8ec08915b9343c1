import fc from 'fast-check'
import t from 'tap'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { ASSISTANTS } from '../../src/capture/assistants.js'
import { type BlockedUrls, filterBlocked, mayBeBlocked } from '../../src/query/blocked-urls.js'
import { type ReadDependencies, runRead } from '../../src/query/read.js'
import { reads } from '../../src/reads/index.js'
import type { AgentEventRow, EventRow, Rows } from '../../src/rows.js'
import { join, sql } from '../../src/sql.js'
import { openStore } from '../fixtures/open-store.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** Small sites, counted by hand; test/oracle/url-reads.test.ts recounts a large one. */
const NOW = new Date('2026-11-20T12:00:00Z')
const day = (n: number, hour = 0) => new Date(Date.UTC(2026, 9, 1 + n, hour))
/** Two windows of 30 days end here; rows of `BEFORE` are in the earlier one. */
const WINDOW = 'site=1&start=2026-10-21T00:00:00Z&end=2026-11-20T00:00:00Z'
const IN = day(30)
const BEFORE = day(5)

const common: Omit<ReadDependencies, 'store'> = {
  now: () => NOW,
  site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: (hostname) => hostname === 'example.com' }),
  segment: async () => undefined,
  catalog: listAgents(loadCatalog()),
  assistants: ASSISTANTS,
}
async function asker(
  rows: Rows,
  given: Partial<ReadDependencies> = {},
  sitemap: readonly (readonly [string, string])[] = [],
) {
  const store = await openStore(t)
  await store.append(rows)
  const urls = sitemap.map(([hostname, pathname]) => sql`(${hostname}, ${pathname}, null)`)
  if (urls.length > 0) await store.query(sql`insert into sitemap_urls values ${join(urls, ', ')}`)
  return async (path: string, more = '') => {
    const read = reads.find((each) => each.path === `/api/${path}`)
    if (!read) throw new Error(path)
    const answer = await runRead(read, new URLSearchParams(`${WINDOW}&${more}`), { ...common, store, ...given })
    const parsed = read.data.safeParse(answer.data)
    t.ok(parsed.success, `${path} has the shape it declares ${parsed.error ?? ''}`)
    return answer
  }
}
const times = <R>(n: number, row: (i: number) => R): R[] => Array.from({ length: n }, (_, i) => row(i))
const proven = { verified: true, verification: 'ranges' }
const spoofed = { verified: false, verification: 'spoofed' }
const user = { agent_id: 'chatgpt-user', operator: 'OpenAI', purpose: 'assistant' }
const search = { agent_id: 'bingbot', operator: 'Microsoft', purpose: 'search' }

t.test('warnings explain the verified share', async (t) => {
  const row = (of: Partial<AgentEventRow>) => agentRow({ timestamp: IN, ...of })
  const none = { spoofed: 0, indeterminate: 0, unverifiable: 0 }
  const nothing = { metric: 'verified', code: 'nothing_verified' }
  const open = { metric: 'verified', code: 'verification_indeterminate', message: /leaves out 2 / }
  const worlds: [rows: AgentEventRow[], wanted: object, warnings: object[] | undefined, why: string][] = [
    [[row(proven), row(spoofed)], { verified: 0.5, ...none, spoofed: 1 }, undefined, 'all is known'],
    [[row(proven)], { verified: 1, ...none }, undefined, 'all is well'],
    [[row(spoofed)], { verified: 0, ...none, spoofed: 1 }, undefined, 'nothing is true: a share of 0, not absent'],
    [[row({}), row({})], { ...none, indeterminate: 2 }, [nothing, open], 'nobody could say'],
    [[row(proven), row({}), row({})], { verified: 1, ...none, indeterminate: 2 }, [open], 'some could not be checked'],
    [[row({ verification: 'unverifiable' })], { ...none, unverifiable: 1 }, [nothing], 'nothing is published'],
    [[], none, [nothing], 'nothing was fetched'],
  ]
  for (const [agent_events, wanted, warnings, why] of worlds) {
    const ask = await asker({ events: [], agent_events })
    for (const [path, more] of [['agents/overview'], ['stats/overview', 'audience=agent']] as const) {
      const { data, meta } = await ask(path, more)
      t.match(data, wanted, `${path}: ${why}`)
      t.equal(JSON.stringify(data).includes('"verified":'), 'verified' in wanted, 'there or not')
      t.match(meta.warnings, warnings, why)
      t.equal(meta.warnings?.length, warnings?.length, 'said once')
    }
    const { data, meta } = await ask('agents/breakdown', 'dimension=operator')
    t.match(data, agent_events.length ? [{ value: 'OpenAI', ...wanted }] : [], `breakdown: ${why}`)
    if (agent_events.length) t.match(meta.warnings, warnings, why)
  }
})

t.test('agents/coverage', async (t) => {
  const at = (date: Date, of: Partial<AgentEventRow>) => agentRow({ timestamp: date, ...of })
  const ask = await asker(
    {
      events: [
        ...times(3, (i) => eventRow({ timestamp: IN, pathname: '/read', session_id: BigInt(i) })),
        eventRow({ timestamp: BEFORE, pathname: '/once' }),
        eventRow({ timestamp: IN, pathname: '/guessed', kind: 'engagement' }),
        eventRow({ timestamp: IN, pathname: '/stale', suspected: true }),
      ],
      agent_events: [
        at(day(29), { pathname: '/a', status: 200, robots_allowed: true, llms_listed: 1, ...search, ...proven }),
        at(day(30), { pathname: '/a', status: 404, robots_allowed: false, llms_listed: 0, ...user }),
        at(day(40), { pathname: '/a', status: 500, robots_allowed: true, ...spoofed }),
        at(day(3), { pathname: '/stale', status: 200, robots_allowed: true }),
        at(day(2), { pathname: '/forgotten' }),
        at(day(35), { pathname: '/faked', ...spoofed }),
        at(day(60), { pathname: '/tomorrow' }),
        at(day(25), { pathname: '/twice', status: 200, robots_allowed: true, llms_listed: 1 }),
        at(day(25), { pathname: '/twice', status: 503, robots_allowed: false, llms_listed: 0 }),
        at(day(31), { pathname: '/a', site_id: 2 }),
      ],
    },
    {},
    [
      ['example.com', '/a'],
      ['example.com', '/listed'],
      ['example.com', '/listed'],
      ['two.example', '/theirs'],
    ],
  )
  const url = (pathname: string) => ({ hostname: 'example.com', pathname })
  const never = { fetches: 0, spoofed: 0, agents: [], pageviews: 0 }
  const a = {
    ...{ ...url('/a'), first_crawl: '2026-10-30T00:00:00.000Z', last_crawl: '2026-10-31T00:00:00.000Z' },
    ...{ freshness_gap: 20 * 86_400, fetches: 3, spoofed: 1, agents: ['bingbot', 'chatgpt-user'], last_status: 404 },
    ...{ robots_allowed: false, llms_listed: 0, in_sitemap: true, pageviews: 0 },
  }
  const twice = {
    ...{ ...url('/twice'), first_crawl: '2026-10-26T00:00:00.000Z', last_crawl: '2026-10-26T00:00:00.000Z' },
    ...{ freshness_gap: 25 * 86_400, fetches: 2, spoofed: 0, agents: ['gptbot'], last_status: 503 },
    ...{ robots_allowed: false, llms_listed: 0, in_sitemap: false, pageviews: 0 },
  }
  const faked = { ...url('/faked'), ...never, fetches: 1, spoofed: 1, in_sitemap: false }
  const read = { ...url('/read'), ...never, in_sitemap: false, pageviews: 3 }
  const listed = { ...url('/listed'), ...never, in_sitemap: true }
  const stale = {
    ...{ ...url('/stale'), ...never, last_crawl: '2026-10-04T00:00:00.000Z', freshness_gap: 47 * 86_400 },
    ...{ last_status: 200, robots_allowed: true, in_sitemap: false, pageviews: 1 },
  }
  const whole = await ask('agents/coverage')
  t.strictSame(whole.data, [a, twice, faked, read, stale, listed], 'fetched, then what is not, the most read first')
  t.match(whole.meta, { total: 6, query: { order: 'fetches', audience: 'agent' } })
  t.strictSame(
    (await ask('agents/coverage', 'order=stale')).data,
    [read, faked, listed, stale, twice, a],
    'never crawled, the most read first; then the longest ago',
  )
  t.strictSame((await ask('agents/coverage', 'order=stale&limit=2&page=2')).data, [listed, stale])
  t.match((await ask('agents/coverage', 'limit=2&page=9')).meta, { total: 6, rows: 0 })
  const filters = (value: unknown) => `filters=${encodeURIComponent(JSON.stringify(value))}`
  const by = async (value: unknown) => (await ask('agents/coverage', filters(value))).data
  t.match(await by([{ dimension: 'pathname', op: 'is', value: '/listed' }]), [listed], 'of the sitemap too')
  t.match(
    await by([{ dimension: 'suspected', op: 'is', value: false }]),
    [{}, {}, {}, read, listed],
    'of people alone: /stale was read by nobody then',
  )
  t.match(
    await by([{ dimension: 'agent_id', op: 'is', value: 'bingbot' }]),
    [
      { pathname: '/a', fetches: 1, agents: ['bingbot'] },
      { pathname: '/read' },
      { pathname: '/stale', last_crawl: undefined },
      listed,
    ],
    'what that agent has and has not',
  )
  await t.rejects(ask('agents/coverage', 'order=age'), { code: 'validation_error', field: 'order' })
})

/** Fetches and arrivals at one URL. */
const cited = (pathname: string, fetches: number, arrivals: number, of: Partial<AgentEventRow> = {}): Rows => ({
  agent_events: times(fetches, () => agentRow({ timestamp: IN, pathname, ...user, ...of })),
  events: times(arrivals, (i) =>
    eventRow({
      ...{ timestamp: IN, pathname, entry_page: pathname, channel: 'AI Assistants', source: 'ChatGPT' },
      ...{ session_id: BigInt(i) + BigInt(pathname.length) * 1000n, visitor_id: BigInt(i) },
    }),
  ),
})
const all = (...worlds: Partial<Rows>[]): Rows => ({
  events: worlds.flatMap(({ events = [] }) => events),
  agent_events: worlds.flatMap(({ agent_events = [] }) => agent_events),
})
const viewed = (pathname: string, n = 1): Partial<Rows> => ({
  events: times(n, () => eventRow({ timestamp: IN, pathname })),
})

t.test('citation-gap: which hits are fetches and arrivals', async (t) => {
  const fetch = (of: Partial<AgentEventRow>): [string, number] => {
    const pathname = `/${JSON.stringify(of).replaceAll('/', '.')}${of.pathname ?? ''}`
    return [pathname, 0]
  }
  const counted: [of: Partial<AgentEventRow>, counts: boolean, why: string][] = [
    [{}, true, 'HTML, 200'],
    [{ status: 206 }, true, 'a part'],
    [{ status: 304 }, true, 'the same as before'],
    [{ status: 304, content_type: null, is_pageview: true }, true, 'which names no type, of a page'],
    [{ status: 304, content_type: null, is_pageview: false, pathname: '.PDF' }, true, 'of a document by its ending'],
    [{ status: 304, content_type: null, is_pageview: false, pathname: '.png' }, false, 'of an image'],
    [{ status: 200, content_type: null, is_pageview: true }, false, 'nobody knows of what'],
    [{ content_type: 'application/xhtml+xml' }, true, 'XHTML'],
    [{ content_type: 'text/markdown' }, true, 'Markdown'],
    [{ content_type: 'application/pdf' }, true, 'PDF'],
    [{ content_type: 'text/plain' }, false, 'text'],
    [{ status: 201 }, false, 'made'],
    [{ status: 404 }, false, 'missing'],
    [{ method: 'HEAD' }, false, 'no body'],
    [{ ...search }, true, 'for an index'],
    [{ purpose: 'training' }, false, 'training never enters'],
    [{ ...proven }, true, 'proven'],
    [{ ...spoofed }, false, 'not the one it says'],
  ]
  const ask = await asker(
    all(
      ...counted.map(([of]) => ({
        agent_events: [agentRow({ ...user, ...of, timestamp: IN, pathname: fetch(of)[0] })],
      })),
      ...counted.map(([of]) => viewed(fetch(of)[0])),
    ),
  )
  const { data } = await ask('citation-gap', 'limit=1000')
  for (const [of, counts, why] of counted)
    t.match(data, rowsWith(data, { pathname: fetch(of)[0], fetches: counts ? 1 : 0 }), why)

  const visit = (of: Partial<EventRow>) =>
    eventRow({ timestamp: IN, channel: 'AI Assistants', source: 'Claude', ...of })
  const came: [of: Partial<EventRow>[], arrivals: number, why: string][] = [
    [[{}], 1, 'came'],
    [[{ channel: 'Direct' }], 0, 'came by itself'],
    [[{}, {}], 1, 'loaded twice in one millisecond'],
    [[{ entry_page: '/elsewhere' }], 0, 'entered elsewhere at that moment'],
    [[{ session_start: new Date(IN.getTime() - 1000) }], 0, 'entered before'],
    [[{ kind: 'engagement' }], 0, 'no pageview'],
    [[{ timestamp: day(20, -1) }], 0, 'before the window'],
    [[{ entry_page: null }], 0, 'nobody knows where'],
  ]
  const rows = came.flatMap(([of], i) =>
    of.map((each) =>
      visit({
        pathname: `/${i}`,
        entry_page: `/${i}`,
        session_id: BigInt(i),
        session_start: each.timestamp ?? IN,
        ...each,
      }),
    ),
  )
  const second = await asker({ events: rows, agent_events: [] })
  const found = await second('citation-gap')
  for (const [i, [, arrivals, why]] of came.entries()) {
    if (arrivals === 0 && why !== 'came by itself') t.notMatch(found.data, [{ pathname: `/${i}`, arrivals: 1 }], why)
    else t.match(found.data, rowsWith(found.data, { pathname: `/${i}`, arrivals }), why)
  }
  t.match(found.meta.warnings, [{ metric: 'arrivals', code: 'arrivals_are_a_floor' }])
})

/** Replaces parts of the row with this path; does nothing if there is no such row. */
const rowsWith = (data: unknown, wanted: { pathname: string; [name: string]: unknown }): unknown[] =>
  (Array.isArray(data) ? data : []).some((row) => row.pathname === wanted.pathname)
    ? (Array.isArray(data) ? data : []).map((row) => (row.pathname === wanted.pathname ? wanted : {}))
    : ['there is no such row', wanted]

t.test('citation-gap: verdicts', async (t) => {
  // Ratios that count for the median: 1, 4/3 (/refused), 1.5, six times 4, 12, 13. The median is 4, a third of it 4/3.
  const world = all(
    ...[cited('/balanced', 12, 3), cited('/balanced.', 12, 3), cited('/balanced..', 12, 3)],
    ...[cited('/thrice', 36, 3), cited('/gap', 39, 3), cited('/earning', 4, 4), cited('/over.third', 6, 4)],
    ...[cited('/third....', 9, 2), cited('/ten', 10, 0), cited('/nine', 9, 0), cited('/unfetched', 0, 3)],
    ...[cited('/one', 0, 1), viewed('/unseen', 5)],
    ...[
      cited('/refused', 4, 3),
      cited('/refused', 5, 0, { status: 403 }),
      cited('/half', 12, 3, {}),
      cited('/half', 12, 0, { status: 429 }),
    ],
    ...[cited('/shut/one', 12, 3), viewed('/shut/unseen'), cited('/shut/open', 12, 3)],
  )
  const wanted: [pathname: string, verdict: string, why: string][] = [
    ['/balanced', 'balanced', 'the median'],
    ['/thrice', 'balanced', 'three times the median is not over it'],
    ['/gap', 'gap', 'over three times'],
    ['/earning', 'earning', 'under a third'],
    ['/over.third', 'balanced', 'a little over a third'],
    ['/third....', 'insufficient', 'too few of both'],
    ['/ten', 'gap', 'ten fetches and nobody came'],
    ['/nine', 'insufficient', 'nine'],
    ['/unfetched', 'unfetched', 'came from an index'],
    ['/one', 'insufficient', 'one arrival is too few to say so'],
    ['/unseen', 'unseen', 'people read it'],
    ['/refused', 'blocked', 'five of nine were refused'],
    ['/half', 'balanced', 'half is not over half'],
    ['/shut/one', 'blocked', 'by policy'],
    ['/shut/unseen', 'blocked', 'first of all'],
    ['/shut/open', 'balanced', 'an exception that the patterns do not tell'],
  ]
  const blocked: BlockedUrls = {
    candidates: [{ hostname: 'example.com', patterns: ['/shut/'] }],
    areBlocked: async (urls) => urls.map(({ pathname }) => pathname.startsWith('/shut/') && pathname !== '/shut/open'),
  }
  const ask = await asker(world, { blockedUrls: async () => blocked })
  const { data } = await ask('citation-gap')
  for (const [pathname, verdict, why] of wanted) t.match(data, rowsWith(data, { ...{ pathname, verdict } }), why)
  const only = '{"dimension":"pathname","op":"is","value":"/gap"}'
  for (const filters of [only, `{"and":[${only},{"dimension":"hostname","op":"is","value":"example.com"}]}`]) {
    const { data: alone } = await ask('citation-gap', `filters=${encodeURIComponent(filters)}`)
    t.match(alone, [{ pathname: '/gap', verdict: 'gap', ratio: 13 }], "the median stays the site's")
  }
  const beside = `{"and":[${only},{"dimension":"country","op":"is_not_set"}]}`
  const { data: nested } = await ask('citation-gap', `filters=${encodeURIComponent(beside)}`)
  t.match(nested, [{ pathname: '/gap', verdict: 'gap', ratio: 13 }], 'also where only a part of a filter picks URLs')
  const summary = await ask('citation-gap/summary')
  const urls = { blocked: 3, unseen: 1, insufficient: 3, unfetched: 1, gap: 2, earning: 1, balanced: 7 }
  t.match(summary.data, { urls })
  const open = await asker(world)
  t.match(
    (await open('citation-gap/summary')).data,
    { urls: { ...urls, blocked: 1, unseen: 2, balanced: 8 } },
    'no policy',
  )
  const strict = await asker(world, {
    site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true, citation_threshold: 2.5 }),
  })
  const { data: judged } = await strict('citation-gap')
  t.match(judged, rowsWith(judged, { ...{ pathname: '/thrice', verdict: 'gap' } }), "the site's own threshold")
  t.strictSame((await (await asker(all()))('citation-gap/summary')).data, {
    ...{ fetches: 0, arrivals: 0, operators: [] },
    urls: { blocked: 0, unseen: 0, insufficient: 0, unfetched: 0, gap: 0, earning: 0, balanced: 0 },
  })
})

t.test('citation-gap/summary: operators', async (t) => {
  const from = (source: string | null, n: number, pathname: string): Partial<Rows> => ({
    events: cited(pathname, 0, n).events.map((row) => ({ ...row, source })),
  })
  const ask = await asker(
    all(
      cited('/a', 6, 0),
      cited('/aa', 2, 0, search),
      from('ChatGPT', 3, '/aaa'),
      from('Grok', 2, '/aaaa'),
      from(null, 1, '/b'),
    ),
  )
  const operators = [
    { operator: 'OpenAI', fetches: 6, arrivals: 3, ratio: 2 },
    { operator: 'Microsoft', fetches: 2, arrivals: 0 },
    { operator: 'xAI', fetches: 0, arrivals: 2, ratio: 0 },
    { fetches: 0, arrivals: 1, ratio: 0 },
  ]
  t.match((await ask('citation-gap/summary')).data, { fetches: 8, arrivals: 6, ratio: 8 / 6, operators })
  const { data } = await ask('citation-gap/summary', 'operator=OpenAI')
  t.match(data, { fetches: 6, arrivals: 3, ratio: 2, operators: operators.slice(0, 1) })
  await t.rejects(ask('citation-gap', 'operator='), { code: 'validation_error', field: 'operator' })
})

t.test('every assistant’s operator is in the catalog, or has no agent there', async (t) => {
  const known = new Set(loadCatalog().agents.map(({ operator }) => operator))
  const strangers = ASSISTANTS.filter(({ operator }) => !known.has(operator)).map(({ operator }) => operator)
  // Looked up one by one: neither these names nor a part of them is an operator in the catalog.
  t.strictSame(
    new Set(strangers),
    new Set([
      'xAI',
      'Cursor',
      'Inflection',
      'Character.AI',
      'Jasper',
      'Writesonic',
      'Codeium',
      'Tencent',
      'Genspark',
      'T3',
    ]),
  )
  const names = [...known].map((name) => name.toLowerCase())
  for (const name of strangers)
    t.notOk(
      names.some((each) => each.split(/[^a-z0-9.]+/).includes(name.toLowerCase())),
      `${name} is nobody's name`,
    )
})

t.test('policy/violations', async (t) => {
  const shut = {
    robots_allowed: false,
    robots_rule: '/private',
    robots_line: 4,
    robots_grace: false,
    pathname: '/private/x',
  }
  const row = (of: Partial<AgentEventRow>, at = IN) => agentRow({ timestamp: at, ...shut, ...of })
  const ask = await asker({
    events: [],
    agent_events: [
      row(proven, day(31)),
      row(proven, day(30)),
      row({ ...proven, robots_line: 7 }),
      row({ ...proven, ...user }),
      row({ ...proven, ...search }),
      row(spoofed),
      row({}),
      row({ ...proven, robots_grace: true }),
      row({ ...spoofed, robots_grace: true }),
      row({ ...proven, robots_rule: null, robots_line: null, robots_grace: null }),
      row({ ...proven, robots_allowed: true }),
      row({ ...proven, robots_allowed: null }),
      row(proven, BEFORE),
      row({ ...proven, site_id: 2 }),
    ],
  })
  const gptbot = { agent_id: 'gptbot', operator: 'OpenAI' }
  const url = { hostname: 'example.com', pathname: '/private/x' }
  const at = (date: Date, last = date) => ({ first_seen: date.toISOString(), last_seen: last.toISOString() })
  const rule = { rule: '/private', line: 4 }
  const once = { fetches: 1, ...at(IN) }
  const rows = [
    { ...gptbot, verified: true, severity: 'breach', ...url, ...rule, fetches: 2, ...at(day(30), day(31)) },
    { ...gptbot, verified: true, severity: 'breach', ...url, ...rule, line: 7, ...once },
    { ...gptbot, verified: true, severity: 'breach', ...url, ...once },
    { agent_id: 'chatgpt-user', operator: 'OpenAI', verified: true, severity: 'unbound', ...url, ...rule, ...once },
    { ...gptbot, verified: false, severity: 'unverified', ...url, ...rule, ...once },
    { ...gptbot, severity: 'unverified', ...url, ...rule, ...once },
    { ...gptbot, verified: false, severity: 'grace', ...url, ...rule, ...once },
    { ...gptbot, verified: true, severity: 'grace', ...url, ...rule, ...once },
  ]
  const bing = { agent_id: 'bingbot', operator: 'Microsoft', verified: true, ...url, ...rule, ...once }
  const obeys = loadCatalog().get('bingbot')?.respects_robots
  const whole = obeys === 'yes' ? [rows[0], { ...bing, severity: 'breach' }, ...rows.slice(1)] : rows
  t.equal(obeys, 'yes', 'what the catalog says of Bing')
  const { data, meta } = await ask('policy/violations')
  t.strictSame(data, whole, 'gravest first; then the most fetched')
  t.equal(meta.total, 9)
  t.strictSame((await ask('policy/violations', 'severity=unbound')).data, rows.slice(3, 4))
  await t.rejects(ask('policy/violations', 'severity=fatal'), { code: 'validation_error', field: 'severity' })
  const unknown = await asker({ events: [], agent_events: [row({ ...proven, agent_id: 'nobody' })] })
  t.match((await unknown('policy/violations')).data, [{ severity: 'unclear' }], 'in no catalog')
  const beside = await ask('policy/violations', 'compare=previous&limit=1')
  t.match(beside.data, [{ comparison: { fetches: 1 }, change: { fetches: 1 } }])
})

t.test('content/decay', async (t) => {
  const both = (
    pathname: string,
    people: [number, number],
    agents: [number, number],
    of: Partial<AgentEventRow> = {},
  ): Rows => ({
    events: [BEFORE, IN].flatMap((timestamp, i) => times(people[i] ?? 0, () => eventRow({ timestamp, pathname }))),
    agent_events: [BEFORE, IN].flatMap((timestamp, i) =>
      times(agents[i] ?? 0, () => agentRow({ timestamp, pathname, ...(i === 1 ? of : {}) })),
    ),
  })
  // 1000 views before and 500 now: the site lost half, so a page that lost half lost nothing of its own.
  const parts: [
    pathname: string,
    people: [number, number],
    agents: [number, number],
    verdict: string,
    why: string,
    of?: Partial<AgentEventRow>,
  ][] = [
    ['/quarter', [80, 30], [10, 10], 'decaying', 'three quarters of what the site kept: 25 % down'],
    ['/less', [80, 31], [10, 10], 'steady', 'a little less than 25 %'],
    ['/held', [80, 20], [20, 19], 'decaying', 'agents down by 5 %'],
    ['/fading', [80, 20], [10, 9], 'fading', 'agents down by 10 %: both'],
    ['/half', [80, 40], [10, 5], 'steady', 'as the whole site'],
    ['/few', [49, 0], [10, 10], 'insufficient', '49 pageviews'],
    ['/lone', [50, 0], [9, 20], 'insufficient', '9 fetches'],
    ['/gone', [80, 10], [10, 10], 'blocked', 'missing now', { status: 404 }],
    ['/shut', [80, 10], [10, 10], 'blocked', 'disallowed now', { robots_allowed: false }],
    ['/new', [0, 60], [0, 9], 'insufficient', 'of nothing there is no change'],
  ]
  const rest = { before: 1000 - 80 * 7 - 49 - 50, now: 500 - 30 - 31 - 20 - 20 - 40 - 10 - 10 - 60 }
  const opened = (rows: Rows): Rows => ({
    ...rows,
    agent_events: rows.agent_events.map((row) =>
      row.robots_allowed === null ? { ...row, robots_allowed: true } : row,
    ),
  })
  const world = all(
    ...parts.map(([pathname, people, agents, , , of]) => opened(both(pathname, people, agents, of))),
    both('/rest', [rest.before, rest.now], [0, 0]),
    // Fetches that do not count.
    {
      agent_events: [{ purpose: 'seo' }, { purpose: 'monitor' }, spoofed].flatMap((of) =>
        times(5, () => agentRow({ timestamp: BEFORE, pathname: '/lone', ...of })),
      ),
    },
  )
  const ask = await asker(world)
  const { data, meta } = await ask('content/decay', 'compare=none')
  for (const [pathname, , , verdict, why] of parts)
    t.match(data, rowsWith(data, { ...{ pathname, verdict } }), `${pathname}: ${why}`)
  t.match(
    data,
    rowsWith(data, {
      ...{ pathname: '/held', agents: { before: 20, now: 19, change: -0.05 } },
      people: { before: 80, now: 20, change: -0.75, adjusted: -0.5 },
    }),
  )
  t.match(data, rowsWith(data, { ...{ pathname: '/new', people: { before: 0, now: 60, change: undefined } } }))
  t.match(meta, {
    total: 11,
    query: { compare: 'previous' },
    comparison: { start: '2026-09-21T00:00:00.000Z', end: '2026-10-21T00:00:00.000Z' },
    warnings: [{ metric: 'people', code: 'site_wide_change_taken_out', message: /-50 %/ }],
  })
  const verdicts = Array.isArray(data) ? data.map((row) => row.verdict) : []
  t.equal(verdicts.lastIndexOf('fading') < verdicts.indexOf('steady'), true, 'what is lost first')
  const one = await ask(
    'content/decay',
    `filters=${encodeURIComponent('{"dimension":"pathname","op":"is","value":"/half"}')}`,
  )
  t.match(one.data, [{ pathname: '/half', verdict: 'steady' }], 'the whole site’s change, whatever is asked about')
})

t.test('content/decay: 28 local days are enough when clocks change', async (t) => {
  const store = await openStore(t)
  const read = reads.find(({ path }) => path === '/api/content/decay')
  if (!read) return t.fail('no such read')
  for (const [query, warned, why] of [
    ['range=30d', false, 'thirty'],
    ['range=7d', true, 'seven'],
    ['start=2026-03-08T23:00:00Z&end=2026-04-05T22:00:00Z', false, '28 days in Berlin, one of 23 hours'],
    ['start=2026-03-08T23:00:00Z&end=2026-04-05T21:59:59.999Z', true, 'a millisecond less'],
  ] as const) {
    const query2 = new URLSearchParams(`site=1&tz=Europe/Berlin&${query}`)
    const { meta } = await runRead(read, query2, { ...common, store })
    t.equal(meta.warnings?.some(({ code }) => code === 'window_too_short') ?? false, warned, why)
  }
})

t.test('mayBeBlocked includes every blocked URL', async (t) => {
  const store = await openStore(t)
  const part = fc.constantFrom('a', 'b', 'A', '.', '..', '%61', '%2F', 'ü', '-', '')
  const spelt = (parts: string[], separators: string[]) =>
    parts.map((text, i) => `${i === 0 ? '/' : (separators[i] ?? '/')}${text}`).join('')
  const path = fc
    .tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.array(fc.constantFrom('/', '/', '\\'), { maxLength: 4 }))
    .map(([parts, separators]) => spelt(parts, separators))
  const pattern = fc
    .tuple(fc.array(part, { maxLength: 3 }), fc.constantFrom('', '', '*', '$', '*b', '/*/a', '?q'))
    .map(([parts, end]) => `${spelt(parts, []) || '/'}${end}`)
  /** Uses the normalisation of URL and a regular expression, none of our code. */
  const fits = (rule: string, pathname: string) => {
    const escaped = (text: string) => text.replaceAll('%61', 'a').replaceAll('ü', '%C3%BC')
    const [body, end] = rule.endsWith('$') ? [rule.slice(0, -1), '$'] : [rule, '']
    const source = escaped(body)
      .split('*')
      .map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
      .join('.*')
    const seen = new URL(`http://x${pathname}`).pathname
    return [seen, pathname].some((each) => new RegExp(`^${source}${end}`).test(escaped(each)))
  }
  const property = fc.asyncProperty(
    fc.array(pattern, { maxLength: 3 }),
    fc.array(path, { minLength: 1, maxLength: 8 }),
    async (patterns, paths) => {
      const blocked: BlockedUrls = {
        candidates: [{ hostname: 'h', patterns }],
        areBlocked: async (urls) =>
          urls.map(({ hostname, pathname }) => hostname === 'h' && patterns.some((rule) => fits(rule, pathname))),
      }
      const urls = paths.map((pathname) => ({ hostname: 'h', pathname }))
      const table = join(
        urls.map(({ hostname, pathname }) => sql`(${hostname}, ${pathname})`),
        ', ',
      )
      const found = await store.query(sql`
      select pathname from (values ${table}) v(hostname, pathname) where ${mayBeBlocked(blocked, store.dialect)}`)
      const within = new Set(found.map((row) => row.pathname))
      for (const { pathname } of await filterBlocked(blocked, urls))
        if (!within.has(pathname)) throw new Error(`${pathname} is blocked by one of ${patterns} and was not looked at`)
    },
  )
  await fc.assert(property, { numRuns: 500, seed: 7 })
  const same: [rule: string, pathname: string, within: boolean, why: string][] = [
    ['/a', '/a', true, 'as it is'],
    ['/a', '/abc/d', true, 'below'],
    ['/a', '/b', false, 'elsewhere'],
    ['/a', '/%61', true, 'escaped'],
    ['/a', '/b/../a', true, 'by a detour'],
    ['/a/b', '/a\\b', true, 'as browsers write it'],
    ['/über', '/%C3%BCber', true, 'beyond ASCII'],
    ['/a*b$', '/axb', true, 'up to the star'],
    ['/a$', '/a', true, 'up to the end'],
    ['*.pdf', '/x.pdf', true, 'a pattern that begins with anything'],
    ['a', '/a', true, 'a pattern without a slash'],
  ]
  for (const [rule, pathname, within, why] of same) {
    const places = [{ hostname: 'h', patterns: [rule] }]
    const condition = mayBeBlocked({ candidates: places, areBlocked: async () => [] }, store.dialect)
    const found = await store.query(sql`
      select 1 as one from (select 'h' as hostname, ${pathname} as pathname) u where ${condition}`)
    t.equal(found.length === 1, within, `${rule} and ${pathname}: ${why}`)
  }
  const nothing = await store.query(
    sql`select 1 as one where ${mayBeBlocked({ candidates: [], areBlocked: async () => [] }, store.dialect)}`,
  )
  t.strictSame(nothing, [], 'nothing where there is no policy')

  const many = times(2_500, (i) => ({ hostname: 'h', pathname: `/${i}` }))
  const asked: number[] = []
  const sevens = async (urls: readonly { pathname: string }[]) => {
    asked.push(urls.length)
    return urls.map(({ pathname }) => pathname.endsWith('7'))
  }
  const found = await filterBlocked({ areBlocked: sevens }, many)
  t.strictSame([found.length, found.at(-1)?.pathname, asked], [250, '/2497', [1_000, 1_000, 500]])
})
