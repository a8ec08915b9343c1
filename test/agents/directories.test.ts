import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { createSignatures } from '../../src/agents/signature/signatures.js'
import {
  DAY,
  DIRECTORY_TYPE,
  HOUR,
  jwk,
  keypair,
  keySet,
  MINUTE,
  START,
  setUpDirectory,
  signedRequest,
  signingAgent,
} from '../fixtures/key-directory.js'

t.test('fetches a directory soon after start and once a day, with the accept header of the draft', async (t) => {
  const { state, open, pass, serve } = await setUpDirectory(t)
  const pair = keypair()
  serve(keySet(pair), { 'cache-control': 'max-age=600' })
  const signatures = open()
  t.same(signatures.directories(), [
    { agent_ids: ['alice'], directory: 'https://alice.test/.well-known/http-message-signatures-directory', keys: 0 },
  ])
  signatures.start()
  await pass(START + MINUTE)
  t.same(state.asked, [`alice.test/.well-known/http-message-signatures-directory ${DIRECTORY_TYPE}`])
  t.match(signatures.directories(), [{ keys: 1, refreshed_at: /^2026-11-21T00:00:0[0-5][0-9.]+Z$/ }])
  t.equal(signatures.check(signedRequest(pair, state.now), state.now).state, 'valid')
  await pass(START + DAY - MINUTE)
  t.equal(state.asked.length, 1, 'without signatures nothing is fetched')
  await pass(START + DAY + 2 * MINUTE)
  t.equal(state.asked.length, 2)
  signatures.close()
  t.equal(state.timers.length, 0, 'no timer is left')
})

t.test('checks a signature with a copy past its lifetime, and renews the copy', async (t) => {
  const { state, open, pass, settled, serve } = await setUpDirectory(t)
  const pair = keypair()
  serve(keySet(pair), { 'cache-control': 'public, max-age=7200' })
  const signatures = open()
  signatures.start()
  await pass(START + MINUTE)
  await pass(START + 2 * HOUR)
  t.equal(signatures.check(signedRequest(pair, state.now), state.now).state, 'valid')
  t.equal(state.asked.length, 1, 'within its lifetime')
  serve(keySet(keypair()))
  await pass(START + 2 * HOUR + 2 * MINUTE)
  t.equal(signatures.check(signedRequest(pair, state.now), state.now).state, 'valid', 'the old copy still decides')
  await settled()
  t.equal(state.asked.length, 2)
  t.match(
    signatures.check(signedRequest(pair, state.now), state.now),
    { state: 'unusable', reason: 'key_unknown' },
    'the key was withdrawn',
  )
  signatures.close()
})

t.test('takes the lifetime of a copy from Cache-Control', async (t) => {
  const rows: [string | undefined, seconds: number, why: string][] = [
    [undefined, 3600, 'an hour if there is no header'],
    ['max-age=86400', 86_400, 'as stated'],
    ['max-age=99999999', 86_400, 'a day at most'],
    ['max-age=1', 300, 'five minutes at least'],
    ['no-store', 300, 'no-store counts as the minimum'],
    ['private, max-age=1200, must-revalidate', 1200, 'among other directives'],
    ['s-maxage=1', 3600, 's-maxage is ignored'],
    ['max-age=-1', 3600, 'not a number'],
  ]
  for (const [control, seconds, why] of rows) {
    const { state, open, serve, settled } = await setUpDirectory(t)
    const pair = keypair()
    serve(keySet(pair), control === undefined ? {} : { 'cache-control': control })
    const signatures = open()
    signatures.start()
    await signatures.refresh()
    const look = async (after: number) => {
      state.now = START + after * 1000
      signatures.check(signedRequest(pair, state.now), state.now)
      await settled()
      return state.asked.length
    }
    t.same([await look(seconds), await look(seconds + 1)], [1, 2], why)
    signatures.close()
  }
})

