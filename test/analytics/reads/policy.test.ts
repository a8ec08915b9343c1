import fc from 'fast-check'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { type BlockedUrls, filterBlocked, mayBeBlocked } from '../../../src/analytics/query/blocked-urls.js'
import type { AgentEventRow } from '../../../src/storage/rows.js'
import { join, sql } from '../../../src/storage/sql.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow } from '../../fixtures/rows.js'
import { asker, BEFORE, day, IN, proven, search, spoofed, times, user } from './url-rows.js'

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
  const [agents, pages] = [await ask('policy/violations/agents'), await ask('policy/violations/pages')]
  const times = (n: number, ...among: [Date, Date?]) => ({ fetches: n, urls: 1, ...at(...among) })
  const severity = (name: string) => ({ severity: name })
  const openai = { ...gptbot, name: 'GPTBot' }
  const chatgpt = { agent_id: 'chatgpt-user', name: 'ChatGPT-User', operator: 'OpenAI' }
  t.strictSame(
    agents.data,
    [
      { ...openai, ...severity('breach'), ...rule, ...times(4, day(30), day(31)) },
      { agent_id: 'bingbot', name: 'Bingbot', operator: 'Microsoft', ...severity('breach'), ...rule, ...times(1, IN) },
      { ...chatgpt, ...severity('unbound'), ...rule, ...times(1, IN) },
      { ...openai, ...severity('unverified'), ...rule, ...times(2, IN) },
      { ...openai, ...severity('grace'), ...rule, ...times(2, IN) },
    ],
    'a row per agent and severity; of three rules of one group the one that disallowed most',
  )
  t.equal(agents.meta.total, 5)
  const rules = await ask('policy/violations/rules')
  t.strictSame(
    rules.data,
    [
      { ...openai, ...severity('breach'), ...rule, ...times(2, day(30), day(31)) },
      { agent_id: 'bingbot', name: 'Bingbot', operator: 'Microsoft', ...severity('breach'), ...rule, ...times(1, IN) },
      { ...openai, ...severity('breach'), ...rule, line: 7, ...times(1, IN) },
      { ...openai, ...severity('breach'), ...times(1, IN) },
      { ...chatgpt, ...severity('unbound'), ...rule, ...times(1, IN) },
      { ...openai, ...severity('unverified'), ...rule, ...times(2, IN) },
      { ...openai, ...severity('grace'), ...rule, ...times(2, IN) },
    ],
    'a row per agent, severity and deciding line',
  )
  t.equal(rules.meta.total, 7)
  const severities = { breach: 5, unbound: 1, unclear: 0, unverified: 2, grace: 2 }
  t.strictSame(
    pages.data,
    [{ ...url, ...severity('breach'), severities, agents: 3, ...rule, fetches: 10, ...at(day(30), day(31)) }],
    'a row per URL',
  )
  const oneAgent = `filters=${encodeURIComponent('[{"dimension":"agent_id","op":"is","value":"chatgpt-user"}]')}`
  t.match((await ask('policy/violations/pages', oneAgent)).data, [{ severity: 'unbound', fetches: 1, agents: 1 }])
  const otherPage = `filters=${encodeURIComponent('[{"dimension":"pathname","op":"is","value":"/"}]')}`
  t.strictSame((await ask('policy/violations/agents', otherPage)).data, [], 'of another page')
  const beside = await ask('policy/violations', 'compare=previous&limit=1')
  t.match(beside.data, [{ comparison: { fetches: 1 }, change: { fetches: 1 } }])
})

