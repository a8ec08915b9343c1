import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadCatalog, parseCatalog } from '../../src/agents/catalog.js'
import { createSignatures } from '../../src/agents/signature/signatures.js'
import type { VerifiableRequest } from '../../src/agents/verdict.js'
import { type Outbound, OutboundError } from '../../src/outbound/outbound.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const START = Date.UTC(2026, 10, 21)
const TYPE = 'application/http-message-signatures-directory+json'

const agentOf = (id: string, signature_agent: string, directory: string | null) => ({
  id,
  name: id,
  operator: 'Alice',
  purpose: 'other',
  ua_tokens: [],
  ua_match: 'signature-only',
  robots_only: false,
  honors_wildcard_group: true,
  respects_robots: 'unknown',
  client_side: false,
  status: 'active',
  web_bot_auth: { signature_agent, directory, status: 'documented' },
})
const keypair = () => generateKeyPairSync('ed25519')
const jwk = (key: KeyObject) => key.export({ format: 'jwk' })
const setOf = (...pairs: { publicKey: KeyObject }[]) =>
  JSON.stringify({ keys: pairs.map((pair) => jwk(pair.publicKey)) })
const thumb = (key: KeyObject) =>
  createHash('sha256')
    .update(`{"crv":"Ed25519","kty":"OKP","x":"${jwk(key).x}"}`)
    .digest('base64url')

/** A request signed with `pair`, valid for an hour from `at`. */
function signed(pair: { publicKey: KeyObject; privateKey: KeyObject }, at: number): VerifiableRequest {
  const created = Math.floor(at / 1000)
  const list = `("@authority" "signature-agent";key="s");created=${created};expires=${created + 3600};keyid="${thumb(pair.publicKey)}";tag="web-bot-auth"`
  const base = `"@authority": site.example\n"signature-agent";key="s": "https://alice.test"\n"@signature-params": ${list}`
  return {
    method: 'GET',
    hostname: 'site.example',
    pathname: '/',
    ip: '192.0.2.1',
    signed: { scheme: 'https', authority: 'site.example', target: '/' },
    headers: {
      'signature-input': `s=${list}`,
      signature: `s=:${sign(null, Buffer.from(base), pair.privateKey).toString('base64')}:`,
      'signature-agent': 's="https://alice.test"',
    },
  }
}

