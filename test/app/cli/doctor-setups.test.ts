import { chmodSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, type OutgoingHttpHeaders } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { z } from 'zod'
import type { InstanceStatus } from '../../../src/api/instance-status.js'
import { listenControl, socketPath } from '../../../src/api/server.js'
import { command } from '../../fixtures/command.js'
import { dataDir, freePort } from '../../fixtures/instance.js'

const TLS = 'test/site/proxy/fixtures/tls/first'
const Findings = z.array(
  z.object({ check: z.string(), state: z.string(), says: z.string(), mend: z.string().optional() }),
)

/** Runs `doctor` and returns its exit code and the findings that are not good. */
async function examine(...args: string[]) {
  const { code, stdout } = await command('doctor', '--json', ...args)
  return { code, findings: Findings.parse(JSON.parse(stdout)).filter(({ state }) => state !== 'ok') }
}

/** A site whose first page has these headers; without a robots.txt it responds to that with HTML. */
async function startSite(
  t: Test,
  headers: OutgoingHttpHeaders = { 'content-type': 'text/html', 'cache-control': 'no-cache' },
  { status = 200, robots = 'text/plain', secure = false, date = undefined as string | undefined } = {},
): Promise<string> {
  const answer = (path: string | undefined) =>
    path === '/robots.txt' ? { status: 200, headers: { 'content-type': robots } } : { status, headers }
  const listener: Parameters<typeof createServer>[1] = (req, res) => {
    const { status, headers } = answer(req.url)
    res.writeHead(status, { ...headers, ...(date !== undefined && { date }) })
    res.end('User-agent: *\nDisallow:\n')
  }
  const server = secure
    ? createTlsServer({ cert: readFileSync(`${TLS}.cert.pem`), key: readFileSync(`${TLS}.key.pem`) }, listener)
    : createServer(listener)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `${secure ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The flags of a set-up without a fault: a site, free ports, a list of addresses. */
async function goodFlags(t: Test, site?: string): Promise<string[]> {
  const data = dataDir(t)
  mkdirSync(data, { mode: 0o700 })
  const ranges = join(data, '..', 'ranges')
  mkdirSync(ranges)
  writeFileSync(join(ranges, 'gptbot.json'), JSON.stringify({ prefixes: [{ ipv4Prefix: '20.0.0.0/24' }] }))
  return [
    site ?? (await startSite(t)),
    ...['--data', data, '--offline', '--ranges', ranges, '--min-free-disk', '1'],
    ...['--port', `${await freePort()}`, '--admin-port', `${await freePort()}`],
  ]
}
const dataOf = (flags: readonly string[]) => flags[flags.indexOf('--data') + 1] ?? ''

t.test('a good set-up has no finding', async (t) => {
  t.same(await examine(...(await goodFlags(t))), { code: 0, findings: [] })
})

type SetUp = (t: Test) => Promise<string[]>
const flags =
  (...more: string[]): SetUp =>
  async (t) => [...(await goodFlags(t)), ...more]
const site =
  (...given: Parameters<typeof startSite> extends [Test, ...infer R] ? R : never): SetUp =>
  async (t) =>
    goodFlags(t, await startSite(t, ...given))
const html = { 'content-type': 'text/html' }
const inData =
  (change: (data: string) => void): SetUp =>
  async (t) => {
    const flags = await goodFlags(t)
    change(dataOf(flags))
    return flags
  }
const file = (t: Test, name: string, text: string, mode = 0o600): string => {
  const path = join(t.testdir(), name)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

// Long because it is the table of broken set-ups.
t.test('each broken set-up is found, and its mend is named', async (t) => {
  const busy = new URL(await startSite(t)).port
  const rows: [setUp: SetUp, state: string, check: string, says: RegExp, mend: RegExp, why: string][] = [
    [
      async (t) => {
        const flags = await goodFlags(t)
        writeFileSync(join(dataOf(flags), 'plain'), '')
        return [...flags, '--data', join(dataOf(flags), 'plain', 'data')]
      },
      ...([
        'fail',
        'data directory',
        /not writable \(E/,
        /choose another directory with --data/,
        'a file in the way',
      ] as const),
    ],
    [
      inData((data) => writeFileSync(join(data, 'events.duckdb'), '')),
      ...([
        'fail',
        'stored data',
        /control\.duckdb is missing/,
        /from a backup before you start/,
        'half of a store',
      ] as const),
    ],
    [
      inData((data) => {
        writeFileSync(join(data, 'salts.json'), '{}')
        chmodSync(join(data, 'salts.json'), 0o644)
        chmodSync(data, 0o755)
      }),
      ...([
        'warn',
        'permissions',
        /may read salts\.json: salts of visitor ids$/,
        /^chmod -R go-rwx /,
        'secrets that others can read',
      ] as const),
    ],
    [
      inData((data) => chmodSync(data, 0o770)),
      ...(['fail', 'permissions', /may replace files/, /^chmod 700 /, 'a directory that others can write'] as const),
    ],
    [
      inData((data) => {
        writeFileSync(join(data, 'events.duckdb.wal'), '', { mode: 0o600 })
        truncateSync(join(data, 'events.duckdb.wal'), 300_000_000)
      }),
      ...([
        'warn',
        'log of the store',
        /has 300\.0 MB: its checkpoints fail/,
        /restart readership/,
        'a long log',
      ] as const),
    ],
    [
      flags('--min-free-disk', '900TB'),
      ...(['fail', 'disk', /below 900\.0 TB rows are not stored/, /Free space on the disk/, 'a full disk'] as const),
    ],
    [
      async (t) => [...(await goodFlags(t)), '--backup-dir', t.testdir()],
      ...(['warn', 'backups', /^none in /, /Keep readership running with --backup-dir/, 'no backup yet'] as const),
    ],
    [
      flags('--backup-dir', '/does/not/exist'),
      ...(['fail', 'backups', /exist cannot be used \(ENOENT\)/, /mount its disk/, 'no place for backups'] as const),
    ],
    [
      flags('--memory-limit', '900TB'),
      ...([
        'warn',
        'memory',
        /the store may take 900\.0 TB/,
        /Remove --memory-limit/,
        'more memory than there is',
      ] as const),
    ],
    [
      async (t) => [
        ...(await goodFlags(t)),
        ...['--tls-cert', `${TLS}.cert.pem`, '--tls-key', file(t, 'key.pem', 'x', 0o644)],
      ],
      ...([
        'fail',
        'key file',
        /other users may read .*key\.pem/,
        /^chmod 600 /,
        'a private key for everyone',
      ] as const),
    ],
    [
      async (t) => [...(await goodFlags(t)), ...['--tls-cert', '/no/cert.pem', '--tls-key', file(t, 'key.pem', 'x')]],
      ...([
        'fail',
        'certificate',
        /cert\.pem cannot be used \(ENOENT\)/,
        /Correct --tls-cert/,
        'no certificate',
      ] as const),
    ],
    [
      flags('--port', busy),
      ...([
        'fail',
        'port',
        /is in use by another program/,
        /Choose another one with --port/,
        'a port that is taken',
      ] as const),
    ],
    [
      flags('--trust-proxy', '0.0.0.0/0'),
      ...([
        'fail',
        'client addresses',
        /any client can claim any address/,
        /Name only your own/,
        'trust in everyone',
      ] as const),
    ],
    [
      flags('--admin-host', '0.0.0.0'),
      ...([
        'warn',
        'service',
        /open to other machines without HTTPS/,
        /--admin-host 127\.0\.0\.1/,
        'a service for all',
      ] as const),
    ],
    [
      flags('--expose', 'api'),
      ...([
        'warn',
        'dashboard',
        /open to other machines without HTTPS/,
        /--tls-cert/,
        'a dashboard in clear text',
      ] as const),
    ],
    [
      async (t) => goodFlags(t, `http://127.0.0.1:${await freePort()}`),
      ...(['fail', 'origin', /does not respond \(ECONNREFUSED\)/, /Start the site/, 'a site that is down'] as const),
    ],
    [site(html, { status: 503 }), 'fail', 'origin', /responds with 503/, /look at its log/, 'a site that fails'],
    [
      site(html, { date: 'Sat, 01 Jan 2000 00:00:00 GMT' }),
      ...(['warn', 'clock', /differs by .* from the origin's/, /NTP/, 'a clock that is wrong'] as const),
    ],
    [
      site(html, { robots: 'text/html' }),
      ...(['warn', 'robots.txt', /is served as text\/html/, /text\/plain/, 'an error page for robots.txt'] as const),
    ],
    [
      site({ ...html, 'cache-control': 'public, max-age=600' }),
      ...([
        'warn',
        'pages',
        /for 10 m 0 s .*never reach the proxy/,
        /no-cache with pages.*--inject/,
        'cached pages',
      ] as const),
    ],
    [site({}), 'warn', 'pages', /has no Content-Type/, /Send Content-Type: text\/html/, 'pages without a type'],
    [
      async (t) => [...(await site({ ...html, 'cache-control': 'no-transform' })(t)), '--inject'],
      ...([
        'warn',
        'pages',
        /no-transform: the tracker is not added/,
        /Remove no-transform/,
        'pages that stay as they are',
      ] as const),
    ],
    [
      async (t) => [...(await site({ ...html, 'content-security-policy': "script-src 'none'" })(t)), '--inject'],
      ...(['warn', 'pages', /Content-Security-Policy .* blocks the tracker/, /'self'/, 'a strict policy'] as const),
    ],
    [
      site(html, { secure: true }),
      ...(['fail', 'certificate', /not accepted \(.*SELF_SIGNED/, /NODE_EXTRA_CA_CERTS/, 'an own authority'] as const),
    ],
    [
      async (t) => [...(await goodFlags(t)), '--geoip', file(t, 'a.mmdb', 'no database')],
      ...(['fail', 'geo data', /mmdb .* not an MMDB/, /Correct or remove --geoip/, 'no file of places'] as const),
    ],
    [
      async (t) => [...(await goodFlags(t)), '--ranges', file(t, 'unknown.json', '[]')],
      ...([
        'fail',
        'published addresses',
        /unknown\.json/,
        /Correct or remove --ranges/,
        'a list of no agent',
      ] as const),
    ],
    [
      async (t) => [...(await goodFlags(t)).filter((flag, i, all) => flag !== '--ranges' && all[i - 1] !== '--ranges')],
      ...(['warn', 'published addresses', /none: claims of agents stay/, /--ranges/, 'no lists, and offline'] as const),
    ],
  ]
  for (const [setUp, state, check, says, mend, why] of rows)
    await t.test(why, async (t) => {
      const { code, findings } = await examine(...(await setUp(t)))
      const found = findings.find((one) => one.check === check)
      t.match(found, { state, says, mend }, JSON.stringify(findings))
      t.equal(code, findings.some((one) => one.state === 'fail') ? 1 : 0, 'the exit code')
      t.equal(findings.filter((one) => one.check !== check && one.check !== 'origin').length, 0, 'and nothing else')
    })
})

