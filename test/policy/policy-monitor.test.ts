import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import type { PolicyMonitor } from '../../src/policy/policy-monitor.js'
import { raw, sql } from '../../src/sql.js'
import { fileResponse, START, setUpMonitor, statusResponse } from '../fixtures/policy-monitor.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const GPTBOT = loadCatalog().get('gptbot')

const OPEN = 'User-agent: *\nDisallow: /private\n'
const STRICT = '# closed\nUser-agent: *\nDisallow: /private\nDisallow: /docs\n'

const allowed = (keeper: PolicyMonitor, target: string, at: number, hostname = 'example.com') =>
  keeper.judge.judge(hostname, GPTBOT, target, at).robots_allowed

/** What stores as many versions of robots.txt as if each had been seen for a second, the last at `at`; texts are SQL, of `i`. */
const storedBefore = (count: number, at: number, { hostname, body }: { hostname: string; body: string }) => sql`
  insert into policies (hostname, kind, url, status, sha256, body, truncated, content_type, first_seen, last_seen)
  select ${raw(hostname)}, 'robots', 'http://example.com/robots.txt', 200, sha256(${raw(body)}), ${raw(body)}, false,
    'text/plain', ${new Date(at - count * 1000)} + to_seconds(i), ${new Date(at - count * 1000)} + to_seconds(i + 1)
  from range(${count}) t(i)`

t.test('asked for at the start, each ten minutes with conditions, and judged by what was in force', async (t) => {
  const { table, asked, clock, open, changes, lines } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(OPEN))
  table.set('example.com/llms.txt', fileResponse('# Site\n\n## Docs\n\n- [A](/a): a\n'))
  const { keeper, records } = await open()
  t.equal(allowed(keeper, '/private', START), null, 'nothing is known before the first answer')
  await keeper.tick()
  t.same(asked.map((one) => one.key).sort(), ['example.com/llms.txt', 'example.com/robots.txt'])
  t.equal(asked[0]?.headers['if-none-match'], undefined)
  t.match(keeper.judge.judge('example.com', GPTBOT, '/private/x?y', START), {
    robots_allowed: false,
    robots_rule: '/private',
    robots_line: 2,
    robots_grace: false,
    llms_listed: 0,
  })
  t.match(keeper.judge.judge('example.com', GPTBOT, '/a', START), { robots_allowed: true, llms_listed: 1 })
  t.equal(allowed(keeper, '/a', START - 1), null, 'a row of before')

  await keeper.tick()
  t.equal(asked.length, 2, 'not due again')
  clock.at += 11 * MINUTE
  await keeper.tick()
  t.equal(asked.length, 4)
  t.match(asked[2]?.headers, { 'if-none-match': /./ }, 'conditionally')
  t.equal(keeper.files('example.com')?.robots.versions.length, 1, '304: the same version')
  t.equal(keeper.files('example.com')?.robots.versions[0]?.last_seen, clock.at)

  table.set('example.com/robots.txt', fileResponse(STRICT))
  clock.at += 11 * MINUTE
  const changed = clock.at
  await keeper.tick()
  t.match(keeper.judge.judge('example.com', GPTBOT, '/docs', changed), {
    robots_allowed: false,
    robots_rule: '/docs',
    robots_line: 4,
    robots_grace: true,
  })
  t.equal(allowed(keeper, '/docs', changed - 1), true, 'a late row is judged by the version of its time')
  t.equal(keeper.judge.judge('example.com', GPTBOT, '/private', changed).robots_grace, false, 'never allowed: no grace')
  t.equal(keeper.judge.judge('example.com', GPTBOT, '/docs', changed + DAY - 1).robots_grace, true)
  t.equal(keeper.judge.judge('example.com', GPTBOT, '/docs', changed + DAY).robots_grace, false, 'a day later')
  t.match(changes, [{ hostname: 'example.com', kind: 'robots', at: changed, from: { rules: 1 }, to: { rules: 2 } }])
  t.equal(changes.length, 1, 'the first version is no change')
  t.ok(
    lines.some((line) => /^info policy changed: example\.com robots\.txt: 1 rule before, 2 rules now/.test(line)),
    lines.join('\n'),
  )
  t.match(await records.query(sql`select kind, status, body from policies where kind = 'robots' order by first_seen`), [
    { kind: 'robots', status: 200, body: OPEN },
    { kind: 'robots', status: 200, body: STRICT },
  ])
})

