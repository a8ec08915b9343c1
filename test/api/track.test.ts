import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import t from 'tap'
import { toNodeHandler } from '../../src/site/proxy/node-handler.js'
import { CLOCK, openTrackServer, SITES, send } from '../fixtures/track-server.js'

const json = (value: unknown) => JSON.stringify(value)
const U = 'https://a.com/x'
const HIT = { s: 1, u: U }
/** The fields that a request by `send` adds to a hit. */
const REQUEST = { timestamp: new Date(CLOCK).toISOString(), ip: '127.0.0.1', user_agent: 'UA' }
const PAGE = { site: 1, kind: 'pageview', hostname: 'a.com', pathname: '/x' }
type Drops = Record<string, number>

t.test('a hit is recorded or dropped, with the specified answer', async (t) => {
  const { clients, since, logged } = await openTrackServer(t)
  const site = (s: number, u: string) => json({ s, u })
  // body, headers, status, hits, drops, why
  const rows: [string, Record<string, string>, number, number, Drops, string][] = [
    [json(HIT), {}, 204, 1, {}, 'a pageview'],
    [json(HIT), { 'Content-Type': 'application/json' }, 204, 1, {}, 'as JSON'],
    [json(HIT), { 'Content-Type': 'text/plain;charset=UTF-8' }, 204, 1, {}, 'as a beacon sends it'],
    [json(HIT), { 'Content-Type': 'application/x-www-form-urlencoded' }, 204, 1, {}, 'as a form'],
    [json(HIT), { 'Content-Type': 'nonsense' }, 204, 1, {}, 'whatever the type'],
    [json(HIT), { 'Content-Encoding': 'identity' }, 204, 1, {}, 'identity as its encoding'],
    [`\ufeff${json(HIT)}`, {}, 204, 1, {}, 'with a byte order mark'],
    [` \n${json(HIT)}\n`, {}, 204, 1, {}, 'with blanks around it'],
    [site(9, U), {}, 403, 0, { '- track unknown_site': 1 }, 'no such site'],
    [site(0, U), {}, 403, 0, { '- track unknown_site': 1 }, 'site 0'],
    [site(-1, U), {}, 403, 0, { '- track unknown_site': 1 }, 'a negative site'],
    [site(1, 'https://www.a.com/'), {}, 204, 1, {}, 'with www.'],
    [site(1, 'https://a.com:8443/'), {}, 204, 1, {}, 'another port'],
    [site(1, 'HTTP://A.COM/'), {}, 204, 1, {}, 'capitals'],
    [site(3, 'https://b.com/'), {}, 204, 1, {}, 'without its www.'],
    [site(3, 'https://bücher.example/'), {}, 204, 1, {}, 'IDN'],
    [site(1, 'https://b.com/'), {}, 403, 0, { '1 track foreign_host': 1 }, "another site's hostname"],
    [site(1, 'https://a.com.evil.example/'), {}, 403, 0, { '1 track foreign_host': 1 }, 'its own is the prefix'],
    [site(1, 'https://evila.com/'), {}, 403, 0, { '1 track foreign_host': 1 }, 'its own is the suffix'],
    [site(1, 'https://x.a.com/'), {}, 403, 0, { '1 track foreign_host': 1 }, 'below it'],
    [site(1, 'https://a.com@evil.example/'), {}, 403, 0, { '1 track foreign_host': 1 }, 'as a user name'],
    [site(1, 'https://a.com./'), {}, 403, 0, { '1 track foreign_host': 1 }, 'with the root dot'],
    [site(1, 'https://a%2ecom/'), {}, 204, 1, {}, 'however it is written'],
    [site(2, 'https://c.com/'), { Host: 'c.com' }, 204, 1, {}, 'a site without domains: where the request went'],
    [site(2, 'https://www.c.com/'), { Host: 'C.com:8080' }, 204, 1, {}, 'in capitals, with a port, without www.'],
    [site(2, 'https://c.com/'), { Host: 'd.com' }, 403, 0, { '2 track foreign_host': 1 }, 'elsewhere'],
    [site(2, 'https://a.com/'), {}, 403, 0, { '2 track foreign_host': 1 }, 'where it went is another site'],
    [site(1, 'https://a.com/private/x'), {}, 204, 0, { '1 track excluded_path': 1 }, 'excluded'],
    [site(1, 'https://a.com/private'), {}, 204, 1, {}, 'not quite'],
    [
      site(1, 'https://a.com/private/x#/y'),
      {},
      204,
      0,
      { '1 track excluded_path': 1 },
      'a hash route of an excluded path',
    ],
    [site(1, 'https://a.com/#/hidden'), {}, 204, 0, { '1 track excluded_path': 1 }, 'an excluded route'],
    [json(HIT), { Cookie: 'readership-opt-out=1' }, 204, 0, { '1 track opted_out': 1 }, 'opted out'],
    [json(HIT), { Cookie: 'a=b; readership-opt-out=1;c=d' }, 204, 0, { '1 track opted_out': 1 }, 'among others'],
    [json(HIT), { Cookie: 'readership-opt-out=0; x-readership-opt-out=1; a=readership-opt-out=1' }, 204, 1, {}, 'not'],
    [json(HIT), { 'Sec-GPC': '1', DNT: '1' }, 204, 1, {}, 'a site that does not honour GPC'],
    [site(3, 'https://b.com/'), { 'Sec-GPC': '1' }, 204, 0, { '3 track opted_out': 1 }, 'a site that honours GPC'],
    [site(3, 'https://b.com/'), { DNT: '1' }, 204, 0, { '3 track opted_out': 1 }, 'a site that honours DNT too'],
    [site(3, 'https://b.com/'), { DNT: '0' }, 204, 1, {}, 'DNT: 0 is not a wish'],
    ['', {}, 204, 0, { '- track malformed': 1 }, 'an empty body'],
    ['{', {}, 204, 0, { '- track malformed': 1 }, 'broken JSON'],
    ['null', {}, 204, 0, { '- track malformed': 1 }, 'null'],
    [json([HIT]), {}, 204, 0, { '- track malformed': 1 }, 'a batch at the endpoint for one hit'],
    [json({ u: U }), {}, 204, 0, { '- track malformed': 1 }, 'no site'],
    [json({ s: 1 }), {}, 204, 0, { '1 track malformed': 1 }, 'no URL: the owner sees the drop'],
    [json({ s: 9 }), {}, 204, 0, { '- track malformed': 1 }, 'no page of no site'],
    [json({ s: 1, u: '/x' }), {}, 204, 0, { '1 track malformed': 1 }, 'no URL'],
    [json({ ...HIT, t: 'heartbeat' }), {}, 204, 0, { '1 track malformed': 1 }, 'an unknown kind'],
    [json(HIT), { 'Content-Encoding': 'gzip' }, 204, 0, { '- track malformed': 1 }, 'compressed, it says'],
    [json(HIT), { 'Content-Encoding': 'identity, br' }, 204, 0, { '- track malformed': 1 }, 'in part'],
  ]
  for (const client of clients) {
    for (const [body, headers, status, hits, drops, why] of rows) {
      const told = await send(client, 'POST', '/api/track', { headers, body })
      const seen = since()
      t.same([told.status, seen.hits.length, seen.drops], [status, hits, drops], `${client.name}: ${why}`)
      t.equal(told.body.length, 0, `${client.name}: ${why}: no body`)
      t.equal(told.headers['access-control-allow-origin'], '*')
    }
  }
  t.same(logged, [])
})

