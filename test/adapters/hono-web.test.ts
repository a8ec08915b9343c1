import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { startCollector } from '../fixtures/collector.js'

// The test runner preloads code that needs Node's modules.
delete process.env.NODE_OPTIONS

const KEY = 'ingest_5b1f0f0e8d8a4c55'
const CONDITIONS = ['workerd', 'worker', 'browser'].flatMap((name) => ['--conditions', name])

t.test('Hono without Node loads no module of Node, and ships every exchange', async (t) => {
  const collector = await startCollector({ key: KEY })
  t.teardown(collector.stop)
  const fixture = (name: string) => new URL(`../fixtures/${name}`, import.meta.url).pathname
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...CONDITIONS,
    '--no-warnings',
    '--import',
    fixture('no-node.js'),
    fixture('web-child.js'),
    collector.url,
    KEY,
  ])
  const { seen, got, work, stats } = JSON.parse(stdout)
  t.same(seen, ['undefined', 'undefined'], 'as on a platform that has neither')
  t.match(got, {
    '/page': [200, '<h1>hello</h1>', null],
    '/twice': [200, 'twice'],
    '/measured': [200, '12345', '5'],
    '/empty': [204, ''],
    '/same': [304, ''],
    '/env': [200, 'kept'],
    '/throws': [500, 'sorry'],
    '/blog/post?a=1': [200, '/blog/post'],
    '/nothing': [404, '404 Not Found'],
    head: [200, ''],
    zip: ['gzip'],
    first: ['one'],
    thrown: true,
  })
  t.ok(got.first[1] < 3, 'the first piece is there before the last is made')
  t.equal(work, 15, 'each exchange once, with its leave to outlive the answer')

  const rows = new Map(
    collector.deliveries.flatMap(({ agent_events }) =>
      agent_events.map((row) => [
        `${row.method} ${row.pathname}${row.query === undefined ? '' : `?${row.query}`}`,
        row,
      ]),
    ),
  )
  // Each with status, body bytes, content type.
  const expected: [string, number, number, RegExp][] = [
    ['GET /page', 200, 14, /^text\/html/],
    ['GET /twice', 200, 5, /^text\/plain/],
    ['GET /measured', 200, 5, /^text\/css$/],
    ['GET /empty', 204, 0, /^$/],
    ['GET /same', 304, 0, /^$/],
    ['GET /env', 200, 4, /^text\/plain/],
    ['GET /throws', 500, 5, /^text\/plain/],
    ['GET /throws-nothing', 500, 0, /^$/],
    ['GET /blog/post?a=1', 200, 10, /^text\/plain/],
    ['GET /nothing', 404, 13, /^text\/plain/],
    ['HEAD /page?head', 200, 0, /^text\/html/],
    ['GET /zip', 200, got.zip[1], /^text\/plain/],
    ['GET /stream', 200, 9, /^$/],
    ['GET /endless', 200, 3_000, /^$/],
  ]
  for (const [name, status, bytes, content_type] of expected)
    t.match(rows.get(name), { status, bytes, content_type, hostname: 'site.example', ip: '203.0.113.9' }, name)
  t.match(
    collector.deliveries.flatMap(({ events }) => events),
    [{ pathname: '/page', query: 'person', referrer: 'https://a.example/', ip: '203.0.113.9', status: 200 }],
  )
  t.notOk(JSON.stringify(collector.deliveries).includes('cookie'))
  // One more, which has no execution context.
  t.match(stats, { shipped: { agent_events: expected.length + 1, events: 1, hits: 0 }, losses: {} })
  t.ok(collector.deliveries.length <= 3, `${collector.deliveries.length} deliveries: those of a second go together`)
})
