import { createServer, request } from 'node:http'
import t, { type Test } from 'tap'
import { nameRuleSet } from '../../../src/rules/build-rule-set.js'
import type { LiveRules } from '../../../src/site/rules/live-rules.js'
import { startProxy } from '../proxy/fixtures/sockets.js'
import { ADAPTERS, listen, newRules, startAdapterSite } from './fixtures/adapter-sites.js'

const TEXT = 'User-agent: *\nDisallow: /café\n'
const site = (id: number, domains: string[], managed_robots?: string) => ({
  ...{ site: id, domains, rules: [], sitemaps: [], robots: [], redirects: [] },
  ...(managed_robots !== undefined && { managed_robots }),
})

const FRONTS: Record<string, (t: Test) => Promise<{ rules: LiveRules; port: number }>> = {
  async proxy(t) {
    const rules = newRules()
    const origin = await listen(
      t,
      createServer((req, res) => res.end(`origin ${req.url}`)),
    )
    const { proxy, port } = await startProxy(origin, { rules })
    t.teardown(() => proxy.close(0))
    return { rules, port }
  },
  ...Object.fromEntries(
    Object.entries(ADAPTERS).map(([name, create]) => [
      name,
      (t: Test) => startAdapterSite(t, create, (target) => ({ status: 200, headers: {}, body: `origin ${target}` })),
    ]),
  ),
}

for (const [name, start] of Object.entries(FRONTS))
  t.test(`${name}: a managed robots.txt is served in place of the origin’s, and nothing else is`, async (t) => {
    const { rules, port } = await start(t)
    const ask = (method: string, path: string, host: string, headers: Record<string, string> = {}) =>
      new Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
        const req = request({ port, host: '127.0.0.1', method, path, headers: { host, ...headers } }, (res) => {
          let body = ''
          res.setEncoding('utf8').on('data', (chunk: string) => {
            body += chunk
          })
          res.on('end', () => resolve({ status: res.statusCode ?? 0, body, headers: res.headers }))
        })
        req.on('error', reject).end()
      })

    t.match(await ask('GET', '/robots.txt', 'a.example'), { status: 200, body: 'origin /robots.txt' }, 'unmanaged')
    t.equal(rules.decide, undefined, 'nothing is looked at')
    rules.apply(nameRuleSet([site(1, ['a.example'], TEXT), site(2, ['b.example'])]))
    const whole = await ask('GET', '/robots.txt', 'a.example')
    t.match(whole, { status: 200, body: TEXT, headers: { 'content-type': 'text/plain; charset=utf-8' } })
    t.match(whole.headers, { 'cache-control': /max-age=\d/, etag: /^"[\w-]{22}"$/, 'content-length': '31' })
    const etag = String(whole.headers.etag)
    const rows: [method: string, path: string, host: string, headers: Record<string, string>, expected: object][] = [
      ['HEAD', '/robots.txt', 'a.example', {}, { status: 200, body: '', headers: { 'content-length': '31', etag } }],
      ['GET', '/robots.txt?x', 'A.example:80', {}, { status: 200, body: TEXT }],
      ['GET', '/robots.txt', 'a.example', { 'if-none-match': etag }, { status: 304, body: '', headers: { etag } }],
      ['GET', '/robots.txt', 'a.example', { 'if-none-match': `"x", W/${etag}` }, { status: 304 }],
      ['GET', '/robots.txt', 'a.example', { 'if-none-match': '"x"' }, { status: 200, body: TEXT }],
      ['GET', '/robots.txt', 'b.example', {}, { body: 'origin /robots.txt' }],
      ['GET', '/robots.txt.bak', 'a.example', {}, { body: 'origin /robots.txt.bak' }],
      ['GET', '/x/robots.txt', 'a.example', {}, { body: 'origin /x/robots.txt' }],
      ['POST', '/robots.txt', 'a.example', {}, { body: 'origin /robots.txt' }],
    ]
    for (const [method, path, host, headers, expected] of rows)
      t.match(
        await ask(method, path, host, headers),
        expected,
        `${method} ${path} of ${host} ${JSON.stringify(headers)}`,
      )

    rules.apply(nameRuleSet([site(1, [], TEXT.replace('café', 'x')), site(2, ['b.example'])]))
    t.match(
      await ask('GET', '/robots.txt', 'c.example'),
      { body: 'User-agent: *\nDisallow: /x\n' },
      'a site for the rest',
    )
    t.not((await ask('GET', '/robots.txt', 'c.example')).headers.etag, etag, 'another text has another tag')
    rules.apply(nameRuleSet([site(1, ['a.example'])]))
    t.match(await ask('GET', '/robots.txt', 'a.example'), { body: 'origin /robots.txt' }, 'switched off')
  })
