import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ApiError } from '../../src/errors.js'
import { createByteBudget } from '../../src/http/edge/read-body.js'
import { isSigned, parseSignature } from '../../src/http/edge/signature.js'
import { sql } from '../../src/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { edgeService, signBody } from '../fixtures/edge-service.js'

const service = await edgeService(t)
const { engine, send, post, rows, fetched, viewed, fresh, key, keys, seconds, clock, faults, drops, url } = service

/** An engine whose commits wait until the test releases them. */
function holding() {
  const held: (() => void)[] = []
  const record: typeof engine.record = async (...args) => {
    await new Promise<void>((resolve) => held.push(resolve))
    await engine.record(...args)
  }
  return { held, engine: { ...engine, record } }
}
const refusing = (error: ApiError) => ({ ...engine, record: () => Promise.reject(error) })

/**
 * The edge endpoint accepts rows from other servers over the internet. An attacker who knows a site's id may try to write
 * rows without its ingest key, replay a recorded request, learn which sites exist from different errors, or use up memory
 * with large, slow or numerous bodies. These tests send such requests over a real socket to a real store: every refusal
 * writes nothing, refusals look alike, and what one sender uses up is not missing for another.
 */

const V1 = 'a4431947109bdcf9146e3714d9a317291048991ca961d408407b516f85d1b662'

