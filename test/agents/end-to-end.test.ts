import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { startSite } from '../../examples/site/server.js'
import { createPublicListener, parseTrustedProxies } from '../../src/app/cli/public-listener.js'
import { createPublicService } from '../../src/app/cli/public-service.js'
import { loadConfig } from '../../src/app/config.js'
import { openInstance } from '../../src/app/instance/open-instance.js'
import { startWorkerClient } from '../../src/worker-client/worker-client.js'
import { type DnsAnswer, serveDns } from '../fixtures/dns.js'
import { directory } from '../fixtures/files.js'
import { CHROME, GPTBOT } from '../fixtures/instance.js'

const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const HOST = 'slack-water.example'

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const jwk = z.object({ kty: z.string(), crv: z.string(), x: z.string() }).parse(publicKey.export({ format: 'jwk' }))
/** RFC 7638 3.2: only the required members, in alphabetical order. */
const keyid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${jwk.x}"}`).digest('base64url')

/** Returns the headers of a request to `host`, signed as ChatGPT's agent signs (RFC 9421, tag web-bot-auth). */
function signed(host: string, by = privateKey) {
  const now = Math.floor(Date.now() / 1000)
  const params = `("@authority" "signature-agent");created=${now};keyid="${keyid}";alg="ed25519";expires=${now + 60};nonce="${randomBytes(8).toString('hex')}";tag="web-bot-auth"`
  const base = `"@authority": ${host}\n"signature-agent": "https://chatgpt.com"\n"@signature-params": ${params}`
  return {
    'user-agent': CHROME,
    'signature-agent': '"https://chatgpt.com"',
    'signature-input': `sig1=${params}`,
    signature: `sig1=:${sign(null, Buffer.from(base), by).toString('base64')}:`,
  }
}

