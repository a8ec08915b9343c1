// The attack: server-side request forgery. An attacker chooses a URL that readership requests (a sitemap entry, a redirect, a
// published list, a webhook), and lets it lead into the operator's network: to a cloud's metadata service, which hands out
// credentials, or to an admin page that trusts local clients. Ways around a naive check:
// - spellings: 127.0.0.1 as a decimal, octal or hexadecimal number, in IPv6-mapped, NAT64, 6to4 or Teredo form;
// - names that resolve to a private address, alone or among public ones;
// - DNS rebinding: a public address for the check, a private one for the connection;
// - redirects from a public server to a private address, another scheme or port, or from https down to http;
// - user names in the URL, which make the host look like another one.
// A server on this machine counts connections; none may arrive.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { isPublic, parseAddress } from '../../../src/base/address.js'
import { createResolve } from '../../../src/base/outbound/guarded-outbound.js'
import { createOriginOutbound } from '../../../src/base/outbound/origin-outbound.js'
import { ANY_PORT, createTestOutbound, LOCALHOST, OPTIONS, reasonOf, startServer } from './servers.js'

t.test('refuses every spelling of an address that is not public', async (t) => {
  const trap = await startServer(t, (_req, res) => void res.end('trapped'), '::')
  const { port } = trap
  const spellings: readonly [string, string][] = [
    ['http://127.0.0.1', 'loopback'],
    ['http://127.0.0.2', 'all of 127/8'],
    ['http://127.255.255.254', 'the end of it'],
    ['http://127.1', 'two parts'],
    ['http://127.0.1', 'three parts'],
    ['http://2130706433', 'one decimal number'],
    ['http://0x7f000001', 'one hexadecimal number'],
    ['http://0x7F.0.0.1', 'hexadecimal parts'],
    ['http://0x7f.1', 'hexadecimal and short'],
    ['http://017700000001', 'one octal number'],
    ['http://0177.0.0.1', 'octal parts'],
    ['http://0177.0.0.01', 'octal parts twice'],
    ['http://00000177.0.0.1', 'octal with many zeros'],
    ['http://127.0.0.1.', 'a trailing dot'],
    ['http://%31%32%37.0.0.1', 'percent-encoded'],
    ['http://127。0。0。1', 'ideographic full stops'],
    ['http://１２７.0.0.1', 'full-width digits'],
    ['http://①②⑦.⓪.⓪.①', 'enclosed digits'],
    ['http://0', 'zero as a number'],
    ['http://0.0.0.0', 'unspecified'],
    ['http://0.1.2.3', 'this network'],
    ['http://[::]', 'unspecified, IPv6'],
    ['http://[::1]', 'loopback, IPv6'],
    ['http://[0:0:0:0:0:0:0:1]', 'loopback, IPv6, in full'],
    ['http://[0000:0000:0000:0000:0000:0000:0000:0001]', 'loopback, IPv6, with zeros'],
    ['http://[::ffff:127.0.0.1]', 'mapped'],
    ['http://[::ffff:7f00:1]', 'mapped, in hexadecimal'],
    ['http://[0:0:0:0:0:ffff:127.0.0.1]', 'mapped, in full'],
    ['http://[::127.0.0.1]', 'IPv4-compatible'],
    ['http://[::ffff:0:127.0.0.1]', 'IPv4-translated (RFC 2765)'],
    ['http://[64:ff9b::127.0.0.1]', 'NAT64 of loopback'],
    ['http://[64:ff9b::a9fe:a9fe]', 'NAT64 of the metadata address'],
    ['http://[64:ff9b::10.0.0.1]', 'NAT64 of a private one'],
    ['http://[64:ff9b:1::10.0.0.1]', 'local-use NAT64 (RFC 8215)'],
    ['http://[2002:7f00:1::]', '6to4 of loopback'],
    ['http://[2002:a00:1::1]', '6to4 of a private one'],
    ['http://[2001:0:7f00:1::]', 'Teredo with loopback as its server'],
    ['http://[2001::80ff:fffe]', 'Teredo with loopback as its client, inverted'],
    ['http://[fe80::1]', 'link-local'],
    ['http://[febf::1]', 'the end of link-local'],
    ['http://[fec0::1]', 'site-local'],
    ['http://[fc00::1]', 'unique local'],
    ['http://[fd00:ec2::254]', 'metadata at AWS'],
    ['http://[ff02::1]', 'multicast'],
    ['http://[2001:db8::1]', 'documentation'],
    ['http://[3fff::1]', 'documentation (RFC 9637)'],
    ['http://[100::1]', 'discard'],
    ['http://[5f00::1]', 'segment routing'],
    ['http://10.0.0.1', 'RFC 1918'],
    ['http://10.255.255.255', 'the last RFC 1918 address of its block'],
    ['http://172.16.0.1', 'RFC 1918'],
    ['http://172.31.255.255', 'the last RFC 1918 address of its block'],
    ['http://192.168.1.1', 'RFC 1918'],
    ['http://169.254.169.254', 'metadata'],
    ['http://2852039166', 'metadata as a number'],
    ['http://0xa9fea9fe', 'metadata in hexadecimal'],
    ['http://169.254.43518', 'metadata in three parts'],
    ['http://100.64.0.1', 'carrier-grade NAT'],
    ['http://100.100.100.200', 'metadata at Alibaba'],
    ['http://168.63.129.16', "Azure's platform"],
    ['http://192.0.0.192', "Oracle's old metadata"],
    ['http://192.0.2.1', 'documentation'],
    ['http://198.51.100.1', 'documentation'],
    ['http://203.0.113.1', 'documentation'],
    ['http://198.18.0.1', 'benchmarks'],
    ['http://192.88.99.1', '6to4 relays'],
    ['http://224.0.0.1', 'multicast'],
    ['http://240.0.0.1', 'reserved'],
    ['http://255.255.255.255', 'broadcast'],
  ]
  for (const [spelling, why] of spellings) {
    const outbound = createTestOutbound({ allow: ANY_PORT })
    t.equal(await reasonOf(outbound(`${spelling}:${port}/`, OPTIONS)), 'refused', `${spelling}: ${why}`)
  }
  t.ok(spellings.length >= 60)

  const schemes = [
    'file:///etc/passwd',
    'ftp://a.test/',
    'gopher://a.test/',
    'data:text/plain,x',
    'ws://a.test/',
    'blob:x',
  ]
  for (const url of schemes)
    t.equal(await reasonOf(createTestOutbound({ allow: LOCALHOST })(url, OPTIONS)), 'refused', `${url}: not http`)
  for (const url of ['', '//x', 'http://', 'http://[::1', 'http://1.2.3.256/', 'http://a b/', 'nonsense'])
    t.equal(await reasonOf(createTestOutbound({ allow: LOCALHOST })(url, OPTIONS)), 'malformed', `${url}: not a URL`)
  for (const userinfo of ['user@', 'user:pw@', ':pw@', 'example.com%40@'])
    t.equal(
      await reasonOf(createTestOutbound({ allow: LOCALHOST })(`http://${userinfo}127.0.0.1:${port}/`, OPTIONS)),
      'refused',
      `userinfo ${userinfo}`,
    )
  t.equal(await reasonOf(createTestOutbound({})('https://agents.test:8443/', OPTIONS)), 'refused', 'another port')
  t.equal(
    await reasonOf(createTestOutbound({ allow: LOCALHOST, offline: true })(`http://127.0.0.1:${port}/`, OPTIONS)),
    'offline',
  )

  const names: readonly [readonly string[], string][] = [
    [['127.0.0.1'], 'loopback'],
    [['8.8.8.8', '127.0.0.1'], 'one of several'],
    [['2606:4700::1111', '::1'], 'one of several, IPv6'],
    [['::ffff:127.0.0.1'], 'mapped'],
    [['127.1'], 'a short form that other software reads as an address'],
    [['localhost'], 'a name as an address'],
    [[''], 'an empty address'],
    [[], 'no address'],
  ]
  for (const [addresses, why] of names)
    t.equal(
      await reasonOf(
        createTestOutbound({ allow: ANY_PORT, resolve: async () => addresses })(`http://agents.test:${port}/`, OPTIONS),
      ),
      'refused',
      `a name: ${why}`,
    )
  t.equal(trap.connections, 0, 'nothing was sent')
})

