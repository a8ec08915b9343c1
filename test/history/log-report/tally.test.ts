import fc from 'fast-check'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { createPolicy } from '../../../src/agents/policy/policy.js'
import { COMBINED } from '../../../src/history/access-logs/combined.js'
import type { LogEntry } from '../../../src/history/access-logs/log-format.js'
import { createTally, type TallyOptions } from '../../../src/history/log-report/tally.js'
import { createTopCounter } from '../../../src/history/log-report/top-counter.js'
import { createVisitorTable, hashText } from '../../../src/history/log-report/visitor-table.js'

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0'
const GPTBOT = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)'
const CHATGPT = 'Mozilla/5.0; compatible; ChatGPT-User/1.0; +https://openai.com/bot'
const UNKNOWN = 'Examplebot/1.0 (+http://examplebot.invalid)'

/** One line of a log: address, time of day on 21 Nov 2026, request, status, bytes, referrer, user agent. */
type Line = [string, string, string, number, number, string, string]

const LINES: readonly Line[] = [
  ['10.0.0.1', '10:00:00', 'GET / HTTP/1.1', 200, 100, 'https://chatgpt.com/', CHROME],
  ['10.0.0.1', '10:00:01', 'GET /app.css HTTP/1.1', 200, 50, '', CHROME],
  ['10.0.0.1', '10:30:00', 'GET /docs?x=1 HTTP/1.1', 304, 0, '', CHROME],
  ['10.0.0.1', '11:00:01', 'GET /docs HTTP/1.1', 200, 100, '', CHROME],
  ['10.0.0.1', '11:10:00', 'GET /gone HTTP/1.1', 404, 10, '', CHROME],
  ['10.0.0.1', '11:10:01', 'POST /api HTTP/1.1', 200, 10, '', CHROME],
  ['10.0.0.1', '11:10:02', 'GET /guide.pdf HTTP/1.1', 200, 10, '', CHROME],
  ['10.0.0.1', '11:10:03', 'GET / HTTP/1.1', 200, 100, '', FIREFOX],
  ['10.0.0.2', '12:00:00', 'GET /a HTTP/1.1', 200, 1, '', CHROME],
  ['10.0.0.2', '12:00:01', 'GET /b HTTP/1.1', 200, 1, '', CHROME],
  ['10.0.0.2', '12:00:02', 'GET /c?utm_source=perplexity HTTP/1.1', 200, 1, '', CHROME],
  ['20.0.0.1', '12:00:03', 'GET /docs/a HTTP/1.1', 200, 1000, '', GPTBOT],
  ['20.0.0.1', '12:00:04', 'GET /docs/b HTTP/1.1', 404, 5, '', GPTBOT],
  ['20.0.0.1', '12:00:05', 'GET /robots.txt HTTP/1.1', 200, 5, '', GPTBOT],
  ['20.0.0.2', '12:00:06', 'GET /docs/a HTTP/1.1', 503, 5, '', GPTBOT],
  ['20.0.0.3', '12:00:07', 'GET /pricing HTTP/1.1', 200, 5, '', CHATGPT],
  ['20.0.0.3', '12:00:08', 'GET /logo.png HTTP/1.1', 200, 5, '', CHATGPT],
  ['20.0.0.4', '12:00:09', 'GET /pricing HTTP/1.1', 200, 5, '', UNKNOWN],
  ['20.0.0.5', '12:00:10', 'GET /.env HTTP/1.1', 404, 5, '', ''],
]
const text = ([address, time, request, status, bytes, referrer, agent]: Line): string =>
  `${address} - - [21/Nov/2026:${time} +0000] "${request}" ${status} ${bytes} "${referrer || '-'}" "${agent || '-'}"`

function report(lines: readonly string[], options: Partial<TallyOptions> = {}) {
  const tally = createTally({ catalog: loadCatalog(), tz: 'UTC', ...options })
  const parse = COMBINED.createParser()
  for (const line of lines) tally.add(parse(line))
  return tally.finish([])
}

