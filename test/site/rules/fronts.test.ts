import { createServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import t, { type Test } from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import type { Observation } from '../../../src/capture/observation.js'
import { createLiveRules, type LiveRules } from '../../../src/site/rules/live-rules.js'
import { portOf, startProxy, waitUntil } from '../proxy/fixtures/sockets.js'
import { AGENTS, HOST, RULES, TARGETS, toReferenceFetch, toRuleSet } from './fixtures/front-rows.js'
import { decidePlainly } from './fixtures/reference.js'

interface Front {
  rules: LiveRules
  records: Observation[]
  /** Returns the status of the response. */
  ask(method: string, target: string, user_agent: string): Promise<number>
}

/** Sends one request over HTTP/1.1 and returns its status. */
const askHttp1 = (port: number) => async (method: string, target: string, user_agent: string) => {
  const { request } = await import('node:http')
  return new Promise<number>((resolve, reject) => {
    const headers = { host: HOST, ...(user_agent !== '' && { 'user-agent': user_agent }) }
    const req = request({ port, host: '127.0.0.1', method, path: target, headers }, (res) => {
      res.resume()
      res.on('end', () => resolve(res.statusCode ?? 0))
    })
    req.on('error', reject)
    req.end()
  })
}

async function startOrigin(t: Test) {
  let asked = 0
  const origin = createServer((_, res) => {
    asked += 1
    res.end('page')
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    origin.close()
    origin.closeAllConnections()
  })
  return { port: portOf(origin), asked: () => asked }
}

const newRules = () => createLiveRules({ agents: () => loadCatalog().agents, now: () => Date.now() })

async function startProxyFront(t: Test) {
  const origin = await startOrigin(t)
  const rules = newRules()
  const { proxy, records, port } = await startProxy(origin.port, { rules })
  t.teardown(() => proxy.close(0))
  return { rules, records, proxy, port, asked: origin.asked }
}

const FRONTS: Record<string, (t: Test) => Promise<Front & { asked?(): number }>> = {
  async 'proxy, HTTP/1.1'(t) {
    const front = await startProxyFront(t)
    return { ...front, ask: askHttp1(front.port) }
  },
  async 'proxy, HTTP/2'(t) {
    const front = await startProxyFront(t)
    const server = createHttp2Server(front.proxy.handler)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
    t.teardown(() => {
      client.close()
      server.close()
    })
    return {
      ...front,
      ask: (method, target, user_agent) =>
        new Promise((resolve, reject) => {
          const stream = client.request({
            ':method': method,
            ':path': target,
            ':authority': HOST,
            ...(user_agent !== '' && { 'user-agent': user_agent }),
          })
          let status = 0
          stream.on('response', (fields) => {
            status = Number(fields[':status'])
          })
          stream.resume()
          stream.on('end', () => resolve(status))
          stream.on('error', reject)
          stream.end()
        }),
    }
  },
}

for (const [name, start] of Object.entries(FRONTS))
  t.test(`${name}: requests are decided as the definitions say`, async (t) => {
    const front = await start(t)
    let rows = 0
    for (const row of RULES) {
      const [title, rules, options = {}] = row
      front.rules.apply(toRuleSet(row))
      for (const [who, { user_agent }] of Object.entries(AGENTS))
        for (const target of TARGETS) {
          front.records.length = 0
          const before = front.asked?.() ?? 0
          const expected = decidePlainly(rules, toReferenceFetch(who, target), {
            at: Date.now(),
            isPaused: options.isPaused === true,
          })
          const what = `${title}: ${who} ${target[0]} ${target[1]}`
          const status = await front.ask(target[0], target[1], user_agent)
          await waitUntil(() => front.records.length > 0)
          const [record] = front.records
          rows += 1
          if (status !== expected.status || record?.decided?.rule !== expected.rule || record?.status !== status)
            t.fail(`${what}: ${status}, rule ${record?.decided?.rule}; expected ${expected.status}, ${expected.rule}`)
          if (front.asked && front.asked() - before !== (expected.status === 200 ? 1 : 0))
            t.fail(`${what}: the origin got ${front.asked() - before} requests`)
        }
    }
    t.equal(rows, RULES.length * Object.keys(AGENTS).length * TARGETS.length, `${rows} requests`)
  })