t.test('robots.txt itself is always allowed, whatever is known', async (t) => {
  const { table, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
  const { keeper } = await open()
  t.equal(allowed(keeper, '/robots.txt', START), true, 'unknown')
  await keeper.tick()
  t.equal(allowed(keeper, '/', START), false)
  t.equal(allowed(keeper, '/robots.txt', START), true)
  t.equal(allowed(keeper, '/robots.txt?x', START), true)
  t.equal(allowed(keeper, '/robots.txt', START, 'nobody.example'), true)
})

t.test('a flip A-B-A is three versions, and each is in force for its time', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  const times: number[] = []
  const { keeper, records } = await open()
  for (const text of [OPEN, STRICT, OPEN]) {
    table.set('example.com/robots.txt', fileResponse(text))
    times.push(clock.at)
    await keeper.tick()
    clock.at += 11 * MINUTE
  }
  t.same(
    times.map((at) => allowed(keeper, '/docs', at)),
    [true, false, true],
  )
  const [row] = await records.query(sql`select count(*) as n, count(distinct sha256) as texts from policies
    where kind = 'robots'`)
  t.match(row, { n: 3, texts: 2 })
})

t.test('what cannot be reached is no violation, then after thirty days as if not there', async (t) => {
  const { table, clock, open, lines, changes } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
  const { keeper } = await open()
  await keeper.tick()
  t.equal(allowed(keeper, '/', clock.at), false)
  table.set('example.com/robots.txt', statusResponse(503))
  clock.at += 11 * MINUTE
  const down = clock.at
  await keeper.tick()
  t.equal(allowed(keeper, '/', down), null)
  t.equal(allowed(keeper, '/', down - 1), false, 'before it went down')
  t.equal(keeper.files('example.com')?.robots.due, down + 30_000, 'asked again soon')
  clock.at += 30_000
  await keeper.tick()
  t.equal(keeper.files('example.com')?.robots.due, clock.at + 60_000, 'and then less soon')
  // 30 days of asking, each half day.
  while (clock.at < down + 30 * DAY) {
    clock.at += 12 * HOUR
    await keeper.tick()
  }
  t.equal(keeper.files('example.com')?.robots.versions.length, 2)
  t.equal(allowed(keeper, '/', down + 30 * DAY - 1), null)
  t.equal(allowed(keeper, '/', down + 30 * DAY), true)
  t.ok(lines.some((line) => /^warn policy: example\.com robots\.txt: unreachable/.test(line)))
  t.same(changes, [], 'nobody changed a policy')

  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
  clock.at += 11 * MINUTE
  await keeper.tick()
  t.equal(allowed(keeper, '/', clock.at), false, 'it is back')
  t.same(changes, [], 'as it was')
})

t.test('nobody looked for a month: that is no month of being down', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', statusResponse(500))
  const first = await open()
  await first.keeper.tick()
  await first.end()
  clock.at += 31 * DAY
  const second = await open()
  await second.keeper.tick()
  t.equal(allowed(second.keeper, '/', clock.at), null)
})

t.test('versions survive a restart, and the first rows are judged by them at once', async (t) => {
  const { table, clock, open, asked } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(OPEN))
  const first = await open()
  await first.keeper.tick()
  clock.at += 11 * MINUTE
  table.set('example.com/robots.txt', fileResponse(STRICT))
  await first.keeper.tick()
  const changed = clock.at
  clock.at += 5 * HOUR
  await first.keeper.tick()
  await first.end()

  clock.at += HOUR
  const questions = asked.length
  const second = await open()
  t.equal(asked.length, questions, 'before anything is asked')
  t.match(second.keeper.judge.judge('example.com', GPTBOT, '/docs', clock.at), {
    robots_allowed: false,
    robots_line: 4,
    robots_grace: true,
  })
  t.equal(allowed(second.keeper, '/docs', changed - 1), true)
  t.equal(allowed(second.keeper, '/docs', changed + 5 * HOUR + DAY), false, 'seen last at the end of the first run')
  t.equal(allowed(second.keeper, '/docs', changed + 5 * HOUR + DAY + 1), null, 'a copy lasts for a day')
  await second.keeper.tick()
  t.match(
    asked.slice(questions).find((one) => one.key.endsWith('robots.txt'))?.headers,
    { 'if-none-match': /./ },
    'conditionally, by what was stored',
  )
  t.equal(second.keeper.files('example.com')?.robots.versions.length, 2, 'and the version goes on')
  await second.end()
})

