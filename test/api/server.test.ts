import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createPublicApp, type ExposedPart } from '../../src/api/app.js'
import { listenAdmin, listenControl, socketPath } from '../../src/api/server.js'
import { createTailStream, TailQuery } from '../../src/api/tail.js'
import { clientAddress, parseTrust } from '../../src/base/address.js'
import { createEventLoopQueue } from '../../src/base/event-loop-queue.js'
import { directory } from '../fixtures/files.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

const whoAmI = async (_: Request, peer: { ip: string; operator: boolean }) => Response.json(peer)

/** Sends a GET through a socket, and returns status and body. */
async function via(socketPath: string, path = '/'): Promise<{ status: number; text: string }> {
  const [response] = await once(get({ socketPath, path }), 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode, text }
}

t.test('the control socket has mode 0600, and its callers are the operator', async (t) => {
  const path = join(directory(t), 'control.sock')
  const mask = process.umask()
  const control = await listenControl(whoAmI, path)
  t.teardown(() => control.close())
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(process.umask(), mask, 'the mask of everything else is as it was')
  t.match(JSON.parse((await via(path)).text), { operator: true })
  await t.rejects(listenControl(whoAmI, path), /another readership listens/, 'a socket in use is never replaced')
  t.match(JSON.parse((await via(path)).text), { operator: true }, 'and it still does')
})

t.test('the socket of a dead process is replaced', async (t) => {
  const path = join(directory(t), 'control.sock')
  const dying = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', dying])
  t.ok(existsSync(path), 'a socket without a listener')
  const control = await listenControl(whoAmI, path)
  t.equal((await via(path)).status, 200)
  await control.close()
})

t.test('a socket path that would be truncated is refused', async (t) => {
  const data = (bytes: number) => `/${'d'.repeat(bytes - '//control.sock'.length)}`
  t.equal(socketPath(data(103)), `${data(103)}/control.sock`, 'as long as every system takes')
  t.throws(() => socketPath(data(104)), /^\/d+\/control\.sock is too long for a socket: 104 bytes[^\n]*$/)
  t.throws(() => socketPath(`/${'ä'.repeat(50)}`), /114 bytes/, 'bytes, not characters')
  t.equal(socketPath(join(process.cwd(), 'a', 'b')), join('a', 'b', 'control.sock'), 'from here where that is shorter')
  const deep = join(process.cwd(), 'd'.repeat(80))
  t.equal(socketPath(deep), `${'d'.repeat(80)}/control.sock`, 'though it is too long from the root')
})

t.test('requests are real: they can be copied, and their bodies read', async (t) => {
  const admin = await listenAdmin(
    async (request) => {
      const copy = new Request(request, { headers: { 'x-copied': '1' } })
      return Response.json([copy.method, new URL(copy.url).pathname, copy.headers.get('x-copied'), await copy.text()])
    },
    '127.0.0.1',
    0,
  )
  t.teardown(() => admin.close())
  for (const [method, body, expected] of [
    ['GET', undefined, ''],
    ['DELETE', undefined, ''],
    ['POST', '{"a":1}', '{"a":1}'],
  ] as const)
    t.same(await (await fetch(`${admin.at}/x`, { method, ...(body ? { body } : {}) })).json(), [
      method,
      '/x',
      '1',
      expected,
    ])
})

t.test('the client is who a trusted proxy names', async (t) => {
  const trust = parseTrust(['loopback'])
  const believing = await listenAdmin(whoAmI, '127.0.0.1', 0, {
    client: ({ socket, headers }) =>
      clientAddress(socket.remoteAddress, String(headers['x-forwarded-for'] ?? ''), trust),
  })
  const wary = await listenAdmin(whoAmI, '127.0.0.1', 0)
  t.teardown(() => Promise.all([believing.close(), wary.close()]))
  for (const [at, said, expected, why] of [
    [believing.at, '203.0.113.9', '203.0.113.9', 'a proxy on this machine names the client'],
    [believing.at, '198.51.100.1, 203.0.113.9', '203.0.113.9', 'what the client wrote is not trusted'],
    [believing.at, undefined, '127.0.0.1', 'no header'],
    [wary.at, '203.0.113.9', '127.0.0.1', 'no proxy is trusted'],
  ] as const) {
    const answer = await fetch(at, said === undefined ? {} : { headers: { 'x-forwarded-for': said } })
    t.same(await answer.json(), { ip: expected, operator: false }, why)
  }
})

