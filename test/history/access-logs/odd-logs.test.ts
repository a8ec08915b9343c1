import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { COMBINED } from '../../../src/history/access-logs/combined.js'
import { detectFormat, explainUnknown, lacksUserAgents } from '../../../src/history/access-logs/detect.js'
import { openLogs, readLogLines } from '../../../src/history/access-logs/read-lines.js'
import { isServerMessage } from '../../../src/history/access-logs/server-messages.js'
import { createTally } from '../../../src/history/log-report/tally.js'

/** Whole logs as people have them: servers' own lines among the requests, and formats that lack what is needed. */

const FOLDER = 'test/history/access-logs/logs'

interface Counted {
  format: string | undefined
  entries: number
  skipped: number
  broken: number
  lacksUserAgents: boolean
}

const LOGS: readonly [name: string, expected: Counted, why: string][] = [
  [
    'common-no-ua',
    { format: 'common', entries: 3, skipped: 0, broken: 0, lacksUserAgents: true },
    'common has no user agent',
  ],
  [
    'traefik-json-default-no-ua',
    { format: 'traefik-json', entries: 1, skipped: 0, broken: 0, lacksUserAgents: true },
    'Traefik drops headers by default',
  ],
  [
    'json-no-ua',
    { format: 'json', entries: 1, skipped: 0, broken: 0, lacksUserAgents: true },
    'a JSON without the key',
  ],
  [
    'haproxy-handshakes',
    { format: 'haproxy', entries: 130, skipped: 70, broken: 0, lacksUserAgents: false },
    '70 failed handshakes, then 130 requests',
  ],
  [
    'nginx-notices-first',
    { format: 'combined', entries: 200, skipped: 60, broken: 0, lacksUserAgents: false },
    '60 notices, then 200 requests',
  ],
  [
    'caddy-console',
    { format: 'caddy-console', entries: 2, skipped: 0, broken: 0, lacksUserAgents: false },
    "Caddy's console encoder",
  ],
  [
    'elb-tcp-line',
    { format: 'alb', entries: 1, skipped: 1, broken: 0, lacksUserAgents: false },
    'the line of a TCP listener has no request',
  ],
  [
    'w3c-without-known-status',
    { format: undefined, entries: 0, skipped: 0, broken: 0, lacksUserAgents: false },
    'c-status is not a status of the server',
  ],
]

t.test('logs of servers that write about themselves, or that lack a field', async (t) => {
  for (const [name, expected, why] of LOGS) {
    const [log] = await openLogs([`${FOLDER}/${name}.log`])
    if (!log) throw new Error(name)
    const format = detectFormat(log.head)?.format
    const parse = format?.createParser()
    const counts = { entries: 0, skipped: 0, broken: 0 }
    if (parse)
      for await (const { lines } of readLogLines([log]))
        for (const line of lines) {
          const entry = parse(line)
          counts[entry === undefined ? 'broken' : entry === 'skip' ? 'skipped' : 'entries'] += 1
        }
    t.strictSame({ format: format?.name, ...counts, lacksUserAgents: log.lacksUserAgents }, expected, why)
  }
})

/** The first lines of logs whose clients sent no user agent. */
const WITHOUT_VALUE: readonly [format: string, lines: readonly string[], lacks: boolean, why: string][] = [
  ['common', ['192.0.2.1 - - [06/Nov/2026:10:11:12 +0000] "GET / HTTP/1.1" 200 5'], true, 'no field'],
  ['combined', ['192.0.2.1 - - [06/Nov/2026:10:11:12 +0000] "GET / HTTP/1.1" 200 5 "-" "-"'], false, 'a dash'],
  [
    'json',
    [JSON.stringify({ time: '2026-11-06T10:11:12Z', request: 'GET / HTTP/1.1', status: 200, http_user_agent: '' })],
    false,
    'health checks after the log was rotated',
  ],
  ['json', [JSON.stringify({ time: '2026-11-06T10:11:12Z', request: 'GET / HTTP/1.1', status: 200 })], true, 'no key'],
  [
    'w3c',
    [
      '#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent)',
      '2026-11-06 10:11:12 192.0.2.1 GET / - 200 -',
    ],
    false,
    'a column without a value',
  ],
  [
    'w3c',
    [
      '#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status',
      '2026-11-06 10:11:12 192.0.2.1 GET / - 200',
    ],
    true,
    'no column',
  ],
  ...[
    ['{}', false, 'one captured header, which a health check lacks'] as const,
    ['{shop.example|}', false, 'the host, and an empty second header'] as const,
    ['{shop.example}', true, 'the host alone is captured'] as const,
  ].map(([captures, lacks, why]): [string, string[], boolean, string] => [
    'haproxy',
    [
      `Nov  6 10:11:12 lb haproxy[7]: 192.0.2.1:5000 [06/Nov/2026:10:11:12.111] fe be/s1 0/0/0/1/1 200 5 - - ---- 1/1/0/0/0 0/0 ${captures} "GET / HTTP/1.1"`,
    ],
    lacks,
    why,
  ]),
]

