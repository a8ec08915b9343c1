import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import type { PolicyMonitor } from '../../../src/agents/policy/policy-monitor.js'
import { raw, sql } from '../../../src/storage/sql.js'
import { fileResponse, setUpMonitor, statusResponse } from '../../fixtures/policy-monitor.js'

/**
 * Attacks on the policy monitor. A client can send any Host, and an origin, or a host that it redirects to, can send any
 * response.
 * - Made-up hostnames: each could cost two fetches from the origin, memory and stored versions, and could displace real
 *   hostnames. Unlisted hostnames are limited to 64 and admitted one per ten seconds; those with the fewest requests go
 *   first.
 * - Redirects into the operator's network: a redirect to another host goes through the guard, which refuses private
 *   addresses in every spelling. At most five redirects are followed.
 * - Bodies: gzip bombs, endless files, HTML and binary data are read up to 512 KiB.
 * - Time: an origin that sends a byte at a time, or nothing, is given up after ten seconds, and meanwhile delays no other
 *   hostname.
 */

const MINUTE = 60_000
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

t.test('made-up hostnames do not displace real ones', async (t) => {
  const { table, open, requests, clock } = await setUpMonitor(t, { domains: [] })
  table.set('a.example/robots.txt', fileResponse(OPEN))
  const { monitor, records } = await open()
  allowed(monitor, '/', clock.at, 'a.example')
  await monitor.tick()
  const storedVersions = async () => {
    const [row] = await records.query(sql`select count(*) as n from policies where hostname = 'a.example'`)
    return row?.n
  }
  t.equal(await storedVersions(), 2)
  // 290 at once, as if they had been fetched one by one.
  clock.at += 300_000
  await records.write(insertVersions(290, clock.at, { hostname: "'old-' || i || '.example'", body: "''" }))
  for (let i = 0; i < 10; i++) {
    clock.at += 10_000
    allowed(monitor, '/', clock.at, `slow-${i}.example`)
    allowed(monitor, '/', clock.at, 'a.example')
    await monitor.tick()
  }
  t.equal(await storedVersions(), 2, 'its versions stay stored although 300 others were stored later')
  const [stored] = await records.query(sql`select count(distinct hostname) as n from policies`)
  t.equal(stored?.n, 257, 'the oldest of the others were deleted')

  const before = requests.length
  for (let i = 0; i < 200; i++) {
    allowed(monitor, '/', clock.at, `loud-${i}.example`)
    monitor.reportServedFile(`loud-${i}.example`, '/robots.txt', clock.at)
    await monitor.tick()
    await sleep(5)
  }
  t.ok(
    requests.length - before <= 40,
    `a made-up hostname that requests robots.txt is not fetched at once: ${requests.length - before}`,
  )

  for (let i = 0; i < 5_000; i++) allowed(monitor, '/', clock.at, `flood-${i}.example`)
  table.set('b.example/robots.txt', fileResponse(STRICT))
  for (let i = 0; i < 5; i++) allowed(monitor, '/', clock.at, 'b.example')
  clock.at += MINUTE
  await monitor.tick()
  t.equal(allowed(monitor, '/docs', clock.at, 'b.example'), false, 'a real hostname does not wait for them')
})

