import { once } from 'node:events'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import type { PolicyMonitor } from '../../../src/agents/policy/policy-monitor.js'
import { raw, sql } from '../../../src/storage/sql.js'
import { fileResponse, START, setUpMonitor, statusResponse } from '../../fixtures/policy-monitor.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const GPTBOT = loadCatalog().get('gptbot')

const OPEN = 'User-agent: *\nDisallow: /private\n'
const STRICT = '# closed\nUser-agent: *\nDisallow: /private\nDisallow: /docs\n'

const allowed = (monitor: PolicyMonitor, target: string, at: number, hostname = 'example.com') =>
  monitor.judge.judge(hostname, GPTBOT, target, at).robots_allowed

/** Inserts versions of robots.txt that were each active for a second, the last until `at`. The texts are SQL over `i`. */
const insertVersions = (count: number, at: number, { hostname, body }: { hostname: string; body: string }) => sql`
  insert into policies (hostname, kind, url, status, sha256, body, truncated, content_type, first_seen, last_seen)
  select ${raw(hostname)}, 'robots', 'http://example.com/robots.txt', 200, md5(${raw(body)}), ${raw(body)}, false,
    'text/plain', ${new Date(at - count * 1000)} + i * interval '1 second', ${new Date(at - count * 1000)} + (i + 1) * interval '1 second'
  from generate_series(0, ${count - 1}) t(i)`

t.test('fetches at start and every ten minutes with conditions, and judges by the active version', async (t) => {
  const { table, requests, clock, open, changes, lines } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(OPEN))
  table.set('example.com/llms.txt', fileResponse('# Site\n\n## Docs\n\n- [A](/a): a\n'))
  const { monitor, records } = await open()
  t.equal(allowed(monitor, '/private', START), null, 'no version is known before the first response')
  await monitor.tick()
  t.same(requests.map((one) => one.key).sort(), ['example.com/llms.txt', 'example.com/robots.txt'])
  t.equal(requests[0]?.headers['if-none-match'], undefined)
  t.match(monitor.judge.judge('example.com', GPTBOT, '/private/x?y', START), {
    robots_allowed: false,
    robots_rule: '/private',
    robots_line: 2,
    robots_grace: false,
    llms_listed: 0,
  })
  t.match(monitor.judge.judge('example.com', GPTBOT, '/a', START), { robots_allowed: true, llms_listed: 1 })
  t.equal(allowed(monitor, '/a', START - 60 * MINUTE), true, 'a request from at most an hour before the first version')
  t.equal(allowed(monitor, '/a', START - 60 * MINUTE - 1), null, 'an earlier one')

  await monitor.tick()
  t.equal(requests.length, 2, 'not due yet')
  clock.at += 11 * MINUTE
  await monitor.tick()
  t.equal(requests.length, 4)
  t.match(requests[2]?.headers, { 'if-none-match': /./ }, 'a conditional request')
  t.equal(monitor.files('example.com')?.robots.versions.length, 1, '304: the same version')
  t.equal(monitor.files('example.com')?.robots.versions[0]?.last_seen, clock.at)

  table.set('example.com/robots.txt', fileResponse(STRICT))
  clock.at += 11 * MINUTE
  const changed = clock.at
  await monitor.tick()
  t.match(monitor.judge.judge('example.com', GPTBOT, '/docs', changed), {
    robots_allowed: false,
    robots_rule: '/docs',
    robots_line: 4,
    robots_grace: true,
  })
  t.equal(allowed(monitor, '/docs', changed - 1), true, 'a late row is judged by the version of its time')
  t.equal(
    monitor.judge.judge('example.com', GPTBOT, '/private', changed).robots_grace,
    false,
    'no grace if no version allowed it',
  )
  t.equal(monitor.judge.judge('example.com', GPTBOT, '/docs', changed + DAY - 1).robots_grace, true)
  t.equal(
    monitor.judge.judge('example.com', GPTBOT, '/docs', changed + DAY).robots_grace,
    false,
    'grace ends after a day',
  )
  t.match(changes, [{ hostname: 'example.com', kind: 'robots', at: changed, from: { rules: 1 }, to: { rules: 2 } }])
  t.equal(changes.length, 1, 'the first version is not a change')
  t.ok(
    lines.some((line) => /^info policy changed: example\.com robots\.txt: 1 rule before, 2 rules now/.test(line)),
    lines.join('\n'),
  )
  t.match(await records.query(sql`select kind, status, body from policies where kind = 'robots' order by first_seen`), [
    { kind: 'robots', status: 200, body: OPEN },
    { kind: 'robots', status: 200, body: STRICT },
  ])
})