t.test('what a running instance says of itself', async (t) => {
  const status = (more: Partial<InstanceStatus>): InstanceStatus => ({
    ...{ version: '1', started_at: '2026-01-01T00:00:00Z', now: '2026-01-01T00:00:00Z' },
    store: { state: 'ready' },
    rows: { stored: 0, waiting: 0, dropped: {} },
    memory: { site_bytes: 1 },
    data: { directory: '/', files: [], free_bytes: 1 },
    settings: { trust_proxy: ['loopback'], inject: false },
    ...more,
  })
  const site = await startSite(t)
  const counts = (addresses: Record<string, number>, ignored_peer?: string): Partial<InstanceStatus> => ({
    listeners: { site, service: site },
    requests: { active: 0, statuses: {}, failures: {}, addresses, ...(ignored_peer && { ignored_peer }) },
  })
  const rows: [Partial<InstanceStatus>, Record<string, unknown> | undefined, string][] = [
    [counts({ forwarded: 90, direct: 3 }), undefined, 'a proxy in front that names its clients'],
    [
      counts({ ignored: 40, direct: 2 }, '172.17.0.1'),
      {
        check: 'client addresses',
        says: /^40 of 42 requests .* from 172\.17\.0\.1, and only loopback/,
        mend: /--trust-proxy 172\.17\.0\.1/,
      },
      'a proxy that is not trusted',
    ],
    [
      counts({ ignored: 40, direct: 2 }),
      { check: 'client addresses', says: /^40 of 42 .* public addresses/, mend: /CDN/ },
      'a CDN that is not trusted',
    ],
    [counts({ ignored: 4, direct: 400 }), undefined, 'a few clients that make the header up'],
    [
      counts({ unnamed: 40 }),
      { check: 'client addresses', says: /^40 of 40 requests come from a trusted proxy/, mend: /proxy_set_header/ },
      'a proxy that names no client',
    ],
    [
      { listeners: { service: `http://127.0.0.1:${await freePort()}` } },
      { check: 'listener', says: /does not respond on this machine \(ECONNREFUSED\)/, mend: /log of the instance/ },
      'a listener that is gone',
    ],
    [
      { store: { state: 'degraded', reason: 'no disk' } },
      { check: 'instance', says: /degraded: no disk/, mend: /no rows are stored/ },
      'a store that stands',
    ],
    [
      { rows: { stored: 4, waiting: 0, dropped: { unknown_host: 30 } } },
      {
        check: 'hostnames',
        says: /^30 requests named a hostname of no site, and 4 rows/,
        mend: /sites update 1 --domain/,
      },
      'a site whose hostname is another one',
    ],
    [
      { rows: { stored: 400, waiting: 0, dropped: { unknown_host: 30 } } },
      undefined,
      'a few requests to the bare address',
    ],
    [
      { collector: site, store: { state: 'ready', trouble: '401' } },
      { check: 'instance', says: /accepts no rows: 401/, mend: /wait on disk/ },
      'a collector that refuses',
    ],
    [
      { collector: `http://127.0.0.1:${await freePort()}` },
      { check: 'collector', says: /does not respond \(ECONNREFUSED\): rows wait/, mend: /Start the collector/ },
      'a collector that is away',
    ],
  ]
  for (const [facts, expected, why] of rows) {
    const flags = await goodFlags(t, site)
    const control = await listenControl(
      async ({ url }) =>
        Response.json({
          data: url.endsWith('/status')
            ? status(facts)
            : url.endsWith('/store')
              ? { losses: [] }
              : [{ agent_id: 'gptbot', count: 1, refreshed_at: '2026-01-01T00:00:00Z', source: 'x', stale: false }],
        }),
      socketPath(dataOf(flags)),
    )
    const { findings } = await examine(...flags)
    if (expected) t.match(findings, [expected], why)
    else t.same(findings, [], why)
    await control.close()
  }
})
