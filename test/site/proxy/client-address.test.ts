// The attack: a client writes X-Forwarded-For itself, to hide its address, to blame another one, or to escape a rate limit. It
// adds entries before those of the real proxies, spells addresses so that two parsers read them differently (octal,
// hexadecimal, short, mapped, with a port or zone), or sends a megabyte of commas to cost time. Only entries that a trusted
// proxy appended may count.
import { isIP } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { clientAddress, isLoopbackHost, isTrusted, parseAddress, parseTrust } from '../../../src/base/address.js'

t.test('parseAddress accepts exactly the addresses that Node accepts', async (t) => {
  const group = fc.constantFrom('', '0', '1', 'ffff', 'FfFf', '01', '00001', 'g', '1.2.3.4', '01.2.3.4', '1.2.3')
  const separator = fc.constantFrom(':', ':', ':', '::', ':::', '.')
  const scrambled = fc
    .array(fc.tuple(group, separator), { maxLength: 9 })
    .chain((parts) => group.map((last) => parts.flat().join('') + last))
  fc.assert(
    fc.property(fc.oneof(scrambled, fc.ipV4(), fc.ipV4Extended(), fc.ipV6(), fc.string()), (text) => {
      const isAddress = !text.includes('%') && isIP(text) !== 0
      return isAddress === (!text.includes('%') && parseAddress(text) !== undefined)
    }),
    { numRuns: 5_000 },
  )
  t.pass('the same verdict on each text')
})

