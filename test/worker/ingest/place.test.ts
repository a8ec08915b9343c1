import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { addressKey, isLocatable, parseAddress, wordsOf } from '../../../src/base/address.js'
import { compileGeoFile } from '../../../src/worker/ingest/place/geo-compiler.js'
import { decodeGeoFile, encodeGeoFile, findValue } from '../../../src/worker/ingest/place/geo-file.js'
import { openPlaceLookup, UNKNOWN_PLACE } from '../../../src/worker/ingest/place/place-lookup.js'
import { bits4, mmdb } from '../../fixtures/mmdb.js'

const folder = mkdtempSync(join(tmpdir(), 'readership-place-'))
t.teardown(() => rmSync(folder, { recursive: true }))

t.test('reads addresses in every notation', async (t) => {
  const rows: [string, string | undefined, string][] = [
    ['1.2.3.4', '16909060', '1 * 2^24 + 2 * 2^16 + 3 * 2^8 + 4'],
    ['255.255.255.255', '4294967295', 'the last'],
    ['0.0.0.0', '0', 'the first'],
    ['::ffff:1.2.3.4', '16909060', 'mapped is the same address'],
    ['::ffff:102:304', '16909060', 'mapped in hexadecimal'],
    ['0:0:0:0:0:FFFF:1.2.3.4', '16909060', 'mapped in full'],
    ['::', '0:0:0:0', 'none'],
    ['::1', '0:0:0:1', 'the machine itself'],
    ['2001:db8::1', '536939960:0:0:1', '0x20010db8'],
    ['2001:DB8:0:0:0:0:0:1', '536939960:0:0:1', 'the same in full'],
    ['fe80::1%eth0', '4269801472:0:0:1', 'the zone belongs to the machine, not to the address'],
    ['1:2:3:4:5:6:7:8', '65538:196612:327686:458760', 'all groups'],
    ['::1.2.3.4', '0:0:0:16909060', 'four decimal parts that are not mapped'],
    ['1.2.3', undefined, 'three parts'],
    ['1.2.3.4.5', undefined, 'five parts'],
    ['1.2.3.256', undefined, 'beyond a byte'],
    ['01.2.3.4', undefined, 'octal to some'],
    ['1.2.3.', undefined, 'an empty part'],
    ['0x7f.1', undefined, 'not decimal'],
    ['1.2.3.4:80', undefined, 'with a port'],
    ['[::1]', undefined, 'in brackets'],
    ['unknown', undefined, 'no address'],
    ['', undefined, 'none'],
  ]
  for (const [text, expected, why] of rows) {
    const address = parseAddress(text)
    t.equal(address && addressKey(address), expected, `${why}: ${text}`)
  }
  fc.assert(fc.property(fc.ipV4(), (text) => parseAddress(text)?.kind() === 'ipv4'))
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      // The URL parser reads the same notation, and writes each address in one way.
      const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1)
      const same = parseAddress(canonical)
      const address = parseAddress(text)
      return same !== undefined && address !== undefined && addressKey(same) === addressKey(address)
    }),
  )
  fc.assert(fc.property(fc.string(), (text) => (parseAddress(text) !== undefined) === isIP(text) > 0))
})