t.test('a recorded hit has the fields of payload and request', async (t) => {
  const { clients, since } = await openTrackServer(t)
  const headers = {
    'Accept-Language': 'de-DE,de;q=0.9',
    'Sec-Fetch-Site': 'same-origin',
    Cookie: 'secret=1',
    Authorization: 'Bearer secret',
    'X-Forwarded-For': '9.9.9.9',
    Referer: 'https://a.com/secret',
    'Sec-CH-UA': 'x'.repeat(5_000),
  }
  const body = json({ ...HIT, t: 'custom', n: 'signup', p: { plan: 'pro' }, id: 'u1', w: 390, d: 1500, sc: 20 })
  for (const client of clients) {
    t.equal((await send(client, 'POST', '/api/track', { headers, body })).status, 204)
    const { hits } = since()
    t.strictSame(
      hits,
      [
        {
          ...{ site: 1, kind: 'custom', hostname: 'a.com', pathname: '/x', name: 'signup', screen_width: 390 },
          ...{ engaged_ms: 1500, scroll: 20, props: { plan: 'pro' }, identified_id: 'u1' },
          ...REQUEST,
          headers: {
            'accept-language': 'de-DE,de;q=0.9',
            'sec-ch-ua': 'x'.repeat(1_024),
            'sec-fetch-site': 'same-origin',
          },
        },
      ],
      `${client.name}: the server's clock, the peer, what is observed of the request and no more`,
    )
  }
})