t.test('two hostnames, two files; and what is seen of a site that lists none', async (t) => {
  const { table, open, asked, clock } = await setUpMonitor(t, { domains: [] })
  table.set('a.example/robots.txt', fileResponse('User-agent: *\nDisallow: /a\n'))
  table.set('b.example/robots.txt', fileResponse('User-agent: *\nDisallow: /b\n'))
  const { keeper } = await open()
  await keeper.tick()
  t.same(asked, [], 'no hostname is known')
  t.equal(allowed(keeper, '/a', clock.at, 'a.example'), null)
  t.equal(allowed(keeper, '/a', clock.at, 'b.example'), null)
  await keeper.tick()
  t.same(
    ['a.example', 'b.example'].map((host) => ['/a', '/b'].map((path) => allowed(keeper, path, clock.at, host))),
    [
      [false, true],
      [true, false],
    ],
  )
  // Any stranger can name a host.
  for (const name of ['x y', 'a.example:80', 'A.example', '', '0x7f.1', '..', `${'a'.repeat(300)}.example`, '[::1'])
    allowed(keeper, '/', clock.at, name)
  t.same(keeper.hostnames().toSorted(), ['a.example', 'b.example'], 'what no URL has is not asked for')
  for (let i = 0; i < 1_000; i++) allowed(keeper, '/', clock.at, `made-up-${i}.example`)
  t.equal(keeper.hostnames().length, 64)
  t.ok(keeper.files('a.example') && keeper.files('b.example'), 'a flood of names drives out none that has rows')
  const before = asked.length
  await keeper.tick()
  t.ok(asked.length - before <= 16, 'nor has it the origin asked for each at once')
  clock.at += 2 * DAY
  await keeper.tick()
  await keeper.tick()
  t.same(keeper.hostnames(), [], 'unseen for a day: forgotten')
})

t.test('hostnames that a stranger makes up cost the others nothing', async (t) => {
  const { table, open, asked, clock } = await setUpMonitor(t, { domains: [] })
  table.set('a.example/robots.txt', fileResponse(OPEN))
  const { keeper, records } = await open()
  allowed(keeper, '/', clock.at, 'a.example')
  await keeper.tick()
  const kept = async () => {
    const [row] = await records.query(sql`select count(*) as n from policies where hostname = 'a.example'`)
    return row?.n
  }
  t.equal(await kept(), 2)
  // 290 at once, as if they had been looked up one by one.
  clock.at += 300_000
  await records.write(storedBefore(290, clock.at, { hostname: "'old-' || i || '.example'", body: "''" }))
  for (let i = 0; i < 10; i++) {
    clock.at += 10_000
    allowed(keeper, '/', clock.at, `slow-${i}.example`)
    allowed(keeper, '/', clock.at, 'a.example')
    await keeper.tick()
  }
  t.equal(await kept(), 2, 'its versions stay stored while 300 others were stored after it')
  const [stored] = await records.query(sql`select count(distinct hostname) as n from policies`)
  t.equal(stored?.n, 257, 'of which the oldest were forgotten')

  const before = asked.length
  for (let i = 0; i < 200; i++) {
    allowed(keeper, '/', clock.at, `loud-${i}.example`)
    keeper.reportServedFile(`loud-${i}.example`, '/robots.txt', clock.at)
    await keeper.tick()
    await sleep(5)
  }
  t.ok(asked.length - before <= 40, `one that asks for robots.txt is not looked up at once: ${asked.length - before}`)

  for (let i = 0; i < 5_000; i++) allowed(keeper, '/', clock.at, `flood-${i}.example`)
  table.set('b.example/robots.txt', fileResponse(STRICT))
  for (let i = 0; i < 5; i++) allowed(keeper, '/', clock.at, 'b.example')
  clock.at += MINUTE
  await keeper.tick()
  t.equal(allowed(keeper, '/docs', clock.at, 'b.example'), false, 'a true hostname does not wait behind them')
})

t.test('what passes the proxy is looked at once, and its time is when it passed', async (t) => {
  const { table, clock, open, asked } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(OPEN))
  const { keeper } = await open()
  await keeper.tick()
  clock.at += 5 * MINUTE
  table.set('example.com/robots.txt', fileResponse(STRICT))
  const passed = clock.at
  clock.at += 500
  const before = asked.length
  keeper.reportServedFile('example.com', '/robots.txt', passed)
  await keeper.tick()
  await eventually(() => keeper.files('example.com')?.robots.versions.length === 2)
  t.equal(asked.length, before + 1, 'only the file that passed')
  t.equal(allowed(keeper, '/docs', passed), false)
  t.equal(allowed(keeper, '/docs', passed - 1), true)

  // A file that is another for each who asks.
  let n = 0
  table.set('example.com/robots.txt', (_req, res) => void res.end(`User-agent: *\nDisallow: /${n++}\n`))
  const start = asked.length
  for (let second = 0; second < 3_600; second++) {
    clock.at += 1_000
    keeper.reportServedFile('example.com', '/robots.txt', clock.at)
    await keeper.tick()
  }
  const robots = asked.slice(start).filter((one) => one.key.endsWith('robots.txt')).length
  t.ok(robots > 6 && robots < 30, `${robots} questions in an hour of changes each second`)
  for (const [host, path] of [
    ['nobody.example', '/robots.txt'],
    ['example.com', '/other.txt'],
  ] as const)
    keeper.reportServedFile(host, path, clock.at)
})

