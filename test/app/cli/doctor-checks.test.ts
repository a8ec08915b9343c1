import { closeSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { checkGrowth, checkMemory } from '../../../src/app/cli/doctor-files.js'
import { judgeExpiry } from '../../../src/app/cli/doctor-origin.js'
import { createAddressSources } from '../../../src/app/cli/public-listener.js'
import { parseTrust } from '../../../src/base/address.js'
import { command } from '../../fixtures/command.js'
import { dataDir } from '../../fixtures/instance.js'

const Findings = z.array(
  z.object({ check: z.string(), state: z.string(), says: z.string(), mend: z.string().optional() }),
)

t.test('how clients become known is counted without their addresses', async (t) => {
  const sources = createAddressSources(parseTrust(['loopback']))
  const rows: [peer: string, named: boolean, counted: string, peerNamed: string | undefined][] = [
    ['8.8.8.8', false, 'direct', undefined],
    ['127.0.0.1', true, 'forwarded', undefined],
    ['::1', false, 'unnamed', undefined],
    ['8.8.4.4', true, 'ignored', undefined],
    ['::ffff:10.0.0.5', true, 'ignored', '10.0.0.5'],
    ['8.8.4.4', true, 'ignored', '10.0.0.5'],
  ]
  const counts: Record<string, number> = { direct: 0, forwarded: 0, unnamed: 0, ignored: 0 }
  for (const [peer, named, counted, peerNamed] of rows) {
    sources.count(peer, named)
    counts[counted] = (counts[counted] ?? 0) + 1
    t.same(sources.read(), { addresses: counts, ...(peerNamed && { ignored_peer: peerNamed }) }, peer)
  }
})

t.test('the limits of a container, and the end of a certificate', async (t) => {
  const machine = (limit: string) => ({
    total_bytes: 8e9,
    cores: 2,
    readText: (path: string) =>
      path === '/proc/self/cgroup' ? '0::/' : path === '/sys/fs/cgroup/memory.max' ? limit : undefined,
  })
  const memory: [limit: string, memory_limit: string | undefined, state: string, says: RegExp][] = [
    ['max', undefined, 'ok', /^this machine has 8\.0 GB$/],
    ['1000000000', undefined, 'ok', /^the container has 1\.0 GB$/],
    ['300000000', undefined, 'warn', /^the container has 300\.0 MB: the kernel may end the worker/],
    ['1000000000', '800MB', 'warn', /^the container has 1\.0 GB, and the store may take 800\.0 MB/],
    ['1000000000', '700MB', 'ok', /1\.0 GB$/],
  ]
  for (const [limit, memory_limit, state, says] of memory)
    t.match(checkMemory({ memory_limit }, machine(limit)), { state, says }, `${limit} ${memory_limit}`)
  const expires = new Date('2026-12-01T00:00:00Z')
  const certificates: [now: string, state: string, says: RegExp][] = [
    ['2026-11-16', 'ok', /valid until 2026-12-01/],
    ['2026-11-20', 'warn', /ends on 2026-12-01, in 11 days/],
    ['2026-12-02', 'fail', /ended on 2026-12-01: browsers refuse it/],
  ]
  for (const [now, state, says] of certificates)
    t.match(
      judgeExpiry(expires, 'a.com', () => Date.parse(now), 'Renew it.'),
      { state, says, mend: state === 'ok' ? undefined : 'Renew it.' },
      now,
    )
})

t.test('how long the disk lasts', async (t) => {
  const data = (free_bytes: number) => ({ directory: '/', files: [], free_bytes })
  const size = (used_bytes: number, growth_bytes: number, max_bytes?: number) => ({
    ...{ used_bytes, free_bytes: 10, tables: [{ table: 'events', rows: 1, bytes: 1, growth_bytes }] },
    ...(max_bytes !== undefined && { max_bytes }),
  })
  const rows: [Parameters<typeof checkGrowth>[0], state: string | undefined, says: RegExp | undefined, why: string][] =
    [
      [{ data: data(1_000) }, undefined, undefined, 'a store on a server'],
      [{ data: data(1_000), size: size(500, 0) }, 'ok', /takes 500 B and grows by 0 B a day$/, 'no traffic'],
      [{ data: data(1_000), size: size(500, 10) }, 'ok', /grows by 10 B a day$/, '(1000 - 100 + 10) / 10 = 91 days'],
      [{ data: data(1_000), size: size(500, 100) }, 'warn', /in 9 days there is no room/, '910 / 100'],
      [{ data: data(9e9), size: size(500, 10, 700) }, 'warn', /in 20 days there is no room/, '(700 - 500) / 10'],
      [{ data: data(9e9), size: size(560, 0, 700) }, 'warn', /at 700 B \(--max-disk\) rows will not/, '80 %'],
      [{ data: data(9e9), size: size(700, 0, 700) }, 'fail', /rows are not stored$/, 'full'],
    ]
  for (const [facts, state, says, why] of rows) {
    const [finding] = checkGrowth(facts, 100)
    t.match(finding, state === undefined ? undefined : { state, says }, why)
    if (state === 'warn' || state === 'fail') t.match(finding?.mend, /--max-disk/)
  }
})

t.test('doctor says where an exposed dashboard lacks HTTPS', async (t) => {
  const rows: [settings: string, expected: string | undefined, why: string][] = [
    ['', undefined, 'the default is not exposed'],
    ['expose: [ingest]', undefined, 'nor is it with the rows of other servers'],
    ['expose: [api]', '! dashboard: http://0.0.0.0:8080/_readership/ is open to other machines', 'every address'],
    ["expose: [api]\nhost: '::'", '! dashboard: http://[::]:8080/_readership/', 'every address of IPv6'],
    ["expose: [api]\nhost: '::1'", '✓ dashboard: http://[::1]:8080/_readership/ is open to this', 'loopback of IPv6'],
    ['expose: [api]\npublic_url: http://a.com', '! dashboard: http://0.0.0.0:8080/', 'a public URL in clear text'],
    ['expose: [api]\npublic_url: https://a.com/r', '✓ dashboard: https://a.com/r/ has HTTPS', 'HTTPS in front'],
    [
      'expose: [api]\ntls_cert: c\ntls_key: k\nbase_path: /r',
      '✓ dashboard: https://0.0.0.0:8080/r/ has HTTPS',
      'HTTPS of its own',
    ],
  ]
  const data = dataDir(t)
  const config = join(data, '..', 'doctor.yaml')
  for (const [settings, expected, why] of rows) {
    writeFileSync(config, `${settings}\n`)
    const { stdout } = await command('doctor', '--data', data, '--offline', '--config', config)
    const line = stdout.split('\n').find((each) => each.includes(' dashboard: '))
    t.equal(expected === undefined ? line : line?.slice(0, expected.length), expected, why)
  }
})

t.test('a damaged file is found before a start, and a file that was set aside after it', async (t) => {
  const data = dataDir(t)
  await command('keys', 'create', '--name', 'a', '--data', data)
  const examine = async () => {
    const { stdout } = await command('doctor', '--json', '--data', data, '--backup-dir', '/backups', '--offline')
    return Findings.parse(JSON.parse(stdout)).filter(({ check }) => check === 'stored data')
  }
  const stats = () => command('stats', '--data', data)
  t.same(await examine(), [], 'whole files')
  t.equal((await stats()).stderr, '')

  const file = join(data, 'events.duckdb')
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(64, 7), 0, 64, 0)
  closeSync(descriptor)
  t.match(await examine(), [
    {
      state: 'fail',
      says: /events\.duckdb is damaged: the next start sets it aside, and begins an empty one \(.+\)$/,
      mend: 'Restore the last backup before you start: readership restore /backups --data NEW.',
    },
  ])
  t.match(await stats(), {
    code: 0,
    stderr: /^What was in events\.duckdb\.\S+Z is missing here: see readership doctor\.\n$/,
  })
  const names = readdirSync(data).filter((name) => /^events\.duckdb\.2/.test(name))
  t.equal(names.length, 1)
  const findings = await examine()
  t.match(findings, [
    { state: 'warn', mend: /^Restore the last backup: readership restore \/backups --data NEW\. Move/ },
  ])
  t.ok(findings[0]?.says.startsWith(`${join(data, names[0] ?? '')} was set aside`), JSON.stringify(findings))
})
