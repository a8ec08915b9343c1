import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { socketPath } from '../../../src/api/server.js'
import { createServiceRelay } from '../../../src/app/cli/site-processes/service-relay.js'
import { command } from '../../fixtures/command.js'
import { directory } from '../../fixtures/files.js'
import {
  CHROME,
  cli,
  dataDir,
  eventually,
  freePort,
  GPTBOT,
  startInstance,
  startOrigin,
  startProxy,
} from '../../fixtures/instance.js'

/** Tests `--workers N`: several processes that share the site's port, over one store. */

/** Sends a request on a connection of its own, so that the processes take turns. */
async function ask(url: string, headers: Record<string, string>, body?: string) {
  const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent: new Agent() }).end(body)
  const [response] = await once(sent, 'response')
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

/** The pids of the processes that a process has started. */
const childrenOf = (pid = 0): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
const programOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'latin1')
const siteProcesses = (pid: number | undefined): number[] =>
  childrenOf(pid).filter((child) => programOf(child).includes('site-processes'))

/** A metric's value, or the sum over its labels. */
async function metric(admin: string, name: string): Promise<number> {
  const lines = (await (await fetch(`${admin}/metrics`)).text()).split('\n')
  return lines.filter((line) => line.startsWith(name)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

t.test('three processes share the port; rows, counters and the service are those of one', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const app = await startInstance(origin.url, data, '--workers', '3', '--expose', 'api')
  t.teardown(() => app.stop('SIGKILL'))
  t.equal(siteProcesses(app.child.pid).length, 3)

  const served = await metric(app.admin, 'readership_requests_total')
  const numbers = Array.from({ length: 90 }, (_, n) => n)
  const fetched = await Promise.all(numbers.map((n) => ask(`${app.site}/agent/${n}`, { 'user-agent': GPTBOT })))
  const read = await Promise.all(numbers.map((n) => ask(`${app.site}/page/${n}`, { 'user-agent': CHROME })))
  t.strictSame([...new Set([...fetched, ...read].map(({ status }) => status))], [200])
  t.equal((await metric(app.admin, 'readership_requests_total')) - served, 180, 'a scrape counts every response')

  const [paused = 0] = siteProcesses(app.child.pid)
  process.kill(paused, 'SIGSTOP')
  let answered = 0
  const turns = [1, 2, 3].map((n) =>
    ask(`${app.site}/turn/${n}`, { 'user-agent': GPTBOT }).then(() => {
      answered += 1
    }),
  )
  await eventually('the two processes that run have answered', () => answered === 2)
  process.kill(paused, 'SIGCONT')
  await Promise.all(turns)

  const track = `${app.site}/_readership/api/track`
  const hit = (name: string, hostname = '127.0.0.1') =>
    JSON.stringify({ s: 1, t: 'custom', n: name, u: `http://${hostname}/page/1` })
  const hits = await Promise.all(numbers.map((n) => ask(track, { 'user-agent': CHROME }, hit(`e${n}`))))
  t.strictSame([...new Set(hits.map(({ status }) => status))], [204])
  const foreign = await Promise.all(
    [1, 2, 3].map(() => ask(track, { 'user-agent': CHROME }, hit('x', 'other.example'))),
  )
  t.strictSame(
    foreign.map(({ status }) => status),
    [403, 403, 403],
    'of another hostname',
  )
  t.equal(await metric(app.admin, 'readership_door_drops_total'), 3, 'and every process counts its drops')

  await eventually('all agent rows', async () => (await app.fetches()) >= 93)
  await eventually('all pageviews', async () => (await app.pageviews()) >= 90)
  t.equal(await app.fetches(), 93)
  t.equal(await app.pageviews(), 90)
  const { data: overview } = await app.ask('/api/stats/overview?site=1&range=24h')
  t.equal(overview.events, 90, 'hits of the tracker')
  t.equal(overview.sessions, 1, 'one visitor whose views went through three processes has one session')

  const dashboard = await ask(`${app.site}/_readership/`, { 'user-agent': CHROME })
  t.match(dashboard.body, /<title>/, 'the dashboard through the port of the site')
  t.equal((await ask(`${app.site}/_readership/metrics`, {})).status, 404, 'and no more than is exposed')
  t.equal((await ask(`${app.site}/_readership`, {})).headers.location, '_readership/')

  const [first = 0] = siteProcesses(app.child.pid)
  process.kill(first, 'SIGKILL')
  await eventually('another process in its place', () => {
    const now = siteProcesses(app.child.pid)
    return now.length === 3 && !now.includes(first)
  })
  t.match(app.output(), /a process of the site ended and is started again/)
  const after = await Promise.all(numbers.map((n) => ask(`${app.site}/later/${n}`, { 'user-agent': GPTBOT })))
  t.strictSame([...new Set(after.map(({ status }) => status))], [200])

  const before = origin.requests()
  const slow = ask(`${app.site}/slow?wait=1500`, { 'user-agent': GPTBOT })
  await eventually('the slow request', () => origin.requests() > before)
  const stopped = app.stop()
  t.equal((await slow).status, 200, 'a running request ends after SIGTERM')
  t.equal(await stopped, 0)
  const { stdout } = await command('stats', '--data', data, '--report', 'agents/overview', '--range', '24h', '--json')
  t.equal(JSON.parse(stdout).data.fetches, 93 + 90 + 1, 'what was recorded last is stored')
})

/** Sends a request to the control socket, as the operator. */
async function operate(data: string, path: string, body: object): Promise<number> {
  const headers = { 'content-type': 'application/json', host: 'readership' }
  const sent = request({ socketPath: socketPath(data), method: 'POST', path, headers }).end(JSON.stringify(body))
  const [response] = await once(sent, 'response')
  response.resume()
  return response.statusCode
}

t.test('the processes share the rules for agents and their budgets', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const app = await startInstance(origin.url, data, '--workers', '2')
  t.teardown(() => app.stop('SIGKILL'))
  const LIMIT = 20
  const budget = { limit: LIMIT, unit: 'fetches', per: 'day', by: 'agent' }
  const rule = { site: 1, name: 'twenty a day', agents: ['gptbot'], action: 'limit', budget, state: 'on' }
  t.equal(await operate(data, '/api/rules', rule), 201)
  let passed = 0
  const get = async () => {
    const { status } = await ask(`${app.site}/page`, { 'user-agent': GPTBOT })
    if (status === 200) passed += 1
    return status
  }
  // Fetches before both processes have the rule count towards no budget.
  await eventually(
    'the rule is in every process',
    async () => (await metric(app.admin, 'readership_rules_in_force')) === 1,
  )
  for (let n = 0; n < LIMIT; n++) await get()
  await eventually('both processes refuse', async () => {
    const statuses = [await get(), await get(), await get(), await get()]
    return statuses.every((status) => status === 429)
  })
  t.ok(passed >= LIMIT, `${passed} fetches passed`)
  t.ok(passed < 2 * LIMIT, 'each process alone would let twenty pass')
  const [first = 0] = siteProcesses(app.child.pid)
  process.kill(first, 'SIGKILL')
  await eventually('another process in its place', () => {
    const now = siteProcesses(app.child.pid)
    return now.length === 2 && !now.includes(first)
  })
  await eventually('it listens', async () => {
    const answers = await Promise.allSettled([get(), get(), get(), get()])
    return answers.every(({ status }) => status === 'fulfilled')
  })
  t.same(
    [await get(), await get(), await get(), await get()],
    [429, 429, 429, 429],
    'a new process knows what was used',
  )
  t.ok((await metric(app.admin, 'readership_rule_decisions_total')) >= 8, 'decisions of all processes are counted')
})