t.test('a signature is an HMAC-SHA256 of time and body', (t) => {
  // Computed with Python's hmac.
  const body = Buffer.from('{"site_id":1,"agent_events":[],"events":[]}')
  const key = `svci_${'A'.repeat(43)}`
  const other = `svci_${'B'.repeat(43)}`
  const rows: [string, readonly string[], boolean, string][] = [
    [`t=1763715600,v1=${V1}`, [key], true, 'as written'],
    [`v1=${V1},t=1763715600`, [key], true, 'in the other order'],
    [`t=1763715600, v1=${V1.toUpperCase()} , v2=x, v0`, [key], true, 'blanks, capitals, what is not known'],
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
  t.match(await engine.events.query(sql`select * from agent_events order by pathname`), [
    { site_id: 1, agent_id: 'gptbot', timestamp: clock.now, bytes: 1234, x_robots_tag: 'noindex', content_type: null },
    { pathname: '/with' },
  ])
  t.match(await engine.events.query(sql`select * from events`), [
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
  const body = (site: unknown = 1) => JSON.stringify({ site_id: site, agent_events: [fetched()], nonce: Math.random() })
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
    [own, { authorization: `Bearer svcg_00000000_${'a'.repeat(43)}` }, 401, 'a key that is none'],
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
    [foreign, sign(foreign), 401, 'a site that is none'],
    [foreign, sign(foreign, ''), 401, 'a site that is none, signed with nothing'],
    [own, { ...sign(own, 'svci_x'), ...ingest }, 401, 'both: the signature counts'],
    [own, { ...sign(own), authorization: 'Basic eDp5' }, 202, 'both: Authorization may be for somebody on the way'],
    [two, sign(two, key.two), 202, 'another site with its own key'],
  ]
  const said = new Set<string>()
  for (const [text, headers, status, why] of cases) {
    const answer = await send(text, headers)
    t.equal(answer.status, status, why)
    t.equal(answer.headers.get('www-authenticate'), status === 401 ? 'Bearer' : null, why)
    if (status === 401 && headers['x-service-signature']?.includes('v1')) said.add(JSON.stringify(answer.error))
  }
  t.equal(said.size, 1, 'whatever did not fit, a stranger is told the same')
  t.equal((await rows()).length, 4, 'and nothing is written but what was let in')

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
    [agents({ headers: { accept: 7 } }), 'agent_events[3].headers.accept', 'a header that is no text'],
    [agents({ signed: { scheme: 'ftp', authority: '', target: '' } }), 'agent_events[3].signed.scheme', 'no scheme'],
    [people({ ip: undefined }), 'events[0].ip', 'a person without an address'],
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
    ['', 400, undefined, 'nothing'],
    ['{', 400, undefined, 'no JSON'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 400, undefined, 'no UTF-8'],
    [`{"__proto__":{"site_id":1}}`, 422, 'site_id', 'a prototype is no field'],
    ['['.repeat(1_000_000), 400, undefined, 'brackets'],
  ]
  for (const [body, status, field, why] of raw) {
    const answer = await send(body, { 'x-service-signature': signBody(key.one, seconds(), body) })
    t.strictSame([answer.status, answer.error?.field], [status, field], why)
  }
  t.strictSame(await rows(), [], 'nothing of all that')
  t.strictSame(faults, [], 'and none of it our fault')

  const taken: [object, string][] = [
    [fetched({ timestamp: at(5 * 60_000), pathname: '/ahead' }), 'five minutes ahead'],
    [fetched({ timestamp: at(-90 * day), pathname: '/old' }), 'ninety days old'],
    [fetched({ timestamp: '2026-11-20T12:00:00+02:00', pathname: '/offset' }), 'another zone'],
    [fetched({ method: '', hostname: '', user_agent: '', pathname: '*', ip: 'x' }), 'as strange as a request can be'],
  ]
  for (const [row, why] of taken) t.equal((await post({ site_id: 1, agent_events: [row] })).status, 202, why)
  t.strictSame(await rows(), ['/ahead', '/offset', '/old'])
  t.match(await engine.events.query(sql`select agent_id from agent_events where hostname = ''`), [
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
  t.equal(engine.status().state, 'ready')
})

t.test('an accepted request cannot be repeated', async (t) => {
  fresh()
  const make = (pathname: string) => JSON.stringify({ site_id: 1, agent_events: [fetched({ pathname })] })
  const body = make('/once')
  const header = signBody(key.one, seconds(), body)
  const again = (value = header, text = body) => send(text, { 'x-service-signature': value })
  t.equal((await again()).status, 202)
  const conflict = await again()
  t.match(conflict, { status: 409, error: { code: 'conflict' } })
  const [time = '', digest = ''] = header.split(',')
  t.equal((await again(`${digest.toUpperCase().replace('V1', 'v1')}, ${time}`)).status, 409, 'in another spelling')
  t.equal((await again(signBody(key.one, seconds() + 1, body))).status, 202, 'signed afresh it is another')
  t.strictSame(await rows(), ['/once', '/once'])
  clock.now = new Date(clock.now.getTime() + 300_000)
  t.equal((await again()).status, 409, 'for as long as its time would let it in')
  clock.now = new Date(clock.now.getTime() + 1_000)
  t.equal((await again()).status, 401, 'and then that does not')

  const twice = make('/race')
  const racing = signBody(key.one, seconds(), twice)
  const answers = await Promise.all(Array.from({ length: 8 }, () => again(racing, twice)))
  t.strictSame(answers.map(({ status }) => status).toSorted(), [202, 409, 409, 409, 409, 409, 409, 409])
  t.strictSame(await rows(), ['/once', '/once', '/race'])
})

t.test('a numbered delivery is stored once, however often it is sent', async (t) => {
  fresh()
  const batch = (sender: string, number: number, site = 1) => ({
    site_id: site,
    batch: { sender: sender.repeat(16), number },
    agent_events: [fetched({ pathname: `/${sender}${number}` })],
  })
  const cases: [ReturnType<typeof batch>, string[], string][] = [
    [batch('a', 1), ['/a1'], 'the first'],
    [batch('a', 1), ['/a1'], 'again: accepted, and not written'],
    [batch('a', 5), ['/a1', '/a5'], 'some may be left out'],
    [batch('a', 4), ['/a1', '/a5'], 'below the highest'],
    [batch('b', 1), ['/a1', '/a5', '/b1'], 'another sender'],
  ]
  for (const [body, expected, why] of cases) {
    t.match(await post(body), { status: 202, data: { agent_events: 1, events: 0 } }, why)
    t.strictSame(await rows(), expected, why)
  }
  t.equal((await post(batch('a', 1, 2), key.two)).status, 202)
  t.equal((await rows()).length, 4, 'numbers are of a site')
  const retries = await Promise.all(Array.from({ length: 6 }, () => post(batch('c', 1))))
  t.ok(retries.every(({ status }) => status === 202))
  t.equal((await rows()).filter((path) => path === '/c1').length, 1, 'also all at once')
  const stored = batch('a', 5)
  clock.now = new Date(clock.now.getTime() - 600_000)
  t.equal((await post(stored)).status, 202, 'a clock that was set back makes no stored row a wrong one')
  t.match(await post({ ...stored, batch: { ...stored.batch, number: 6 } }), { status: 422 }, 'but a new one')
})

t.test('a look-up from before a commit is not used after it', async (t) => {
  let answered = () => {}
  const answering = new Promise<void>((resolve) => {
    answered = resolve
  })
  let asked = () => {}
  const asking = new Promise<void>((resolve) => {
    asked = resolve
  })
  let questions = 0
  const query: typeof engine.events.query = async (statement) => {
    const found = await engine.events.query(statement)
    if (!statement.text.join('?').includes('max(number)')) return found
    questions += 1
    if (questions === 1) {
      asked()
      await answering
    }
    return found
  }
  fresh({ replay: service.createReplay({ store: { query } }) })
  const body = {
    site_id: 1,
    batch: { sender: 'e'.repeat(16), number: 1 },
    agent_events: [fetched({ pathname: '/late' })],
  }
  const late = post(body)
  await asking
  t.equal((await post(body)).status, 202, 'its retry, while the first still asks what is stored of the sender')
  answered()
  t.equal((await late).status, 202)
  t.equal((await post(body)).status, 202)
  t.strictSame(await rows(), ['/late'])
})

t.test('a failed delivery is not accepted, and may be retried', async (t) => {
  fresh({ engine: refusing(new ApiError('database_error', 'Closed.')) })
  const body = JSON.stringify({ site_id: 1, batch: { sender: '0'.repeat(16), number: 1 }, agent_events: [fetched()] })
  const header = { 'x-service-signature': signBody(key.one, seconds(), body) }
  const failed = await send(body, header)
  t.match(failed, { status: 503, error: { code: 'database_error' } })
  t.equal(failed.headers.get('retry-after'), '5')
  service.edge.engine = engine
  t.equal((await send(body, header)).status, 202, 'the very same')
  t.strictSame(await rows(), ['/agent'])
  t.equal(faults.length, 1)
})

t.test('rows that crash the worker again and again are refused for good', async (t) => {
  fresh({ engine: refusing(new ApiError('internal_error', 'The worker crashed repeatedly on this batch.')) })
  const answer = await post({ site_id: 1, agent_events: [fetched()] })
  t.match(
    answer,
    { status: 422, error: { code: 'validation_error' } },
    'who sends them tries fewer of them, not the same',
  )
  t.strictSame(faults, [])
})

t.test('load is bounded', async (t) => {
  await t.test('by requests', async (t) => {
    const seen: [number, string][] = []
    let left = 3
    fresh({
      takeRequest: (...counted) => {
        seen.push(counted)
        left -= 1
        return left >= 0
      },
    })
    const row = { site_id: 1, agent_events: [fetched()] }
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push((await post(row)).status)
    t.strictSame(statuses, [202, 202, 202, 429, 429])
    const limited = await post(row)
    t.match(limited.error, { code: 'rate_limited' })
    t.equal(limited.headers.get('retry-after'), '60')
    t.strictSame(seen.at(-1), [1, '127.0.0.1'])
    const before = seen.length
    await post(row, 'svci_x')
    await send('{}')
    t.equal(seen.length, before, 'what a stranger sends is nobody’s share')
    t.equal((await rows()).length, 3)
  })
  await t.test('by signatures', async (t) => {
    fresh({ replay: service.createReplay({ most: 4 }) })
    // Later than every signature in the store.
    clock.now = new Date(clock.now.getTime() + 3_600_000)
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await post({ site_id: 1 })).status)
    t.strictSame(statuses, [202, 202, 429, 429], 'a site has half of the room, and none is forgotten early')
    clock.now = new Date(clock.now.getTime() + 361_000)
    t.equal((await post({ site_id: 1 })).status, 202, 'and in time they are')
  })
  await t.test('by wrong signatures', async (t) => {
    const missed: string[] = []
    fresh({ rejected: { spent: () => missed.length >= 2, add: (address) => missed.push(address) } })
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await post({ site_id: 1 }, 'svci_x')).status)
    t.strictSame(statuses, [401, 401, 429, 429], 'then no body is read to find that out')
    t.strictSame(missed, ['127.0.0.1', '127.0.0.1'])
  })
  await t.test('by bytes', async (t) => {
    const { held, engine } = holding()
    fresh({ engine, budget: createByteBudget({ total: 5_000, each: 3_000 }) })
    const body = { site_id: 1, agent_events: [fetched()], pad: 'x'.repeat(2_000) }
    const waiting = post(body)
    while (held.length === 0) await sleep(5)
    const refused = await post(body)
    t.match(refused, { status: 503, error: { code: 'database_error' } })
    t.ok(refused.headers.has('retry-after'))
    held[0]?.()
    t.equal((await waiting).status, 202)
    const next = post(body)
    while (held.length < 2) await sleep(5)
    held[1]?.()
    t.equal((await next).status, 202, 'the room is given back')
    t.equal((await rows()).length, 2)
    // An aborted body releases its bytes.
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `POST /api/log/edge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Service-Signature: t=${Math.floor(Date.now() / 1000)},v1=${V1}\r\nContent-Length: 2900\r\n\r\n${'x'.repeat(2_500)}`,
    )
    await sleep(100)
    socket.destroy()
    await once(socket, 'close')
    await sleep(50)
    const last = post(body)
    while (held.length < 3) await sleep(5)
    held[2]?.()
    t.equal((await last).status, 202)
  })
  await t.test('by bytes of one IPv6 network', async (t) => {
    const room = createByteBudget({ total: 100, each: 50 })
    t.ok(room.reserve(50, '2001:db8:1:2::1'))
    t.notOk(room.reserve(1, '2001:db8:1:2:ffff::9'), 'a /64 is one sender, however many addresses it has')
    t.ok(room.reserve(50, '2001:db8:1:3::1'))
    room.release(50, '2001:db8:1:2::9')
    t.ok(room.reserve(50, '2001:db8:1:2::1'))
  })
  await t.test('while rows cannot be stored', async (t) => {
    fresh({ engine: { ...engine, status: () => ({ ...engine.status(), state: 'degraded', reason: 'secret' }) } })
    const answer = await post({ site_id: 1, agent_events: [fetched()] })
    t.equal(answer.status, 503)
    t.notMatch(answer.error?.message, 'secret')
  })
})