t.test('a signed request keeps the parts that its signature may cover', async (t) => {
  const { clients, since } = await openTrackServer(t)
  const headers = { Host: 'a.com:8080', 'Signature-Input': 'sig=("@authority")', Signature: 'sig=:eA==:' }
  const seen = { 'signature-input': headers['Signature-Input'], signature: headers.Signature }
  for (const client of clients) {
    const scheme = 'http'
    const [post, pixel] = ['/api/track', '/api/track/pixel.gif?s=1&u=https%3A%2F%2Fa.com%2F']
    const target = (path: string) => `${client.base}${path}`
    await send(client, 'POST', post, { headers, body: json(HIT) })
    await send(client, 'GET', pixel, { headers })
    await send(client, 'POST', post, { body: json(HIT) })
    const [first, second, unsigned] = since().hits
    const common = { scheme, authority: 'a.com:8080', at: first?.timestamp }
    t.strictSame(first?.signed, { method: 'POST', ...common, target: target(post) }, client.name)
    t.match(first?.headers, seen)
    t.strictSame(second?.signed, { method: 'GET', ...common, target: target(pixel) }, `${client.name}: the pixel`)
    t.notOk(unsigned && 'signed' in unsigned, 'no signature')
  }
})

t.test('a dropped hit gets the same response as a recorded one', async (t) => {
  const { clients, since, state, limit } = await openTrackServer(t)
  const dropped: [string, string, Record<string, string>][] = [
    ['excluded', json({ s: 1, u: 'https://a.com/private/x' }), {}],
    ['opted out', json(HIT), { Cookie: 'readership-opt-out=1' }],
    ['malformed', '{', {}],
    ['compressed', json(HIT), { 'Content-Encoding': 'br' }],
  ]
  for (const client of clients) {
    state.now += 60_000
    const written = await send(client, 'POST', '/api/track', { body: json(HIT) })
    t.match(written.head, /^HTTP\/1\.1 204 No Content\r\n/)
    t.strictSame(Object.keys(written.headers).sort(), [
      'access-control-allow-origin',
      'cache-control',
      'connection',
      'cross-origin-resource-policy',
      'x-content-type-options',
    ])
    for (const [why, body, headers] of dropped) {
      const told = await send(client, 'POST', '/api/track', { headers, body })
      t.strictSame(told, written, `${client.name}: ${why}`)
    }
    while (limit.take(1, '127.0.0.1'));
    t.strictSame(await send(client, 'POST', '/api/track', { body: json(HIT) }), written, `${client.name}: rate limited`)
    const seen = since()
    t.equal(seen.hits.length, 1)
    t.equal(seen.drops['1 track rate_limited'], 1)
    state.sites = () => Promise.reject(new Error('the records are away'))
    t.strictSame(
      await send(client, 'POST', '/api/track', { body: json(HIT) }),
      written,
      'records that cannot be reached',
    )
    state.sites = async () => SITES
    since()
  }
})