t.test('a port that is taken, and a first process that is killed', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const refused = await cli(
    ...['proxy', origin.url, '--host', '127.0.0.1', '--port', `${port}`, '--admin-port', '0', '--workers', '2'],
    ...['--data', dataDir(t), '--offline'],
  )
  taken.close()
  t.equal(refused.code, 1)
  t.match(refused.stderr, `Port ${port} on 127.0.0.1 is in use; choose another with --port.`)

  const [sitePort, adminPort] = [await freePort(), await freePort()]
  const app = await startProxy({ origin: origin.url, data: dataDir(t), port: sitePort, adminPort }, '--workers', '2')
  const pids = siteProcesses(app.child.pid)
  await app.stop('SIGKILL')
  const isAlive = (pid: number) => {
    try {
      return !programOf(pid).startsWith('\0') && programOf(pid) !== ''
    } catch {
      return false
    }
  }
  await eventually('no process is left', () => !pids.some(isAlive))
  t.equal(pids.length, 2)
})

t.test('the relay names the client itself, and passes on what both sides say', async (t) => {
  const path = `${directory(t)}/service.sock`
  const service = createServer(async (req, res) => {
    res.writeHead(req.method === 'POST' ? 201 : 200, [
      ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Keep-Alive', 'timeout=9'],
    ])
    res.end(JSON.stringify({ url: req.url, headers: req.headers, body: await text(req) }))
  }).listen(path)
  await once(service, 'listening')
  const { relay, close } = createServiceRelay(path)
  const front = createServer((req, res) => relay(req, res, { ip: '203.0.113.7', scheme: 'https' })).listen(
    0,
    '127.0.0.1',
  )
  await once(front, 'listening')
  t.teardown(() => {
    close()
    front.close()
    front.closeAllConnections()
    service.close()
    service.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}/_readership/x?y=%20`
  const forged = { 'X-Readership-Client': '1.1.1.1', 'X-Readership-Scheme': 'http', 'X-Forwarded-For': '2.2.2.2' }
  const got = await ask(url, { ...forged, 'content-type': 'text/plain' }, 'hello')
  t.equal(got.status, 201)
  t.strictSame(got.headers['set-cookie'], ['a=1', 'b=2'])
  const said = JSON.parse(got.body)
  t.equal(said.url, '/_readership/x?y=%20')
  t.equal(said.body, 'hello')
  t.equal(said.headers['x-readership-client'], '203.0.113.7')
  t.equal(said.headers['x-readership-scheme'], 'https')
  t.equal(said.headers['x-forwarded-for'], '2.2.2.2', 'unchanged')
  service.close()
  service.closeAllConnections()
  t.equal((await ask(url, {})).status, 502, 'nobody listens at the socket')
})