t.test('fetches the directory for an unknown key, at most once a minute', async (t) => {
  const { state, open, serve } = await setUpDirectory(t)
  const [old, fresh] = [keypair(), keypair()]
  serve(keySet(old))
  const signatures = open()
  signatures.start()
  await signatures.refresh()
  t.equal(state.asked.length, 1)
  t.match(
    signatures.check(signedRequest(fresh, state.now), state.now),
    { state: 'unusable', reason: 'key_unknown' },
    'the copy is fresh, so the key does not exist',
  )
  state.now += MINUTE + 1
  serve(keySet(old, fresh))
  const request = signedRequest(fresh, state.now)
  const checked = signatures.check(request, state.now)
  t.match(checked, { state: 'pending', reason: 'key_unknown', agent: { id: 'alice' } })
  t.equal(signatures.check(request, state.now), checked, 'the same request gets the same result')
  const another = signatures.check(signedRequest(fresh, state.now), state.now)
  t.equal(another.state, 'pending', 'another request waits for the same fetch')
  t.match(await checked.later, { state: 'valid', agent: { id: 'alice' } })
  t.match(await another.later, { state: 'valid' })
  t.equal(signatures.check(request, state.now).state, 'valid', 'the key is known now')
  t.equal(state.asked.length, 2, 'one fetch for both')
  for (let i = 0; i < 50; i++)
    t.equal(signatures.check(signedRequest(keypair(), state.now), state.now).reason, 'key_unknown')
  t.equal(state.asked.length, 2, 'made-up keys cause no fetch')
  state.now += MINUTE + 1
  t.match(await signatures.check(signedRequest(keypair(), state.now), state.now).later, {
    state: 'unusable',
    reason: 'key_unknown',
  })
  t.equal(state.asked.length, 3)
  signatures.close()
})

t.test('does not treat a key of an unsupported kind as forged', async (t) => {
  const { state, open, serve } = await setUpDirectory(t)
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  serve(keySet(keypair(), { publicKey }))
  const signatures = open()
  signatures.start()
  t.match(await signatures.refresh(), [{ keys: 1 }])
  t.match(signatures.check(signedRequest(keypair(), state.now), state.now), {
    state: 'undecidable',
    reason: 'key_unsupported',
  })
  signatures.close()
  const again = open()
  t.match(
    again.check(signedRequest(keypair(), state.now), state.now),
    { reason: 'key_unsupported' },
    'after a restart too',
  )
})