t.test('isPublic decides at the edges of each block', async (t) => {
  const table: readonly [string, boolean][] = [
    ['8.8.8.8', true],
    ['100.63.255.255', true],
    ['100.128.0.0', true],
    ['172.15.255.255', true],
    ['172.32.0.0', true],
    ['168.63.129.15', true],
    ['192.88.98.255', true],
    ['192.88.99.0', false],
    ['2606:4700:4700::1111', true],
    ['2001:200::1', true],
    ['2001:1ff:ffff::1', false],
    ['2003::1', true],
    ['3ffe:ffff::1', true],
    ['64:ff9b::8.8.8.8', true],
    ['64:ff9b::1:808:808', false],
    ['4000::1', false],
  ]
  for (const [text, expected] of table) {
    const address = parseAddress(text)
    t.equal(address && isPublic(address), expected, text)
  }
})

t.test('connects to the address that was checked', async (t) => {
  const trap = await startServer(t, (_req, res) => void res.end('trapped'))
  let queries = 0
  // Returns a public address first and then this machine, like an attacker's DNS server with a TTL of 0.
  const resolve = async () => {
    queries++
    return [queries === 1 ? '198.51.100.7' : '127.0.0.1']
  }
  const allow = { ...ANY_PORT, address: (address: string) => address === '198.51.100.7' }
  const reason = await reasonOf(
    createTestOutbound({ resolve, allow })(`http://agents.test:${trap.port}/`, { ...OPTIONS, timeout: 500 }),
  )
  t.match(reason, /^(timeout|unreachable)$/)
  t.equal(queries, 1, 'resolved once')
  t.equal(trap.connections, 0)
})