t.test('the admin listener does not make its callers the operator', async (t) => {
  const before = [globalThis.Request, globalThis.Response]
  const admin = await listenAdmin(whoAmI, '127.0.0.1', 0)
  t.teardown(() => admin.close())
  t.same(await (await fetch(admin.at)).json(), { ip: '127.0.0.1', operator: false })
  await t.rejects(listenAdmin(whoAmI, '127.0.0.1', admin.port), { code: 'EADDRINUSE' })
  t.same(
    [globalThis.Request === before[0], globalThis.Response === before[1]],
    [true, true],
    'globals are not replaced',
  )
})

t.test('a request has to arrive in time, but for an upload', async (t) => {
  const listener = await listenAdmin(async (request) => new Response(await request.text()), '127.0.0.1', 0, {
    arrival_timeout_ms: 300,
  })
  t.teardown(() => listener.close())
  for (const [path, expected, why] of [
    ['/api/sites', '', 'never complete'],
    ['/api/imports?site=1', '200', 'may take longer'],
  ] as const) {
    const socket = connect(listener.port, '127.0.0.1')
    socket.write(`POST ${path} HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\ncontent-length: 2\r\n\r\na`)
    setTimeout(() => socket.write('b'), 900)
    socket.on('error', () => {})
    let received = ''
    for await (const part of socket) received += part
    t.equal(received.slice(9, 12), expected, why)
  }
})

t.test('malformed requests get 400', async (t) => {
  const admin = await listenAdmin(async (request) => new Response(new URL(request.url).pathname), '127.0.0.1', 0)
  t.teardown(() => admin.close())
  for (const [head, expected, why] of [
    ['GET /healthz HTTP/1.0\r\n', /^HTTP\/1\.1 200 .*\/healthz$/s, 'no host: as health checks ask'],
    ['TRACE / HTTP/1.1\r\nHost: a\r\n', /^HTTP\/1\.1 400 .*"bad_request"/s, 'a method that fetch forbids'],
    ['GET / HTTP/1.1\r\nHost: a b\r\n', /^HTTP\/1\.1 400 .*"bad_request"/s, 'an invalid host'],
    ['OPTIONS * HTTP/1.1\r\nHost: a\r\n', /^HTTP\/1\.1 400 .*"bad_request"/s, 'a target that is not a path'],
  ] as const) {
    const socket = connect(admin.port, '127.0.0.1')
    socket.end(`${head}Connection: close\r\n\r\n`)
    let answer = ''
    for await (const chunk of socket) answer += chunk
    t.match(answer, expected, why)
  }
})

