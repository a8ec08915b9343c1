import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Catalog, loadCatalog, parseCatalog } from '../../src/agents/catalog.js'
import { isHelpPage } from '../../src/agents/ranges/formats.js'
import { openListCache } from '../../src/agents/ranges/list-cache.js'
import { createRanges, type RangesDeps } from '../../src/agents/ranges/ranges.js'
import { listsOfAgent, sourcesOfCatalog } from '../../src/agents/ranges/sources.js'
import { parseAddress } from '../../src/base/address.js'
import { createOutbound } from '../../src/base/outbound/guarded-outbound.js'
import { directory } from '../fixtures/files.js'

const DAY = 86_400_000
const addressOf = (ip: string) => {
  const address = parseAddress(ip)
  if (!address) throw new Error(`${ip} is not an address`)
  return address
}

/** Creates a catalog of a few agents whose lists are on a local server. */
function catalogOf(base: string): Catalog {
  const entry = (id: string, more: Record<string, unknown>) => ({
    id,
    name: id,
    operator: id,
    purpose: 'search',
    ua_tokens: [id],
    ua_match: 'token',
    robots_only: false,
    honors_wildcard_group: true,
    respects_robots: 'unknown',
    client_side: false,
    status: 'active',
    ...more,
  })
  const one = { ranges_url: `${base}/one.json`, ranges_format: 'prefixes-json' }
  return parseCatalog(
    JSON.stringify({
      meta: { generated: '2026-11-21' },
      agents: [
        entry('alpha', one),
        entry('beta', one),
        entry('gamma', {
          ranges_url: `${base}/v4`,
          ranges_format: 'cidr-lines',
          ranges_extra: [{ url: `${base}/v6`, format: 'cidr-lines' }],
        }),
        entry('delta', { ranges_url: `${base}/help`, ranges_format: 'help-page-ips' }),
        entry('epsilon', { ...one, client_side: true }),
        entry('zeta', {}),
      ],
    }),
  )
}