t.test('counts of people and agents', async (t) => {
  const found = report([...LINES.map(text), 'nonsense', ''])
  for (const [name, actual, expected, why] of [
    ['lines', found.lines, { read: 21, broken: 1, skipped: 1, other_hosts: 0 }, 'the broken and the blank one'],
    ['window', found.window, { start: '2026-11-21T10:00:00.000Z', end: '2026-11-21T12:00:10.000Z' }, 'first and last'],
    ['requests of people', found.people.requests, 11, 'the lines with a browser'],
    ['bytes of people', found.people.bytes, 383, '100 + 50 + 100 + 10 + 10 + 10 + 100 + 3 × 1'],
    ['pageviews', found.people.pageviews, 7, 'no 404, no POST, no file; a 304 is one'],
    ['visitors', found.people.visitors, 3, 'address and browser: two browsers at 10.0.0.1'],
    ['sessions', found.people.sessions, 4, '10:30:00 to 11:00:01 is more than half an hour'],
    [
      'without assets',
      found.people.without_assets,
      { visitors: 1, pageviews: 3 },
      '10.0.0.2; Firefox has one pageview',
    ],
    ['requests of agents', found.agents.requests, 8, 'the others'],
    ['known agents', found.agents.agents, 2, 'GPTBot and ChatGPT-User'],
    ['operators', found.agents.operators, 1, 'both OpenAI’s'],
    ['unnamed', found.agents.unnamed, 1, 'Examplebot; a request without a user agent has a line of its own'],
    ['errors', [found.agents.client_errors, found.agents.server_errors], [2, 1], '404 twice, 503 once'],
    [
      'by agent',
      found.by_agent.map(({ agent_id, requests }) => [agent_id, requests]),
      [
        ['gptbot', 4],
        ['chatgpt-user', 2],
        ['other', 1],
        ['no-user-agent', 1],
      ],
      'most first',
    ],
    [
      'by operator',
      found.by_operator.map(({ operator, purposes }) => [operator, ...purposes]),
      [
        ['OpenAI', 'training', 'assistant'],
        ['Unknown', 'other'],
      ],
      'with purposes',
    ],
    [
      'by purpose',
      found.by_purpose.map(({ purpose, requests }) => [purpose, requests]),
      [
        ['training', 4],
        ['assistant', 2],
        ['other', 2],
      ],
      'sums',
    ],
    [
      'errors met',
      found.errors,
      [
        { status: 404, pathname: '/docs/b', requests: 1, agents: ['GPTBot'] },
        { status: 503, pathname: '/docs/a', requests: 1, agents: ['GPTBot'] },
      ],
      'not those of a client that looks for /.env',
    ],
    ['read by assistants', found.read_by_assistants, [{ pathname: '/pricing', requests: 1 }], 'not the picture'],
    [
      'arrivals',
      found.arrivals,
      {
        pageviews: 2,
        assistants: [
          { name: 'ChatGPT', pageviews: 1 },
          { name: 'Perplexity', pageviews: 1 },
        ],
        pages: [
          { pathname: '/', pageviews: 1 },
          { pathname: '/c', pageviews: 1 },
        ],
      },
      'by referrer, and by campaign',
    ],
    [
      'pages',
      found.pages.slice(0, 2),
      [
        { pathname: '/', pageviews: 2, requests: 0 },
        { pathname: '/docs', pageviews: 2, requests: 0 },
      ],
      'without the query',
    ],
    ['unnamed agents', found.unnamed, [{ user_agent: UNKNOWN, requests: 1 }], 'as sent'],
    ['robots', found.robots, undefined, 'absent without a robots.txt'],
    [
      'hours',
      found.series.buckets,
      [
        { t: '2026-11-21 10', pageviews: 2, requests: 0 },
        { t: '2026-11-21 11', pageviews: 2, requests: 0 },
        { t: '2026-11-21 12', pageviews: 3, requests: 8 },
      ],
      'a short log has hours',
    ],
  ] as const)
    t.strictSame(actual, expected, `${name}: ${why}`)
})

