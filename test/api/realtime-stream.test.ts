import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { deed } from '../fixtures/audit-context.js'
import { before, type Event, openRealtimeStream as open, until } from '../fixtures/realtime-stream.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

t.test('rows of the last half hour, oldest first, then each row as it is committed', async (t) => {
  const { commit, listeners, follow } = await open(t)
  const disallowed = { robots_allowed: false, robots_rule: '/internal/*', robots_line: 9, robots_grace: false }
  await commit({
    events: [
      eventRow({ timestamp: before(1_900), pathname: '/long-ago' }),
      eventRow({ timestamp: before(40), pathname: '/left', kind: 'engagement' }),
      eventRow({ timestamp: before(30), pathname: '/elsewhere', site_id: 2 }),
      eventRow({ timestamp: before(20), pathname: '/b', country: 'DE', browser: 'Firefox', source: 'ChatGPT' }),
    ],
    agent_events: [agentRow({ timestamp: before(50), pathname: '/a', verified: true, verification: 'ranges' })],
  })
  const { stream, events } = await follow('')
  await until(t, 'the recent rows', () => events().length === 2)
  t.match(stream.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  t.match(stream.text, /^retry: 3000\n\n/)
  const late = before(5)
  await commit({
    events: [
      eventRow({ timestamp: late, pathname: '/left', kind: 'engagement' }),
      eventRow({ timestamp: late, pathname: '/elsewhere', site_id: 2 }),
      eventRow({ timestamp: late, pathname: '/a\r\n\ndata: "\u2028' }),
    ],
    agent_events: [
      agentRow({ timestamp: late, pathname: '/c', verified: true, verification: 'ranges', ...disallowed }),
    ],
  })
  await until(t, 'the live rows', () => events().length === 4)
  const rows = events().map(({ data }) => data)
  t.same(
    rows.map(({ pathname }) => pathname),
    ['/a', '/b', '/a\r\n\ndata: "\u2028', '/c'],
  )
  t.match(rows[1], {
    ...{ audience: 'human', t: before(20).toISOString(), kind: 'pageview', suspected: false },
    ...{ country: 'DE', browser: 'Firefox', source: 'ChatGPT', status: 200 },
  })
  t.match(rows[3], {
    ...{ audience: 'agent', t: late.toISOString(), agent_id: 'gptbot', verification: 'ranges', verified: true },
    ...{ rule: '/internal/*', line: 9, severity: 'breach', status: 200, method: 'GET' },
  })
  const secret = /visitor_id|session|ip_hash|user_agent|identified|props|traits|asn|referrer|null/
  t.notMatch(stream.text.replaceAll('"\u2028', ''), secret, 'nothing that tells one reader from another')
  stream.leave()
  await until(t, 'a reader who left costs nothing', () => listeners.size === 0)
})

t.test('the verdict is that of the list of violations', async (t) => {
  const { commit, read } = await open(t)
  const rows: [Partial<Parameters<typeof agentRow>[0]>, string | undefined, string][] = [
    [{ robots_allowed: true }, undefined, 'allowed'],
    [{ robots_allowed: null }, undefined, 'no policy was known'],
    [{ robots_allowed: false, verified: true }, 'breach', 'its operator says that it obeys'],
    [{ robots_allowed: false, verified: true, agent_id: 'bytespider' }, 'unbound', 'that it does not'],
    [{ robots_allowed: false, verified: true, agent_id: 'other' }, 'unclear', 'nothing'],
    [{ robots_allowed: false, verified: false }, 'unverified', 'spoofed: no operator is accused'],
    [{ robots_allowed: false, verified: null }, 'unverified', 'not verifiable'],
    [{ robots_allowed: false, verified: true, robots_grace: true }, 'grace', 'an older copy allowed it'],
  ]
  await commit({
    agent_events: rows.map(([row], i) => agentRow({ timestamp: before(100 - i), robots_grace: false, ...row })),
  })
  const { events } = await read('')
  for (const [i, [, severity, why]] of rows.entries()) t.equal(events[i]?.data.severity, severity, why)
})

t.test('filters decide the same in SQL, for recent rows, and in memory, for live ones', async (t) => {
  const { commit, follow, listeners } = await open(t)
  const people = [
    { pathname: '/Pricing', country: 'DE', browser: 'Firefox', source: null, referrer: null, channel: 'Direct' },
    { pathname: '/pricing/a', country: null, browser: 'Chrome', source: 'Google', referrer: 'google.com' },
    { pathname: '/blog', country: 'IE', browser: '', props: '{"plan":"yearly","n":5,"list":[1],"no":null,"yes":true}' },
    { pathname: '/b', country: 'DE', source: null, referrer: 'spam.example', kind: 'custom', event_name: 'signup' },
    { pathname: '/docs', suspected: true, props: '{"n":"12"}' },
    { pathname: '/İstanbul', props: '{"n":" 7 "}' },
    { pathname: '/οδος', props: '{"n":"1_000"}' },
  ].map((row, i) => ({ ...row, timestamp: before(60 - i) }))
  const agents = [
    { pathname: '/pricing', status: 404, verified: null, country: 'DE' },
    { pathname: '/blog', status: 200, verified: true, llms_listed: 1 as const },
    { pathname: '/docs', status: 503, verified: false, robots_allowed: false },
  ].map((row, i) => ({ ...row, timestamp: before(30 - i) }))
  const c = (dimension: string, op: string, value?: unknown, more: object = {}) => ({ dimension, op, value, ...more })
  const folded = { case_sensitive: false }
  const rows: [string, unknown][] = [
    ...[
      'is',
      'is_not',
      'contains',
      'contains_not',
      'starts_with',
      'starts_with_not',
      'ends_with',
      'ends_with_not',
    ].flatMap((op): [string, unknown][] => [
      ['all', c('pathname', op, '/pricing')],
      ['all', c('pathname', op, ['/PRICING', 'g'], folded)],
      ['human', c('country', op, ['DE', 'IE'])],
      ['human', c('prop:plan', op, 'yearly')],
    ]),
    ...['is_set', 'is_not_set'].flatMap((op): [string, unknown][] =>
      ['country', 'browser', 'source', 'prop:no', 'prop:n'].map((name) => ['human', c(name, op)]),
    ),
    ...['gt', 'gte', 'lt', 'lte'].map((op): [string, unknown] => ['agent', c('status', op, 404)]),
    ['agent', c('status', 'between', [404, 503])],
    ['agent', c('status', 'is', 404)],
    ['agent', c('status', 'starts_with', '5')],
    ['agent', c('verified', 'is', true)],
    ['agent', c('verified', 'is_not', true)],
    ['agent', c('llms_listed', 'is', 1)],
    ['agent', c('robots_allowed', 'is', false)],
    ['human', c('referrer_spam', 'is', true)],
    ['human', c('suspected', 'is', true)],
    ['human', c('prop:n', 'gt', 4)],
    ['human', c('prop:yes', 'is', 'true')],
    ['human', c('prop:yes', 'lt', 2)],
    ['human', c('pathname', 'contains', ['ISTAN', 'ΔΟΣ'], folded)],
    ['human', c('prop:list', 'is', '[1]')],
    ['human', { or: [c('country', 'is', 'IE'), { not: c('kind', 'is', 'pageview') }] }],
    ['all', { and: [c('country', 'is', 'DE'), c('pathname', 'is_not', '/b')] }],
  ]
  const streams = await Promise.all(
    rows.map(([audience, filter]) =>
      follow(`n=0&audience=${audience}&filters=${encodeURIComponent(JSON.stringify([filter]))}`),
    ),
  )
  await until(t, 'all listen', () => listeners.size === rows.length)
  await commit({ events: people.map((row) => eventRow(row)), agent_events: agents.map((row) => agentRow(row)) })
  await sleep(200)
  const paths = (events: Event[]) => events.map(({ data }) => `${data.audience} ${data.pathname}`)
  const sizes = new Set<number>()
  for (const [i, [audience, filter]] of rows.entries()) {
    const live = streams[i]
    const asked = `audience=${audience}&filters=${encodeURIComponent(JSON.stringify([filter]))}`
    const stored = await follow(`${asked}&follow=0`)
    await until(t, 'the stored rows', () => stored.stream.over)
    t.same(paths(live?.events() ?? []), paths(stored.events()), `${audience} ${JSON.stringify(filter)}`)
    sizes.add(stored.events().length)
    live?.stream.leave()
  }
  t.ok(sizes.size > 4, 'and they differ')
})

t.test('suspected visits are left out, as far as they are known when a row is sent', async (t) => {
  const { commit, follow, listeners } = await open(t)
  const row = (session: bigint, pathname: string, suspected: boolean) =>
    eventRow({ timestamp: before(20), session_id: session, visitor_id: session, pathname, suspected })
  await commit({
    events: [row(1n, '/1-before', false), row(1n, '/1-suspected', true), row(2n, '/2', false)],
    agent_events: [agentRow({ timestamp: before(30), pathname: '/agent' })],
  })
  const cases: [query: string, expected: string[], why: string][] = [
    ['', ['/agent', '/1-before', '/1-suspected', '/2', '/3', '/3-suspected', '/agent'], 'all'],
    ['suspected=exclude', ['/agent', '/2', '/3', '/agent'], 'a stored visit is left out whole; a sent row stays'],
    ['suspected=exclude&audience=human', ['/2', '/3'], 'people alone'],
    ['suspected=exclude&audience=agent', ['/agent', '/agent'], 'agents have no visits'],
  ]
  const streams = await Promise.all(cases.map(([query]) => follow(query)))
  await until(t, 'all listen', () => listeners.size === cases.length)
  await commit({
    events: [row(3n, '/3', false), row(3n, '/3-suspected', true)],
    agent_events: [agentRow({ timestamp: before(5), pathname: '/agent' })],
  })
  for (const [i, [, expected, why]] of cases.entries()) {
    const found = () => (streams[i]?.events() ?? []).map(({ data }) => `${data.pathname}`)
    await until(t, why, () => found().length >= expected.length)
    t.same(found().toSorted(), expected.toSorted(), why)
    streams[i]?.stream.leave()
  }
})

t.test('what cannot be decided row by row is refused, and so is what no one may see', async (t) => {
  const { read } = await open(t)
  const filtered = (filter: unknown) => `filters=${encodeURIComponent(JSON.stringify(filter))}`
  const rows: [string, number, RegExp, string][] = [
    [filtered({ dimension: 'pathname', op: 'matches', value: 'a' }), 422, /matches/, 'a pattern'],
    [filtered({ dimension: 'pathname', op: 'matches_wildcard_not', value: '*' }), 422, /wildcard/, 'a wildcard'],
    [`audience=human&${filtered({ dimension: 'exit_page', op: 'is', value: '/' })}`, 422, /exit_page/, 'a session'],
    [
      `audience=human&${filtered({ has_done: { dimension: 'pathname', op: 'is', value: '/' } })}`,
      422,
      /has_done/,
      'a visitor',
    ],
    [filtered({ dimension: 'browser', op: 'is', value: 'Firefox' }), 422, /browser/, 'agents have no browser'],
    ['n=201', 422, /n/, 'too many'],
    ['follow=2', 422, /follow/, 'no choice'],
    ['pathname=/', 422, /pathname/, 'an unknown parameter'],
    ['share=overview', 403, /does not include/, 'a share without the scope'],
    ['share=pattern%20realtime', 422, /matches/, 'a share whose filter cannot be applied'],
  ]
  for (const [query, status, text, why] of rows) {
    const found = await read(query)
    t.equal(found.status, status, why)
    t.match(found.text, text, why)
  }
})

t.test('a share link shows of a row what its scopes open', async (t) => {
  const { commit, read } = await open(t)
  await commit({
    events: [
      eventRow({
        ...{
          timestamp: before(9),
          kind: 'custom',
          event_name: 'signup',
          country: 'DE',
          browser: 'Firefox',
          os: 'Linux',
        },
        ...{ device_type: 'desktop', source: 'Google', channel: 'Organic Search', status: null, duration_ms: null },
      }),
      eventRow({ timestamp: before(9), country: 'FR' }),
    ],
    agent_events: [agentRow({ timestamp: before(8), country: 'DE' })],
  })
  const names = async (scopes: string, audience: string) => {
    const { events } = await read(`audience=${audience}&share=${encodeURIComponent(`german ${scopes}`)}`)
    t.equal(events.length, 1, 'the filter of the link applies')
    return Object.keys(events[0]?.data ?? {}).filter((name) => !BASE.includes(name))
  }
  const BASE = ['audience', 't', 'hostname', 'pathname', 'status', 'duration_ms']
  const rows: [string, string, string[]][] = [
    ['realtime', 'human', ['kind', 'suspected']],
    ['realtime events', 'human', ['kind', 'suspected', 'event_name']],
    ['realtime locations', 'human', ['kind', 'suspected', 'country']],
    ['realtime devices', 'human', ['kind', 'suspected', 'browser', 'os', 'device_type']],
    ['realtime sources', 'human', ['kind', 'suspected', 'source', 'channel']],
    ['realtime', 'agent', []],
  ]
  for (const [scopes, audience, expected] of rows) t.same(await names(scopes, audience), expected, scopes)
  t.ok((await names('realtime agents', 'agent')).includes('agent_id'), 'agents')
})

t.test('the stream ends with its credential and with the service, and says that it lives', async (t) => {
  const { listeners, ended, revoked, follow } = await open(t, 20)
  const shared = await follow('share=realtime')
  const own = await follow('')
  await until(t, 'both live', () => [shared, own].every(({ stream }) => stream.text.includes(': alive\n\n')))
  revoked.add('realtime')
  await until(t, 'the link was deleted', () => shared.stream.over)
  t.notOk(own.stream.over, 'the other stream goes on')
  ended.abort()
  await until(t, 'the service stops', () => own.stream.over)
  await until(t, 'nothing is left', () => listeners.size === 0)
  const late = await follow('')
  await until(t, 'nothing new begins', () => late.stream.over)
})

t.test('the stream of a deleted site ends, and HEAD begins none', async (t) => {
  const { listeners, sites, start, follow } = await open(t, 20)
  const head = await start('', 'HEAD')
  t.equal(head.statusCode, 200)
  await until(t, 'nothing goes on', () => listeners.size === 0)
  const { stream } = await follow('')
  await until(t, 'it lives', () => stream.text.includes(': alive\n\n'))
  await sites.delete(1, deed)
  await until(t, 'the site was deleted', () => stream.over)
  t.equal(listeners.size, 0)
})

t.test('share links leave room for people who are signed in, also if all come at once', async (t) => {
  const { listeners, follow } = await open(t)
  const statuses = async (query: string, count: number) => {
    const all = await Promise.all(Array.from({ length: count }, () => follow(query)))
    return all.map(({ stream }) => stream).filter(({ status }) => status === 200)
  }
  const shared = await statuses('n=0&share=realtime', 120)
  t.equal(shared.length, 50)
  const signedIn = await statuses('n=0', 120)
  t.equal(signedIn.length, 50)
  for (const stream of [...shared, ...signedIn]) stream.leave()
  await until(t, 'all have left', () => listeners.size === 0)
  t.equal((await follow('n=0&share=realtime')).stream.status, 200, 'there is room again')
})

t.test('a reader gets at most so many rows as a person might read', async (t) => {
  const { commit, clock, follow } = await open(t)
  const { events, stream } = await follow('n=0')
  const steps: [seconds: number, rows: number, sent: number, missed: number, why: string][] = [
    [0, 1_900, 1_900, 0, 'many at once'],
    [0, 150, 100, 0, 'up to 2,000'],
    [0.5, 50, 0, 0, 'and none for a second, though half of one allows 50'],
    [0.5, 90, 90, 100, 'then 100 a second, after a word about those that were left out'],
    [0.5, 70, 60, 0, 'those that were not used are left'],
    [1, 1, 1, 10, 'few words about what was left out'],
    [60, 1_900, 1_900, 0, 'after a calm minute many at once again'],
  ]
  let sent = 0
  let missed = 0
  for (const [seconds, rows, more, told, why] of steps) {
    clock.ms += seconds * 1_000
    await commit({ agent_events: Array.from({ length: rows }, () => agentRow()) })
    sent += more
    missed += told
    const count = () => events().filter(({ event }) => event === 'row').length
    for (let i = 0; i < 100 && count() < sent; i++) await sleep(10)
    t.equal(count(), sent, why)
    t.equal(
      events().reduce((sum, { event, data }) => sum + (event === 'missed' ? Number(data.rows) : 0), 0),
      missed,
      why,
    )
  }
  stream.leave()
})

t.test('a slow reader misses rows, and is told how many; the number of readers is bounded', async (t) => {
  const { commit, clock, listeners, follow } = await open(t)
  // Time enough for every row, so that the reader alone is slow.
  clock.step = 10
  const streams = await Promise.all(Array.from({ length: 100 }, () => follow('n=0')))
  const refused = await follow('n=0')
  t.equal(refused.stream.status, 429)
  for (const { stream } of streams) stream.leave()
  await until(t, 'all have left', () => listeners.size === 0)
  const again = await follow('n=0')
  t.equal(again.stream.status, 200, 'a reader who leaves makes room')
  // In one turn of the event loop: none of the 5,000 is sent before the last is committed.
  await commit({ agent_events: Array.from({ length: 5_000 }, () => agentRow()) })
  await until(t, 'what fits arrives', () => again.events().length >= 1_999)
  await commit({ agent_events: [agentRow({ pathname: '/late' })] })
  await until(t, 'the next one', () => again.events().some(({ data }) => data.pathname === '/late'))
  const events = again.events()
  const missed = events.find(({ event }) => event === 'missed')?.data.rows
  t.equal(Number(missed) + events.length - 2, 5_000, 'each row is sent or counted')
  again.stream.leave()
})
