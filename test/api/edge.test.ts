import { gzipSync } from 'node:zlib'
import t from 'tap'
import { isSigned, parseSignature } from '../../src/api/edge/signature.js'
import { sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { edgeService, signBody } from '../fixtures/edge-service.js'

/**
 * The edge endpoint accepts rows from other servers over the internet. An attacker who knows a site's id may try to write
 * rows without its ingest key, replay a recorded request, learn which sites exist from different errors, or use up memory
 * with large, slow or numerous bodies. These tests send such requests over a real socket to a real store: every refusal
 * writes nothing, refusals look alike, and what one sender uses up is not missing for another.
 */
const service = await edgeService(t)
const { workerClient, send, post, rows, fetched, viewed, fresh, key, keys, seconds, clock, faults, drops, url } =
  service

const V1 = 'a4431947109bdcf9146e3714d9a317291048991ca961d408407b516f85d1b662'

t.test('a signature is an HMAC-SHA256 of time and body', (t) => {
  // Computed with Python's hmac.
  const body = Buffer.from('{"site_id":1,"agent_events":[],"events":[]}')
  const key = `svci_${'A'.repeat(43)}`
  const other = `svci_${'B'.repeat(43)}`
  const rows: [string, readonly string[], boolean, string][] = [
    [`t=1763715600,v1=${V1}`, [key], true, 'as written'],
    [`v1=${V1},t=1763715600`, [key], true, 'in the other order'],
    [`t=1763715600, v1=${V1.toUpperCase()} , v2=x, v0`, [key], true, 'blanks, capitals and unknown entries'],
    [`t=1763715600,v1=${V1}`, [other, key], true, 'the second of two keys'],
    [`t=1763715600,v1=${V1}`, [other], false, 'another key'],
    [`t=1763715600,v1=${V1}`, [], false, 'no key'],
    [`t=01763715600,v1=${V1}`, [key], false, 'the digits of t are signed as sent'],
    [`t=1763715601,v1=${V1}`, [key], false, 'another time'],
    [`t=1763715600,v1=${V1.replace(/^a/, 'b')}`, [key], false, 'one digit off'],
  ]
  for (const [header, keys, expected, why] of rows) {
    const signature = parseSignature(header)
    t.equal(signature !== undefined && isSigned(signature, body, keys), expected, why)
  }
  t.notOk(isSigned({ t: '1', v1: Buffer.alloc(32) }, Buffer.concat([body, Buffer.from(' ')]), [key]))
  for (const [header, why] of [
    ['', 'empty'],
    ['t=1', 'no v1'],
    [`v1=${V1}`, 'no t'],
    [`t=1,v1=${V1.slice(1)}`, 'too short'],
    [`t=1,v1=${V1}0`, 'too long'],
    [`t=1,v1=${V1.replace(/^a/, 'g')}`, 'no hex'],
    [`t=-1,v1=${V1}`, 'negative'],
    [`t=1.5,v1=${V1}`, 'a fraction'],
    [`t=1e3,v1=${V1}`, 'an exponent'],
    [`t=,v1=${V1}`, 'no digits'],
    [`t=${'9'.repeat(13)},v1=${V1}`, 'beyond any time'],
    [`t=1,t=1,v1=${V1}`, 'two times'],
    [`t=1,v1=${V1},v1=${V1}`, 'two digests'],
    [`t=1;v1=${V1}`, 'another separator'],
    [`T=1,V1=${V1}`, 'other names'],
    [`t=١,v1=${V1}`, 'digits of another script'],
  ] as const)
    t.equal(parseSignature(header), undefined, why)
  t.end()
})

t.test('accepted rows are committed as they were sent', async (t) => {
  fresh()
  const answer = await post({
    site_id: 1,
    agent_events: [
      fetched({
        query: '?a=1',
        response: { 'x-robots-tag': 'noindex', 'set-cookie': 'x' },
        ip: null,
        content_type: null,
      }),
      fetched({
        pathname: '/with?query=1',
        hostname: `${fetched().hostname.toUpperCase()}:8443`,
        ip: '203.0.113.8',
        unknown_field: 1,
      }),
    ],
    events: [viewed({ query: 'utm_source=letter', referrer: 'https://www.google.com/', language: 'de-DE,de;q=0.9' })],
  })
  t.match(answer, { status: 202, data: { agent_events: 2, events: 1 } })
  t.strictSame(Object.keys(answer.data ?? {}), ['agent_events', 'events'])
  t.strictSame(await rows(), ['/agent', '/person', '/with'], 'all are there when it is answered')
  t.match(await workerClient.events.query(sql`select * from agent_events order by pathname`), [
    { site_id: 1, agent_id: 'gptbot', timestamp: clock.now, bytes: 1234, x_robots_tag: 'noindex', content_type: null },
    { pathname: '/with' },
  ])
  t.match(await workerClient.events.query(sql`select * from events`), [
    { kind: 'pageview', utm_source: 'letter', language: 'de', browser: 'Chrome', status: 200 },
  ])
  for (const [body, why] of [
    [{ site_id: 1 }, 'no lists'],
    [{ site_id: 1, agent_events: [], events: [] }, 'empty lists'],
    [{ site_id: 1, agent_events: null, events: null, batch: null, hits: null, later: {} }, 'null is nothing'],
  ] as const)
    t.match(await post(body), { status: 202, data: { agent_events: 0, events: 0 } }, why)
})

t.test('only a signature or a key with the scope is accepted', async (t) => {
  fresh()
  const body = (site: unknown = 1) => {
    const row = site === 2 ? fetched({ hostname: 'two.example' }) : fetched()
    return JSON.stringify({ site_id: site, agent_events: [row], nonce: Math.random() })
  }
  const bearer = async (org: number, scopes: ('ingest:write' | 'stats:read')[], site?: number) => {
    const made = await keys.create({ org, name: 'x', scopes, ...(site === undefined ? {} : { site }) }, deed)
    return { authorization: `Bearer ${made.secret}` }
  }
  const sign = (text: string, signing = key.one, t: number | string = seconds()) => ({
    'x-service-signature': signBody(signing, t, text),
  })
  const own = body()
  const two = body(2)
  const foreign = body(99)
  const ingest = await bearer(1, ['ingest:write'])
  const cases: [string, Record<string, string>, number, string][] = [
    [own, {}, 401, 'no credential'],
    [own, { authorization: 'Basic eDp5' }, 401, 'no credential of ours'],
    [own, { authorization: `Bearer svcg_00000000_${'a'.repeat(43)}` }, 401, 'an invalid key'],
    [own, await bearer(1, ['stats:read']), 403, 'a key without the scope'],
    [own, await bearer(2, ['ingest:write']), 404, "a key of another organisation's"],
    [own, await bearer(1, ['ingest:write'], 2), 404, 'a key of another site'],
    [foreign, ingest, 404, 'no such site'],
    [own, ingest, 202, 'a key of the organisation'],
    [own, await bearer(1, ['ingest:write'], 1), 202, 'a key of the site'],
    [own, { 'x-service-signature': '' }, 401, 'an empty signature'],
    [own, { 'x-service-signature': `t=${seconds()}` }, 401, 'half a signature'],
    [own, sign(own, 'svci_x'), 401, 'signed with another key'],
    [own, sign(own, key.two), 401, "signed with another site's key"],
    [own, sign(`${own} `), 401, 'another body was signed'],
    [foreign, sign(foreign), 401, 'an unknown site'],
    [foreign, sign(foreign, ''), 401, 'an unknown site, signed with an empty key'],
    [own, { ...sign(own, 'svci_x'), ...ingest }, 401, 'both: the signature counts'],
    [own, { ...sign(own), authorization: 'Basic eDp5' }, 202, 'both: Authorization may be for a proxy on the way'],
    [two, sign(two, key.two), 202, 'another site with its own key'],
  ]
  const said = new Set<string>()
  for (const [text, headers, status, why] of cases) {
    const answer = await send(text, headers)
    t.equal(answer.status, status, why)
    t.equal(answer.headers.get('www-authenticate'), status === 401 ? 'Bearer' : null, why)
    if (status === 401 && headers['x-service-signature']?.includes('v1')) said.add(JSON.stringify(answer.error))
  }
  t.equal(said.size, 1, 'every wrong signature gets the same error')
  t.equal((await rows()).length, 3, 'and nothing is written but what was let in')
  const ofTwo = sql`select count(*) as n from agent_events where site_id = 2`
  t.match(await workerClient.events.query(ofTwo), [{ n: 1 }], 'nor for the other site')

  const clocks: [number, number][] = [
    [0, 202],
    [-300, 202],
    [300, 202],
    [-301, 401],
    [301, 401],
    [-86_400, 401],
  ]
  for (const [off, status] of clocks) {
    const text = body()
    const answer = await send(text, sign(text, key.one, seconds() + off))
    t.equal(answer.status, status, `${off} s from the clock`)
  }
  t.strictSame(faults, [])
})

t.test('of a refused delivery no row is written', async (t) => {
  fresh()
  const at = (ms: number) => new Date(clock.now.getTime() + ms).toISOString()
  const day = 86_400_000
  const good = fetched()
  const agents = (given: object) => ({
    site_id: 1,
    events: [viewed()],
    agent_events: [good, good, good, fetched(given)],
  })
  const people = (given: object) => ({ site_id: 1, agent_events: [good], events: [viewed(given)] })
  const hits = (given: object) => ({
    site_id: 1,
    agent_events: [good],
    hits: [{ timestamp: at(0), ip: '', user_agent: '', payload: {}, ...given }],
  })
  const established = 'agent_id operator purpose verified asn country ip_hash robots_allowed llms_listed'.split(' ')
  const cases: [unknown, string | undefined, string][] = [
    [{}, 'site_id', 'no site'],
    [{ site_id: '1' }, 'site_id', 'a site that is text'],
    [{ site_id: 1.5 }, 'site_id', 'half a site'],
    [7, undefined, 'no object'],
    ...established.flatMap((name): [unknown, string, string][] => [
      [agents({ [name]: true }), `agent_events[3].${name}`, 'the server establishes it'],
      [people({ [name]: null }), `events[0].${name}`, 'also of people, and also null'],
    ]),
    [{ site_id: 1, agent_events: Array(501).fill(good) }, 'agent_events', '501 rows'],
    [{ site_id: 1, events: Array(501).fill(viewed()) }, 'events', '501 people'],
    [{ site_id: 1, hits: Array(501).fill({}) }, 'hits', '501 hits'],
    [{ site_id: 1, agent_events: {} }, 'agent_events', 'no list'],
    [{ site_id: 1, agent_events: [good, 7] }, 'agent_events[1]', 'no row'],
    [{ site_id: 1, agent_events: [good, null] }, 'agent_events[1]', 'null'],
    [agents({ timestamp: 'now' }), 'agent_events[3].timestamp', 'no instant'],
    [agents({ timestamp: 1_763_715_600 }), 'agent_events[3].timestamp', 'a number'],
    [agents({ timestamp: '2026-02-30T00:00:00.000Z' }), 'agent_events[3].timestamp', 'no such day'],
    [agents({ timestamp: '2026-11-21T10:00:00' }), 'agent_events[3].timestamp', 'no zone'],
    [agents({ timestamp: at(5 * 60_000 + 1) }), 'agent_events[3].timestamp', 'too far ahead'],
    [people({ timestamp: at(-90 * day - 1) }), 'events[0].timestamp', 'too old'],
    [agents({ timestamp: undefined }), 'agent_events[3].timestamp', 'missing'],
    [agents({ user_agent: undefined }), 'agent_events[3].user_agent', 'missing'],
    [agents({ method: 7 }), 'agent_events[3].method', 'no text'],
    [agents({ hostname: null }), 'agent_events[3].hostname', 'null'],
    [agents({ pathname: ['/'] }), 'agent_events[3].pathname', 'a list'],
    [agents({ status: '200' }), 'agent_events[3].status', 'a number in quotes'],
    [agents({ status: 200.5 }), 'agent_events[3].status', 'no whole number'],
    [agents({ status: 1000 }), 'agent_events[3].status', 'four digits'],
    [agents({ bytes: -1 }), 'agent_events[3].bytes', 'negative'],
    [agents({ bytes: 1e300 }), 'agent_events[3].bytes', 'beyond a number that is exact'],
    [agents({ duration_ms: true }), 'agent_events[3].duration_ms', 'a boolean'],
    [agents({ conditional: 2 }), 'agent_events[3].conditional', 'no flag'],
    [agents({ ip: 7 }), 'agent_events[3].ip', 'no text'],
    [agents({ headers: { accept: 7 } }), 'agent_events[3].headers.accept', 'a header that is not text'],
    [agents({ signed: { scheme: 'ftp', authority: '', target: '' } }), 'agent_events[3].signed.scheme', 'no scheme'],
    [people({ ip: 7 }), 'events[0].ip', 'an address that is not text'],
    [people({ props: 'x' }), 'events[0].props', 'no properties'],
    [people({ props: [] }), 'events[0].props', 'a list of them'],
    [hits({ timestamp: 'x' }), 'hits[0].timestamp', 'no instant'],
    [hits({ ip: undefined }), 'hits[0].ip', 'no address'],
    [{ site_id: 1, agent_events: [good], batch: { sender: 'x', number: 1 } }, 'batch.sender', 'no sender'],
    [{ site_id: 1, agent_events: [good], batch: { sender: 'a'.repeat(16), number: 0 } }, 'batch.number', 'from 1'],
    [{ site_id: 1, agent_events: [good], batch: { sender: 'a'.repeat(16) } }, 'batch.number', 'no number'],
  ]
  for (const [body, field, why] of cases) {
    const { status, error } = await post(body)
    t.strictSame([status, error?.code, error?.field], [422, 'validation_error', field], `${field}: ${why}`)
  }
  const deep = `{"site_id":1,"agent_events":[],"events":[${JSON.stringify(viewed({ props: {} })).replace('"props":{}', `"props":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`)}]}`
  const raw: [string | Buffer, number, string | undefined, string][] = [
    [deep, 422, 'events[0]', 'nested without end'],
    ['', 400, undefined, 'an empty body'],
    ['{', 400, undefined, 'no JSON'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 400, undefined, 'no UTF-8'],
    [`{"__proto__":{"site_id":1}}`, 422, 'site_id', 'a prototype is not a field'],
    ['['.repeat(1_000_000), 400, undefined, 'brackets'],
  ]
  for (const [body, status, field, why] of raw) {
    const answer = await send(body, { 'x-service-signature': signBody(key.one, seconds(), body) })
    t.strictSame([answer.status, answer.error?.field], [status, field], why)
  }
  t.strictSame(await rows(), [], 'nothing of all that')
  t.strictSame(faults, [], 'no internal error was logged')

  const taken: [object, string][] = [
    [fetched({ timestamp: at(5 * 60_000), pathname: '/ahead' }), 'five minutes ahead'],
    [fetched({ timestamp: at(-90 * day), pathname: '/old' }), 'ninety days old'],
    [fetched({ timestamp: '2026-11-20T12:00:00+02:00', pathname: '/offset' }), 'another zone'],
    [fetched({ method: '', hostname: '', user_agent: '', pathname: '*', ip: 'x' }), 'as strange as a request can be'],
  ]
  for (const [row, why] of taken) t.equal((await post({ site_id: 1, agent_events: [row] })).status, 202, why)
  t.strictSame(await rows(), ['/ahead', '/offset', '/old'])
  t.match(await workerClient.events.query(sql`select agent_id from agent_events where hostname = ''`), [
    { agent_id: 'other' },
  ])
  const most = await post({ site_id: 1, agent_events: Array(500).fill(good), events: Array(500).fill(viewed()) })
  t.match(most, { status: 202, data: { agent_events: 500, events: 500 } }, 'as many as there may be')
  t.equal((await rows()).length, 1003)
})

t.test('content type, encoding and size are checked, and any origin may send', async (t) => {
  fresh()
  const text = () => JSON.stringify({ site_id: 1, agent_events: [fetched()], nonce: Math.random() })
  const types: [string, number][] = [
    ['application/json', 202],
    ['application/json; charset=utf-8', 202],
    ['Application/JSON ;charset=UTF-8', 202],
    ['text/plain', 415],
    ['application/jsonp', 415],
    ['application/x-ndjson', 415],
    ['', 415],
  ]
  for (const [type, status] of types) {
    const body = text()
    const headers = { 'content-type': type, 'x-service-signature': signBody(key.one, seconds(), body) }
    const answer = await send(body, headers)
    t.equal(answer.status, status, type)
    if (status === 415) t.equal(answer.error?.code, 'bad_request')
  }
  const zipped = gzipSync(text())
  const signature = { 'x-service-signature': signBody(key.one, seconds(), zipped) }
  t.equal((await send(zipped, { 'content-encoding': 'gzip', ...signature })).status, 415, 'nothing is unpacked')
  t.equal((await rows()).length, 3)

  const exact = (bytes: number) => {
    const head = `{"site_id":1,"pad":"`
    return `${head}${'x'.repeat(bytes - head.length - 2)}"}`
  }
  for (const [bytes, status, why] of [
    [2 * 1024 * 1024, 202, '2 MB'],
    [2 * 1024 * 1024 + 1, 413, 'one byte more'],
  ] as const) {
    const body = exact(bytes)
    const headers = { 'x-service-signature': signBody(key.one, seconds(), body) }
    const answer = await send(body, headers)
    t.equal(answer.status, status, why)
    const chunks = new ReadableStream({
      start(controller) {
        for (let i = 0; i < bytes; i += 100_000) controller.enqueue(Buffer.from(body.slice(i, i + 100_000)))
        controller.close()
      },
    })
    const later = { 'x-service-signature': signBody(key.one, seconds() + 1, body) }
    const streamed = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...later },
      body: chunks,
      duplex: 'half',
    })
    t.equal(streamed.status, status, `${why}, of a length that is not said`)
    await streamed.text()
  }

  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-origin'), '*')
  t.match(preflight.headers.get('access-control-allow-headers'), /content-type.*authorization.*x-service-signature/)
  t.equal((await send('{}')).headers.get('access-control-allow-origin'), '*', 'failures can be read too')
  t.equal((await fetch(url)).status, 404, 'nothing is read here')
  t.equal(workerClient.status().state, 'ready')
})