t.test('follows five redirects, at the origin if the host is the same, and never to a private address', async (t) => {
  for (const [to, expected, why] of [
    [{ '/robots.txt': 'https://example.com/robots.txt' }, { status: 301, allowed: true }, 'a loop counts as no file'],
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
    const { monitor } = await open()
    await monitor.tick()
    const version = monitor.files('example.com')?.robots.versions[0]
    t.equal(version?.status, expected.status, `${why}: ${version?.reason ?? ''}`)
    t.equal(allowed(monitor, '/x', clock.at), expected.allowed, why)
  }
})

t.test('reads hostile bodies in bounded time and memory', { timeout: 300_000 }, async (t) => {
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
  const { monitor, records } = await open()
  const from = performance.now()
  await monitor.tick()
  t.ok(performance.now() - from < 10_000)
  t.equal(monitor.files('bomb.example')?.robots.versions[0]?.body?.length ?? 0, 512 * 1024)
  t.equal(monitor.files('bomb.example')?.robots.versions[0]?.truncated, true)
  t.equal(monitor.files('long.example')?.robots.versions[0]?.truncated, true)
  t.equal(allowed(monitor, '/private', clock.at, 'long.example'), false)
  t.equal(allowed(monitor, '/private', clock.at, 'html.example'), true)
  t.equal(allowed(monitor, '/private', clock.at, 'nul.example'), false)
  t.equal(allowed(monitor, '/b', clock.at, 'nul.example'), false)
  const stored = await records.query(sql`select hostname, length(body) as n from policies where kind = 'robots'
    order by hostname`)
  t.equal(stored.length, 4, 'all are stored')
  t.equal(
    stored.find((row) => row.hostname === 'nul.example')?.n,
    monitor.files('nul.example')?.robots.versions[0]?.body?.length,
  )
})

t.test('gives up after ten seconds if the origin sends slowly or not at all', { timeout: 300_000 }, async (t) => {
  const { table, open, clock } = await setUpMonitor(t, { domains: ['slow.example', 'silent.example'] })
  table.set('slow.example/robots.txt', (_req, res) => {
    res.writeHead(200)
    const drip = setInterval(() => res.write('#'), 200)
    res.on('close', () => clearInterval(drip))
  })
  table.set('silent.example/robots.txt', () => {})
  const { monitor } = await open()
  const from = performance.now()
  await monitor.tick()
  const took = performance.now() - from
  t.ok(took > 9_000 && took < 25_000, `${Math.round(took)} ms`)
  t.equal(allowed(monitor, '/x', clock.at, 'slow.example'), null)
  t.equal(allowed(monitor, '/x', clock.at, 'silent.example'), null)
})

t.test('a host that sends a byte a second delays no other host', { timeout: 300_000 }, async (t) => {
  const { table, open, clock } = await setUpMonitor(t, { domains: ['listed.example'] })
  for (const hostname of ['drip-1.example', 'drip-2.example'])
    for (const path of ['/robots.txt', '/llms.txt'])
      table.set(`${hostname}${path}`, (_req, res) => {
        res.writeHead(200)
        const drip = setInterval(() => res.write('#'), 1_000)
        res.on('close', () => clearInterval(drip))
      })
  for (const hostname of ['listed.example', 'other.example']) table.set(`${hostname}/robots.txt`, fileResponse(OPEN))
  const { monitor } = await open()
  const versionsOf = (hostname: string) => monitor.files(hostname)?.robots.versions.length ?? 0
  const drips = () => versionsOf('drip-1.example') + versionsOf('drip-2.example')
  const reached = async (count: number) => {
    while (drips() === 0 && (versionsOf('listed.example') < count || versionsOf('other.example') < count))
      await sleep(10)
    return [versionsOf('listed.example'), versionsOf('other.example'), drips()]
  }
  // The slow hosts have the most requests, so they come first.
  for (const hostname of ['drip-1.example', 'drip-2.example', 'drip-1.example', 'drip-2.example', 'other.example'])
    allowed(monitor, '/', clock.at, hostname)
  const first = monitor.tick()
  t.same(await reached(1), [1, 1, 0], 'both others are known while both slow hosts still send')
  for (const hostname of ['listed.example', 'other.example']) table.set(`${hostname}/robots.txt`, fileResponse(STRICT))
  clock.at += 11 * MINUTE
  const second = monitor.tick()
  t.same(await reached(2), [2, 2, 0], 'so is a change of theirs')
  await Promise.all([first, second])
  t.equal(monitor.files('drip-1.example')?.robots.versions[0]?.status, 0, 'a slow host is given up')
})