t.test('private and reserved addresses have no place', async (t) => {
  const rows: [string, boolean][] = [
    ['8.8.8.8', true],
    ['2a00:1450::1', true],
    ['10.1.2.3', false],
    ['100.64.0.1', false],
    ['100.128.0.1', true],
    ['127.0.0.1', false],
    ['169.254.1.1', false],
    ['172.16.0.1', false],
    ['172.32.0.1', true],
    ['192.168.1.1', false],
    ['198.18.0.1', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['0.0.0.0', false],
    ['::', false],
    ['::1', false],
    ['fe80::1', false],
    ['fd00::1', false],
    ['2001:db8::1', false],
    ['::ffff:10.0.0.1', false],
  ]
  for (const [text, expected] of rows) {
    const address = parseAddress(text)
    t.equal(address && isLocatable(address), expected, text)
  }
})

const SOURCES = { country: { name: 'c', date: '2026-06-17' }, asn: { name: 'a', date: '2026-06-16' } }
const none = { country4: '', country6: '', asn4: '', asn6: '' }

t.test('the table finds what a linear search finds', async () => {
  const range = fc.tuple(fc.nat(300), fc.nat(60), fc.constantFrom('DE', 'FR', 'US'))
  fc.assert(
    fc.property(fc.array(range, { maxLength: 12 }), (ranges) => {
      // Nested or apart, as in the sources: ranges that cross another's end are left out.
      const sorted = ranges.map(([first, length, code]) => ({ first, last: first + length, code }))
      const rows = sorted.filter((one, i) =>
        sorted.every(
          (other, j) =>
            i === j ||
            other.last < one.first ||
            one.last < other.first ||
            (other.first <= one.first && one.last <= other.last && other.last - other.first > one.last - one.first) ||
            (one.first <= other.first && other.last <= one.last && one.last - one.first > other.last - other.first),
        ),
      )
      const csv = rows.map(({ first, last, code }) => `${first},${last},${code}`).join('\n')
      const geo = decodeGeoFile(encodeGeoFile(compileGeoFile({ ...none, country4: csv, sources: SOURCES })))
      for (let address = 0; address < 400; address++) {
        const holding = rows.filter(({ first, last }) => first <= address && address <= last)
        const innermost = holding.sort((a, b) => a.last - a.first - (b.last - b.first))[0]
        const found = geo.countries[findValue(geo.country4, [address]) - 1]
        if (found !== innermost?.code) return false
      }
      return true
    }),
  )
})

t.test('splits ranges that cross', async (t) => {
  const geo = compileGeoFile({
    ...none,
    country4: '5,15,FR\n1,10,DE\n30,40,US\n30,35,DE\n41,50,DE\n',
    sources: SOURCES,
  })
  t.strictSame([...(geo.country4.starts[0] ?? [])], [1, 5, 16, 30, 36, 41, 51], 'in order')
  const rows: [number, string | undefined][] = [
    [0, undefined],
    [1, 'DE'],
    [5, 'FR'],
    [15, 'FR'],
    [16, undefined],
    [30, 'DE'],
    [36, 'US'],
    [40, 'US'],
    [41, 'DE'],
    [51, undefined],
  ]
  for (const [address, expected] of rows)
    t.equal(geo.countries[findValue(geo.country4, [address]) - 1], expected, `${address}`)
})

t.test('compares IPv6 by its upper half, and rejects invalid lines', async (t) => {
  const from = (0x2001n << 112n).toString()
  const to = ((0x2001n << 112n) + (1n << 65n) - 1n).toString()
  const geo = compileGeoFile({
    ...none,
    country6: `${from},${to},DE\n`,
    asn6: `${from},${from},64496\n`,
    sources: SOURCES,
  })
  const country = (text: string) => {
    const address = parseAddress(text)
    return address && geo.countries[findValue(geo.country6, wordsOf(address)) - 1]
  }
  t.equal(country('2001::1'), 'DE')
  t.equal(country('2001:0:0:1:ffff:ffff:ffff:ffff'), 'DE', 'the last address')
  t.equal(country('2001:0:0:2::'), undefined, 'the address after the last')
  t.equal(country('2000:ffff::'), undefined, 'the address before the first')
  t.equal(geo.asn6.values.length, 0, 'finer than the upper half, and a number for documentation')
  t.throws(() => compileGeoFile({ ...none, country4: 'x', sources: SOURCES }))
  t.throws(() => compileGeoFile({ ...none, country4: '1,2,Germany', sources: SOURCES }), /Germany/)
  t.throws(() => decodeGeoFile(Buffer.from('junk')))
})

t.test('the shipped file agrees with the packages it was compiled from', async (t) => {
  const places = openPlaceLookup()
  t.strictSame(places.sources, [
    { name: '@ip-location-db/geo-whois-asn-country', date: '2026-06-17' },
    { name: '@ip-location-db/asn', date: '2026-06-17' },
  ])
  // Every 997th line of the written-out files (ours is made from the numeric ones), at its first and last address.
  const checks: [string, 'country' | 'asn', 'ipv4' | 'ipv6'][] = [
    ['geo-whois-asn-country/geo-whois-asn-country-ipv4.csv', 'country', 'ipv4'],
    ['asn/asn-ipv4.csv', 'asn', 'ipv4'],
    ['geo-whois-asn-country/geo-whois-asn-country-ipv6.csv', 'country', 'ipv6'],
    ['asn/asn-ipv6.csv', 'asn', 'ipv6'],
  ]
  for (const [file, field] of checks) {
    let line = 0
    let asked = 0
    let agreed = 0
    for await (const row of createInterface({ input: createReadStream(`node_modules/@ip-location-db/${file}`) })) {
      if (line++ % 997) continue
      const [first = '', last = '', value = ''] = row.split(',')
      // Only ranges that fill their 64-bit blocks; numbers such as 23456 are reserved.
      if (first.includes(':') && !(first.endsWith('::') && last.endsWith('ffff:ffff:ffff:ffff'))) continue
      for (const address of [first, last]) {
        asked++
        const place = places.locate(parseAddress(address))
        if (String(place[field]) === value) agreed++
      }
    }
    t.ok(asked > 100, `${file}: ${asked} addresses`)
    // Nested lines contradict each other (0.5 % of the source's lines); the inner one counts.
    t.ok(agreed / asked > 0.99, `${file}: ${agreed} of ${asked} agree`)
  }
  t.match(places.locate(parseAddress('8.8.8.8')), { country: 'US', asn: 15169, region: null, city: null })
  t.match(places.locate(parseAddress('::ffff:8.8.8.8')), { country: 'US', asn: 15169 }, 'mapped')
  t.match(places.locate(parseAddress('2606:4700:4700::1111')), { asn: 13335 })
  for (const address of ['10.0.0.1', '127.0.0.1', '::1', 'fd00::1', 'nonsense', ''])
    t.strictSame(places.locate(parseAddress(address)), UNKNOWN_PLACE, `${address || 'none'} has no place`)
})

t.test('the operator’s file adds region and city, in either shape', async (t) => {
  const path = (name: string) => join(folder, name)
  writeFileSync(
    path('nested.mmdb'),
    mmdb(6, [
      [
        '0'.repeat(96) + bits4('81.2.69.0', 24),
        {
          country: { iso_code: 'GB' },
          subdivisions: [{ iso_code: 'ENG', names: { en: 'England', de: 'England' } }],
          city: { names: { de: 'Londinium', en: 'London' } },
        },
      ],
      ['0010000000000011', { country: { iso_code: 'FR' }, autonomous_system_number: 64, city: { names: { en: '' } } }],
    ]),
  )
  writeFileSync(
    path('flat.mmdb'),
    mmdb(4, [
      [bits4('81.2.69.0', 24), { country_code: 'DE', state1: 'Bayern', city: 'München' }],
      // The first bits of 2a00:4500::/24, which a reader without a check of the family would use.
      [bits4('42.0.69.0', 24), { country_code: 'US', state1: 'New York', city: 'New York' }],
    ]),
  )
  const nested = openPlaceLookup({ geoip: path('nested.mmdb') })
  const flat = openPlaceLookup({ geoip: path('flat.mmdb') })
  const at = (places: typeof nested, address: string) => places.locate(parseAddress(address))
  t.match(at(nested, '81.2.69.142'), { country: 'GB', region: 'England', city: 'London' })
  t.equal(
    at(nested, '81.2.69.142').asn,
    at(openPlaceLookup(), '81.2.69.142').asn,
    'values that it lacks come from the shipped file',
  )
  t.match(at(nested, '2003::1'), { country: 'FR', city: null, asn: 64 }, 'IPv6; an empty name is absent')
  t.match(at(flat, '81.2.69.142'), { country: 'DE', region: 'Bayern', city: 'München' })
  t.match(at(flat, '::ffff:81.2.69.142'), { city: 'München' }, 'mapped')
  t.match(at(flat, '2a00:4500::1'), { region: null, city: null }, 'IPv6 in a file of IPv4: absent')
  t.strictSame(at(flat, '10.0.0.1'), UNKNOWN_PLACE, 'private')
  t.strictSame(flat.sources[0], { name: 'Test-City', date: '2025-06-15' }, 'day of 1750000000')
  writeFileSync(path('junk.mmdb'), 'junk')
  t.throws(() => openPlaceLookup({ geoip: path('junk.mmdb') }), /junk\.mmdb/, 'names the file')
  t.throws(() => openPlaceLookup({ geoip: path('absent.mmdb') }), /absent\.mmdb/, 'names the file')
  const broken = readFileSync(path('nested.mmdb'))
  broken.fill(0xff, broken.length - 400, broken.length - 250)
  writeFileSync(path('broken.mmdb'), broken)
  t.doesNotThrow(
    () => at(openPlaceLookup({ geoip: path('broken.mmdb') }), '81.2.69.142'),
    'a damaged record throws nothing',
  )
})

t.test('without shipped data places are unknown, and nothing fails', async (t) => {
  for (const url of [pathToFileURL(`${folder}/`), pathToFileURL(`${folder}/absent/`)]) {
    const places = openPlaceLookup({ folder: url })
    t.strictSame(places.locate(parseAddress('8.8.8.8')), UNKNOWN_PLACE)
    t.strictSame(places.sources, [])
  }
})