t.test('a client that disconnects early can retry', async (t) => {
  const { held, engine } = holding()
  fresh({ engine })
  const value = { site_id: 1, batch: { sender: '1'.repeat(16), number: 1 }, agent_events: [fetched()] }
  const body = JSON.stringify(value)
  const leaving = new AbortController()
  const first = send(body, { 'x-service-signature': signBody(key.one, seconds(), body) }, { signal: leaving.signal })
  while (held.length === 0) await sleep(5)
  leaving.abort()
  await t.rejects(first)
  // The retry waits for the first request, which is stored after all.
  const retry = post(value)
  await sleep(50)
  t.equal(held.length, 1, 'not both at once')
  held[0]?.()
  t.match(await retry, { status: 202, data: { agent_events: 1 } })
  t.strictSame(await rows(), ['/agent'])
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
  const record: typeof engine.record = async (parcel) => {
    recorded.push(parcel.count)
  }
  fresh({ engine: { ...engine, record } })
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

t.test(
  'any body is stored whole or not at all, and never causes an internal error',
  { timeout: 120_000 },
  async (t: Test) => {
    fresh()
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('', '\u0000', '\ud800', 'x'.repeat(20_000), -1, 1e308, Number.MAX_SAFE_INTEGER, null, [], {}),
    )
    const names = [...Object.keys(fetched()), 'referrer', 'query', 'headers', 'response', 'signed', 'language', 'props']
    const changed = (row: object) =>
      fc
        .record({ name: fc.constantFrom(...names, 'verified', '__proto__', 'constructor'), value: odd })
        .map(({ name, value }) => ({ ...row, [name]: value }))
    const list = (row: object) => {
      const some = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(row) }, changed(row)), { maxLength: 3 })
      return fc.oneof({ weight: 4, arbitrary: some }, odd)
    }
    const body = fc.record(
      {
        agent_events: list(fetched()),
        events: list(viewed()),
        hits: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(odd, { maxLength: 3 }), odd),
        batch: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, odd),
      },
      { requiredKeys: [] },
    )
    let stored = 0
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const { status, data } = await post({ site_id: 1, ...value })
        if (status === 202) stored += (data?.agent_events ?? 0) + (data?.events ?? 0)
        return [202, 422].includes(status)
      }),
      { numRuns: 150 },
    )
    const found = (await rows()).length
    t.ok(found > 0 && found <= stored, `${found} rows of ${stored} that were taken`)
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string(), fc.uint8Array()), fc.string(), async (text, header) => {
        const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(text)
        const right = await send(bytes, { 'x-service-signature': signBody(key.one, seconds(), bytes) })
        const safe = header.replace(/[^\x20-\x7e]/g, '')
        const wrong = await send(bytes, { 'x-service-signature': safe, authorization: `Bearer ${safe}` })
        return [400, 401, 422].includes(right.status) && wrong.status === 401
      }),
      { numRuns: 80 },
    )
    t.strictSame(faults, [])
  },
)

t.test('signatures and numbers are remembered after a restart', async (t) => {
  fresh()
  const batch = { sender: 'f'.repeat(16), number: 7 }
  const body = JSON.stringify({ site_id: 1, batch, agent_events: [fetched()] })
  const header = { 'x-service-signature': signBody(key.one, seconds() + 300, body) }
  t.equal((await send(body, header)).status, 202)
  const { now } = clock
  await engine.close()
  const second = await edgeService(t, { data: service.data })
  second.clock.now = now
  t.not(second.key.one, undefined)
  t.equal((await second.send(body, header)).status, 409, 'the repeat')
  const later = second.fetched({ pathname: '/later' })
  t.equal((await second.post({ site_id: 1, batch, agent_events: [later] }, second.key.one)).status, 202)
  t.strictSame(await second.engine.events.query(sql`select * from agent_events where pathname = '/later'`), [])
  second.clock.now = new Date(now.getTime() + 600_000)
  t.equal((await second.send(body, header)).status, 409, 'of a time ahead, ten minutes later')
})