t.test('always allows robots.txt itself', async (t) => {
  const { table, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
  const { monitor } = await open()
  t.equal(allowed(monitor, '/robots.txt', START), true, 'unknown')
  await monitor.tick()
  t.equal(allowed(monitor, '/', START), false)
  t.equal(allowed(monitor, '/robots.txt', START), true)
  t.equal(allowed(monitor, '/robots.txt?x', START), true)
  t.equal(allowed(monitor, '/robots.txt', START, 'nobody.example'), true)
})

t.test('stores a change A-B-A as three versions, each active for its time', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  const times: number[] = []
  const { monitor, records } = await open()
  for (const text of [OPEN, STRICT, OPEN]) {
    table.set('example.com/robots.txt', fileResponse(text))
    times.push(clock.at)
    await monitor.tick()
    clock.at += 11 * MINUTE
  }
  t.same(
    times.map((at) => allowed(monitor, '/docs', at)),
    [true, false, true],
  )
  const [row] = await records.query(sql`select count(*) as n, count(distinct sha256) as texts from policies
    where kind = 'robots'`)
  t.match(row, { n: 3, texts: 2 })
})

t.test('does not judge while robots.txt is unreachable, and allows everything after thirty days', async (t) => {
  const { table, clock, open, lines, changes } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
  const { monitor } = await open()
  await monitor.tick()
  t.equal(allowed(monitor, '/', clock.at), false)
  table.set('example.com/robots.txt', statusResponse(503))
  clock.at += 11 * MINUTE
  const down = clock.at
  await monitor.tick()
  t.equal(allowed(monitor, '/', down), null)
  t.equal(allowed(monitor, '/', down - 1), false, 'before the failure')
  t.equal(monitor.files('example.com')?.robots.due, down + 30_000, 'the next fetch is soon')
  clock.at += 30_000
  await monitor.tick()
  t.equal(monitor.files('example.com')?.robots.due, clock.at + 60_000, 'the wait doubles')
  // 30 days with a fetch each half day.
  while (clock.at < down + 30 * DAY) {
    clock.at += 12 * HOUR
    await monitor.tick()
  }
  t.equal(monitor.files('example.com')?.robots.versions.length, 2)
  t.equal(allowed(monitor, '/', down + 30 * DAY - 1), null)
  t.equal(allowed(monitor, '/', down + 30 * DAY), true)
  t.ok(lines.some((line) => /^warn policy: example\.com robots\.txt: unreachable/.test(line)))
  t.same(changes, [], 'a failure is not a change')

  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
  clock.at += 11 * MINUTE
  await monitor.tick()
  t.equal(allowed(monitor, '/', clock.at), false, 'the file is served again')
  t.same(changes, [], 'with the same text, so no change')
})

t.test('does not count a month without fetches as a month of failures', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', statusResponse(500))
  const first = await open()
  await first.monitor.tick()
  await first.end()
  clock.at += 31 * DAY
  const second = await open()
  await second.monitor.tick()
  t.equal(allowed(second.monitor, '/', clock.at), null)
})

t.test('reads the stored versions after a restart and judges the first rows by them', async (t) => {
  const { table, clock, open, requests } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(OPEN))
  const first = await open()
  await first.monitor.tick()
  clock.at += 11 * MINUTE
  table.set('example.com/robots.txt', fileResponse(STRICT))
  await first.monitor.tick()
  const changed = clock.at
  clock.at += 5 * HOUR
  await first.monitor.tick()
  await first.end()

  clock.at += HOUR
  const before = requests.length
  const second = await open()
  t.equal(requests.length, before, 'before any fetch')
  t.match(second.monitor.judge.judge('example.com', GPTBOT, '/docs', clock.at), {
    robots_allowed: false,
    robots_line: 4,
    robots_grace: true,
  })
  t.equal(allowed(second.monitor, '/docs', changed - 1), true)
  t.equal(allowed(second.monitor, '/docs', changed + 5 * HOUR + DAY), false, 'last seen at the end of the first run')
  t.equal(allowed(second.monitor, '/docs', changed + 5 * HOUR + DAY + 1), null, 'a copy lasts for a day')
  await second.monitor.tick()
  t.match(
    requests.slice(before).find((one) => one.key.endsWith('robots.txt'))?.headers,
    { 'if-none-match': /./ },
    'a conditional request with the stored ETag',
  )
  t.equal(second.monitor.files('example.com')?.robots.versions.length, 2, 'the version continues')
  await second.end()
})

