import { request } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import t, { type Test } from 'tap'
import type { Observation } from '../../../src/capture/observation.js'
import { nameRuleSet } from '../../../src/rules/build-rule-set.js'
import type { ActiveRedirect, RuleSet } from '../../../src/rules/rule-set.js'
import type { LiveRules } from '../../../src/site/rules/live-rules.js'
import { REDIRECTED, REDIRECTS, startOriginOf, statusOf } from '../../rules/fixtures/redirects.js'
import { portOf, startProxy, waitUntil } from '../proxy/fixtures/sockets.js'
import { ADAPTERS, newRules, startAdapterSite } from './fixtures/adapter-sites.js'

const HOST = 'site.example'
/** A body that is longer than what is discarded. */
const LONG = Buffer.alloc(1_000_000, 'x')

interface Answer {
  status: number
  location: string | undefined
  body: string
  /** Header names, sorted. */
  names: string
}
interface Front {
  rules: LiveRules
  records: Observation[]
  /** Connections to the origin; absent in an application. */
  connections?(): number
  ask(method: string, target: string): Promise<Answer>
}

const MORE_REDIRECTS: ActiveRedirect[] = [
  { from: '/gone/long', to: '/new', status: 307 },
  { from: '/fails', to: '/new', status: 301 },
]
const toSet = (redirects: readonly ActiveRedirect[]): RuleSet =>
  nameRuleSet([{ site: 1, domains: [HOST], rules: [], sitemaps: [], robots: [], redirects: [...redirects] }])

const pageOf = (target: string) => ({
  status: target.startsWith('/fails') ? 500 : statusOf(decodeURIComponent(target)),
  body: target.startsWith('/gone/long') ? LONG : Buffer.from(`origin ${target}`),
})

async function startFront(t: Test) {
  const origin = await startOriginOf(t, pageOf)
  const rules = newRules()
  const { proxy, records, port } = await startProxy(origin.port, { rules })
  t.teardown(() => proxy.close(0))
  return { rules, records, proxy, port, connections: origin.connections }
}

const askHttp1 =
  (port: number): Front['ask'] =>
  (method, target) =>
    new Promise((resolve, reject) => {
      const req = request({ port, method, path: target, headers: { host: HOST } }, (res) => {
        let body = ''
        res.setEncoding('latin1').on('data', (part) => {
          body += part
        })
        const { location } = res.headers
        const names = Object.keys(res.headers).sort().join()
        res.on('end', () => resolve({ status: res.statusCode ?? 0, location, body, names }))
      })
      req.on('error', reject)
      req.end()
    })

/** Starts each adapter in an application that has the pages itself. */
const ADAPTER_FRONTS = Object.entries(ADAPTERS).map(([name, create]) => [
  name,
  async (t: Test): Promise<Front> => {
    const site = await startAdapterSite(t, create, (target) => {
      const { status, body } = pageOf(target)
      return { status, body: Uint8Array.from(body), headers: { 'content-type': 'text/html', etag: '"1"' } }
    })
    return { ...site, ask: askHttp1(site.port) }
  },
])

const FRONTS: Record<string, (t: Test) => Promise<Front>> = {
  async 'proxy, HTTP/1.1'(t) {
    const front = await startFront(t)
    return { ...front, ask: askHttp1(front.port) }
  },
  async 'proxy, HTTP/2'(t) {
    const front = await startFront(t)
    const server = createHttp2Server(front.proxy.handler)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
    t.teardown(() => {
      client.close()
      server.close()
    })
    return {
      ...front,
      ask: (method, target) =>
        new Promise((resolve, reject) => {
          const stream = client.request({ ':method': method, ':path': target, ':authority': HOST })
          const answer = { status: 0, location: undefined, body: '', names: '' }
          stream.on('response', (fields) => {
            const names = Object.keys(fields).sort().join()
            Object.assign(answer, { status: Number(fields[':status']), location: fields.location, names })
          })
          stream.setEncoding('latin1').on('data', (part) => {
            answer.body += part
          })
          stream.on('end', () => resolve(answer))
          stream.on('error', reject)
          stream.end()
        }),
    }
  },
  ...Object.fromEntries(ADAPTER_FRONTS),
}

type Row = [method: string, target: string, expected: [status: number, location: string] | undefined, why: string]

/** `expected` is undefined for the origin's response. */
const ROWS: Row[] = [
  ...REDIRECTED.map(([path, status, to, why]): Row => ['GET', path, to === null ? undefined : [status, to], why]),
  ['HEAD', '/gone', [301, '/new'], 'HEAD'],
  ['GET', '/%67one', [301, '/new'], 'another spelling of the path'],
  ['GET', '/gone/long', [307, '/new'], 'a long page that says that there is no page'],
  ['POST', '/gone', undefined, 'a form'],
  ['PUT', '/gone', undefined, 'a change'],
  ['GET', '/fails', undefined, 'the origin fails'],
]

for (const [name, start] of Object.entries(FRONTS))
  t.test(`${name}: a redirect answers where the origin says 404 or 410`, async (t) => {
    const front = await start(t)
    const askAll = async () => {
      const answers: Answer[] = []
      for (const [method, target] of ROWS) answers.push(await front.ask(method, target))
      return answers
    }
    const without = await askAll()
    front.rules.apply(toSet([...REDIRECTS, ...MORE_REDIRECTS]))
    await waitUntil(() => front.records.length === ROWS.length)
    front.records.length = 0
    const answers = await askAll()
    await waitUntil(() => front.records.length === ROWS.length)
    for (const [i, [method, target, expected, why]] of ROWS.entries()) {
      const { status, location, body, names } = answers[i] ?? {}
      const record = front.records[i]
      if (expected === undefined) {
        t.strictSame(answers[i], without[i], `${why}: as without`)
        t.strictSame([record?.status, record?.redirected], [status, undefined], why)
      } else {
        t.strictSame([status, location, body], [...expected, ''], `${method} ${target}: ${why}`)
        t.notMatch(names, /etag|content-type/, `${why}: nothing of the origin's`)
        t.strictSame([record?.status, record?.bytes, record?.redirected], [expected[0], 0, true], why)
      }
    }
    const before = front.connections?.()
    for (let i = 0; i < 5; i++) t.equal((await front.ask('GET', '/gone')).status, 301)
    t.equal(front.connections?.(), before, "the origin's connection stays usable")
    front.rules.apply(toSet([]))
    t.equal(front.rules.redirect, undefined, 'without redirects nothing is looked at')
    t.strictSame(await front.ask('GET', '/gone'), without[0], 'and the response is that of the origin')
  })