t.test('checks each redirect like the first URL', async (t) => {
  const server = await startServer(t, (req, res) => {
    const to = new URL(req.url ?? '', 'http://x').searchParams.get('to')
    const step = Number(/^\/step(\d+)$/.exec(req.url ?? '')?.[1] ?? Number.NaN)
    if (to !== null) res.writeHead(302, { location: to }).end()
    else if (req.url === '/loop') res.writeHead(301, { location: '/loop' }).end('again')
    else if (step > 0) res.writeHead(307, { location: `step${step - 1}` }).end()
    else if (req.url === '/nowhere') res.writeHead(302).end('no location')
    else res.end('arrived')
  })
  const trap = await startServer(t, (_req, res) => void res.end('trapped'), '::1').catch(() => undefined)
  const resolve = async (name: string) => (name === 'inside.test' ? ['10.0.0.1'] : ['127.0.0.1'])
  const outbound = createTestOutbound({ allow: LOCALHOST, resolve })
  const base = `http://agents.test:${server.port}`
  const five = await outbound(`${base}/step5`, OPTIONS)
  t.match(five, { status: 200, url: `${base}/step0` }, 'follows five')
  const six = await outbound(`${base}/step6`, OPTIONS)
  t.match(six, { status: 307, url: `${base}/step1` }, 'returns the sixth')
  const before = server.requests.length
  t.match(await outbound(`${base}/loop`, OPTIONS), { status: 301 })
  t.equal(server.requests.length - before, 6, 'a loop ends')
  t.match(await outbound(`${base}/nowhere`, OPTIONS), { status: 302 }, 'returns a redirect without a Location')
  t.match(await outbound(`${base}/step1`, { ...OPTIONS, redirects: 0 }), { status: 307 })
  for (const [to, reason] of [
    [`http://[::1]:${trap?.port ?? 80}/`, 'refused'],
    ['http://inside.test/', 'refused'],
    ['http://169.254.169.254/latest/meta-data/', 'refused'],
    ['http://0xa9fea9fe/', 'refused'],
    ['file:///etc/passwd', 'refused'],
    [`http://user@agents.test:${server.port}/`, 'refused'],
    ['http://[', 'malformed'],
  ])
    t.equal(await reasonOf(outbound(`${base}/?to=${encodeURIComponent(to ?? '')}`, OPTIONS)), reason, `to ${to}`)
  t.equal(trap?.connections ?? 0, 0)
})

t.test('https: the certificate must be valid for the requested name', async (t) => {
  const plain = await startServer(t, (_req, res) => void res.end('plain'))
  const pem = (name: string) => readFileSync(`test/site/proxy/fixtures/tls/first.${name}.pem`, 'utf8')
  const server = createHttps({ cert: pem('cert'), key: pem('key') }, (req, res) => {
    if (req.url === '/down') res.writeHead(302, { location: `http://first.example:${plain.port}/` }).end()
    else res.end(`secure ${req.headers.host}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const deps = { resolve: async () => ['127.0.0.1'], allow: { ...LOCALHOST, ca: pem('cert') } }
  const { body } = await createTestOutbound(deps)(`https://first.example:${port}/`, OPTIONS)
  t.equal(Buffer.from(body).toString(), `secure first.example:${port}`)
  t.equal(
    await reasonOf(createTestOutbound(deps)(`https://second.example:${port}/`, OPTIONS)),
    'unreachable',
    'another name',
  )
  t.equal(
    await reasonOf(createTestOutbound({ ...deps, allow: LOCALHOST })(`https://first.example:${port}/`, OPTIONS)),
    'unreachable',
    'an unknown certificate',
  )
  t.equal(
    await reasonOf(createTestOutbound(deps)(`https://first.example:${port}/down`, OPTIONS)),
    'refused',
    'a redirect to http',
  )
  t.equal(plain.connections, 0)
  const outbound = createTestOutbound({})
  const origin = new URL(`https://localhost:${port}`)
  const site = createOriginOutbound({ origin, tls: { ca: pem('cert') }, version: '1', outbound })
  const robots = await site(`http://site.test/robots.txt`, OPTIONS)
  t.equal(Buffer.from(robots.body).toString(), 'secure site.test', 'the certificate must name the configured origin')
})

t.test('fails without an address', async (t) => {
  const never = createTestOutbound({ allow: ANY_PORT, resolve: () => new Promise(() => {}) })
  t.equal(
    await reasonOf(never('http://agents.test/', { ...OPTIONS, timeout: 200 })),
    'timeout',
    'a DNS server that never replies',
  )
  t.equal(await reasonOf(createTestOutbound({})('http://agents.test/', OPTIONS)), 'unreachable', 'an unknown name')
  const fails = async () => {
    throw new Error('ENOTFOUND')
  }
  const one = createResolve({ resolve4: async () => ['192.0.2.1'], resolve6: fails })
  t.same(await one('agents.test'), ['192.0.2.1'], 'one address family is enough')
  t.equal(await reasonOf(createResolve({ resolve4: fails, resolve6: fails })('agents.test')), 'unreachable')
})