t.test('keeps a policy per hostname, also for a site that lists none', async (t) => {
  const { table, open, requests, clock } = await setUpMonitor(t, { domains: [] })
  table.set('a.example/robots.txt', fileResponse('User-agent: *\nDisallow: /a\n'))
  table.set('b.example/robots.txt', fileResponse('User-agent: *\nDisallow: /b\n'))
  const { monitor } = await open()
  await monitor.tick()
  t.same(requests, [], 'no hostname is known')
  t.equal(allowed(monitor, '/a', clock.at, 'a.example'), null)
  t.equal(allowed(monitor, '/a', clock.at, 'b.example'), null)
  await monitor.tick()
  t.same(
    ['a.example', 'b.example'].map((host) => ['/a', '/b'].map((path) => allowed(monitor, path, clock.at, host))),
    [
      [false, true],
      [true, false],
    ],
  )
  // A client can send any Host.
  for (const name of ['x y', 'a.example:80', 'A.example', '', '0x7f.1', '..', `${'a'.repeat(300)}.example`, '[::1'])
    allowed(monitor, '/', clock.at, name)
  t.same(monitor.hostnames().toSorted(), ['a.example', 'b.example'], 'invalid hostnames are not fetched')
  for (let i = 0; i < 1_000; i++) allowed(monitor, '/', clock.at, `made-up-${i}.example`)
  t.equal(monitor.hostnames().length, 64)
  t.ok(
    monitor.files('a.example') && monitor.files('b.example'),
    'a flood of hostnames does not displace those with requests',
  )
  const before = requests.length
  await monitor.tick()
  t.ok(requests.length - before <= 16, 'nor does it cause a fetch for each')
  clock.at += 2 * DAY
  await monitor.tick()
  await monitor.tick()
  t.same(monitor.hostnames(), [], 'forgotten after a day without requests')
})

t.test('fetches a file once for rows of the past, which other servers deliver', async (t) => {
  const { table, requests, clock, open, lines } = await setUpMonitor(t)
  table.set('shop.example/robots.txt', fileResponse(OPEN))
  const { monitor, records } = await open()
  const before = requests.length
  for (let delivery = 0; delivery < 6; delivery++) {
    monitor.judge.judge('shop.example', GPTBOT, '/a', START - 30 * DAY + delivery)
    clock.at += 11_000
    await monitor.tick()
  }
  const asked = requests.slice(before).filter(({ key }) => key === 'shop.example/robots.txt')
  t.equal(asked.length, 1, 'asked once')
  t.equal(lines.filter((line) => /policy: shop\.example robots\.txt: 1 rule/.test(line)).length, 1, 'logged once')
  t.match(
    await records.query(sql`select count(*) as n from policies where hostname = 'shop.example' and kind = 'robots'`),
    [{ n: 1 }],
    'stored once',
  )
})

t.test('fetches a changed file at once, and dates the change by the response that the proxy served', async (t) => {
  const { table, clock, open, requests } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(OPEN))
  const { monitor } = await open()
  await monitor.tick()
  clock.at += 5 * MINUTE
  table.set('example.com/robots.txt', fileResponse(STRICT))
  const passed = clock.at
  clock.at += 500
  const before = requests.length
  monitor.reportServedFile('example.com', '/robots.txt', passed)
  await monitor.tick()
  await waitUntil(() => monitor.files('example.com')?.robots.versions.length === 2)
  t.equal(requests.length, before + 1, 'only the changed file')
  t.equal(allowed(monitor, '/docs', passed), false)
  t.equal(allowed(monitor, '/docs', passed - 1), true)

  // A file that differs in each response.
  let n = 0
  table.set('example.com/robots.txt', (_req, res) => void res.end(`User-agent: *\nDisallow: /${n++}\n`))
  const start = requests.length
  for (let second = 0; second < 3_600; second++) {
    clock.at += 1_000
    monitor.reportServedFile('example.com', '/robots.txt', clock.at)
    await monitor.tick()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const robots = requests.slice(start).filter((one) => one.key.endsWith('robots.txt')).length
  t.ok(robots > 6 && robots < 30, `${robots} fetches in an hour of changes each second`)
  for (const [host, path] of [
    ['nobody.example', '/robots.txt'],
    ['example.com', '/other.txt'],
  ] as const)
    monitor.reportServedFile(host, path, clock.at)
})