/** Starts a server on loopback that serves a table of files by path. */
async function serve(t: Test, table: ReadonlyMap<string, string>, type: string) {
  const server = createServer((req, res) => {
    const body = table.get(req.url ?? '')
    res.writeHead(body === undefined ? 404 : 200, { 'content-type': type }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

const Answer = z.object({ data: z.array(z.record(z.string(), z.unknown())) })

/** Opens an instance in front of `origin` whose outside network is on this machine. */
async function openLocalInstance(t: Test, origin: string, outside: { web: string; dns: string }) {
  process.env.TEST_OUTSIDE = JSON.stringify(outside)
  const config = loadConfig({ flags: { origin, data: directory(t) }, env: {}, read: () => undefined })
  const lines: string[] = []
  const say = (_details: object, message: string) => void lines.push(message)
  const log = { info: say, warn: say, error: say }
  const entry = new URL('../fixtures/local-network-worker.js', import.meta.url)
  const instance = await openInstance(config, { log, start: (options) => startWorkerClient({ ...options, entry }) })
  t.teardown(() => instance.close())
  const front = createPublicListener(config, {
    origin: new URL(origin),
    trust: parseTrustedProxies(config),
    certificate: undefined,
    instance,
    serve: createPublicService(instance, config),
    log,
  })
  const port = await front.listen('127.0.0.1', 0)
  t.teardown(() => front.close(1_000))
  return {
    lines,
    /** Sends a request from `ip`, which a trusted proxy names. */
    async fetch(ip: string, path: string, headers: IncomingHttpHeaders, body?: string) {
      const method = body === undefined ? 'GET' : 'POST'
      const sent = request({ port, path, method, headers: { host: HOST, 'x-forwarded-for': ip, ...headers } }).end(body)
      const [response] = await once(sent, 'response')
      response.resume()
      await once(response, 'end')
      return Number(response.statusCode)
    },
    control: (path: string, method = 'GET') => instance.control(new Request(`http://x${path}`, { method })),
    async rows(path: string) {
      return Answer.parse(await (await instance.control(new Request(`http://x${path}`))).json()).data
    },
  }
}

async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  for (let n = 0; n < 150; n++) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await sleep(100)
  }
  throw new Error(`timed out waiting for: ${what}`)
}

t.test('verifies each claim in the ways that its operator publishes', async (t) => {
  const web = await serve(
    t,
    new Map([
      ['/openai.com/gptbot.json', '{"prefixes":[{"ipv4Prefix":"20.171.206.0/24"}]}'],
      [
        '/developers.google.com/static/crawling/ipranges/common-crawlers.json',
        '{"prefixes":[{"ipv4Prefix":"192.178.5.0/27"}]}',
      ],
      [
        '/chatgpt.com/.well-known/http-message-signatures-directory',
        JSON.stringify({ keys: [{ ...jwk, use: 'sig' }] }),
      ],
    ]),
    'application/http-message-signatures-directory+json',
  )
  const names = new Map<string, DnsAnswer>([
    ['1.66.249.66.in-addr.arpa', { ptr: ['crawl-66-249-66-1.googlebot.com'] }],
    ['crawl-66-249-66-1.googlebot.com', { a: ['66.249.66.1'] }],
    // The holder of an address can give it any name, but that name does not resolve to the address.
    ['9.113.0.203.in-addr.arpa', { ptr: ['crawl-66-249-66-1.googlebot.com'] }],
    ['7.113.0.203.in-addr.arpa', { ptr: ['crawl.googlebot.com.attacker.example'] }],
    ['8.113.0.203.in-addr.arpa', 'silence'],
  ])
  const { servers } = await serveDns(t, names)
  const site = await startSite({ port: 0, base: `http://${HOST}` })
  t.teardown(() => site.close())
  const { fetch, control, rows } = await openLocalInstance(t, site.url, { web, dns: servers[0] ?? '' })
  t.equal((await control('/control/agents/refresh', 'POST')).status, 200)

  const stranger = generateKeyPairSync('ed25519').privateKey
  const cases: [ip: string, path: string, headers: IncomingHttpHeaders, agent: string, verification: string][] = [
    ['20.171.206.7', '/true', { 'user-agent': GPTBOT }, 'gptbot', 'ranges'],
    ['203.0.113.7', '/spoofed', { 'user-agent': GPTBOT }, 'gptbot', 'spoofed'],
    ['203.0.113.7', '/signed', signed(HOST), 'chatgpt-agent', 'web_bot_auth'],
    ['66.249.66.1', '/named', { 'user-agent': GOOGLEBOT }, 'googlebot', 'rdns'],
    ['192.178.5.1', '/listed', { 'user-agent': GOOGLEBOT }, 'googlebot', 'ranges'],
    ['203.0.113.9', '/misnamed', { 'user-agent': GOOGLEBOT }, 'googlebot', 'spoofed'],
    ['203.0.113.7', '/lookalike', { 'user-agent': GOOGLEBOT }, 'googlebot', 'spoofed'],
    ['203.0.113.6', '/nameless', { 'user-agent': GOOGLEBOT }, 'googlebot', 'spoofed'],
    ['203.0.113.8', '/silent', { 'user-agent': GOOGLEBOT }, 'googlebot', 'indeterminate'],
    ['203.0.113.7', '/unpublished', { 'user-agent': 'Bytespider' }, 'bytespider', 'unverifiable'],
    [
      '203.0.113.7',
      '/its-users-machine',
      { 'user-agent': 'Claude-User (claude-code/2.1)' },
      'claude-code',
      'unverifiable',
    ],
    ['203.0.113.7', '/unfetched', { 'user-agent': 'PerplexityBot/1.0' }, 'perplexitybot', 'indeterminate'],
  ]
  // Neither a forged signature nor a signature for another site makes a browser an agent.
  const people: [string, IncomingHttpHeaders][] = [
    ['/forged', signed(HOST, stranger)],
    ['/elsewhere', signed('other.example')],
  ]
  for (const [ip, path, headers] of cases) await fetch(ip, path, headers)
  for (const [path, headers] of people) await fetch('203.0.113.7', path, headers)
  // A browser that an agent drives runs the script: its hits are the agent's, and its nonce is accepted once.
  const driven = ['/hit-a', '/hit-b']
  const hits = (...paths: string[]) => JSON.stringify(paths.map((path) => ({ s: 1, u: `https://${HOST}${path}` })))
  const used = signed(HOST)
  await fetch('203.0.113.7', '/_readership/api/track/batch', used, hits(...driven))
  await sleep(5)
  await fetch('203.0.113.7', '/_readership/api/track/batch', used, hits('/hit-replayed'))

  const verified = async () => {
    const filter = (path: string) =>
      encodeURIComponent(JSON.stringify([{ dimension: 'pathname', op: 'is', value: path }]))
    const found: Record<string, unknown> = {}
    for (const path of [...cases.map(([, path]) => path), ...driven]) {
      const of = `/api/agents/breakdown?site=1&filters=${filter(path)}`
      const [agent] = await rows(`${of}&dimension=agent_id`)
      const [how] = await rows(`${of}&dimension=verification`)
      found[path] = [agent?.value, how?.value, agent?.fetches]
    }
    return found
  }
  const expected = Object.fromEntries([
    ...cases.map(([, path, , agent, how]) => [path, [agent, how, 1]] as const),
    ...driven.map((path) => [path, ['chatgpt-agent', 'web_bot_auth', 1]] as const),
  ])
  // Verdicts that wait for reverse DNS complete the stored rows within seconds.
  await until('every verdict', async () =>
    JSON.stringify(await verified()) === JSON.stringify(expected) ? true : undefined,
  ).catch(() => {})
  t.strictSame(await verified(), expected)
  const paths = (await rows('/api/agents/breakdown?site=1&dimension=pathname')).map(({ value }) => value)
  for (const path of [...people.map(([path]) => path), '/hit-replayed'])
    t.notOk(paths.includes(path), `${path} is not recorded for a known agent`)
})

t.test('judges each fetch by the robots.txt that was active then', async (t) => {
  const files = new Map([
    ['/robots.txt', 'User-agent: *\nDisallow: /private\n'],
    ['/a', 'page'],
    ['/private/x', 'page'],
    ['/always', 'page'],
  ])
  const origin = await serve(t, files, 'text/plain')
  const web = await serve(
    t,
    new Map([['/openai.com/gptbot.json', '{"prefixes":[{"ipv4Prefix":"20.171.206.0/24"}]}']]),
    'text/plain',
  )
  const { servers } = await serveDns(t, new Map())
  const { fetch, control, rows, lines } = await openLocalInstance(t, origin, { web, dns: servers[0] ?? '' })
  await control('/control/agents/refresh', 'POST')
  const as = (path: string, ip = '20.171.206.7') => fetch(ip, path, { 'user-agent': GPTBOT })
  const judged = async () => {
    const all = await rows('/api/agents/breakdown?site=1&dimension=robots_allowed')
    return Object.fromEntries(all.map(({ value, fetches }) => [String(value), fetches]))
  }

  // Before the first request of the hostname its policy is unknown; afterwards each fetch is judged.
  await until('a first judgement', async () => {
    await as('/always')
    await sleep(250)
    return 'true' in (await judged()) ? true : undefined
  })
  await as('/private/x')
  await as('/a')
  await sleep(50)
  files.set('/robots.txt', 'User-agent: GPTBot\nDisallow: /a\n\nUser-agent: *\nDisallow:\n')
  // The first response with the new file passes the proxy, which reports the change.
  await as('/robots.txt')
  await until('the change is known', async () =>
    lines.some((line) => /^policy changed/.test(line)) ? true : undefined,
  )
  await as('/private/x')
  await as('/a')
  await as('/a', '203.0.113.7')

  const violations = () => rows('/api/policy/violations?site=1')
  await until('all are stored', async () => ((await violations()).length === 3 ? true : undefined)).catch(() => {})
  const said = (await violations()).map(({ pathname, severity, rule, line, fetches, verified }) => ({
    ...{ pathname, severity, rule, line, fetches, verified },
  }))
  t.match(
    said.sort((a, b) => `${a.pathname}${a.verified}`.localeCompare(`${b.pathname}${b.verified}`)),
    [
      { pathname: '/a', severity: 'grace', rule: '/a', line: 2, fetches: 1 },
      { pathname: '/a', severity: 'grace', rule: '/a', line: 2, fetches: 1, verified: true },
      { pathname: '/private/x', severity: 'breach', rule: '/private', line: 2, fetches: 1, verified: true },
    ],
    'only fetches that were disallowed at their time',
  )
})
