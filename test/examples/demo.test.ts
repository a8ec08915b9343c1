import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { readDemoSettings, startDemo } from '../../examples/demo.js'
import { DEMO_DATA, UNFINISHED } from '../../examples/demo-directory.js'
import { choosePorts } from '../../examples/free-ports.js'
import { startSite } from '../../examples/site/server.js'
import { eventually, freePort } from '../fixtures/instance.js'

const PROGRAM = 'dist/bin/readership.js'
const START = 'dist/examples/start.js'
const TRACKER = /<script[^>]*\/_readership\/[^>]*><\/script>/
const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'

async function listen(port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { server, port: address.port }
}
/** Creates a data directory with a short name, so that the path of the control socket fits. */
function newData(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'data')
}
const isFree = (port: number) =>
  listen(port).then(
    ({ server }) => once(server.close(), 'close').then(() => true),
    () => false,
  )

t.test('the demo prints addresses, proxies the same bytes, and records an agent', async (t) => {
  const [port, admin_port] = [await freePort(), await freePort()]
  const data = newData(t)
  const said: string[] = []
  const demo = await startDemo({
    words: ['--port', `${port}`, '--admin-port', `${admin_port}`, '--data', data],
    env: process.env,
    program: PROGRAM,
    seed: 1,
    burst: 20,
    history: { days: 3, people: 1, agents: 1 },
    print: (text) => said.push(text),
  })
  if (!demo) return t.fail('the demo did not start')
  const site = `http://localhost:${port}`
  const admin = `http://127.0.0.1:${admin_port}`
  try {
    for (const word of [`${site}/`, `${admin}/api/docs`, demo.secret, 'tail', "curl -A 'Mozilla"])
      t.match(said.join('\n'), word, `it says ${word}`)
    t.notMatch(said.join('\n'), 'history', 'a directory that was chosen gets no history')

    for (const path of ['/', '/articles/two-bulges', '/img/skerry.jpg', '/robots.txt', '/nowhere']) {
      const [through, direct] = await Promise.all([fetch(site + path), fetch(demo.origin + path)])
      t.equal(through.status, direct.status, path)
      const [sent, own] = await Promise.all([through, direct].map(async (res) => Buffer.from(await res.arrayBuffer())))
      const isPage = direct.headers.get('content-type')?.startsWith('text/html')
      const plain = isPage ? sent?.toString().replace(TRACKER, '') : sent?.toString('base64')
      t.equal(plain, own?.toString(isPage ? 'utf8' : 'base64'), `${path} is the same but for the tracker`)
      t.equal(isPage && direct.ok, sent?.toString() !== own?.toString(), `${path}: only pages have the tracker`)
    }

    const tail = spawn(process.execPath, [PROGRAM, 'tail', '--json', '--agent', 'gptbot', '-n', '0', '--data', data])
    const lines = createInterface(tail.stdout)
    const seen = new Promise<string>((done) => {
      lines.on('line', (line) => {
        if (line.includes('/robots.txt') && line.includes('GPTBot/1.2; +https://openai.com/gptbot)"')) done(line)
      })
    })
    // `tail` prints nothing when it starts, so the request repeats until it appears.
    const asking = setInterval(() => void fetch(`${site}/robots.txt`, { headers: { 'user-agent': GPTBOT } }), 200)
    const row: unknown = JSON.parse(await seen)
    clearInterval(asking)
    tail.kill()
    t.match(row, { audience: 'agent', agent_id: 'gptbot', pathname: '/robots.txt', status: 200, user_agent: GPTBOT })

    const ask = async (path: string): Promise<unknown> => {
      const res = await fetch(admin + path, { headers: { authorization: `Bearer ${demo.secret}` } })
      t.equal(res.status, 200, path)
      return await res.json()
    }
    t.match(await ask('/api/stats/overview?site=1&range=today'), { data: { visitors: Number, pageviews: Number } })
    t.match(await ask('/api/agents/overview?site=1&range=today'), { data: { fetches: Number, agents: Number } })
  } finally {
    await demo.close()
  }
  t.equal(await demo.ended, 0, 'the proxy ends well')
  t.same([await isFree(port), await isFree(admin_port)], [true, true], 'and everything is closed')
})

const Buckets = z.object({
  data: z.object({ buckets: z.array(z.object({ t: z.string(), value: z.number().optional() })) }),
  meta: z.object({ recorded: z.object({ since: z.coerce.date() }) }),
})