t.test('keeps 200 versions of a file, in memory and in the records', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  const before = await open()
  const body = "'User-agent: *\nDisallow: /' || i || '\n'"
  await before.records.write(insertVersions(200, clock.at, { hostname: "'example.com'", body }))
  await before.end()
  const { monitor, records } = await open()
  for (let n = 200; n < 210; n++) {
    table.set('example.com/robots.txt', fileResponse(`User-agent: *\nDisallow: /${n}\n`))
    await monitor.tick()
    clock.at += 11 * MINUTE
  }
  t.equal(monitor.files('example.com')?.robots.versions.length, 200)
  const [row] = await records.query(sql`select count(*) as n, min(body) as least from policies where kind = 'robots'`)
  t.match(row, { n: 200, least: 'User-agent: *\nDisallow: /10\n' })
})

t.test('tells the origin that the request is HTTPS if it redirects to HTTPS', async (t) => {
  const { table, open, clock } = await setUpMonitor(t)
  table.set('example.com/robots.txt', (req, res) => {
    if (req.headers['x-forwarded-proto'] === 'https') res.end('User-agent: *\nDisallow: /\n')
    else res.writeHead(301, { location: 'https://example.com/robots.txt' }).end()
  })
  const { monitor } = await open()
  await monitor.tick()
  t.equal(allowed(monitor, '/x', clock.at), false)
})

t.test('judges by the status of robots.txt', async (t) => {
  const rows = [
    [200, true],
    [204, true],
    [401, true],
    [403, true],
    [404, true],
    [410, true],
    [429, true],
    [500, null],
    [503, null],
    [304, null],
  ] as const
  const { table, open, clock } = await setUpMonitor(t, { domains: rows.map(([code]) => `s${code}.example`) })
  for (const [code] of rows) table.set(`s${code}.example/robots.txt`, statusResponse(code))
  const { monitor } = await open()
  await monitor.tick()
  for (const [code, expected] of rows)
    t.equal(allowed(monitor, '/x', clock.at, `s${code}.example`), expected, `${code}`)
})

t.test('logs an origin that is down, and fetches when it is up', async (t) => {
  const { open, clock, lines, server, table, port } = await setUpMonitor(t)
  server.close()
  await once(server, 'close')
  const { monitor } = await open()
  await monitor.tick()
  t.equal(allowed(monitor, '/x', clock.at), null)
  t.ok(lines.some((line) => line.startsWith('warn policy: example.com robots.txt: unreachable')))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  table.set('example.com/robots.txt', fileResponse(OPEN))
  clock.at += 31_000
  await monitor.tick()
  t.equal(allowed(monitor, '/private', clock.at), false)
})

t.test('fetches and judges nothing without an origin', async (t) => {
  const { open, requests, clock } = await setUpMonitor(t, { deps: { originOutbound: undefined } })
  const { monitor } = await open()
  await monitor.tick()
  t.equal(allowed(monitor, '/', clock.at), null)
  t.same(requests, [])
})

t.test('judges while the records fail, and stores the versions later', async (t) => {
  const { table, clock, open, lines } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(OPEN))
  const { monitor, records } = await open()
  await records.write(sql`alter table policies rename to elsewhere`)
  await monitor.tick()
  t.equal(allowed(monitor, '/private', clock.at), false)
  t.ok(lines.some((line) => line.startsWith('warn policy versions could not be stored')))
  await records.write(sql`alter table elsewhere rename to policies`)
  clock.at += 31_000
  await monitor.tick()
  t.match(await records.query(sql`select body from policies where kind = 'robots'`), [{ body: OPEN }])
})

t.test('judges a row in microseconds', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(STRICT))
  const { monitor } = await open()
  await monitor.tick()
  const from = performance.now()
  for (let i = 0; i < 100_000; i++) monitor.judge.judge('example.com', GPTBOT, `/p/${i % 1_000}`, clock.at)
  const each = ((performance.now() - from) * 1_000) / 100_000
  t.comment(`${each.toFixed(2)} microseconds a row, repeated targets`)
  t.ok(each < 50)
})

async function waitUntil(holds: () => boolean): Promise<void> {
  for (let n = 0; n < 500 && !holds(); n++) await new Promise((resolve) => setTimeout(resolve, 10))
}