t.test('two ingest keys are valid during a rotation, never three', async (t) => {
  fresh()
  let n = 0
  const by = async (signing: string) => {
    const body = JSON.stringify({ site_id: 3, n: n++ })
    return (await send(body, { 'x-service-signature': signBody(signing, seconds(), body) })).status
  }
  const first = (await service.ingestKeys.get(3)).ingest_key
  const second = (await service.ingestKeys.rotate(3, deed)).ingest_key
  t.match(second, /^svci_[\w-]{43}$/)
  t.strictSame([await by(first), await by(second)], [202, 202], 'both')
  const until = (await service.ingestKeys.get(3)).previous_until
  t.equal(until, new Date(clock.now.getTime() + 86_400_000).toISOString(), 'for a day')
  clock.now = new Date(clock.now.getTime() + 86_399_999)
  t.strictSame([await by(first), await by(second)], [202, 202], 'to its end')
  clock.now = new Date(clock.now.getTime() + 1)
  t.strictSame([await by(first), await by(second)], [401, 202], 'and not longer')
  const third = (await service.ingestKeys.rotate(3, deed)).ingest_key
  const fourth = (await service.ingestKeys.rotate(3, deed)).ingest_key
  t.strictSame([await by(second), await by(third), await by(fourth)], [401, 202, 202], 'rotated twice: out at once')
  t.strictSame(await rows(), [])
})

t.test('browser hits are accepted for the site of the signature only', async (t) => {
  const recorded: number[] = []
  const record: typeof workerClient.record = async (parcel) => {
    recorded.push(parcel.count)
  }
  fresh({ workerClient: { ...workerClient, record } })
  const hit = (payload: unknown) => ({
    timestamp: clock.now.toISOString(),
    ip: '203.0.113.7',
    user_agent: 'x',
    payload,
  })
  const answer = await post({
    site_id: 1,
    hits: [
      hit({ s: 1, u: 'https://one.example/a' }),
      hit({ s: 2, u: 'https://two.example/b' }),
      hit({ s: 1, u: 'https://two.example/c' }),
      hit({ s: 1 }),
      hit('x'),
    ],
  })
  t.match(answer, { status: 202, data: { agent_events: 0, events: 0 } })
  t.strictSame(recorded, [1], 'the one that is of the site')
  t.strictSame(drops, [
    [1, 'unknown_site', 1],
    [1, 'foreign_host', 1],
    [1, 'malformed', 2],
  ])
  await post({ site_id: 2, hits: [hit({ s: 2, u: 'https://two.example/b' })] }, key.two)
  t.strictSame(recorded, [1, 1])
})