t.test('a log lacks user agents if it has no field for them, not if no client sent one', async (t) => {
  for (const [name, lines, lacks, why] of WITHOUT_VALUE) {
    const format = detectFormat(lines)?.format
    const parse = format?.createParser()
    const entries = lines.map((line) => parse?.(line)).filter((entry) => entry !== undefined && entry !== 'skip')
    t.strictSame([format?.name, entries.length], [name, 1], why)
    t.equal(format && lacksUserAgents(format, entries), lacks, `${name}: ${why}`)
  }
})

t.test("Caddy's console lines have every field", async (t) => {
  const [log] = await openLogs([`${FOLDER}/caddy-console.log`])
  const parse = detectFormat(log?.head ?? [])?.format.createParser()
  const [first, second] = (log?.head ?? []).map((line) => parse?.(line))
  t.match(first, {
    timestamp: Date.UTC(2025, 3, 26, 8, 57, 48, 541),
    address: '192.0.2.7',
    host: 'example.com',
    status: 200,
    userAgent: 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    contentType: 'text/html; charset=utf-8',
  })
  t.match(second, { target: '/missing', status: 502 }, 'of level error')
  t.equal(parse?.('2025/04/26 08:57:48.541\tinfo\ttls.cache\tstarted\t{"a":1}'), 'skip', 'another logger')
  t.equal(parse?.('2025/04/26 08:57:48.541\tinfo\thttp.log.access\thandled request\t{"requ'), undefined, 'cut')
})

t.test('a W3C log names the column that it lacks', async (t) => {
  const [log] = await openLogs([`${FOLDER}/w3c-without-known-status.log`])
  t.match(explainUnknown(log?.head ?? []), 'its #Fields lack sc-status')
  t.match(explainUnknown(['#Fields: date c-ip']), 'lack time and cs-uri-stem and sc-status')
  t.equal(explainUnknown(['what', 'is this']), 'no format fits half of its first lines')
})

const MESSAGES: readonly [line: string, isMessage: boolean, why: string][] = [
  ['2025/10/01 10:00:00 [notice] 1#1: start worker process 0', true, 'nginx'],
  [
    '2025/10/01 10:00:00 [error] 7#7: *1 open() "/x" failed (2: No such file), client: 192.0.2.1',
    true,
    'its error log',
  ],
  ['/docker-entrypoint.sh: Configuration complete; ready for start up', true, "nginx's container"],
  ['10-listen-on-ipv6-by-default.sh: info: Enabled listen on IPv6', true, 'a step of its start'],
  ['[Wed Oct 01 10:00:00.123456 2025] [core:error] [pid 7:tid 9] (13)Permission denied', true, 'Apache 2.4'],
  [
    'Oct  1 10:00:00 lb haproxy[7]: 203.0.113.1:5000 [01/Oct/2025:10:00:00.111] fe/1: SSL handshake failure',
    true,
    'HAProxy',
  ],
  ['Oct  1 10:00:00 lb haproxy[7]: Server be/srv1 is DOWN, reason: Layer4 timeout', true, 'a server that is down'],
  ['[NOTICE]   (1) : New worker (8) forked', true, 'a start of HAProxy'],
  ['203.0.113.9 - - [06/Nov/2026:10:11:12 +0000] "GET / HTTP/1.1" 200 5', false, 'a request'],
  ['203.0.113.9 - - [06/Nov/2026:10:11:12 +0000] "GE', false, 'half a request is broken'],
  [
    'Oct  1 10:01:08 lb haproxy[7]: 198.51.100.129:5128 [01/Oct/2025:10:01:08.111] fe~ be/srv1 0/0/1',
    false,
    'half of one',
  ],
  ['upstream timed out (110: Connection timed out)', false, 'unknown text'],
]

t.test("a server's message is not a broken line", async (t) => {
  const parse = COMBINED.createParser()
  for (const [line, isMessage, why] of MESSAGES) {
    t.equal(isServerMessage(line), isMessage, why)
    if (isMessage) t.equal(parse(line), 'skip', `${why}: skipped`)
  }
})

t.test('a report of a log without user agents counts neither people nor agents', async (t) => {
  const tally = createTally({ catalog: loadCatalog(), tz: 'UTC' })
  const [log] = await openLogs([`${FOLDER}/common-no-ua.log`])
  const parse = detectFormat(log?.head ?? [])?.format.createParser()
  for (const line of log?.head ?? []) tally.add(parse?.(line), log?.lacksUserAgents)
  const report = tally.finish([])
  t.match(report.unknown_readers, {
    requests: 3,
    bytes: 3 * 2326,
    addresses: 3,
    paths: [{ pathname: '/common-a', requests: 1 }],
    statuses: [{ status: 200, requests: 3 }],
  })
  t.match([report.people.requests, report.agents.requests, report.unnamed], [0, 0, []])
})