t.test('the public listener serves only exposed parts', async (t) => {
  const seen: string[] = []
  const app = async (request: Request, peer: { operator: boolean }) => {
    seen.push(`${request.method} ${new URL(request.url).pathname}${new URL(request.url).search} ${peer.operator}`)
    return new Response('ok')
  }
  const rows: [readonly ExposedPart[], string, number, string][] = [
    [[], '/api/sites', 404, 'nothing is exposed'],
    [[], '/script.js', 200, 'the tracker'],
    [[], '/script-0a1b2c3d.js', 200, 'by its hashed name'],
    [[], '/script-0a1b2c3d.js.map', 404, 'and nothing like it'],
    [[], '/scriptXjs', 404, 'a dot is a dot'],
    [[], '/api/track', 200, 'an ingest endpoint'],
    [[], '/api/track/batch', 200, 'for several'],
    [[], '/api/track/pixel.gif', 200, 'without a script'],
    [[], '/api/track/', 404, 'another path'],
    [[], '/api/track/other', 404, 'nothing is below an ingest endpoint'],
    [[], '/api/log/edge', 404, 'the edge endpoint'],
    [['ingest'], '/api/log/edge', 200, 'exposed'],
    [['ingest'], '/api/log/edges', 404, 'exactly it'],
    [['ingest'], '/api/sites', 404, 'and not the rest'],
    [['api'], '/api/sites?org=1', 200, 'exposed'],
    [['api'], '/metrics', 404, 'never the metrics'],
    [['api'], '/healthz', 404, 'nor health'],
    [['api'], '/control/status', 404, 'nor control'],
    [['api'], '/api/../control/status', 404, 'by no detour'],
    [['api'], '/api/%2e%2e/control/status', 404, 'however it is written'],
    [['api'], '/control', 404, 'and nothing at its root'],
    [['api'], '/', 200, 'the dashboard'],
    [['api'], '/sites/1', 200, 'and its addresses'],
    [['api'], '/sign-in', 200, 'and the way into it'],
    [['ingest'], '/', 404, 'which rows alone do not need'],
  ]
  for (const [exposed, path, status, why] of rows) {
    const part = createPublicApp(app, exposed)
    const response = await part(new Request(`http://a.com${path}`), { ip: '1.2.3.4' })
    t.equal(response.status, status, why)
  }
  t.notOk(
    seen.some((one) => one.endsWith('true')),
    'and never as the operator',
  )
  t.equal(seen.length, rows.filter(([, , status]) => status === 200).length)
  t.ok(seen.includes('GET /api/sites?org=1 false'), 'the query with it')
})

/** Collects the lines of a stream as they arrive. */
async function follow(socketPath: string, query: string) {
  const call = get({ socketPath, path: `/?${query}` })
  const [response] = await once(call, 'response')
  const lines: { audience?: string; pathname?: string; missed?: number }[] = []
  let rest = ''
  response.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.map((line) => JSON.parse(line)))
  })
  response.on('error', () => {})
  return { lines, response, leave: () => call.destroy() }
}

async function startTail(t: Test) {
  const parts = await createInProcessEngine(t)
  const path = join(directory(t), 'control.sock')
  const control = await listenControl(async (request) => {
    const query = TailQuery.parse(Object.fromEntries(new URL(request.url).searchParams))
    return new Response(createTailStream(parts.workerClient, query, [1]))
  }, path)
  t.teardown(() => control.close())
  return { ...parts, path }
}

const until = async (t: Test, what: string, check: () => boolean) => {
  for (let i = 0; i < 200 && !check(); i++) await sleep(10)
  t.ok(check(), what)
}
const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 8, 0, second))

t.test('tail sends the recent rows, oldest first, then each row as it is committed', async (t) => {
  const { path, commit, listeners } = await startTail(t)
  await commit({
    events: [eventRow({ timestamp: at(2), pathname: '/b' })],
    agent_events: [
      agentRow({ timestamp: at(1), pathname: '/a' }),
      agentRow({ timestamp: at(3), pathname: '/c', agent_id: 'claudebot', operator: 'Anthropic' }),
    ],
  })
  const cases: [string, string[], string][] = [
    ['n=50', ['/a', '/b', '/c'], 'all'],
    ['n=2', ['/b', '/c'], 'the last two'],
    ['n=0', [], 'no row'],
    ['audience=agent', ['/a', '/c'], 'agents'],
    ['audience=human', ['/b'], 'people'],
    ['agent=GPTBot', ['/a'], 'one agent, in any case'],
    ['agent=anthropic', ['/c'], 'one operator'],
    ['agent=gptbot&audience=human', [], 'people are not agents'],
    ['path=/c', ['/c'], 'paths that start so'],
    ['path=%25', [], 'no pattern'],
    ["agent='%20or%201=1--", [], 'no SQL'],
  ]
  for (const [query, expected, why] of cases) {
    const stream = await follow(path, `${query}&follow=0`)
    await once(stream.response, 'end')
    t.same(
      stream.lines.map((row) => row.pathname),
      expected,
      why,
    )
  }
  const live = await follow(path, 'n=1&audience=agent&path=/x')
  await until(t, 'listening', () => listeners.size === 1)
  await commit({
    events: [eventRow({ timestamp: at(4), pathname: '/x1' })],
    agent_events: [agentRow({ timestamp: at(5), pathname: '/x2' }), agentRow({ timestamp: at(6), pathname: '/y' })],
  })
  await until(t, 'one row came', () => live.lines.length === 1)
  t.match(live.lines, [
    { audience: 'agent', pathname: '/x2', ip_hash: /^[0-9a-f]{16}$/, timestamp: at(5).toISOString() },
  ])
  live.leave()
  await until(t, 'a disconnected reader is unsubscribed', () => listeners.size === 0)
})