async function setUpLists(t: Test) {
  const bodies = new Map<string, { body: string; etag?: string; status?: number }>()
  const requests: IncomingMessage[] = []
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    requests.push(req)
    const found = bodies.get(req.url ?? '')
    if (!found) res.writeHead(404).end()
    else if (found.etag !== undefined && req.headers['if-none-match'] === found.etag) res.writeHead(304).end()
    else res.writeHead(found.status ?? 200, found.etag === undefined ? {} : { etag: found.etag }).end(found.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const base = `http://lists.test:${(server.address() as AddressInfo).port}`
  const data = directory(t)
  const clock = { now: Date.parse('2026-11-21T12:00:00Z') }
  const logged: string[] = []
  const catalog = catalogOf(base)
  const open = (deps: Partial<RangesDeps> = {}) =>
    createRanges({
      catalog,
      outbound: createOutbound({
        resolve: async () => ['127.0.0.1'],
        offline: deps.offline ?? false,
        version: '1',
        allow: { address: () => true, port: () => true },
      }),
      cache: openListCache(join(data, 'agents')),
      localPaths: [],
      offline: false,
      now: () => clock.now,
      random: () => 0.5,
      log: (_level, message) => logged.push(message),
      ...deps,
    })
  const lookUp = (ranges: ReturnType<typeof open>, id: string, ip: string, at = clock.now) => {
    const agent = catalog.get(id)
    return agent && ranges.lookUp(agent, addressOf(ip), at)
  }
  const paths = () =>
    requests
      .splice(0)
      .map(({ url, headers }) => `${url}${headers['if-none-match'] ? ' again' : ''}`)
      .sort()
  return { bodies, base, data, clock, logged, catalog, open, lookUp, paths }
}
const google = (...prefixes: string[]) =>
  JSON.stringify({ prefixes: prefixes.map((one) => (one.includes(':') ? { ipv6Prefix: one } : { ipv4Prefix: one })) })
const settled = async (done: () => boolean) => {
  for (let wait = 0; wait < 300 && !done(); wait++) await new Promise((resolve) => setTimeout(resolve, 10))
}

t.test('fetches each list once, caches it, and renews it with its ETag', async (t) => {
  const { bodies, base, data, clock, open, lookUp, paths, logged, catalog } = await setUpLists(t)
  bodies.set('/one.json', { body: google('1.2.3.0/24', '2600::/32'), etag: '"1"' })
  bodies.set('/v4', { body: '5.5.0.0/16\n' })
  bodies.set('/v6', { body: '2a03::/32\n' })
  bodies.set('/help', { body: '<p>from 7.7.7.7</p>' })
  const ranges = open()
  t.equal(lookUp(ranges, 'alpha', '1.2.3.4'), 'unknown', 'no list is known yet')
  t.same(ranges.status(), [])
  const told = await ranges.refresh()
  t.same(
    told
      .map(({ agents, source, status, count }) => [agents.join(' '), source.slice(base.length), status, count])
      .sort(),
    [
      ['alpha beta', '/one.json', 'updated', 2],
      ['delta', '/help', 'updated', 1],
      ['gamma', '/v4', 'updated', 1],
      ['gamma', '/v6', 'updated', 1],
    ],
  )
  t.same(paths(), ['/help', '/one.json', '/v4', '/v6'], 'a list of two agents is fetched once')
  const rows: readonly [string, string, string][] = [
    ['alpha', '1.2.3.255', 'inside'],
    ['beta', '2600::1', 'inside'],
    ['alpha', '1.2.4.0', 'outside'],
    ['gamma', '5.5.5.5', 'inside'],
    ['gamma', '2a03::1', 'inside'],
    ['gamma', '1.2.3.4', 'outside'],
    ['delta', '7.7.7.7', 'inside'],
    ['delta', '7.7.7.8', 'silent'],
    ['epsilon', '1.2.3.4', 'none'],
    ['zeta', '1.2.3.4', 'none'],
  ]
  for (const [id, ip, expected] of rows) t.equal(lookUp(ranges, id, ip), expected, `${id} ${ip}`)
  t.same(ranges.status()[0], {
    agent_id: 'alpha',
    count: 2,
    refreshed_at: '2026-11-21T12:00:00.000Z',
    source: `${base}/one.json`,
    stale: false,
  })
  t.match(ranges.status()[2], { agent_id: 'gamma', count: 2, source: `${base}/v4 ${base}/v6` })

  clock.now += DAY * 0.5
  ranges.tick()
  t.same(paths(), [], 'no list is due within a day')
  clock.now += DAY * 0.6
  ranges.tick()
  await settled(() => ranges.status().every(({ refreshed_at }) => refreshed_at.startsWith('2026-11-22')))
  t.same(paths(), ['/help', '/one.json again', '/v4', '/v6'])
  t.equal(ranges.status()[0]?.refreshed_at, new Date(clock.now).toISOString(), 'a 304 response makes it fresh')
  for (const [id, ip, list] of [
    ['alpha', '1.2.3.4', '/one.json'],
    ['gamma', '2a03::1', '/v6'],
    ['gamma', '1.2.3.4', undefined],
  ] as const) {
    const agent = catalog.get(id)
    const expected = list && { source: `${base}${list}`, at: clock.now }
    t.same(
      agent && ranges.confirmingList(agent, addressOf(ip), clock.now),
      expected,
      `the list that confirms ${id} ${ip}`,
    )
  }

  await settled(() => JSON.stringify(open().status()) === JSON.stringify(ranges.status()))
  const again = open({ offline: true })
  t.equal(lookUp(again, 'alpha', '1.2.3.4'), 'inside', 'the next start reads the cache')
  t.same(again.status(), ranges.status(), 'with the date of the 304')
  again.tick()
  t.same(
    (await again.refresh()).map(({ status, count }) => [status, count]),
    [
      ['offline', 2],
      ['offline', 1],
      ['offline', 1],
      ['offline', 1],
    ],
  )
  t.same(paths(), [], 'nothing is requested offline')
  const next = open()
  clock.now += DAY * 1.2
  await next.refresh()
  t.ok(paths().includes('/one.json again'), 'the ETag is cached on disk')

  const files = readdirSync(join(data, 'agents'))
  t.equal(files.length, 4)
  t.notOk(
    files.some((name) => name.endsWith('.new')),
    'no partial file is left',
  )
  for (const name of files)
    writeFileSync(join(data, 'agents', name), readFileSync(join(data, 'agents', name), 'utf8').slice(0, 40))
  t.same(open().status(), [], 'a truncated file is ignored')
  t.same(logged, [])
})

t.test('uses the last good copy of a list, which refutes no address once it is stale', async (t) => {
  const { bodies, clock, open, lookUp, paths, logged, base } = await setUpLists(t)
  const good = google('1.2.3.0/24', '1.2.4.0/24')
  bodies.set('/one.json', { body: good })
  const ranges = open()
  await ranges.refresh()
  paths()
  const first = ranges.status()[0]
  const wrong: readonly [{ body: string; status?: number }, RegExp][] = [
    [{ body: google() }, /no address/],
    [{ body: google('0.0.0.0/0') }, /wider/],
    [{ body: google('1.2.3.0/24', '::/0') }, /wider/],
    [{ body: '<html>maintenance</html>' }, /not JSON/],
    [{ body: good, status: 500 }, /answered 500/],
    [{ body: good, status: 403 }, /answered 403/],
    [{ body: good, status: 206 }, /answered 206/],
    [{ body: `${good}${' '.repeat(9_000_000)}` }, /larger than/],
  ]
  clock.now += DAY
  for (const [body, error] of wrong) {
    bodies.set('/one.json', body)
    const told = (await ranges.refresh()).find(({ source }) => source.endsWith('/one.json'))
    t.match(told, { status: 'failed', count: 2, error, refreshed_at: first?.refreshed_at ?? '' }, String(error))
    t.match(told?.error, base, 'the error names the URL')
    t.equal(lookUp(ranges, 'alpha', '1.2.4.4'), 'inside', 'the last good copy is used')
    t.equal(lookUp(ranges, 'alpha', '9.9.9.9'), 'outside')
  }
  t.same(ranges.status()[0], first)
  t.same(open().status()[0], first, 'also on disk')

  clock.now = Date.parse(first?.refreshed_at ?? '') + 7 * DAY
  t.equal(lookUp(ranges, 'alpha', '9.9.9.9'), 'outside', 'fresh for a week')
  clock.now += 1
  t.equal(lookUp(ranges, 'alpha', '9.9.9.9'), 'unknown', 'and not longer')
  t.equal(lookUp(ranges, 'alpha', '1.2.3.4'), 'unknown', 'a stale list does not confirm either')
  t.equal(ranges.status()[0]?.stale, true)
  t.equal(
    lookUp(ranges, 'alpha', '9.9.9.9', clock.now - 15 * DAY),
    'unknown',
    'a list does not refute a request from long before it',
  )
  t.equal(lookUp(ranges, 'alpha', '1.2.3.4', clock.now - 15 * DAY), 'inside', 'but it confirms one')

  bodies.set('/one.json', { body: google('1.2.3.0/24') })
  await ranges.refresh()
  t.equal(lookUp(ranges, 'alpha', '1.2.4.4'), 'outside', 'a list may shrink')
  bodies.set('/v4', { body: '5.5.0.0/16' })
  await ranges.refresh()
  t.equal(lookUp(ranges, 'gamma', '5.5.0.1'), 'inside', 'one of its lists confirms')
  t.equal(lookUp(ranges, 'gamma', '6.6.6.6'), 'unknown', 'one of its lists does not refute')
  t.equal(ranges.status().find(({ agent_id }) => agent_id === 'gamma')?.stale, true)
  t.same(logged, [], 'failures of a refresh are in its results, not in the log')
})

t.test('retries a failed list after minutes, then hours, and logs it once', async (t) => {
  const { clock, open, paths, logged, bodies } = await setUpLists(t)
  const ranges = open()
  ranges.tick()
  t.same(paths(), [], 'a short command fetches nothing')
  clock.now += 16_000
  const times: number[] = []
  const start = clock.now
  for (let minute = 0; minute < 24 * 60; minute += 1) {
    ranges.tick()
    await new Promise((resolve) => setImmediate(resolve))
    if (minute < 60 || minute % 60 === 0) await new Promise((resolve) => setTimeout(resolve, minute < 20 ? 10 : 1))
    if (paths().includes('/one.json')) times.push((clock.now - start) / 60_000)
    clock.now += 60_000
  }
  t.ok(times.length >= 5 && times.length <= 12, `tried ${times.length} times in a day: ${times.join(' ')}`)
  const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0))
  t.ok((gaps.at(-1) ?? 0) > (gaps[0] ?? 0) * 10, 'at growing intervals')
  t.equal(logged.length, 1, logged.join('\n'))
  t.match(logged[0], /lists that cannot be fetched: 4;.*404/)
  bodies.set('/one.json', { body: google('1.2.3.0/24') })
  // The clock was a year ahead and is corrected.
  clock.now -= 365 * DAY
  ranges.tick()
  await settled(() => ranges.status().length > 0)
  t.equal(ranges.status()[0]?.agent_id, 'alpha')
})