t.test("the demo's own new directory gets a past, once, which says that it is made up", async (t) => {
  const [port, admin_port] = [await freePort(), await freePort()]
  const folder = mkdtempSync(join(tmpdir(), 'demo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const program = resolve(PROGRAM)
  const back = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(back))
  const said: string[] = []
  const startHere = (print = (_text: string) => {}) => {
    said.length = 0
    return startDemo({
      words: ['--port', `${port}`, '--admin-port', `${admin_port}`],
      env: process.env,
      program,
      seed: 1,
      burst: 0,
      history: { days: 30, people: 6, agents: 4 },
      print(text) {
        said.push(text)
        print(text)
      },
    })
  }
  const stopped = await startHere((text) => {
    if (text.includes('25 %')) throw new Error('stopped here')
  })
  t.equal(stopped, undefined, 'a start that ends in the middle of its history')
  for (const [whenStarted, pattern, isNew] of [
    ['after a start that was cut short', /cut short[\s\S]*history of 30 days, which is made up/, true],
    ['when it has its past', /history/, false],
  ] as const) {
    const demo = await startHere()
    if (!demo) return t.fail('the demo did not start')
    t.equal(pattern.test(said.join('\n')), isNew, `${whenStarted}: ${said.join('\n')}`)
    if (isNew) await checkPast(t, `http://127.0.0.1:${admin_port}`, demo.secret)
    await t.rejects(
      startHere(),
      /The demo runs already, on .\/readership-demo/,
      `${whenStarted}: a second demo at once`,
    )
    await demo.close()
  }
  rmSync(DEMO_DATA, { recursive: true })
  mkdirSync(DEMO_DATA)
  writeFileSync(join(DEMO_DATA, UNFINISHED), `${process.ppid}`)
  const another = new RegExp(`Another npm start \\(process ${process.ppid}\\) is writing`)
  await t.rejects(startHere(), another, 'two that begin at the same time')
})

t.test('ports: a default that is taken gives way, a chosen one is an error that names all', async (t) => {
  const [one, two] = [await listen(), await listen()]
  t.teardown(() => Promise.all([one.server, two.server].map((server) => once(server.close(), 'close'))))
  const wanted = (port: number, flag: string, isChosen: boolean) => ({ flag, host: '127.0.0.1', port, isChosen })
  const free = await freePort()
  const said: string[] = []
  const say = (text: string) => said.push(text)
  t.same(await choosePorts([wanted(free, '--port', true)], say), [free], 'a free one')
  t.same(said, [])
  const [moved = 0] = await choosePorts([wanted(one.port, '--port', false)], say)
  t.ok(moved > one.port && moved < one.port + 50, 'a default gives way')
  t.match(said.join(), `Port ${one.port} is taken: the demo uses ${moved}`)
  const same = await choosePorts([wanted(free, '--port', false), wanted(free, '--admin-port', false)], () => {})
  t.equal(new Set(same).size, 2, 'two different ones')
  await t.rejects(
    choosePorts([wanted(one.port, '--port', true), wanted(two.port, '--admin-port', true)], say),
    new RegExp(`${one.port} \\(--port\\) and ${two.port} \\(--admin-port\\)`),
  )
})

/** Checks that the past has both readerships on each day, what only the tracker knows, and the demo's records. */
async function checkPast(t: Test, admin: string, secret: string): Promise<void> {
  const ask = async (path: string): Promise<unknown> => {
    const res = await fetch(`${admin}/api/${path}`, { headers: { authorization: `Bearer ${secret}` } })
    t.equal(res.status, 200, path)
    return await res.json()
  }
  for (const [audience, metric, least] of [
    ['human', 'pageviews', 25],
    ['agent', 'fetches', 25],
  ] as const) {
    const series = `stats/timeseries?site=1&range=30d&granularity=day&audience=${audience}&metric=${metric}`
    const { data, meta } = Buckets.parse(await ask(series))
    const days = data.buckets.filter(({ value = 0 }) => value > 0).length
    t.ok(days >= least, `${audience}: ${days} days have rows`)
    const age = (Date.now() - meta.recorded.since.getTime()) / 86_400_000
    t.ok(age > 28 && age < 30.1, `since ${age} days`)
  }
  for (const [path, expected] of [
    ['stats/overview?site=1&range=30d', { data: { visitors: Number, events: Number } }],
    ['stats/events?site=1&range=30d', { data: [{ events: Number }] }],
    ['stats/performance?site=1&range=30d', { data: Object }],
    ['agents/overview?site=1&range=30d', { data: { verified_fetches: Number, spoofed: Number } }],
  ] as const)
    t.match(await ask(path), expected, path)
}

t.test('the demo takes every setting of the proxy as a flag or variable', async (t) => {
  for (const [words, env, expected, why] of [
    [
      [],
      {},
      { data: './readership-demo', offline: true, inject: true, port: 8080, origin: undefined },
      'the defaults of the demo',
    ],
    [[], { READERSHIP_DATA: 'x', READERSHIP_OFFLINE: 'false' }, { data: 'x', offline: false }, 'over its defaults'],
    [[], { READERSHIP_INJECT: 'false' }, { inject: false }, 'pages as they are'],
    [[], { READERSHIP_DATA: '' }, { data: './readership-demo' }, 'an empty variable counts as not set'],
    [
      ['--data', 'y', '--port', '1'],
      { READERSHIP_DATA: 'x', READERSHIP_PORT: '2' },
      { data: 'y', port: 1 },
      'flags win',
    ],
    [['--inject', '--domain', 'a.com', '--domain', 'b.com'], {}, { inject: true, domain: ['a.com', 'b.com'] }, 'kinds'],
    [[], { READERSHIP_ORIGIN: 'http://x.com' }, { origin: 'http://x.com' }, 'a site to proxy, instead of the demo'],
  ] as const)
    t.match(readDemoSettings(words, env).config, expected, why)
  t.throws(() => readDemoSettings([], { READERSHIP_PROT: '1' }), /READERSHIP_PORT/)
})

interface Run {
  child: ChildProcess
  out: () => string
  /** The exit code. */
  ended: Promise<number | null>
}
function start(t: Test, words: string[], variables: Record<string, string> = {}): Run {
  const env = { ...process.env, ...variables }
  const child = spawn(process.execPath, [START, ...words], { stdio: ['ignore', 'pipe', 'pipe'], env })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (out += text))
  const ended = new Promise<number | null>((done) => child.once('exit', done))
  t.teardown(() => child.kill('SIGKILL'))
  return { child, out: () => out, ended }
}
async function until(run: Run, pattern: RegExp): Promise<void> {
  for (let tries = 0; !pattern.test(run.out()) && run.child.exitCode === null && tries < 1_200; tries++)
    await new Promise((done) => setTimeout(done, 50))
}

