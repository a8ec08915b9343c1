import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server, createSecureServer } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import t, { type Test } from 'tap'
import { middleware as expressMiddleware } from '../../../adapters/express.js'
import { middleware as honoMiddleware } from '../../../adapters/hono.js'
import { listener } from '../../../adapters/node.js'
import { parseCatalog } from '../../../src/agents/catalog.js'
import { createSignatures } from '../../../src/agents/signature/signatures.js'
import type { Observation } from '../../../src/capture/observation.js'
import { packBatch } from '../../../src/capture/packed-batch.js'
import { unpackObservations } from '../../fixtures/observations.js'
import { exchangeBytes, portOf, startProxy, waitUntil } from './fixtures/sockets.js'

const pair = generateKeyPairSync('ed25519')
const jwk = pair.publicKey.export({ format: 'jwk' })
const keyid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${jwk.x}"}`).digest('base64url')
const folder = mkdtempSync(join(tmpdir(), 'readership-signed-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const signatures = createSignatures({
  catalog: parseCatalog(
    JSON.stringify({
      meta: { generated: '2026-11-21' },
      agents: [
        {
          id: 'alice',
          name: 'Alice',
          operator: 'Alice',
          purpose: 'other',
          ua_tokens: [],
          ua_match: 'signature-only',
          robots_only: false,
          honors_wildcard_group: true,
          respects_robots: 'unknown',
          client_side: false,
          status: 'active',
          web_bot_auth: { signature_agent: 'https://alice.test', directory: null, status: 'documented' },
        },
      ],
    }),
  ),
  outbound: async (url) => ({
    url,
    status: 200,
    headers: { 'content-type': 'application/http-message-signatures-directory+json' },
    body: Buffer.from(JSON.stringify({ keys: [jwk] })),
    truncated: false,
  }),
  file: join(folder, 'directories.json'),
  now: Date.now,
  random: Math.random,
  after: () => () => {},
  log: { warn: () => {} },
})
await signatures.refresh()

/** Returns the three signature fields over components as the client knows them. */
function fields(components: Record<string, string>): Record<string, string> {
  const created = Math.floor(Date.now() / 1000)
  const lines = { ...components, '"signature-agent";key="s"': '"https://alice.test"' }
  const list = `(${Object.keys(lines).join(' ')});created=${created};expires=${created + 60};keyid="${keyid}";tag="web-bot-auth"`
  const base = [...Object.entries(lines), ['"@signature-params"', list]].map((line) => line.join(': ')).join('\n')
  return {
    'signature-agent': 's="https://alice.test"',
    'signature-input': `s=${list}`,
    signature: `s=:${sign(null, Buffer.from(base), pair.privateKey).toString('base64')}:`,
  }
}
const text = (lines: Record<string, string>) =>
  Object.entries(lines)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
const stateOf = (observation: Observation | undefined): string =>
  observation === undefined
    ? 'nothing recorded'
    : signatures.check(observation, Date.parse(observation.timestamp)).state

async function startProxyWithOrigin(t: Test, options: Parameters<typeof startProxy>[1] = {}) {
  const origin = createServer((_, res) => void res.end('ok'))
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const made = await startProxy(portOf(origin), options)
  t.teardown(async () => {
    await made.proxy.close(0)
    origin.closeAllConnections()
    origin.close()
  })
  return made
}

t.test('verifies signatures through the proxy, HTTP/1.1', async (t) => {
  const rows: [
    what: string,
    trusted: boolean,
    line: string,
    host: string,
    more: string,
    components: Record<string, string>,
    signed: object,
  ][] = [
    [
      'origin form',
      false,
      '/a%20b?x=1',
      'Site.Example:8080',
      '',
      {
        '"@authority"': 'site.example:8080',
        '"@method"': 'GET',
        '"@path"': '/a%20b',
        '"@query"': '?x=1',
        '"@request-target"': '/a%20b?x=1',
        '"@target-uri"': 'http://site.example:8080/a%20b?x=1',
      },
      { scheme: 'http', authority: 'Site.Example:8080', target: '/a%20b?x=1' },
    ],
    [
      'absolute form',
      false,
      'http://site.example/a?x',
      'site.example',
      '',
      {
        '"@authority"': 'site.example',
        '"@request-target"': 'http://site.example/a?x',
        '"@path"': '/a',
        '"@target-uri"': 'http://site.example/a?x',
      },
      { scheme: 'http', authority: 'site.example', target: 'http://site.example/a?x' },
    ],
    [
      'TLS ended at a proxy we trust',
      true,
      '/',
      'site.example',
      'X-Forwarded-Proto: https\r\n',
      { '"@target-uri"': 'https://site.example/' },
      { scheme: 'https', authority: 'site.example', target: '/' },
    ],
    [
      'an untrusted peer claims it: not believed, although it was signed so',
      false,
      '/',
      'site.example',
      'X-Forwarded-Proto: https\r\n',
      { '"@target-uri"': 'https://site.example/' },
      { scheme: 'http', authority: 'site.example', target: '/' },
    ],
    [
      'a trusted proxy says neither',
      true,
      '/',
      'site.example',
      'X-Forwarded-Proto: wss\r\n',
      { '"@authority"': 'site.example' },
      { scheme: 'http', authority: 'site.example', target: '/' },
    ],
    [
      'the host that an untrusted peer claims is not the authority',
      false,
      '/',
      'site.example',
      'X-Forwarded-Host: evil.example\r\n',
      { '"@authority"': 'site.example' },
      { scheme: 'http', authority: 'site.example', target: '/' },
    ],
  ]
  for (const [what, trusted, line, host, more, components, signed] of rows) {
    const { records, port } = await startProxyWithOrigin(t, { isTrustedPeer: () => trusted })
    await exchangeBytes(port, [
      `GET ${line} HTTP/1.1\r\nHost: ${host}\r\n${more}${text(fields(components))}Connection: close\r\n\r\n`,
    ])
    await waitUntil(() => records.length === 1)
    t.same(records[0]?.signed, signed, what)
    t.equal(stateOf(records[0]), 'valid', what)
  }
})