t.test('uses local files of --ranges before published lists', async (t) => {
  const { bodies, base, clock, open, lookUp, paths, data, catalog, logged } = await setUpLists(t)
  bodies.set('/one.json', { body: google('9.9.9.0/24') })
  const folder = join(data, 'own')
  mkdirSync(folder)
  const put = (name: string, text: string, age = 0) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    const at = new Date(clock.now - age)
    utimesSync(file, at, at)
    return file
  }
  const alpha = put('alpha.txt', '1.1.1.0/24\n')
  put('one.json', google('2.2.2.0/24'), DAY)
  put('v6', '2a03::/32')
  put('README.md', 'a text file')
  put('.DS_Store', 'x')
  mkdirSync(join(folder, 'old'))
  const ranges = open({ localPaths: [folder] })
  t.equal(lookUp(ranges, 'alpha', '1.1.1.1'), 'inside', "by the agent's id, as lines although published as JSON")
  t.equal(lookUp(ranges, 'alpha', '2.2.2.2'), 'outside', 'the file replaces all lists of the agent')
  t.equal(lookUp(ranges, 'beta', '2.2.2.2'), 'inside', "by the URL's last part")
  t.equal(lookUp(ranges, 'gamma', '2a03::1'), 'inside', 'one of two lists')
  t.equal(lookUp(ranges, 'gamma', '3.3.3.3'), 'unknown', 'the other list is not known yet')
  t.same(logged, [`ranges: ${join(folder, 'README.md')} is named after no agent and no published list`])
  t.match(ranges.status().slice(0, 2), [
    { agent_id: 'alpha', source: alpha, refreshed_at: new Date(clock.now).toISOString() },
    { agent_id: 'beta', source: join(folder, 'one.json'), refreshed_at: new Date(clock.now - DAY).toISOString() },
  ])
  const told = await ranges.refresh()
  t.same(paths(), ['/help', '/v4'], 'lists with a local file are not fetched')
  t.same(
    told
      .filter(({ status }) => status === 'file')
      .map(({ agents, source }) => [agents.join(' '), source])
      .sort(),
    [
      ['alpha', alpha],
      ['beta', join(folder, 'one.json')],
      ['gamma', join(folder, 'v6')],
    ],
  )
  put('alpha.txt', '4.4.4.0/24', 8 * DAY)
  await ranges.refresh()
  t.equal(lookUp(ranges, 'alpha', '4.4.4.4'), 'inside', 'the file is read again; a stale local file still confirms')
  t.equal(lookUp(ranges, 'alpha', '1.1.1.1'), 'unknown', 'but does not refute')
  put('alpha.txt', 'nonsense')
  t.match((await ranges.refresh())[0], { status: 'failed', source: folder, error: /alpha\.txt/ })
  t.equal(lookUp(ranges, 'alpha', '4.4.4.4'), 'inside', 'the previous copy of an unusable file stays in use')
  put('alpha.txt', '1.1.1.0/24')

  const wrong: readonly [string, string, RegExp][] = [
    ['nobody.json', '["1.2.3.4"]', /nobody\.json is named after no agent and no published list/],
    ['epsilon.json', '["1.2.3.4"]', /epsilon\.json is named after no agent/],
    ['beta.json', '{"prefixes":[]}', /beta\.json has no address/],
    ['beta.json', google('0.0.0.0/0'), /beta\.json has "0\.0\.0\.0\/0", which is wider/],
    ['beta.json', 'x', /beta\.json is not JSON/],
    ['help', 'nothing here', /help has no address/],
  ]
  for (const [name, text, error] of wrong) {
    t.throws(() => open({ localPaths: [put(name, text)] }), { message: error }, `${name}: ${error}`)
  }
  t.throws(() => open({ localPaths: [join(folder, 'missing.json')] }), {
    message: /missing\.json cannot be read \(ENOENT\)/,
  })
  t.throws(() => open({ localPaths: ['/dev/null'] }), { message: /null is named after no agent/ })
  put('beta.json', google('8.8.8.0/24'))
  t.throws(() => open({ localPaths: [alpha, put('alpha.json', google('8.8.8.0/24'))] }), {
    message: /both hold the addresses of alpha/,
  })
  const real = loadCatalog()
  const names = real.agents
    .flatMap(listsOfAgent)
    .map(({ url }) => new URL(url).pathname.split('/').filter(Boolean).at(-1) ?? '')
  t.ok(names.includes('common-crawlers.json'))
  const ambiguous = put('ip-ranges.json', '["1.2.3.4"]')
  t.throws(() => open({ catalog: real, localPaths: [ambiguous] }), {
    message: /could be https.* or https.*name it after an agent/,
  })
  t.equal(sourcesOfCatalog(catalog).length, 4)
  t.ok(sourcesOfCatalog(real).length > 50, `${sourcesOfCatalog(real).length} lists in the catalog`)
  t.ok(isHelpPage('html-or-js-page') && !isHelpPage('prefixes-json'))
  t.ok(base)
})