t.test('an address is written in the forms of RFC 5952', async (t) => {
  const rows: [text: string, expected: string, why: string][] = [
    ['2001:0DB8:0:0:0:0:2:1', '2001:db8::2:1', 'lower case, no leading zeros, zeros shortened (4.1, 4.2.1, 4.3)'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1', 'one zero group stays (4.2.2)'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1', 'the longest run (4.2.3)'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1', 'the first of equal runs (4.2.3)'],
    ['0:0:0:0:0:0:0:0', '::', 'all zero'],
    ['::1.2.3.4', '::102:304', 'not a mapped address (RFC 4291 2.5.5)'],
    ['::ffff:192.0.2.1', '192.0.2.1', 'a mapped address is IPv4'],
  ]
  for (const [text, expected, why] of rows) {
    const address = parseAddress(text)
    t.equal(address?.toString(), expected, why)
  }
})

t.test('isTrusted follows the list of parseTrust', async (t) => {
  const rows: [list: string[], ip: string, expected: boolean, why: string][] = [
    [['loopback'], '127.0.0.1', true, 'the default'],
    [['loopback'], '127.255.0.9', true, 'all of 127/8'],
    [['loopback'], '::1', true, 'IPv6 loopback'],
    [['loopback'], '::ffff:127.0.0.1', true, 'a dual-stack socket shows IPv4 peers mapped'],
    [['loopback'], '10.0.0.1', false, 'private networks are not loopback'],
    [['private'], '10.9.9.9', true, 'RFC 1918'],
    [['private'], '172.15.255.255', false, 'one below 172.16/12'],
    [['private'], '172.16.0.0', true, 'first of 172.16/12'],
    [['private'], '172.31.255.255', true, 'last of 172.16/12'],
    [['private'], '172.32.0.0', false, 'one above 172.16/12'],
    [['private'], '192.168.1.1', true, 'RFC 1918'],
    [['private'], 'fd12::1', true, 'RFC 4193'],
    [['private'], '127.0.0.1', true, 'the machine itself'],
    [['private'], '203.0.113.1', false, 'public'],
    [['203.0.113.7'], '203.0.113.7', true, 'a single address'],
    [['203.0.113.7'], '203.0.113.8', false, 'another address'],
    [['203.0.113.0/24'], '203.0.113.255', true, 'a network'],
    [['203.0.113.9/24'], '203.0.113.1', true, 'host bits are ignored'],
    [['2001:db8::/32'], '2001:db8:ffff::1', true, 'an IPv6 network'],
    [['2001:db8::/32'], '2001:db9::1', false, 'outside it'],
    [['::ffff:10.0.0.0/104'], '10.200.0.1', true, 'a mapped network is the IPv4 one'],
    [['0.0.0.0/0'], '8.8.8.8', true, 'every IPv4 address'],
    [['0.0.0.0/0'], '2001:db8::1', false, 'but no IPv6 address'],
    [[], '127.0.0.1', false, 'an empty list'],
    [['10.0.0.0/8', 'loopback'], '127.0.0.1', true, 'any entry of the list'],
    [['private'], 'fe80::1%eth0', false, 'link-local is not private'],
    [['fe80::/10'], 'fe80::1%eth0', true, 'a zone does not matter'],
    [['loopback'], '127.1', false, 'no short forms'],
    [['loopback'], '0x7f.0.0.1', false, 'no hexadecimal'],
    [['loopback'], '0177.0.0.1', false, 'no octal'],
    [['loopback'], '', false, 'not an address'],
  ]
  for (const [list, ip, expected, why] of rows) {
    t.equal(isTrusted(ip, parseTrust(list)), expected, `${list.join(' ')} ${ip}: ${why}`)
  }
})

t.test('isLoopbackHost knows this machine by name and address', async (t) => {
  const rows: [hostname: string, expected: boolean, why: string][] = [
    ['localhost', true, 'the name'],
    ['127.0.0.1', true, 'IPv4'],
    ['127.9.9.9', true, 'all of 127/8'],
    ['[::1]', true, 'as a URL writes IPv6'],
    ['::1', true, 'as a socket does'],
    ['::ffff:127.0.0.1', true, 'as a dual-stack socket shows IPv4'],
    ['127.example.com', false, 'a name that begins like an address'],
    ['127.0.0.1.example.com', false, 'also a whole one'],
    ['localhost.example.com', false, 'another machine'],
    ['[::]', false, 'every address of the machine, others included'],
    ['', false, 'nothing'],
  ]
  for (const [hostname, expected, why] of rows) t.equal(isLoopbackHost(hostname), expected, `${hostname}: ${why}`)
})

t.test('parseTrust names a bad value', async (t) => {
  const bad = [
    'localhost',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    '2001:db8::/129',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '',
    '::ffff:10.0.0.0/95',
    'Private',
    'constructor',
  ]
  for (const value of bad) {
    t.throws(
      () => parseTrust(['loopback', value]),
      { message: new RegExp(`trust-proxy: ${JSON.stringify(value).replace(/[/.]/g, '\\$&')} `) },
      value,
    )
  }
})

t.test('clientAddress trusts only what a trusted proxy appended', async (t) => {
  const local = parseTrust(['loopback', '10.0.0.0/8'])
  const rows: [peer: string | undefined, xff: string | undefined, expected: string, why: string][] = [
    ['203.0.113.9', undefined, '203.0.113.9', 'no header'],
    ['203.0.113.9', '1.1.1.1', '203.0.113.9', 'an untrusted peer may write anything'],
    ['127.0.0.1', undefined, '127.0.0.1', 'a trusted peer without the header is the client'],
    ['127.0.0.1', '', '127.0.0.1', 'an empty header'],
    ['127.0.0.1', '198.51.100.4', '198.51.100.4', 'one hop'],
    ['127.0.0.1', '1.1.1.1, 198.51.100.4', '198.51.100.4', 'the client itself wrote 1.1.1.1'],
    ['127.0.0.1', '1.1.1.1, 198.51.100.4, 10.0.0.2', '198.51.100.4', 'past a trusted hop'],
    ['127.0.0.1', '1.1.1.1, 198.51.100.4, 10.0.0.2, 10.0.0.3', '198.51.100.4', 'past two'],
    ['127.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2', 'all trusted: the left-most'],
    ['127.0.0.1', '198.51.100.4, unknown, 10.0.0.3', '10.0.0.3', 'garbage ends the walk at the last good hop'],
    ['127.0.0.1', '198.51.100.4, , 10.0.0.3', '10.0.0.3', 'an empty entry ends the walk too'],
    ['127.0.0.1', '198.51.100.4,', '127.0.0.1', 'a trailing comma is an empty right-most entry'],
    ['127.0.0.1', ',198.51.100.4', '198.51.100.4', 'entries left of the client do not matter'],
    ['127.0.0.1', 'garbage', '127.0.0.1', 'no good entry'],
    ['::ffff:127.0.0.1', '::ffff:198.51.100.4', '198.51.100.4', 'mapped on both sides'],
    ['::ffff:203.0.113.9', '1.1.1.1', '203.0.113.9', 'a mapped untrusted peer'],
    ['::1', '2001:DB8:0:0::1', '2001:db8::1', 'canonical text'],
    ['127.0.0.1', '198.51.100.4:51234', '198.51.100.4', 'Azure writes the port'],
    ['127.0.0.1', '[2001:db8::1]:443', '2001:db8::1', 'brackets and port'],
    ['127.0.0.1', '[2001:db8::1]', '2001:db8::1', 'brackets alone'],
    ['127.0.0.1', 'fe80::1%eth0', 'fe80::1', 'a zone is dropped'],
    ['fe80::2%lo', undefined, 'fe80::2', "the peer's zone too"],
    ['127.0.0.1', '[198.51.100.4]', '127.0.0.1', 'brackets are for IPv6'],
    ['127.0.0.1', '198.51.100.4:', '127.0.0.1', 'a colon without a port'],
    ['127.0.0.1', '"198.51.100.4"', '127.0.0.1', 'quotes belong to another header'],
    ['127.0.0.1', '127.1', '127.0.0.1', 'short forms are garbage'],
    ['127.0.0.1', ' \t198.51.100.4 \t', '198.51.100.4', 'optional white space'],
    [undefined, '198.51.100.4', '', 'a peer without an address'],
    ['', '198.51.100.4', '', 'an empty peer address'],
    ['127.0.0.1', `198.51.100.4,${'10.0.0.1,'.repeat(100)}10.0.0.2`, '10.0.0.1', 'at most 32 hops'],
  ]
  for (const [peer, xff, expected, why] of rows)
    t.equal(clientAddress(peer, xff, local), expected, `${peer} ${xff?.slice(0, 60)}: ${why}`)
})

t.test('a header of a megabyte of commas costs nothing', async (t) => {
  const trust = parseTrust(['loopback'])
  const header = `${','.repeat(1_000_000)}127.0.0.1`
  const started = performance.now()
  for (let i = 0; i < 1000; i++) clientAddress('127.0.0.1', header, trust)
  t.ok(performance.now() - started < 1000, 'reads from the right and stops')
})

t.test('clientAddress holds for random headers', async (t) => {
  const trust = parseTrust(['private'])
  const address = fc.oneof(fc.ipV4(), fc.ipV6())
  const untrusted = address.filter((ip) => !isTrusted(ip, trust))
  fc.assert(
    fc.property(fc.string(), untrusted, (left, client) => {
      // The result is the address that the trusted proxy appended, whatever the client sent before it.
      const result = clientAddress('10.0.0.1', `${left},${client}`, trust)
      return result === clientAddress(client, undefined, trust)
    }),
  )
  fc.assert(
    fc.property(
      untrusted,
      fc.string(),
      (peer, xff) => clientAddress(peer, xff, trust) === clientAddress(peer, undefined, trust),
    ),
  )
  fc.assert(
    fc.property(fc.oneof(address, fc.string()), fc.option(fc.string()), (peer, xff) => {
      const result = clientAddress(peer, xff ?? undefined, trust)
      return result === '' || isIP(result) !== 0
    }),
  )
  fc.assert(
    fc.property(fc.ipV4(), fc.integer({ min: 0, max: 32 }), fc.ipV4(), (network, bits, ip) => {
      const number = (text: string) => text.split('.').reduce((n, part) => n * 256 + Number(part), 0)
      const size = 2 ** (32 - bits)
      const inside = Math.floor(number(network) / size) === Math.floor(number(ip) / size)
      return isTrusted(ip, parseTrust([`${network}/${bits}`])) === inside
    }),
  )
  t.pass('held')
})