t.test('an unsigned request has no signature fields', async (t) => {
  const { records, port } = await startProxyWithOrigin(t)
  await exchangeBytes(port, ['GET / HTTP/1.1\r\nHost: a\r\nSignature: s=:AA==:\r\nConnection: close\r\n\r\n'])
  await waitUntil(() => records.length === 1)
  t.notOk(records[0] && 'signed' in records[0])
  t.equal(stateOf(records[0]), 'none')
})

t.test('joins fields that come in two lines', async (t) => {
  const { records, port } = await startProxyWithOrigin(t)
  const { 'signature-input': input, signature, ...agent } = fields({ '"@authority"': 'a' })
  const other = 'Signature-Input: cdn=("@path");tag="cdn"\r\nSignature: cdn=:AA==:\r\n'
  await exchangeBytes(port, [
    `GET / HTTP/1.1\r\nHost: a\r\n${other}${text({ 'Signature-Input': input ?? '', Signature: signature ?? '', ...agent })}Connection: close\r\n\r\n`,
  ])
  await waitUntil(() => records.length === 1)
  t.equal(stateOf(records[0]), 'valid')
})

t.test('verifies signatures through the proxy, HTTP/2, also after its stream is gone', async (t) => {
  const { proxy, records } = await startProxyWithOrigin(t)
  const file = (name: string) => readFileSync(join('test/site/proxy/fixtures/tls', name))
  const tls = createSecureServer({ cert: file('first.cert.pem'), key: file('first.key.pem') }, proxy.handler)
  const plain = createHttp2Server(proxy.handler)
  for (const [server, scheme] of [
    [tls, 'https'],
    [plain, 'http'],
  ] as const) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connectHttp2(`${scheme}://localhost:${portOf(server)}`, { rejectUnauthorized: false })
    t.teardown(() => {
      client.destroy()
      server.close()
    })
    const components = {
      '"@authority"': 'site.example',
      '"@target-uri"': `${scheme}://site.example/a?b`,
      '"@scheme"': scheme,
    }
    const stream = client.request({ ':path': '/a?b', ':authority': 'site.example', ...fields(components) })
    stream.resume()
    await once(stream, 'end')
    client.destroy()
    await waitUntil(() => records.length === 1)
    const observation = records.pop()
    t.same(observation?.signed, { scheme, authority: 'site.example', target: '/a?b' }, scheme)
    t.equal(stateOf(observation), 'valid', scheme)
  }
})

t.test('verifies signatures through the adapters', async (t) => {
  const seen: Observation[] = []
  const readership = {
    record: (observation: Observation) => void seen.push(observation),
    fetch: async () => new Response('api'),
    close: async () => {},
  }
  const app = express()
  const blog = express.Router()
  blog.use(expressMiddleware(readership))
  blog.get('/post', (_req, res) => void res.send('post'))
  app.use('/blog', blog)
  const hono = new Hono()
  hono.use(honoMiddleware(readership))
  hono.get('/blog/post', (c) => c.text('post'))
  const sites = {
    express: createServer(app),
    hono: createServer(getRequestListener(hono.fetch)),
    node: createServer(listener(readership, (_, res) => void res.end('post'))),
  }
  for (const [name, server] of Object.entries(sites)) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const host = `127.0.0.1:${portOf(server)}`
    const headers = fields({
      '"@authority"': host,
      '"@path"': '/blog/post',
      '"@request-target"': '/blog/post?q=1',
      '"@target-uri"': `http://${host}/blog/post?q=1`,
    })
    await (await fetch(`http://${host}/blog/post?q=1`, { headers })).text()
    await waitUntil(() => seen.length === 1)
    const observation = seen.pop()
    t.same(observation?.signed, { scheme: 'http', authority: host, target: '/blog/post?q=1' }, name)
    t.equal(stateOf(observation), 'valid', name)
  }
})

t.test('fields that the recorder truncates never count as a forgery', async (t) => {
  const { headers, ...rest } = {
    timestamp: new Date().toISOString(),
    user_agent: '',
    method: 'GET',
    hostname: 'site.example',
    pathname: '/',
    status: 200,
    bytes: 0,
    duration_ms: 0,
    content_type: '',
    conditional: 0,
    ip: '192.0.2.1',
    headers: fields({ '"@authority"': 'site.example', '"@request-target"': '/' }),
  } as const
  const observation: Observation = {
    ...rest,
    headers,
    signed: { scheme: 'https', authority: 'site.example', target: '/' },
  }
  const [sent] = unpackObservations(packBatch([observation]))
  t.equal(stateOf(sent), 'valid')
  const long = 'x'.repeat(60_000)
  for (const cut of [
    {
      ...observation,
      headers: {
        ...headers,
        'signature-input': `a=("@path";k="${long}");tag="web-bot-auth", ${headers['signature-input']}`,
      },
    },
    { ...observation, headers: { ...headers, signature: `a=:${long}:, ${headers.signature}` } },
    { ...observation, headers: { ...headers, 'signature-agent': `a="${long}", ${headers['signature-agent']}` } },
    { ...observation, signed: { scheme: 'https', authority: 'site.example', target: `/${long}` } } as const,
  ]) {
    const parcel = packBatch([cut])
    t.ok(parcel.bytes.length < 20_000, `${parcel.bytes.length} bytes`)
    t.equal(stateOf(unpackObservations(parcel)[0]), 'undecidable')
  }
})
