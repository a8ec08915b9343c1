import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { command } from '../../fixtures/command.js'
import { dataDir, eventually, GPTBOT, startInstance, startOrigin } from '../../fixtures/instance.js'
import { bits4, mmdb } from '../../fixtures/mmdb.js'

const JUNE = Date.parse('2025-06-15') / 1000
const JULY = Date.parse('2025-07-15') / 1000
const city = (country_code: string, more: Record<string, string> = { city: 'A' }) =>
  [bits4('8.8.8.0', 24), { country_code, ...more }] as const

t.test('geoip update takes a newer file, and says why it refuses another', async (t) => {
  const folder = join(dataDir(t), '..')
  const file = (name: string, content: Buffer | string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const june = mmdb(4, [city('DE')], { build_epoch: JUNE })
  const july = mmdb(4, [city('FR')], { build_epoch: JULY })
  const cases: [next: string, force: boolean, code: number, says: RegExp, why: string][] = [
    [
      file('july', july),
      false,
      0,
      /is Test-City of 2025-07-15, after Test-City of 2025-06-15: the next start/,
      'newer',
    ],
    [file('same', june), false, 1, /it is of 2025-06-15, and the file in use is of 2025-06-15\. --force/, 'not newer'],
    [file('same', june), true, 0, /is Test-City of 2025-06-15/, 'not newer, but forced'],
    [
      file('country', mmdb(4, [city('FR', {})], { build_epoch: JULY, type: 'Test-Country' })),
      ...([
        false,
        1,
        /it has no cities, which the file in use has \(type Test-Country, in use Test-City\)/,
        'less',
      ] as const),
    ],
    [
      file('other', mmdb(4, [[bits4('8.8.8.0', 24), { is_vpn: 'yes' }]], { build_epoch: JULY, type: 'Test-VPN' })),
      ...([
        false,
        1,
        /knows neither country nor network of 13 well-known addresses \(type Test-VPN\)/,
        'no places',
      ] as const),
    ],
    [
      file('junk', 'junk'),
      ...([
        true,
        1,
        /junk \(4 bytes\) is not an MMDB file: give an unpacked \.mmdb, as .* publish it$/m,
        'no MMDB file, though forced',
      ] as const),
    ],
    [file('empty', ''), false, 1, /empty \(0 bytes\) is not an MMDB file/, 'an empty file'],
    [file('packed.gz', gzipSync(july)), false, 1, /packed\.gz \(\d+ bytes\) is not an MMDB file/, 'a packed file'],
    [folder, false, 1, /cannot be read: EISDIR/, 'a directory'],
    [file('torn', july.subarray(40)), false, 1, /is not an MMDB file|neither country nor network/, 'a torn download'],
    [join(folder, 'absent'), false, 1, /absent cannot be read: ENOENT/, 'no file'],
  ]
  for (const [next, force, code, says, why] of cases) {
    const target = file('in-use.mmdb', june)
    const link = join(folder, `${why}.link`)
    symlinkSync(target, link)
    const args = [next, '--geoip', link, '--data', join(folder, 'none'), ...(force ? ['--force'] : [])]
    const result = await command('geoip', 'update', ...args)
    t.match(result, { code, stderr: says, stdout: '' }, why)
    t.same(readFileSync(target), code === 0 ? readFileSync(next) : june, `${why}: the file`)
    t.same(
      readdirSync(folder).filter((name) => name.endsWith('.part')),
      [],
      `${why}: nothing is left`,
    )
  }
  t.match(await command('geoip', 'update', join(folder, 'july'), '--data', join(folder, 'none')), {
    code: 2,
    stderr: /no setting names the file to replace/,
  })
})

t.test('a running instance has the places of the new file from then on', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const file = join(data, '..', 'places.mmdb')
  const next = join(data, '..', 'next.mmdb')
  writeFileSync(file, mmdb(4, [city('DE')], { build_epoch: JUNE }))
  writeFileSync(next, mmdb(4, [city('FR')], { build_epoch: JULY }))
  const app = await startInstance(origin.url, data, '--geoip', file)
  t.teardown(() => app.stop())
  const visit = () =>
    new Promise((done) => {
      const headers = { 'user-agent': GPTBOT, 'x-forwarded-for': '8.8.8.8' }
      get(app.site, { headers }, (response) => response.resume().on('end', done))
    })
  await visit()
  await eventually('the first row', async () => (await app.fetches()) === 1)
  t.match(await command('geoip', 'update', next, '--data', data), {
    code: 0,
    stderr: /rows have its places from now on/,
  })
  t.equal(statSync(file).size, statSync(next).size, 'the file of --geoip was replaced, which the command was not told')
  await visit()
  await eventually('the second row', async () => (await app.fetches()) === 2)
  const { data: rows } = await app.ask('/api/agents/breakdown?site=1&dimension=country&range=24h')
  t.match(JSON.stringify(rows), /"DE"/, 'a stored row keeps its place')
  t.match(JSON.stringify(rows), /"FR"/)
  const status = JSON.parse((await command('status', '--json', '--data', data)).stdout)
  t.same(status.geo[0], { name: 'Test-City', date: '2025-07-15' })
})
