import fc from 'fast-check'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { COMBINED } from '../../../src/history/access-logs/combined.js'
import { createTally, type TallyOptions } from '../../../src/history/log-report/tally.js'

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0'
const GPTBOT = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)'

interface Line {
  address: string
  hour: number
  path: string
  status: number
  bytes: number
  referrer: string
  agent: string
}

function report(lines: readonly Line[], options: Partial<TallyOptions> = {}, hosts: readonly string[] = []) {
  const tally = createTally({ catalog: loadCatalog(), tz: 'UTC', ...options })
  const parse = COMBINED.createParser()
  lines.forEach(({ address, hour, path, status, bytes, referrer, agent }, i) => {
    const time = `21/Nov/2026:${String(hour).padStart(2, '0')}:00:00 +0000`
    const entry = parse(`${address} - - [${time}] "GET ${path} HTTP/1.1" ${status} ${bytes} "${referrer}" "${agent}"`)
    const host = hosts[i]
    tally.add(typeof entry === 'object' && host !== undefined ? { ...entry, host } : entry)
  })
  return tally.finish([])
}
const line = (path: string, more: Partial<Line> = {}): Line => ({
  ...{ address: '9.9.9.9', hour: 10, path, status: 200, bytes: 100, referrer: '-', agent: CHROME },
  ...more,
})

const LINES = [
  line('/', { referrer: 'https://news.ycombinator.com/item?id=1' }),
  line('/app.css', { bytes: 5_000, referrer: 'https://www.a.example/' }),
  line('/app.css', { bytes: 5_000, referrer: 'https://www.a.example/b', agent: FIREFOX }),
  line('/b', { referrer: 'https://a.example/', hour: 23 }),
  line('/b', { referrer: 'https://other.example/x', agent: FIREFOX, address: '8.8.8.8' }),
  line('/old', { status: 404, bytes: 10 }),
  line('/old', { status: 404, bytes: 10, agent: FIREFOX }),
  line('/old', { status: 404, bytes: 10, agent: GPTBOT }),
  line('/b', { agent: GPTBOT, address: '20.0.0.1', bytes: 900, hour: 23 }),
]

t.test('a log is counted as a server sees it, people and agents apart', async (t) => {
  const locate = (address: string) => (address === '9.9.9.9' ? 'CH' : undefined)
  const found = report(LINES, { locate, addresses: true })
  const rows: [keyof typeof found, unknown, string][] = [
    [
      'statuses',
      [
        { status: 200, people: 5, agents: 1 },
        { status: 404, people: 2, agents: 1 },
      ],
      'by code',
    ],
    ['people_errors', [{ status: 404, pathname: '/old', requests: 2 }], 'without the agent'],
    [
      'referrers',
      [
        { name: 'Hacker News', pageviews: 1 },
        { name: 'other.example', pageviews: 1 },
      ],
      'not the site itself, which its assets name',
    ],
    [
      'browsers',
      [
        { name: 'Chrome', pageviews: 2 },
        { name: 'Firefox', pageviews: 1 },
      ],
      'pageviews alone',
    ],
    [
      'systems',
      [
        { name: 'Linux', pageviews: 2 },
        { name: 'Windows', pageviews: 1 },
      ],
      '',
    ],
    [
      'countries',
      [
        { name: 'CH', pageviews: 2 },
        { name: 'unknown', pageviews: 1 },
      ],
      '',
    ],
    ['assets', [{ pathname: '/app.css', requests: 2, bytes: 10_000 }], ''],
    [
      'bandwidth',
      [
        { pathname: '/app.css', bytes: 10_000, requests: 2 },
        { pathname: '/b', bytes: 1_100, requests: 3 },
        { pathname: '/', bytes: 100, requests: 1 },
        { pathname: '/old', bytes: 30, requests: 3 },
      ],
      'of both',
    ],
    ['hosts', [], 'the log has none'],
    [
      'addresses',
      [
        { address: '9.9.9.9', people: 6, agents: 1, bytes: 10_230 },
        { address: '20.0.0.1', people: 0, agents: 1, bytes: 900 },
        { address: '8.8.8.8', people: 1, agents: 0, bytes: 100 },
      ],
      'only if asked for',
    ],
  ]
  for (const [name, expected, why] of rows) t.strictSame(found[name], expected, `${name}: ${why}`)
  t.strictSame(
    found.hours.filter(({ pageviews, requests }) => pageviews + requests > 0),
    [
      { hour: 10, pageviews: 2, requests: 1 },
      { hour: 23, pageviews: 1, requests: 1 },
    ],
  )
  t.equal(found.hours.length, 24)
  t.strictSame(
    report(LINES, { tz: 'Asia/Kolkata' }).hours.filter(({ pageviews }) => pageviews > 0),
    [
      { hour: 4, pageviews: 1, requests: 1 },
      { hour: 15, pageviews: 2, requests: 1 },
    ],
    'five and a half hours later',
  )
  const plain = report(LINES)
  t.notOk('countries' in plain || 'addresses' in plain, 'neither without being asked')
})