t.test('a batch records each payload by itself', async (t) => {
  const { clients, since, state } = await openTrackServer(t)
  const many = (n: number) => Array.from({ length: n }, () => HIT)
  const foreign = { s: 1, u: 'https://evil.example/' }
  const nobody = { s: 9, u: U }
  const rows: [unknown, number, number, Drops, string][] = [
    [[HIT, { ...HIT, t: 'custom', n: 'x' }], 204, 2, {}, 'an array'],
    [{ events: [HIT] }, 204, 1, {}, 'an object that holds one'],
    [{ events: [HIT], s: 1, more: [] }, 204, 1, {}, 'beside other things'],
    [[], 204, 0, {}, 'of nothing'],
    [{ events: [] }, 204, 0, {}, 'an object of nothing'],
    [HIT, 204, 0, { '- track malformed': 1 }, 'one payload is not a batch'],
    [{ events: HIT }, 204, 0, { '- track malformed': 1 }, 'nor so'],
    ['x', 204, 0, { '- track malformed': 1 }, 'text'],
    [[null, 7, 'x', [HIT], {}], 204, 0, { '- track malformed': 5 }, 'malformed items'],
    [[HIT, { s: 1 }], 204, 1, { '1 track malformed': 1 }, 'one of two'],
    [many(200), 204, 200, {}, 'as many as there may be'],
    [many(201), 204, 200, { '1 track over_batch': 1 }, 'one more'],
    [[...many(200), nobody, 7, { s: 3 }], 204, 200, { '- track over_batch': 2, '3 track over_batch': 1 }, 'whosever'],
    [[...many(200), foreign], 204, 200, { '1 track over_batch': 1 }, 'payloads over the limit are not read'],
    [[HIT, foreign, nobody], 204, 1, { '1 track foreign_host': 1, '- track unknown_site': 1 }, 'one is good'],
    [[foreign, HIT], 204, 1, { '1 track foreign_host': 1 }, 'in any order'],
    [[foreign, nobody], 403, 0, { '1 track foreign_host': 1, '- track unknown_site': 1 }, 'none is valid'],
    [
      [foreign, 7],
      403,
      0,
      { '1 track foreign_host': 1, '- track malformed': 1 },
      'a malformed payload does not excuse a foreign one',
    ],
    [
      [foreign, { s: 1, u: 'https://a.com/private/x' }],
      204,
      0,
      { '1 track foreign_host': 1, '1 track excluded_path': 1 },
      'dropped, but its own',
    ],
    [
      [HIT, { s: 3, u: 'https://b.com/' }, { s: 2, u: 'https://c.com/' }],
      204,
      2,
      { '2 track foreign_host': 1 },
      'sites',
    ],
  ]
  for (const client of clients)
    for (const [body, status, hits, drops, why] of rows) {
      state.now += 60_000
      const told = await send(client, 'POST', '/api/track/batch', { body: json(body) })
      const seen = since()
      t.same([told.status, seen.hits.length, seen.drops], [status, hits, drops], `${client.name}: ${why}`)
      t.equal(told.body.length, 0)
    }
})

t.test('the rate limit counts each hit of a batch, and each site by itself', async (t) => {
  const { clients, since, state } = await openTrackServer(t)
  const [client] = clients
  const batch = (n: number, s = 1, u = U) => ({ body: json(Array.from({ length: n }, () => ({ s, u }))) })
  for (const n of [200, 200, 199]) await send(client, 'POST', '/api/track/batch', batch(n))
  t.equal(since().hits.length, 599)
  t.equal((await send(client, 'POST', '/api/track/batch', batch(3))).status, 204)
  const over = since()
  t.same([over.hits.length, over.drops], [1, { '1 track rate_limited': 2 }], 'the 600th and no more')
  await send(client, 'GET', `/api/track/pixel.gif?s=1&u=${U}`)
  t.same(since().drops, { '1 track rate_limited': 1 }, 'at every endpoint')
  await send(client, 'POST', '/api/track/batch', batch(2, 3, 'https://b.com/'))
  t.equal(since().hits.length, 2, 'another site')
  state.now = CLOCK + 59_999
  await send(client, 'POST', '/api/track', { body: json(HIT) })
  t.equal(since().hits.length, 0, 'the last millisecond of the minute')
  state.now = CLOCK + 60_000
  await send(client, 'POST', '/api/track', { body: json(HIT) })
  t.equal(since().hits.length, 1, 'the first of the next')
})