t.test('200 versions of a file are kept, in memory and in the records', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  const before = await open()
  const body = "'User-agent: *\nDisallow: /' || i || '\n'"
  await before.records.write(storedBefore(200, clock.at, { hostname: "'example.com'", body }))
  await before.end()
  const { keeper, records } = await open()
  for (let n = 200; n < 210; n++) {
    table.set('example.com/robots.txt', fileResponse(`User-agent: *\nDisallow: /${n}\n`))
    await keeper.tick()
    clock.at += 11 * MINUTE
  }
  t.equal(keeper.files('example.com')?.robots.versions.length, 200)
  const [row] = await records.query(sql`select count(*) as n, min(body) as least from policies where kind = 'robots'`)
  t.match(row, { n: 200, least: 'User-agent: *\nDisallow: /10\n' })
})

t.test(
  'redirects: five of them, at the origin as long as the host is the same, and never to a private address',
  async (t) => {
    for (const [to, expected, why] of [
      [{ '/robots.txt': 'https://example.com/robots.txt' }, { status: 301, allowed: true }, 'a loop is no file'],
      [{ '/robots.txt': '/r1', '/r1': 'https://example.com/r2' }, { status: 200, allowed: false }, 'within the host'],
      [
        { '/robots.txt': '/1', '/1': '/2', '/2': '/3', '/3': '/4', '/4': '/r2' },
        { status: 200, allowed: false },
        'five redirects',
      ],
      [
        { '/robots.txt': '/1', '/1': '/2', '/2': '/3', '/3': '/4', '/4': '/5', '/5': '/r2' },
        { status: 301, allowed: true },
        'six are too many: as if it were not there',
      ],
      [{ '/robots.txt': 'http://127.0.0.1/r2' }, { status: 0, allowed: null }, 'a private address'],
      [{ '/robots.txt': 'http://169.254.169.254/latest' }, { status: 0, allowed: null }, 'the metadata of a cloud'],
      [{ '/robots.txt': 'http://[::ffff:7f00:1]/r2' }, { status: 0, allowed: null }, 'the same in another form'],
      [{ '/robots.txt': 'http://no-such.example/r2' }, { status: 0, allowed: null }, 'a name without an address'],
      [{ '/robots.txt': 'file:///etc/passwd' }, { status: 0, allowed: null }, 'another scheme'],
    ] as const) {
      const { table, open, clock } = await setUpMonitor(t)
      for (const [path, location] of Object.entries(to))
        table.set(`example.com${path}`, statusResponse(301, { location }))
      table.set('example.com/r2', fileResponse('User-agent: *\nDisallow: /\n'))
      const { keeper } = await open()
      await keeper.tick()
      const version = keeper.files('example.com')?.robots.versions[0]
      t.equal(version?.status, expected.status, `${why}: ${version?.reason ?? ''}`)
      t.equal(allowed(keeper, '/x', clock.at), expected.allowed, why)
    }
  },
)

t.test('an origin that insists on HTTPS gets it said', async (t) => {
  const { table, open, clock } = await setUpMonitor(t)
  table.set('example.com/robots.txt', (req, res) => {
    if (req.headers['x-forwarded-proto'] === 'https') res.end('User-agent: *\nDisallow: /\n')
    else res.writeHead(301, { location: 'https://example.com/robots.txt' }).end()
  })
  const { keeper } = await open()
  await keeper.tick()
  t.equal(allowed(keeper, '/x', clock.at), false)
})

t.test('answers by status', async (t) => {
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
  const { keeper } = await open()
  await keeper.tick()
  for (const [code, expected] of rows) t.equal(allowed(keeper, '/x', clock.at, `s${code}.example`), expected, `${code}`)
})

