import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import t, { type Test } from 'tap'
import { startSidecarRules } from '../../../src/app/instance/sidecar-rules.js'
import type { Observation } from '../../../src/capture/observation.js'
import type { RuleSet } from '../../../src/rules/rule-set.js'
import type { LiveRules } from '../../../src/site/rules/live-rules.js'
import { createCollectorClient } from '../../../src/site/shipping/collector-client.js'
import { directory } from '../../fixtures/files.js'
import { portOf, startProxy, waitFor } from '../proxy/fixtures/sockets.js'
import { ADAPTERS, listen, newRules, startAdapterSite } from './fixtures/adapter-sites.js'
import { AGENTS, HOST, RULES, TARGETS, toReferenceFetch, toRuleSet } from './fixtures/front-rows.js'
import { decidePlainly } from './fixtures/reference.js'

/** The decisions of every front on one table of requests, rules and states, against the plain reference. */

interface Front {
  apply(set: RuleSet): Promise<void> | void
  records: Observation[]
  /** Requests that reached the site. */
  served(): number
  /** Returns the status of the response. */
  ask(method: string, target: string, user_agent: string): Promise<number>
}

function askHttp1(t: Test, port: number): Front['ask'] {
  const agent = new Agent({ keepAlive: true, maxSockets: 6 })
  t.teardown(() => agent.destroy())
  return async (method, target, user_agent) => {
    const headers = { host: HOST, ...(user_agent !== '' && { 'user-agent': user_agent }) }
    const sent = request({ port, host: '127.0.0.1', method, path: target, headers, agent }).end()
    const [response] = await once(sent, 'response')
    response.resume()
    await once(response, 'end')
    return response.statusCode
  }
}

async function startProxyFront(t: Test, rules: LiveRules) {
  let served = 0
  const origin = createServer((_, res) => {
    served += 1
    res.end('page')
  })
  const { proxy, records, port } = await startProxy(await listen(t, origin), { rules })
  t.teardown(() => proxy.close(0))
  return { proxy, port, records, apply: rules.apply, served: () => served }
}

/** Starts each adapter in front of a site that responds with a page. */
const ADAPTER_FRONTS = Object.entries(ADAPTERS).map(([name, create]) => [
  name,
  async (t: Test): Promise<Front> => {
    const site = await startAdapterSite(t, create, () => ({ status: 200, headers: {}, body: 'page' }))
    return { ...site, apply: site.rules.apply, ask: askHttp1(t, site.port) }
  },
])

const FRONTS: Record<string, (t: Test) => Promise<Front>> = {
  async 'proxy, HTTP/1.1'(t) {
    const front = await startProxyFront(t, newRules())
    return { ...front, ask: askHttp1(t, front.port) }
  },
  async 'proxy, HTTP/2'(t) {
    const front = await startProxyFront(t, newRules())
    const server = createHttp2Server(front.proxy.handler)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
    t.teardown(() => {
      client.close()
      server.close()
    })
    const ask: Front['ask'] = async (method, target, user_agent) => {
      const stream = client.request({
        ':method': method,
        ':path': target,
        ':authority': HOST,
        ...(user_agent !== '' && { 'user-agent': user_agent }),
      })
      stream.end()
      const [fields] = await once(stream, 'response')
      stream.resume()
      await once(stream, 'close')
      return fields[':status']
    }
    return { ...front, ask }
  },
  ...Object.fromEntries(ADAPTER_FRONTS),
  async sidecar(t) {
    let set = ''
    const port = await listen(
      t,
      createServer((_, res) => void res.end(set)),
    )
    const collector = createCollectorClient(`http://127.0.0.1:${port}`, '0')
    t.teardown(() => collector.close())
    const rules = newRules()
    const front = await startProxyFront(t, rules)
    const path = `${directory(t)}/rules.json`
    const log = { info() {}, warn: () => t.fail('a warning'), error() {} }
    let stop = () => {}
    t.teardown(() => stop())
    return {
      ...front,
      async apply(next) {
        // The collector stores the rows of a sidecar's site whatever their hostname, and so it is with rules.
        const sites = next.sites.map((site) => ({ ...site, domains: ['elsewhere.example'] }))
        set = JSON.stringify({ data: { ...next, sites } })
        stop()
        const { fetchRules } = collector
        const way = { fetchRules, key: () => 'key', site: 1, path, now: () => Date.now() }
        stop = startSidecarRules({ ...way, rules, isOff: false, log }).stop
        await waitFor('the rules', () => rules.set.version === next.version)
      },
      ask: askHttp1(t, front.port),
    }
  },
}

for (const [name, start] of Object.entries(FRONTS))
  t.test(`${name}: requests are decided as the definitions say`, async (t) => {
    const front = await start(t)
    let compared = 0
    for (const row of RULES) {
      const [title, rules, { isPaused = false } = {}] = row
      await front.apply(toRuleSet(row))
      front.records.length = 0
      const servedBefore = front.served()
      const requests = Object.entries(AGENTS).flatMap(([who, { user_agent }]) =>
        TARGETS.map((target) => ({
          what: `${title}: ${who} ${target[0]} ${target[1]}`,
          expected: decidePlainly(rules, toReferenceFetch(who, target), { at: Date.now(), isPaused }),
          user_agent,
          target,
        })),
      )
      const statuses = await Promise.all(
        requests.map(({ user_agent, target: [method, path] }) => front.ask(method, path, user_agent)),
      )
      await waitFor('the records', () => front.records.length >= requests.length)
      for (const [
        i,
        {
          what,
          expected,
          user_agent,
          target: [method, path],
        },
      ] of requests.entries()) {
        const record = front.records.find(
          (one) =>
            one.user_agent === user_agent &&
            one.method === method &&
            one.pathname + (one.query === undefined ? '' : `?${one.query}`) === path,
        )
        const actual = { status: statuses[i], recorded: record?.status, rule: record?.decided?.rule }
        compared += 1
        if (actual.status !== expected.status || record?.status !== expected.status || actual.rule !== expected.rule)
          t.same(actual, { ...expected, recorded: expected.status }, what)
      }
      t.equal(
        front.served() - servedBefore,
        requests.filter(({ expected }) => expected.status === 200).length,
        `${title}: the site gets the others`,
      )
    }
    t.equal(compared, RULES.length * Object.keys(AGENTS).length * TARGETS.length, `${compared} requests`)
  })