/** A directory on a real server, an outbound that reaches it, and a clock with its timers in our hands. */
async function world(t: Test, options: { file?: string; agents?: object[] } = {}) {
  const state = {
    now: START,
    asked: [] as string[],
    answer: (_: IncomingMessage, res: ServerResponse) => void res.writeHead(404).end(),
    offline: false,
    /** Requests on their way. */
    busy: 0,
    timers: [] as { due: number; run: () => void }[],
    warnings: [] as string[],
  }
  const server = createServer((req, res) => {
    state.asked.push(`${req.headers['x-host']}${req.url} ${req.headers.accept}`)
    state.answer(req, res)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const { port }: Pick<AddressInfo, 'port'> = typeof address === 'object' && address !== null ? address : { port: 0 }
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const outbound: Outbound = async (url, { limit, timeout, redirects, headers }) => {
    if (state.offline) throw new OutboundError('offline', 'offline')
    if (redirects !== 0) throw new Error('a directory may not redirect')
    const { host, pathname } = new URL(url)
    state.busy += 1
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${pathname}`, {
        headers: { ...headers, 'x-host': host },
        redirect: 'manual',
        signal: AbortSignal.timeout(timeout),
      })
      const body = new Uint8Array(await answer.arrayBuffer())
      const truncated = body.length > limit
      const { status } = answer
      return { url, status, headers: Object.fromEntries(answer.headers), body: body.subarray(0, limit), truncated }
    } finally {
      state.busy -= 1
    }
  }
  /** Waits until nothing is on its way. */
  const settled = async () => {
    do await new Promise((resolve) => setTimeout(resolve, 5))
    while (state.busy > 0)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const folder = mkdtempSync(join(tmpdir(), 'readership-directories-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = options.file ?? join(folder, 'agents', 'directories.json')
  const open = () =>
    createSignatures({
      catalog: parseCatalog(
        JSON.stringify({
          meta: { generated: '2026-11-21' },
          agents: options.agents ?? [agentOf('alice', 'https://alice.test', null)],
        }),
      ),
      outbound,
      file,
      now: () => state.now,
      random: () => 0.5,
      after(ms, run) {
        const timer = { due: state.now + ms, run }
        state.timers.push(timer)
        return () => {
          state.timers = state.timers.filter((other) => other !== timer)
        }
      },
      log: { warn: (_, message) => void state.warnings.push(message) },
    })
  /** The clock at `to`, everything due until then run in its order. */
  const pass = async (to: number) => {
    for (;;) {
      const next = state.timers.filter(({ due }) => due <= to).sort((a, b) => a.due - b.due)[0]
      if (next === undefined) break
      state.now = Math.max(state.now, next.due)
      state.timers = state.timers.filter((other) => other !== next)
      next.run()
      await settled()
    }
    state.now = to
  }
  const serve = (body: string, headers: Record<string, string> = {}, status = 200) => {
    state.answer = (_, res) => void res.writeHead(status, { 'content-type': TYPE, ...headers }).end(body)
  }
  return { state, open, pass, settled, serve, file }
}

t.test('asked soon after the start, once a day, and with what the draft asks for', async (t) => {
  const { state, open, pass, serve } = await world(t)
  const pair = keypair()
  serve(setOf(pair), { 'cache-control': 'max-age=600' })
  const made = open()
  t.same(made.directories(), [
    { agent_ids: ['alice'], directory: 'https://alice.test/.well-known/http-message-signatures-directory', keys: 0 },
  ])
  made.start()
  await pass(START + MINUTE)
  t.same(state.asked, [`alice.test/.well-known/http-message-signatures-directory ${TYPE}`])
  t.match(made.directories(), [{ keys: 1, refreshed_at: /^2026-11-21T00:00:0[0-5][0-9.]+Z$/ }])
  t.equal(made.check(signed(pair, state.now), state.now).state, 'valid')
  await pass(START + DAY - MINUTE)
  t.equal(state.asked.length, 1, 'nobody signs, nobody asks')
  await pass(START + DAY + 2 * MINUTE)
  t.equal(state.asked.length, 2)
  made.close()
  t.equal(state.timers.length, 0, 'nothing is left running')
})

t.test('a signature past the lifetime of the copy is answered from it and renews it', async (t) => {
  const { state, open, pass, settled, serve } = await world(t)
  const pair = keypair()
  serve(setOf(pair), { 'cache-control': 'public, max-age=7200' })
  const made = open()
  made.start()
  await pass(START + MINUTE)
  await pass(START + 2 * HOUR)
  t.equal(made.check(signed(pair, state.now), state.now).state, 'valid')
  t.equal(state.asked.length, 1, 'within its lifetime')
  serve(setOf(keypair()))
  await pass(START + 2 * HOUR + 2 * MINUTE)
  t.equal(made.check(signed(pair, state.now), state.now).state, 'valid', 'the last of the copy')
  await settled()
  t.equal(state.asked.length, 2)
  t.match(
    made.check(signed(pair, state.now), state.now),
    { state: 'invalid', reason: 'key_unknown' },
    'the key is withdrawn',
  )
  made.close()
})

t.test('lifetimes', async (t) => {
  const rows: [string | undefined, seconds: number, why: string][] = [
    [undefined, 3600, 'an hour where nothing is said'],
    ['max-age=86400', 86_400, 'as said'],
    ['max-age=99999999', 86_400, 'a day at most'],
    ['max-age=1', 300, 'five minutes at least'],
    ['no-store', 300, 'not at all is at least'],
    ['private, max-age=1200, must-revalidate', 1200, 'among others'],
    ['s-maxage=1', 3600, 'not ours'],
    ['max-age=-1', 3600, 'no number'],
  ]
  for (const [control, seconds, why] of rows) {
    const { state, open, serve, settled } = await world(t)
    const pair = keypair()
    serve(setOf(pair), control === undefined ? {} : { 'cache-control': control })
    const made = open()
    made.start()
    await made.refresh()
    const look = async (after: number) => {
      state.now = START + after * 1000
      made.check(signed(pair, state.now), state.now)
      await settled()
      return state.asked.length
    }
    t.same([await look(seconds), await look(seconds + 1)], [1, 2], why)
    made.close()
  }
})

t.test('an unknown key is asked for, once a minute', async (t) => {
  const { state, open, serve } = await world(t)
  const [old, fresh] = [keypair(), keypair()]
  serve(setOf(old))
  const made = open()
  made.start()
  await made.refresh()
  t.equal(state.asked.length, 1)
  t.match(
    made.check(signed(fresh, state.now), state.now),
    { state: 'invalid', reason: 'key_unknown' },
    'as it was a moment ago',
  )
  state.now += MINUTE + 1
  serve(setOf(old, fresh))
  const request = signed(fresh, state.now)
  const checked = made.check(request, state.now)
  t.match(checked, { state: 'pending', reason: 'key_unknown', agent: { id: 'alice' } })
  t.equal(made.check(request, state.now), checked, 'asked again: the same answer')
  const another = made.check(signed(fresh, state.now), state.now)
  t.equal(another.state, 'pending', 'and another waits along')
  t.match(await checked.later, { state: 'valid', agent: { id: 'alice' } })
  t.match(await another.later, { state: 'valid' })
  t.equal(made.check(request, state.now).state, 'valid', 'what is known now')
  t.equal(state.asked.length, 2, 'one fetch for both')
  for (let i = 0; i < 50; i++) t.equal(made.check(signed(keypair(), state.now), state.now).reason, 'key_unknown')
  t.equal(state.asked.length, 2, 'made-up keys do not make us ask')
  state.now += MINUTE + 1
  t.match(await made.check(signed(keypair(), state.now), state.now).later, { state: 'invalid', reason: 'key_unknown' })
  t.equal(state.asked.length, 3)
  made.close()
})

t.test('a key of a kind that we cannot use is no forgery', async (t) => {
  const { state, open, serve } = await world(t)
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  serve(setOf(keypair(), { publicKey }))
  const made = open()
  made.start()
  t.match(await made.refresh(), [{ keys: 1 }])
  t.match(made.check(signed(keypair(), state.now), state.now), { state: 'undecidable', reason: 'key_unsupported' })
  made.close()
  const again = open()
  t.match(again.check(signed(keypair(), state.now), state.now), { reason: 'key_unsupported' }, 'after a restart too')
})

t.test('a directory that does not answer in time leaves it open, and its answer is used later', async (t) => {
  const { state, open } = await world(t)
  const pair = keypair()
  let release = () => {}
  state.answer = (_, res) => {
    release = () => void res.writeHead(200, { 'content-type': TYPE }).end(setOf(pair))
  }
  const made = open()
  made.start()
  const request = signed(pair, state.now)
  const { later, ...checked } = made.check(request, state.now)
  t.match(checked, { state: 'pending', reason: 'directory_unavailable', agent: { id: 'alice' } })
  const patience = state.timers.filter(({ due }) => due > START && due <= START + 2000)
  t.equal(patience.length, 1, 'less than two seconds')
  patience[0]?.run()
  t.match(await later, { state: 'undecidable', reason: 'directory_unavailable' })
  while (state.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  release()
  while (made.directories()[0]?.keys === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  t.equal(made.check(signed(pair, state.now), state.now).state, 'valid')
  made.close()
})

t.test('what is no directory changes nothing', async (t) => {
  const pair = keypair()
  const good = setOf(pair)
  const rows: [body: string, headers: Record<string, string>, status: number, error: RegExp][] = [
    ['', {}, 500, /500/],
    [good, {}, 404, /404/],
    [good, { location: 'https://evil.test/' }, 302, /302/],
    [good, {}, 203, /203/],
    [good, { 'content-type': 'text/html' }, 200, /text\/html/],
    ['<!doctype html>', {}, 200, /not a set/],
    ['{"keys":[', {}, 200, /not a set/],
    ['{"jwks":[]}', {}, 200, /not a set/],
    [`{"keys":[${Array(101).fill('{}').join(',')}]}`, {}, 200, /not a set/],
    [`{"keys":[], "pad":"${' '.repeat(256 << 10)}"}`, {}, 200, /larger than 262144/],
  ]
  const { state, open, serve } = await world(t)
  serve(good)
  const made = open()
  made.start()
  await made.refresh()
  for (const [body, headers, status, error] of rows) {
    serve(body, headers, status)
    const [held] = await made.refresh()
    t.match(held, { keys: 1, error }, `${status} ${body.slice(0, 12)}`)
    t.equal(made.check(signed(pair, state.now), state.now).state, 'valid')
  }
  t.equal(state.warnings.length, 1, 'said once, not each time')
  serve(good, { 'content-type': 'application/json; charset=utf-8' })
  t.notOk((await made.refresh())[0]?.error, 'as a file server names it')
  serve('{"keys":[]}')
  t.match(await made.refresh(), [{ keys: 0 }], 'an operator may withdraw all')
  t.equal(made.check(signed(pair, state.now), state.now).reason, 'key_unknown')
  made.close()
})

t.test('failures are tried again at growing distances', async (t) => {
  const { state, open, pass, serve } = await world(t)
  serve('', {}, 503)
  const made = open()
  made.start()
  await pass(START + DAY)
  t.ok(state.asked.length >= 8 && state.asked.length <= 16, `${state.asked.length} attempts in a day`)
  const asked = state.asked.length
  t.equal(state.warnings.length, 0, 'one that never answered is not complained of')
  t.match(await made.check(signed(keypair(), state.now), state.now).later, {
    state: 'undecidable',
    reason: 'directory_unavailable',
  })
  t.equal(state.asked.length, asked + 1, 'a signature does not wait for hours')
  t.equal(made.check(signed(keypair(), state.now), state.now).state, 'undecidable', 'but the next one for minutes')
  t.equal(state.asked.length, asked + 1)
  made.close()
})

t.test('a restart without a way out verifies for seven days', async (t) => {
  const { state, open, serve, file } = await world(t)
  const pair = keypair()
  serve(setOf(pair))
  const before = open()
  before.start()
  await before.refresh()
  before.close()
  state.offline = true
  const after = open()
  after.start()
  t.match(after.directories(), [{ keys: 1, refreshed_at: new Date(START).toISOString() }])
  state.now = START + 7 * DAY - 1
  t.equal(after.check(signed(pair, state.now), state.now).state, 'valid')
  state.now = START + 7 * DAY + HOUR
  const late = after.check(signed(pair, state.now), state.now)
  t.match((await late.later) ?? late, { state: 'undecidable', reason: 'directory_unavailable' })
  t.match(await after.refresh(), [{ error: 'offline' }])
  t.equal(state.warnings.length, 0, 'who is offline knows it')
  after.close()
  t.same(readdirSync(join(file, '..')), ['directories.json'], 'nothing half written lies about')
})

t.test('a file of copies that is none, or of another time', async (t) => {
  const pair = keypair()
  const copy = {
    directory: 'https://alice.test/.well-known/http-message-signatures-directory',
    lifetime: HOUR,
    others: 0,
    keys: [jwk(pair.publicKey)],
  }
  const rows: [text: string, keys: number, warnings: number, why: string][] = [
    ['', 0, 1, 'empty'],
    ['{"directories":[', 0, 1, 'torn'],
    ['{"directories":[{"directory":"x"}]}', 0, 1, 'of another form'],
    [JSON.stringify({ directories: [{ ...copy, refreshed_at: START + HOUR }] }), 0, 0, 'from the future'],
    [
      JSON.stringify({ directories: [{ ...copy, directory: 'https://evil.test/', refreshed_at: START }] }),
      0,
      0,
      'of no agent',
    ],
    [JSON.stringify({ directories: [{ ...copy, refreshed_at: START }] }), 1, 0, 'as it should be'],
  ]
  for (const [text, keys, warnings, why] of rows) {
    const { state, open, file } = await world(t)
    mkdirSync(join(file, '..'))
    writeFileSync(file, text)
    const made = open()
    t.same([made.directories()[0]?.keys, state.warnings.length], [keys, warnings], why)
  }
  const { state, open, serve } = await world(t, { file: 'package.json/agents/directories.json' })
  serve(setOf(pair))
  const made = open()
  made.start()
  await made.refresh()
  t.equal(
    made.check(signed(pair, state.now), state.now).state,
    'valid',
    'a disk that takes nothing is no reason to fail',
  )
  t.equal(state.warnings.length, 2, 'said of reading it and of writing it')
  await made.refresh()
  t.equal(state.warnings.length, 2, 'once')
  made.close()
})

t.test('only the directories of the catalog, each once', async (t) => {
  const { state, open, serve } = await world(t, {
    agents: [
      agentOf('one', 'https://alice.test', 'https://keys.alice.test/d'),
      agentOf('two', 'https://ALICE.test/', 'https://keys.alice.test/d'),
      agentOf('many', 'https://<id>.cloud.test', null),
    ],
  })
  const pair = keypair()
  serve(setOf(pair))
  const made = open()
  made.start()
  t.match(await made.refresh(), [{ agent_ids: ['one', 'two'], keys: 1 }])
  t.same(state.asked, [`keys.alice.test/d ${TYPE}`])
  const request = signed(pair, state.now)
  for (const agent of [
    's="https://127.0.0.1"',
    's="https://evil.test"',
    's="http://alice.test"',
    's="https://x.cloud.test"',
  ])
    made.check({ ...request, headers: { ...request.headers, 'signature-agent': agent } }, state.now)
  t.equal(state.asked.length, 1, 'a header makes us ask nobody')
  made.close()
})

t.test('the shipped catalog: each directory is https and of its own agent', async (t) => {
  const { file } = await world(t)
  const made = createSignatures({
    catalog: loadCatalog(),
    outbound: async () => t.fail('nothing is asked before the start') as never,
    file,
    now: () => START,
    random: () => 0.5,
    after: () => () => {},
    log: { warn: () => {} },
  })
  const held = made.directories()
  t.equal(held.length, 20)
  for (const { directory, agent_ids } of held) {
    t.match(directory, /^https:\/\/[a-z0-9.-]+\/\.well-known\/http-message-signatures-directory$/)
    t.equal(agent_ids.length, 1, directory)
  }
})
