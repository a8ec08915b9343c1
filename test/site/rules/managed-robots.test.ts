import { createServer, request } from 'node:http'
import t from 'tap'
import { nameRuleSet } from '../../../src/rules/build-rule-set.js'
import { createLiveRules } from '../../../src/site/rules/live-rules.js'
import { portOf, startProxy } from '../proxy/fixtures/sockets.js'

const TEXT = 'User-agent: *\nDisallow: /café\n'
const site = (id: number, domains: string[], managed_robots?: string) => ({
  ...{ site: id, domains, rules: [], sitemaps: [], robots: [], redirects: [] },
  ...(managed_robots !== undefined && { managed_robots }),
})

t.test('a managed robots.txt is served in place of the origin’s, and nothing else is', async (t) => {
  const origin = createServer((req, res) => res.end(`origin ${req.method} ${req.url}`))
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  t.teardown(() => origin.close())
  // The front needs no agents: people get the file too.
  const rules = createLiveRules({ agents: () => [], now: () => Date.now() })
  const { proxy, port } = await startProxy(portOf(origin), { rules })
  t.teardown(() => proxy.close(0))
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

  t.match(await ask('GET', '/robots.txt', 'a.example'), { status: 200, body: 'origin GET /robots.txt' }, 'unmanaged')
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
    ['GET', '/robots.txt', 'b.example', {}, { body: 'origin GET /robots.txt' }],
    ['GET', '/robots.txt.bak', 'a.example', {}, { body: 'origin GET /robots.txt.bak' }],
    ['GET', '/x/robots.txt', 'a.example', {}, { body: 'origin GET /x/robots.txt' }],
    ['POST', '/robots.txt', 'a.example', {}, { body: 'origin POST /robots.txt' }],
  ]
  for (const [method, path, host, headers, expected] of rows)
    t.match(await ask(method, path, host, headers), expected, `${method} ${path} of ${host} ${JSON.stringify(headers)}`)

  rules.apply(nameRuleSet([site(1, [], TEXT.replace('café', 'x')), site(2, ['b.example'])]))
  t.match(
    await ask('GET', '/robots.txt', 'c.example'),
    { body: 'User-agent: *\nDisallow: /x\n' },
    'a site for the rest',
  )
  t.not((await ask('GET', '/robots.txt', 'c.example')).headers.etag, etag, 'another text has another tag')
  rules.apply(nameRuleSet([site(1, ['a.example'])]))
  t.match(await ask('GET', '/robots.txt', 'a.example'), { body: 'origin GET /robots.txt' }, 'switched off')
})