t.test('policy/versions', async (t) => {
  const [since, until] = [day(20), day(30)]
  const row = (of: Partial<AgentEventRow>, at = IN) =>
    agentRow({ ...proven, pathname: '/robots.txt', timestamp: new Date(at.getTime() + 1), ...of })
  const version = { kind: 'robots', standing: 'served', status: 200, sha256: 'a'.repeat(64) }
  const versions = [
    {
      ...version,
      since: until.toISOString(),
      until: day(90).toISOString(),
      groups: 1,
      rules: 2,
      text: 'User-agent: *',
    },
    { kind: 'llms', standing: 'unavailable', status: 404, since: since.toISOString(), until: day(90).toISOString() },
    { ...version, since: since.toISOString(), until: until.toISOString() },
  ]
  const ask = await asker(
    {
      events: [],
      agent_events: [
        row({ timestamp: since }),
        row({ timestamp: new Date(until.getTime() - 1), ...search, status: 304 }),
        row({ timestamp: until }),
        row({ status: 301 }, day(31)),
        row({ ...search }, day(31)),
        // None of these is a read of robots.txt.
        ...[row({ status: 404 }), row({ status: 500 }), row({ method: 'HEAD' }), row(spoofed), row({}, BEFORE)],
        ...[row({ hostname: 'www.example.com' }), row({ pathname: '/robots.txt/' }), row({ site_id: 2 })],
        // The first of these learns that there is no llms.txt.
        ...[row({ pathname: '/llms.txt', status: 404 }), row({ pathname: '/llms.txt', status: 200 })],
      ],
    },
    { policyVersions: async () => ({ hostname: 'example.com', versions }) },
  )
  const at = (first: Date, last = first) => ({ first_read: first.toISOString(), last_read: last.toISOString() })
  const later = (date: Date, ms: number) => new Date(date.getTime() + ms)
  const gptbot = { agent_id: 'gptbot', name: 'GPTBot' }
  const bingbot = { agent_id: 'bingbot', name: 'Bingbot' }
  const [newest, llms, oldest] = versions
  const { until: _, ...inForce } = newest ?? {}
  const { until: __, ...missing } = llms ?? {}
  const { data, meta } = await ask('policy/versions')
  t.strictSame(data, [
    {
      ...{ hostname: 'example.com', ...inForce, reads: 3, readers: 2, ...at(until, later(day(31), 1)) },
      agents: [
        { ...gptbot, reads: 2, ...at(until, later(day(31), 1)) },
        { ...bingbot, reads: 1, ...at(later(day(31), 1)) },
      ],
    },
    {
      ...{ hostname: 'example.com', ...missing, reads: 1, readers: 1, ...at(later(IN, 1)) },
      agents: [{ ...gptbot, reads: 1, ...at(later(IN, 1)) }],
    },
    {
      ...{ hostname: 'example.com', ...oldest, reads: 2, readers: 2, ...at(since, later(until, -1)) },
      agents: [
        { ...gptbot, reads: 1, ...at(since) },
        { ...bingbot, reads: 1, ...at(later(until, -1)) },
      ],
    },
  ])
  t.match(meta, { total: 3, warnings: [{ code: 'text_left_out' }] })
  const filters = encodeURIComponent('[{"dimension":"agent_id","op":"is","value":"bingbot"}]')
  const one = await ask('policy/versions', `limit=1&filters=${filters}`)
  t.match(one.data, [{ readers: 1, agents: [{ agent_id: 'bingbot', ...at(later(day(31), 1)) }] }], 'one agent')
  t.match(one.meta, { total: 3, warnings: undefined })
  const none = await asker({ events: [], agent_events: [] })
  t.strictSame((await none('policy/versions')).data, [], 'no policy is recorded')
})

t.test('policy: the fetches of a path', async (t) => {
  const shut = { robots_allowed: false, robots_rule: '/private', robots_line: 4, robots_grace: false }
  const row = (of: Partial<AgentEventRow>, at = IN) => agentRow({ timestamp: at, pathname: '/private', ...of })
  const asked: unknown[] = []
  const decision = { robots_token: '*', group: ['*'], allowed: false, reason: 'rule', rule: '/private', line: 4 }
  const agents = ['gptbot', 'bingbot', 'other'].map((agent_id) => ({ agent_id, ...decision, rules: 1 }))
  const ask = await asker(
    {
      events: [],
      agent_events: [
        ...[row({ ...proven, ...shut }), row({ ...proven, ...shut, robots_grace: true }), row(proven, day(31))],
        ...[row({ ...spoofed, ...shut }), row({ ...proven, ...shut }, BEFORE)],
        ...[row({ ...proven, ...search }), row({ ...proven, pathname: '/private/x', ...search })],
        row({ agent_id: 'other', hostname: 'www.example.com' }),
      ],
    },
    {
      async policy(_, question) {
        asked.push(question)
        return { hostnames: ['example.com'], hostname: 'example.com', agents, path: '/private?a=b', versions: [] }
      },
    },
  )
  const { data } = await ask('policy', 'path=/private?a=b')
  const at = (date: Date) => ({ last_seen: date.toISOString() })
  t.match(data, {
    agents: [
      { name: 'GPTBot', seen: { fetches: 4, spoofed: 1, disallowed: 3, severity: 'breach', ...at(day(31)) } },
      { name: 'Bingbot', seen: { fetches: 1, spoofed: 0, disallowed: 0, severity: undefined, ...at(IN) } },
      { name: 'Other agents', seen: undefined },
    ],
  })
  t.match(asked, [{ path: '/private?a=b', seen: { length: 3 } }], 'also agents of other hostnames')
  t.notMatch((await ask('policy')).data, { agents: [{ seen: {} }] }, 'without a path nothing is counted')
  t.strictSame(asked[1], {})
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