t.test('requests that robots.txt disallows', async (t) => {
  const body =
    'User-agent: GPTBot\nDisallow: /docs/\nDisallow: /robots.txt\n\nUser-agent: *\nDisallow: /*?x=\nDisallow: /pri'
  const policy = createPolicy({ hostname: '', robots: { status: 200, body } })
  const { robots, by_agent } = report(LINES.map(text), { robots: { policy, source: 'robots.txt' } })
  const { rules, ...whole } = robots ?? { rules: [], agents: [] }
  t.strictSame(rules, whole.agents, 'each agent broke one rule')
  t.strictSame(whole, {
    source: 'robots.txt',
    requests: 5,
    agents: [
      {
        agent_id: 'gptbot',
        name: 'GPTBot',
        operator: 'OpenAI',
        respects_robots: 'yes',
        requests: 3,
        rule: '/docs/',
        line: 2,
        pathname: '/docs/a',
      },
      {
        agent_id: 'chatgpt-user',
        name: 'ChatGPT-User',
        operator: 'OpenAI',
        respects_robots: 'no',
        requests: 1,
        rule: '/pri',
        line: 7,
        pathname: '/pricing',
      },
      {
        agent_id: 'other',
        name: 'Other',
        operator: 'Unknown',
        respects_robots: 'unknown',
        requests: 1,
        rule: '/pri',
        line: 7,
        pathname: '/pricing',
      },
    ],
  })
  t.strictSame(
    by_agent.map(({ disallowed }) => disallowed),
    [3, 1, 1, 0],
    'robots.txt itself is always allowed',
  )
})

t.test('an agent has a row for each rule that disallowed its requests', async (t) => {
  const body = 'User-agent: *\nDisallow: /proofs\nDisallow: /pricing\n'
  const policy = createPolicy({ hostname: '', robots: { status: 200, body } })
  const paths = ['/proofs/a', '/pricing', '/proofs/b', '/', '/proofs/a']
  const lines = paths.map((path, i): (typeof LINES)[number] => {
    return ['20.0.0.1', `12:00:0${i}`, `GET ${path} HTTP/1.1`, 200, 5, '', GPTBOT]
  })
  const { robots } = report(lines.map(text), { robots: { policy, source: 'robots.txt' } })
  t.strictSame(
    robots?.rules.map(({ agent_id, requests, rule, line, pathname }) => [agent_id, requests, rule, line, pathname]),
    [
      ['gptbot', 3, '/proofs', 2, '/proofs/a'],
      ['gptbot', 1, '/pricing', 3, '/pricing'],
    ],
  )
  t.match(robots?.agents, [{ agent_id: 'gptbot', requests: 4, rule: '/proofs', line: 2 }], 'as before')
})

t.test('time lines', async (t) => {
  const at = (instant: string): string => `10.0.0.1 - - [${instant}] "GET / HTTP/1.1" 200 1 "-" "${CHROME}"`
  for (const [lines, tz, granularity, expected, why] of [
    [
      ['24/Oct/2026:22:30:00 +0000', '26/Oct/2026:23:30:00 +0000'],
      'Europe/Berlin',
      'day',
      [
        ['2026-10-25', 1],
        ['2026-10-26', 0],
        ['2026-10-27', 1],
      ],
      'the night of 25 hours',
    ],
    [
      ['28/Mar/2026:12:00:00 +0000', '31/Mar/2026:12:00:00 +0200'],
      'America/St_Johns',
      'day',
      [
        ['2026-03-28', 1],
        ['2026-03-29', 0],
        ['2026-03-30', 0],
        ['2026-03-31', 1],
      ],
      'an offset of three and a half hours',
    ],
    [
      ['01/Jan/2026:00:00:00 +0000', '01/Jun/2026:00:00:00 +0000'],
      'UTC',
      'month',
      [
        ['2026-01', 1],
        ['2026-02', 0],
        ['2026-03', 0],
        ['2026-04', 0],
        ['2026-05', 0],
        ['2026-06', 1],
      ],
      'a long log',
    ],
  ] as const) {
    const { series } = report(lines.map(at), { tz })
    t.equal(series.granularity, granularity, why)
    t.strictSame(
      series.buckets.map(({ t, pageviews }) => [t, pageviews]),
      expected,
      why,
    )
  }
  t.match(report([]), { window: null, series: { buckets: [] } }, 'no line')
})

