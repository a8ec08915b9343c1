import { request } from 'node:http'
import t from 'tap'
import { mcpService } from '../../fixtures/mcp-service.js'

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const TYPES = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

t.test('the endpoint answers messages of programs with a key, and refuses all else', async (t) => {
  const { at, createKey, instance, logged } = await mcpService(t)
  const secret = await createKey(['stats:read'])
  const [ingest, good] = [await createKey(['ingest:write']), { authorization: `Bearer ${secret}` }]
  const { host } = new URL(at)
  /** Node's own client: `fetch` does not send a host of another's. */
  const send = (method: string, headers: Record<string, string>, body = JSON.stringify(CALL)) =>
    new Promise<{ status: number; text: string; headers: Record<string, unknown> }>((resolve, reject) => {
      const sent = request(new URL('/mcp', at), { method, headers: { ...TYPES, ...headers } }, (response) => {
        let text = ''
        response.on('data', (chunk) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
      })
      sent.on('error', reject).end(method === 'POST' ? body : undefined)
    })
  const rows: [
    method: string,
    headers: Record<string, string>,
    body: string | undefined,
    expected: number,
    says: RegExp,
    why: string,
  ][] = [
    ['POST', good, undefined, 200, /"tools"/, 'a program with a key'],
    ['POST', { ...good, origin: `http://${host}` }, undefined, 200, /"tools"/, 'a page of this origin'],
    ['POST', { ...good, host: 'localhost:1' }, undefined, 200, /"tools"/, 'another name of this machine'],
    ['POST', { ...good, host: 'slackwater.example' }, undefined, 200, /"tools"/, 'a name of a site'],
    ['POST', {}, undefined, 401, /Send an API key/, 'no key'],
    ['POST', { authorization: 'Bearer svcg_x' }, undefined, 401, /key/, 'not a key'],
    [
      'POST',
      { authorization: `Bearer ${ingest}` },
      undefined,
      403,
      /lacks the scope stats:read/,
      'a key of another scope',
    ],
    ['POST', { cookie: 'service_session=x' }, undefined, 401, /Send an API key/, 'a session is no key'],
    ['POST', { ...good, origin: 'https://evil.example' }, undefined, 403, /another origin/, 'a page of another origin'],
    ['POST', { ...good, origin: 'null' }, undefined, 403, /another origin/, 'a page of no origin'],
    [
      'POST',
      { ...good, host: 'evil.example', origin: 'http://evil.example' },
      undefined,
      403,
      /not known as evil/,
      'DNS rebinding',
    ],
    ['POST', { ...good, host: 'evil.example' }, undefined, 403, /set public_url/, 'the same without its page'],
    ['POST', good, JSON.stringify([CALL, CALL]), 400, /one message/, 'a list of messages'],
    ['POST', good, '{', 400, /JSON/, 'no JSON'],
    [
      'POST',
      { ...good, 'mcp-protocol-version': '1999-01-01' },
      undefined,
      400,
      /rotocol version/,
      'a revision of no one',
    ],
    ['GET', good, undefined, 405, /not allowed/i, 'a stream of a session'],
    ['DELETE', good, undefined, 405, /not allowed/i, 'the end of a session'],
  ]
  for (const [method, headers, body, expected, says, why] of rows) {
    const { status, text, headers: got } = await send(method, headers, body)
    t.equal(status, expected, `${why}: ${text.slice(0, 200)}`)
    t.match(text, says, why)
    if (status === 401) t.match(got['www-authenticate'], /^Bearer/, `${why}: how to sign in`)
    t.equal(got['cache-control'], 'no-store', `${why}: no cache keeps it`)
  }
  const large = new Request(new URL('/mcp', at), {
    ...{ method: 'POST', headers: { ...TYPES, ...good }, body: JSON.stringify({ ...CALL, x: 'x'.repeat(300_000) }) },
  })
  const { status } = await instance.fetch(large, { ip: '127.0.0.1' })
  t.equal(status, 400, 'a large message')
  t.same(logged, [], 'nothing of this is a fault')
})

t.test('thousands of calls in a row are answered, and a client that leaves harms no one', async (t) => {
  const { at, createKey, connect, logged } = await mcpService(t)
  const secret = await createKey(['stats:read'])
  const body = JSON.stringify({
    ...CALL,
    method: 'tools/call',
    params: { name: 'list', arguments: { what: 'reports' } },
  })
  const headers = { ...TYPES, authorization: `Bearer ${secret}` }
  const url = new URL('/mcp', at)
  for (let i = 0; i < 40; i++) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => (await fetch(url, { method: 'POST', headers, body })).text()),
    )
    if (!answers.every((answer) => answer.includes('overview')))
      t.fail(`${answers.find((one) => !one.includes('overview'))}`)
  }
  const left = new AbortController()
  const ask = JSON.stringify({
    ...CALL,
    method: 'tools/call',
    params: { name: 'page', arguments: { site: 1, path: '/' } },
  })
  const sent = fetch(url, { method: 'POST', headers, body: ask, signal: left.signal }).catch((error) => error)
  left.abort()
  t.match(await sent, { name: 'AbortError' })
  const { call } = await connect(secret)
  t.match((await call('ask', { site: 1, report: 'overview' })).data, { visitors: Number })
  t.same(logged, [])
})

t.test('revisions 2025-11-25 and 2026-07-28 give the same answers', async (t) => {
  const { at, createKey, connect } = await mcpService(t)
  const secret = await createKey(['stats:read'])
  const send = async (method: string, params: object, headers: Record<string, string> = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })
    const response = await fetch(new URL('/mcp', at), {
      method: 'POST',
      headers: { ...TYPES, authorization: `Bearer ${secret}`, ...headers },
      body,
    })
    const text = await response.text()
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
  }
  const clientInfo = { name: 'old', version: '1' }
  const begun = await send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  t.match(begun.result, {
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'readership' },
    instructions: /correlation/,
  })
  const params = { name: 'ask', arguments: { site: 1, report: 'overview', range: '7d' } }
  const old = await send('tools/call', params, { 'mcp-protocol-version': '2025-11-25' })
  const { call, client } = await connect(secret)
  t.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
  t.same(old.result.structuredContent, await call(params.name, params.arguments))
})