t.test('the pixel always returns the image', async (t) => {
  const { clients, since } = await openTrackServer(t)
  const sound = `s=1&u=${encodeURIComponent('https://a.com/x?utm_source=mail')}&r=https://b.com/&w=390&p=${encodeURIComponent('{"a":1}')}`
  const rows: [string, number, Drops, string][] = [
    [`?${sound}`, 1, {}, 'a hit'],
    ['?s=9&u=https://a.com/', 0, { '- track unknown_site': 1 }, 'no such site'],
    ['?s=1&u=https://evil.example/', 0, { '1 track foreign_host': 1 }, 'a foreign hostname'],
    ['?s=1', 0, { '- track malformed': 1 }, 'no page'],
    ['', 0, { '- track malformed': 1 }, 'an empty query'],
    ['?%', 0, { '- track malformed': 1 }, 'no escape'],
    [`?${sound}&x=${'y'.repeat(8_000)}`, 1, {}, 'long'],
  ]
  for (const client of clients) {
    let first: unknown
    for (const [query, hits, drops, why] of rows) {
      const told = await send(client, 'GET', `/api/track/pixel.gif${query}`)
      const seen = since()
      t.same([told.status, seen.hits.length, seen.drops], [200, hits, drops], `${client.name}: ${why}`)
      if (hits > 0)
        t.match(seen.hits[0], { ...PAGE, ...REQUEST, query: 'utm_source=mail', screen_width: 390, props: { a: 1 } })
      first ??= told
      t.strictSame(told, first, `${client.name}: ${why}: the same answer`)
      t.equal(told.body.subarray(0, 6).toString('latin1'), 'GIF89a')
      t.equal(told.body.length, 43)
      t.match(told.headers, { 'content-type': 'image/gif', 'content-length': '43', 'cache-control': 'no-store' })
    }
    const head = await send(client, 'HEAD', `/api/track/pixel.gif?${sound}`)
    t.same([head.status, head.body.length, head.headers['content-length']], [200, 0, '43'], `${client.name}: HEAD`)
    t.same(since(), { hits: [], drops: {} }, 'the image was not shown')
  }
})

t.test('preflights are answered, and other methods are not handled', async (t) => {
  const { clients, since } = await openTrackServer(t)
  const asked = { Origin: 'https://elsewhere.example', 'Access-Control-Request-Method': 'POST' }
  for (const client of clients) {
    for (const [path, methods] of [
      ['/api/track', 'POST'],
      ['/api/track/batch', 'POST'],
      ['/api/track/pixel.gif', 'GET, HEAD'],
    ] as const) {
      const told = await send(client, 'OPTIONS', path, { headers: asked })
      t.equal(told.status, 204, `${client.name}: ${path}`)
      t.match(told.headers, {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': methods,
        'access-control-allow-headers': 'Content-Type',
        'access-control-max-age': '86400',
      })
      t.notOk('access-control-allow-credentials' in told.headers)
      for (const method of ['PUT', 'PATCH', 'DELETE', path.endsWith('gif') ? 'POST' : 'GET']) {
        const other = await send(client, method, path, { body: '' })
        t.equal(other.status, 404, `${client.name}: ${method} ${path}: as everywhere`)
        t.notOk('access-control-allow-origin' in other.headers)
      }
    }
    t.equal((await send(client, 'POST', '/api/track/', { body: json(HIT) })).status, 404, 'another path')
    t.equal((await send(client, 'POST', '/api/track?s=1', { body: json(HIT) })).status, 204, 'a query is nothing to it')
    t.equal(since().hits.length, 1)
  }
})

t.test('the endpoints work over HTTP/2', async (t) => {
  const { hit, since } = await openTrackServer(t)
  const handle = toNodeHandler({ hit, fetch: async () => new Response('other', { status: 404 }) })
  const server = createServer((req, res) => void handle(req, res)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const client = connect(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`)
  t.teardown(() => {
    client.destroy()
    server.close()
  })
  const ask = async (method: string, path: string, body?: string) => {
    const stream = client.request({ ':method': method, ':path': path, ':authority': 'c.com', 'user-agent': 'UA' })
    stream.end(body)
    const [headers] = await once(stream, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    return [headers[':status'], Buffer.concat(chunks).length]
  }
  const body = json({ s: 2, u: 'https://c.com/x' })
  t.same(await ask('POST', '/_readership/api/track', body), [204, 0])
  t.match(since().hits, [{ site: 2, hostname: 'c.com', ip: '127.0.0.1' }])
  t.same(await ask('GET', '/_readership/api/track/pixel.gif?s=2&u=https://c.com/'), [200, 43])
  t.same(await ask('POST', '/_readership/api/track', 'x'.repeat(65_537)), [413, 0])
  t.same(await ask('POST', '/_readership/api/track', json({ s: 1, u: 'https://c.com/' })), [403, 0])
  t.same(await ask('GET', '/_readership/api/track'), [404, 5])
})