t.test('requests of other hosts are left out', async (t) => {
  const entry: LogEntry = {
    timestamp: 0,
    address: '',
    method: 'GET',
    target: '/',
    status: 200,
    referrer: '',
    userAgent: CHROME,
  }
  const tally = createTally({ catalog: loadCatalog(), tz: 'UTC', host: 'one.example' })
  for (const host of ['one.example', 'two.example']) tally.add({ ...entry, host })
  tally.add(entry)
  t.match(
    tally.finish([]),
    { people: { pageviews: 1 }, lines: { other_hosts: 2 } },
    'a line without a host is not of this one',
  )
})

t.test('lists are bounded', async (t) => {
  const frequent = ['/often', '/often', '/often']
  for (const [limit, texts, expected, isComplete, why] of [
    [3, [...frequent, '/a', '/b'], ['/often', '/a', '/b'], true, 'as many as fit'],
    [3, [...frequent, '/a', '/b', '/c'], ['/often', '/c'], false, 'one text more'],
    [3, [...frequent, `/${'a'.repeat(600)}`, '/c'], ['/often', '/c'], false, 'more than 200 characters on average'],
  ] as const) {
    const counter = createTopCounter(limit, () => ({ count: 0 }))
    for (const text of texts) counter.add(text)
    t.strictSame(
      counter.top(9).map(([text]) => text),
      expected,
      why,
    )
    t.equal(counter.isComplete, isComplete, why)
  }
})

t.test('texts of the log are as long as in the store', async (t) => {
  const long = 'x'.repeat(8000)
  const { pages, unnamed } = report([
    text(['10.0.0.1', '10:00:00', `GET /${long}1 HTTP/1.1`, 200, 1, '', CHROME]),
    text(['10.0.0.1', '10:00:00', 'GET / HTTP/1.1', 200, 1, '', `${UNKNOWN}${long}1`]),
    text(['10.0.0.1', '10:00:00', 'GET / HTTP/1.1', 200, 1, '', `${UNKNOWN}${long}2`]),
  ])
  t.strictSame(
    pages.map(({ pathname }) => pathname.length),
    [2000],
  )
  t.strictSame(
    unnamed.map(({ user_agent, requests }) => [user_agent.length, requests]),
    [[512, 2]],
  )
})

t.test('the table of visitors counts as sets do', async (t) => {
  const step = fc.record({ visitor: fc.nat(3_000), minutes: fc.nat(40), isAsset: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: 'max' }), fc.boolean(), (steps, many) => {
      const table = createVisitorTable()
      const [views, last, assets] = [new Map<number, number>(), new Map<number, number>(), new Set<number>()]
      let [at, sessions] = [1_700_000_000, 0]
      // Enough visitors that the table grows while it is used.
      const all = many
        ? [...steps, ...Array.from({ length: 20_000 }, (_, visitor) => ({ visitor, minutes: 0, isAsset: false }))]
        : steps
      for (const { visitor, minutes, isAsset } of all) {
        at += minutes * 60
        const key = hashText(`${visitor}`)
        if (isAsset) {
          table.addAsset(key)
          assets.add(visitor)
          continue
        }
        table.addPageview(key, at)
        if (at - (last.get(visitor) ?? 0) > 1_800) sessions++
        last.set(visitor, at)
        views.set(visitor, (views.get(visitor) ?? 0) + 1)
      }
      const silent = [...views].filter(([visitor, count]) => count >= 3 && !assets.has(visitor))
      const pageviews = silent.reduce((sum, [, count]) => sum + count, 0)
      t.strictSame(table.totals(), {
        visitors: views.size,
        sessions,
        withoutAssets: { visitors: silent.length, pageviews },
      })
    }),
    { numRuns: 20 },
  )
})