t.test('tail sends a row once that is committed while the recent ones are read', async (t) => {
  const { workerClient, commit, listeners } = await createInProcessEngine(t)
  const slow = {
    ...workerClient,
    events: {
      ...workerClient.events,
      async query(...args: Parameters<typeof workerClient.events.query>) {
        // Committed before the read: the row is in its result, and arrives live as well.
        await commit({ agent_events: [agentRow({ pathname: '/both' })] })
        const rows = await workerClient.events.query(...args)
        await commit({ agent_events: [agentRow({ pathname: '/after' })] })
        return rows
      },
    },
  }
  const reader = createTailStream(slow, TailQuery.parse({ audience: 'agent' }), [1]).getReader()
  const paths: string[] = []
  while (paths.length < 2) {
    const { value } = await reader.read()
    paths.push(
      ...new TextDecoder()
        .decode(value)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).pathname),
    )
  }
  t.same(paths, ['/both', '/after'])
  await reader.cancel()
  t.equal(listeners.size, 0)
})

t.test('tail ends in order when another process writes, and goes on while this one is started again', async (t) => {
  const { workerClient, commit, listeners } = await createInProcessEngine(t)
  let [isWriter, restart] = [true, () => {}]
  const shared = {
    ...workerClient,
    isWriter: () => isWriter,
    onRestart(listener: () => void) {
      restart = listener
      return () => {
        restart = () => {}
      }
    },
  }
  const reader = createTailStream(shared, TailQuery.parse({ n: '0' }), [1]).getReader()
  await until(t, 'listening', () => listeners.size === 1)
  restart()
  await commit({ agent_events: [agentRow({ pathname: '/on' })] })
  t.match(new TextDecoder().decode((await reader.read()).value), '/on')
  isWriter = false
  restart()
  t.equal((await reader.read()).done, true)
  t.equal(listeners.size, 0)
})

t.test('tail bounds the lines for a slow reader, and says how many it missed', async (t) => {
  const { workerClient, commit, listeners } = await createInProcessEngine(t)
  const reader = createTailStream(workerClient, TailQuery.parse({ n: '0' }), [1]).getReader()
  await until(t, 'listening', () => listeners.size === 1)
  await sleep(10)
  await commit({ agent_events: Array.from({ length: 5_000 }, () => agentRow()) })
  const text = new TextDecoder()
  for (let i = 0; i < 2_000; i++) text.decode((await reader.read()).value)
  await commit({ agent_events: [agentRow({ pathname: '/late' })] })
  t.same(JSON.parse(text.decode((await reader.read()).value)), { missed: 3_000 }, '5,000 came, 2,000 may wait')
  t.match(JSON.parse(text.decode((await reader.read()).value)), { pathname: '/late' })
  await reader.cancel()
})

t.test('callers of a queue go on one by one, each in its own turn of the event loop', async (t) => {
  const waitForTurn = createEventLoopQueue()
  let turn = 0
  const turns: number[] = []
  const count = () => {
    turn += 1
    if (turns.length < 5) setImmediate(count)
  }
  setImmediate(count)
  const go = async () => {
    await waitForTurn()
    turns.push(turn)
  }
  await Promise.all([go(), go(), go()])
  await Promise.all([go(), go()])
  t.equal(new Set(turns).size, 5, `turns ${turns}`)
})