t.test('hostile bodies end in bounded time and memory', { timeout: 60_000 }, async (t) => {
  const bomb = gzipSync(Buffer.alloc(200 << 20, '#'), { level: 1 })
  const { table, open, clock } = await setUpMonitor(t, {
    domains: ['bomb.example', 'long.example', 'html.example', 'nul.example'],
  })
  const head = 'User-agent: *\nDisallow: /private\n'
  table.set('bomb.example/robots.txt', (_req, res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
  table.set('long.example/robots.txt', (_req, res) => void res.end(head + '# 2 MB\n'.repeat(300_000)))
  table.set('html.example/robots.txt', fileResponse('<!doctype html><title>Shop</title>', 'text/html'))
  table.set('nul.example/robots.txt', (_req, res) => {
    res.end(Buffer.concat([Buffer.from(head), Buffer.from([0, 0xff, 0xfe, 0, 0xc3]), Buffer.from('\nDisallow: /b\n')]))
  })
  const { keeper, records } = await open()
  const from = performance.now()
  await keeper.tick()
  t.ok(performance.now() - from < 10_000)
  t.equal(keeper.files('bomb.example')?.robots.versions[0]?.body?.length ?? 0, 512 * 1024)
  t.equal(keeper.files('bomb.example')?.robots.versions[0]?.truncated, true)
  t.equal(keeper.files('long.example')?.robots.versions[0]?.truncated, true)
  t.equal(allowed(keeper, '/private', clock.at, 'long.example'), false)
  t.equal(allowed(keeper, '/private', clock.at, 'html.example'), true)
  t.equal(allowed(keeper, '/private', clock.at, 'nul.example'), false)
  t.equal(allowed(keeper, '/b', clock.at, 'nul.example'), false)
  const stored = await records.query(sql`select hostname, length(body) as n from policies where kind = 'robots'
    order by hostname`)
  t.equal(stored.length, 4, 'and stored')
  t.equal(
    stored.find((row) => row.hostname === 'nul.example')?.n,
    keeper.files('nul.example')?.robots.versions[0]?.body?.length,
  )
})

t.test('a slow drip and silence end after ten seconds', { timeout: 60_000 }, async (t) => {
  const { table, open, clock } = await setUpMonitor(t, { domains: ['slow.example', 'silent.example'] })
  table.set('slow.example/robots.txt', (_req, res) => {
    res.writeHead(200)
    const drip = setInterval(() => res.write('#'), 200)
    res.on('close', () => clearInterval(drip))
  })
  table.set('silent.example/robots.txt', () => {})
  const { keeper } = await open()
  const from = performance.now()
  await keeper.tick()
  const took = performance.now() - from
  t.ok(took > 9_000 && took < 25_000, `${Math.round(took)} ms`)
  t.equal(allowed(keeper, '/x', clock.at, 'slow.example'), null)
  t.equal(allowed(keeper, '/x', clock.at, 'silent.example'), null)
})

t.test('an origin that is down is said to be, and found when it is up', async (t) => {
  const { open, clock, lines, server, table, port } = await setUpMonitor(t)
  server.close()
  await once(server, 'close')
  const { keeper } = await open()
  await keeper.tick()
  t.equal(allowed(keeper, '/x', clock.at), null)
  t.ok(lines.some((line) => line.startsWith('warn policy: example.com robots.txt: unreachable')))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  table.set('example.com/robots.txt', fileResponse(OPEN))
  clock.at += 31_000
  await keeper.tick()
  t.equal(allowed(keeper, '/private', clock.at), false)
})

t.test('without an origin nothing is asked and nothing judged', async (t) => {
  const { open, asked, clock } = await setUpMonitor(t, { deps: { originOutbound: undefined } })
  const { keeper } = await open()
  await keeper.tick()
  t.equal(allowed(keeper, '/', clock.at), null)
  t.same(asked, [])
})

t.test('records that fail cost no judgement, and are tried again', async (t) => {
  const { table, clock, open, lines } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(OPEN))
  const { keeper, records } = await open()
  await records.write(sql`alter table policies rename to elsewhere`)
  await keeper.tick()
  t.equal(allowed(keeper, '/private', clock.at), false)
  t.ok(lines.some((line) => line.startsWith('warn policy versions could not be stored')))
  await records.write(sql`alter table elsewhere rename to policies`)
  clock.at += 31_000
  await keeper.tick()
  t.match(await records.query(sql`select body from policies where kind = 'robots'`), [{ body: OPEN }])
})

t.test('a row costs microseconds', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(STRICT))
  const { keeper } = await open()
  await keeper.tick()
  const from = performance.now()
  for (let i = 0; i < 100_000; i++) keeper.judge.judge('example.com', GPTBOT, `/p/${i % 1_000}`, clock.at)
  const each = ((performance.now() - from) * 1_000) / 100_000
  t.comment(`${each.toFixed(2)} microseconds a row, repeated targets`)
  t.ok(each < 50)
})

async function eventually(holds: () => boolean): Promise<void> {
  for (let n = 0; n < 500 && !holds(); n++) await new Promise((resolve) => setTimeout(resolve, 10))
}