t.test('hostnames are counted where the log has them, and the same host as a referrer does not count', async (t) => {
  const lines = [line('/', { referrer: 'https://www.one.example/x' }), line('/', { referrer: 'https://one.example/' })]
  const found = report(lines, {}, ['one.example', 'two.example'])
  t.strictSame(found.hosts, [
    { hostname: 'one.example', people: 1, agents: 0 },
    { hostname: 'two.example', people: 1, agents: 0 },
  ])
  t.strictSame(found.referrers, [{ name: 'one.example', pageviews: 1 }], 'of the other host it is one')
})

// A second count of random logs, by plain filters over the lines.
t.test('sums over random logs are those of a recount', async (t) => {
  const paths = ['/', '/a', '/b', '/app.css', '/logo.png']
  const drawn = fc.record({
    address: fc.constantFrom('9.9.9.9', '8.8.8.8', '20.0.0.1'),
    hour: fc.nat(23),
    path: fc.constantFrom(...paths),
    status: fc.constantFrom(200, 304, 301, 404, 500),
    bytes: fc.nat(5_000),
    referrer: fc.constantFrom('-', 'https://duckduckgo.com/', 'https://x.example/'),
    agent: fc.constantFrom(CHROME, FIREFOX, GPTBOT),
  })
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 60 }), (lines) => {
      const found = report(lines, { locate: () => 'CH' })
      const people = lines.filter(({ agent }) => agent !== GPTBOT)
      const views = people.filter(({ path, status }) => !path.includes('.') && (status === 200 || status === 304))
      const total = (rows: readonly { pageviews: number }[] | undefined) =>
        (rows ?? []).reduce((sum, { pageviews }) => sum + pageviews, 0)
      for (const list of [found.browsers, found.systems, found.countries, found.hours])
        if (total(list) !== views.length || found.people.pageviews !== views.length) return false
      for (const { status, people: some, agents } of found.statuses) {
        const same = lines.filter((one) => one.status === status)
        const bots = same.filter(({ agent }) => agent === GPTBOT).length
        if (agents !== bots || some !== same.length - bots) return false
      }
      for (const { pathname, bytes, requests } of found.bandwidth) {
        const same = lines.filter(({ path }) => path === pathname)
        if (requests !== same.length || bytes !== same.reduce((sum, one) => sum + one.bytes, 0)) return false
      }
      for (const { pathname, requests } of found.assets)
        if (requests !== people.filter(({ path }) => path === pathname).length) return false
      for (const { pathname, status, requests } of found.people_errors)
        if (requests !== people.filter((one) => one.path === pathname && one.status === status).length) return false
      const errors = people.filter(({ status }) => status >= 400).length
      return found.people_errors.reduce((sum, { requests }) => sum + requests, 0) === errors
    }),
    { numRuns: 300 },
  )
  t.pass('300 logs')
})