t.test('npm start, then SIGTERM', async (t) => {
  const [port, admin] = [await freePort(), await freePort()]
  const data = newData(t)
  for (const time of ['the first time', 'and again on the same data']) {
    const settings = { READERSHIP_PORT: `${port}`, READERSHIP_ADMIN_PORT: `${admin}`, READERSHIP_DATA: data }
    const run = start(t, [], settings)
    await until(run, /until Ctrl-C/)
    t.match(run.out(), /^Starting a sample site, .* Rows go to /, 'the first line says what happens')
    t.match(run.out(), `http://localhost:${port}/`, time)
    run.child.kill('SIGTERM')
    t.equal(await run.ended, 0)
    t.same([await isFree(port), await isFree(admin)], [true, true])
  }
})

t.test('a taken port is named in one line, and no process remains', async (t) => {
  for (const which of ['--port', '--admin-port']) {
    const taken = await listen()
    const free = await freePort()
    const other = which === '--port' ? '--admin-port' : '--port'
    const data = newData(t)
    const run = start(t, [which, `${taken.port}`, other, `${free}`, '--data', data])
    t.equal(await run.ended, 1, which)
    const lines = run.out().trim().split('\n')
    t.equal(lines.filter((line) => line.includes(String(taken.port))).length, 1, `one line: ${run.out()}`)
    t.ok(await isFree(free), 'the other port is free again')
    t.notOk(existsSync(data), 'nothing was written')
    taken.server.close()
  }
})

t.test('npm start -- ORIGIN is readership proxy ORIGIN', async (t) => {
  const site = await startSite({ port: 0 })
  t.teardown(site.close)
  const [port, admin] = [await freePort(), await freePort()]
  const data = newData(t)
  const run = start(t, [site.url, '--port', `${port}`, '--admin-port', `${admin}`, '--data', data])
  await until(run, new RegExp(`${admin}`))
  t.equal((await fetch(`http://127.0.0.1:${port}/about`)).status, 200)
  const isReady = async () => (await fetch(`http://127.0.0.1:${admin}/readyz`)).status === 200
  await eventually('the store is open', isReady)
  run.child.kill('SIGTERM')
  t.equal(await run.ended, 0)
  const wrong = start(t, ['not-a-url', '--port', `${port}`])
  t.equal(await wrong.ended, 2, 'a malformed origin is wrong usage')
})