t.test('is undecidable if the directory does not answer in time, and uses its late answer', async (t) => {
  const { state, open } = await setUpDirectory(t)
  const pair = keypair()
  let release = () => {}
  state.answer = (_, res) => {
    release = () => void res.writeHead(200, { 'content-type': DIRECTORY_TYPE }).end(keySet(pair))
  }
  const signatures = open()
  signatures.start()
  const request = signedRequest(pair, state.now)
  const { later, ...checked } = signatures.check(request, state.now)
  t.match(checked, { state: 'pending', reason: 'directory_unavailable', agent: { id: 'alice' } })
  const timeouts = state.timers.filter(({ due }) => due > START && due <= START + 2000)
  t.equal(timeouts.length, 1, 'one timeout of less than two seconds')
  timeouts[0]?.run()
  t.match(await later, { state: 'undecidable', reason: 'directory_unavailable' })
  while (state.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  release()
  while (signatures.directories()[0]?.keys === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  t.equal(signatures.check(signedRequest(pair, state.now), state.now).state, 'valid')
  signatures.close()
})

t.test('keeps the copy if the response is not a directory', async (t) => {
  const pair = keypair()
  const good = keySet(pair)
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
  const { state, open, serve } = await setUpDirectory(t)
  serve(good)
  const signatures = open()
  signatures.start()
  await signatures.refresh()
  for (const [body, headers, code, error] of rows) {
    serve(body, headers, code)
    const [status] = await signatures.refresh()
    t.match(status, { keys: 1, error }, `${code} ${body.slice(0, 12)}`)
    t.equal(signatures.check(signedRequest(pair, state.now), state.now).state, 'valid')
  }
  t.equal(state.warnings.length, 1, 'one warning, not one per failure')
  serve(good, { 'content-type': 'application/json; charset=utf-8' })
  t.notOk((await signatures.refresh())[0]?.error, 'the content type of a file server')
  serve('{"keys":[]}')
  t.match(await signatures.refresh(), [{ keys: 0 }], 'an operator may withdraw all keys')
  t.equal(signatures.check(signedRequest(pair, state.now), state.now).reason, 'key_unknown')
  signatures.close()
})

t.test('retries failures at growing intervals', async (t) => {
  const { state, open, pass, serve } = await setUpDirectory(t)
  serve('', {}, 503)
  const signatures = open()
  signatures.start()
  await pass(START + DAY)
  t.ok(state.asked.length >= 8 && state.asked.length <= 16, `${state.asked.length} attempts in a day`)
  const asked = state.asked.length
  t.equal(state.warnings.length, 0, 'no warning about a directory that never answered')
  t.match(await signatures.check(signedRequest(keypair(), state.now), state.now).later, {
    state: 'undecidable',
    reason: 'directory_unavailable',
  })
  t.equal(state.asked.length, asked + 1, 'a signature does not wait for the schedule')
  t.equal(
    signatures.check(signedRequest(keypair(), state.now), state.now).state,
    'undecidable',
    'but further fetches wait for minutes',
  )
  t.equal(state.asked.length, asked + 1)
  signatures.close()
})

t.test('verifies with cached directories for seven days after an offline restart', async (t) => {
  const { state, open, serve, file } = await setUpDirectory(t)
  const pair = keypair()
  serve(keySet(pair))
  const before = open()
  before.start()
  await before.refresh()
  before.close()
  state.offline = true
  const after = open()
  after.start()
  t.match(after.directories(), [{ keys: 1, refreshed_at: new Date(START).toISOString() }])
  state.now = START + 7 * DAY - 1
  t.equal(after.check(signedRequest(pair, state.now), state.now).state, 'valid')
  state.now = START + 7 * DAY + HOUR
  const late = after.check(signedRequest(pair, state.now), state.now)
  t.match((await late.later) ?? late, { state: 'undecidable', reason: 'directory_unavailable' })
  t.match(await after.refresh(), [{ error: 'offline' }])
  t.equal(state.warnings.length, 0, 'no warning if offline')
  after.close()
  t.same(readdirSync(join(file, '..')), ['directories.json'], 'no partial file is left')
})

t.test('ignores a cache file that is damaged or from the future', async (t) => {
  const pair = keypair()
  const copy = {
    directory: 'https://alice.test/.well-known/http-message-signatures-directory',
    lifetime: HOUR,
    others: 0,
    keys: [jwk(pair.publicKey)],
  }
  const rows: [text: string, keys: number, warnings: number, why: string][] = [
    ['', 0, 1, 'empty'],
    ['{"directories":[', 0, 1, 'truncated'],
    ['{"directories":[{"directory":"x"}]}', 0, 1, 'another form'],
    [JSON.stringify({ directories: [{ ...copy, refreshed_at: START + HOUR }] }), 0, 0, 'from the future'],
    [
      JSON.stringify({ directories: [{ ...copy, directory: 'https://evil.test/', refreshed_at: START }] }),
      0,
      0,
      'the directory of no agent',
    ],
    [JSON.stringify({ directories: [{ ...copy, refreshed_at: START }] }), 1, 0, 'a valid file'],
  ]
  for (const [text, keys, warnings, why] of rows) {
    const { state, open, file } = await setUpDirectory(t)
    mkdirSync(join(file, '..'))
    writeFileSync(file, text)
    const signatures = open()
    t.same([signatures.directories()[0]?.keys, state.warnings.length], [keys, warnings], why)
  }
  const { state, open, serve } = await setUpDirectory(t, { file: 'package.json/agents/directories.json' })
  serve(keySet(pair))
  const signatures = open()
  signatures.start()
  await signatures.refresh()
  t.equal(
    signatures.check(signedRequest(pair, state.now), state.now).state,
    'valid',
    'a cache that cannot be written is no reason to fail',
  )
  t.equal(state.warnings.length, 2, 'one warning for reading and one for writing')
  await signatures.refresh()
  t.equal(state.warnings.length, 2, 'not repeated')
  signatures.close()
})

t.test('fetches only directories of the catalog, each once', async (t) => {
  const { state, open, serve } = await setUpDirectory(t, {
    agents: [
      signingAgent('one', 'https://alice.test', 'https://keys.alice.test/d'),
      signingAgent('two', 'https://ALICE.test/', 'https://keys.alice.test/d'),
      signingAgent('many', 'https://<id>.cloud.test', null),
    ],
  })
  const pair = keypair()
  serve(keySet(pair))
  const signatures = open()
  signatures.start()
  t.match(await signatures.refresh(), [{ agent_ids: ['one', 'two'], keys: 1 }])
  t.same(state.asked, [`keys.alice.test/d ${DIRECTORY_TYPE}`])
  const request = signedRequest(pair, state.now)
  for (const agent of [
    's="https://127.0.0.1"',
    's="https://evil.test"',
    's="http://alice.test"',
    's="https://x.cloud.test"',
  ])
    signatures.check({ ...request, headers: { ...request.headers, 'signature-agent': agent } }, state.now)
  t.equal(state.asked.length, 1, 'a header causes no fetch')
  signatures.close()
})

t.test('the shipped catalog has https directories of one agent each', async (t) => {
  const { file } = await setUpDirectory(t)
  const signatures = createSignatures({
    catalog: loadCatalog(),
    outbound: async () => t.fail('nothing may be fetched before the start') as never,
    file,
    now: () => START,
    random: () => 0.5,
    after: () => () => {},
    log: { warn: () => {} },
  })
  const statuses = signatures.directories()
  t.equal(statuses.length, 104)
  for (const { directory, agent_ids } of statuses) {
    t.match(
      directory,
      /^https:\/\/[a-z0-9.-]+\/(?:external\/)?\.well-known\/http-message-signatures-directory(?:\/index\.json)?$/,
    )
    t.equal(agent_ids.length, 1, directory)
  }
})
