import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { nameRuleSet } from '../../../src/rules/build-rule-set.js'
import { DecidingRule } from '../../../src/rules/rule.js'
import type { LiveRules } from '../../../src/site/rules/live-rules.js'
import { exchangeBytes, portOf, startProxy, waitFor } from '../proxy/fixtures/sockets.js'
import { openRawClient, SWITCHING, startFront, startRawOrigin, UPGRADE_REQUEST } from '../proxy/fixtures/upgrades.js'
import { ADAPTERS, startAdapterSite } from './fixtures/adapter-sites.js'
import { manyRules, startRules } from './fixtures/fifty-rules.js'

/** How the proxy refuses: framing, uploads, upgrades, and requests that wait for a verdict. */

const rule = (fields: object) =>
  DecidingRule.parse({ id: 7, name: 'a rule', action: 'block', state: 'on', agents: ['gptbot'], ...fields })

async function startSite(t: Test, rules: LiveRules) {
  const asked: string[] = []
  const origin = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`)
    res.end('page')
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const served: string[] = []
  const { proxy, port, records } = await startProxy(portOf(origin), {
    rules,
    isServicePath: (path) => path.startsWith('/_readership'),
    serve: (req, res) => {
      served.push(req.url ?? '')
      res.end('service')
    },
  })
  t.teardown(async () => {
    await proxy.close(0)
    origin.close()
    origin.closeAllConnections()
  })
  return { port, records, asked, served }
}

const ask = (line: string, lines = '', rest = '') =>
  `${line} HTTP/1.1\r\nHost: site.example\r\nUser-Agent: GPTBot/1.2\r\n${lines}\r\n${rest}`
const CLOSE = 'Connection: close\r\n'

const REFUSED: [sent: string, rule: object, expected: RegExp, why: string][] = [
  [
    ask('GET /a', CLOSE),
    {},
    /^HTTP\/1\.1 403 Forbidden\r\n(?:.+\r\n)*\r\nThis site does not allow this fetch\.\n$/,
    'a text of its own',
  ],
  [
    ask('HEAD /a', CLOSE),
    {},
    /^HTTP\/1\.1 403 Forbidden\r\n(?:.+\r\n)*content-length: 37\r\n(?:.+\r\n)*\r\n$/i,
    'HEAD: the length without the body',
  ],
  [
    ask('GET /a', `${CLOSE}Accept: text/html\r\n`),
    { text: { html: '<p>Zoë</p>' } },
    /content-type: text\/html; charset=utf-8\r\n[\s\S]*content-length: 11\r\n[\s\S]*\r\n\r\n<p>Zo\xc3\xab<\/p>$/,
    'bytes are counted, not characters',
  ],
  [
    ask('GET /a', CLOSE),
    { action: 'pay', license_url: 'https://example.com/l.xml' },
    /^HTTP\/1\.1 402 [\s\S]*link: <https:\/\/example\.com\/l\.xml>; rel="license"; type="application\/rsl\+xml"\r\n/,
    'a licence',
  ],
  [ask('GET /a', CLOSE), { action: 'gone' }, /^HTTP\/1\.1 410 Gone\r\n/, 'gone'],
  [ask('POST /a', `${CLOSE}Content-Length: 4\r\n`, 'text'), {}, /^HTTP\/1\.1 403 /, 'an upload that has arrived'],
  [
    ask('POST /a', 'Content-Length: 4\r\nExpect: 100-continue\r\n'),
    {},
    /^HTTP\/1\.1 403 [\s\S]*connection: close\r\n/i,
    'a client that waits for 100 Continue gets the refusal, and the connection ends',
  ],
  [
    ask('POST /a', 'Content-Length: 4\r\n', 'text') + ask('GET /b', CLOSE),
    {},
    /^HTTP\/1\.1 403 [\s\S]*HTTP\/1\.1 403 /,
    'the upload is discarded, and the next request is read',
  ],
  [ask('GET /a', `${CLOSE}Host: other.example\r\n`), {}, /^HTTP\/1\.1 400 /, 'an ambiguous request stays ambiguous'],
]

t.test('a refusal takes the place of the response', async (t) => {
  for (const [sent, fields, expected, why] of REFUSED) {
    const { port, asked, records } = await startSite(t, startRules([rule(fields)]))
    const { text, end } = await exchangeBytes(port, [sent])
    t.match(text, expected, why)
    t.equal(end, 'closed', why)
    t.same(asked, [], `${why}: the origin is not asked`)
    await waitFor('a record', () => records.length > 0)
    const status = Number(text.slice(9, 12))
    const decided = status === 400 ? undefined : { rule: 7, action: rule(fields).action }
    t.same(records[0]?.decided, decided)
    t.equal(records[0]?.status, status)
  }
})

t.test('the paths of the service are not decided about', async (t) => {
  const { port, served } = await startSite(t, startRules(manyRules(50)))
  const { text } = await exchangeBytes(port, [ask('GET /_readership/api/me', CLOSE)])
  t.match(text, /^HTTP\/1\.1 200 /)
  t.same(served, ['/_readership/api/me'])
})

t.test('an upgrade is refused as a request is', async (t) => {
  const rules = startRules([rule({})])
  const origin = await startRawOrigin(t, (socket) => void socket.write(SWITCHING))
  const { port, records } = await startFront(t, origin.port, { rules })
  const agent = UPGRADE_REQUEST.replace('\r\n\r\n', '\r\nUser-Agent: GPTBot/1.2\r\n\r\n')
  const refused = openRawClient(t, port, agent)
  await refused.over()
  t.match(refused.text(), /^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*\r\n\r\nThis site does not allow this fetch\.\n$/)
  t.same(origin.heads, [], 'the origin is not asked')
  t.match(records, [{ status: 403, decided: { rule: 7, action: 'block' } }])
  const person = openRawClient(
    t,
    port,
    UPGRADE_REQUEST.replace(
      '\r\n\r\n',
      '\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36\r\n\r\n',
    ),
  )
  await waitFor('a tunnel', () => person.text().startsWith('HTTP/1.1 101 '))
})

t.test('a strict rule waits for the verdict, and never for a worker that does not respond', async (t) => {
  const identities = ['spoofed', 'verified', undefined] as const
  for (const identity of identities) {
    const rules = startRules([rule({ identity: ['spoofed'], strict: true })])
    let checks = 0
    rules.checkClaimsWith(async () => {
      checks += 1
      return identity
    })
    const { port, records } = await startSite(t, rules)
    const status = async () => (await exchangeBytes(port, [ask('GET /a', CLOSE)])).text.slice(9, 12)
    t.equal(await status(), identity === 'spoofed' ? '403' : '200', `the verdict ${identity}`)
    t.equal(await status(), identity === 'spoofed' ? '403' : '200', 'the second fetch')
    t.equal(checks, identity === undefined ? 2 : 1, 'a verdict is kept')
    await waitFor('records', () => records.length === 2)
  }
  const rules = startRules([rule({ identity: ['spoofed'], strict: true })])
  rules.checkClaimsWith(() => new Promise(() => {}))
  const { port } = await startSite(t, rules)
  const began = performance.now()
  t.match((await exchangeBytes(port, [ask('GET /a', CLOSE)])).text, /^HTTP\/1\.1 200 /, 'passes after 200 ms')
  t.ok(performance.now() - began >= 195, 'it waited')
  rules.checkClaimsWith(undefined)
  t.match((await exchangeBytes(port, [ask('GET /a', CLOSE)])).text, /^HTTP\/1\.1 200 /, 'without a worker')
  rules.addVerdicts([{ ip: '127.0.0.1', agent_id: 'gptbot', isSigned: true, identity: 'spoofed' }])
  t.match((await exchangeBytes(port, [ask('GET /a', CLOSE)])).text, /^HTTP\/1\.1 200 /, 'a verdict on signed requests')
  t.match((await exchangeBytes(port, [ask('GET /a', `${CLOSE}Signature-Input: x\r\n`)])).text, /^HTTP\/1\.1 403 /)
  rules.addVerdicts([{ ip: '127.0.0.1', agent_id: 'gptbot', isSigned: false, identity: 'spoofed' }])
  t.match(
    (await exchangeBytes(port, [ask('GET /a', CLOSE)])).text,
    /^HTTP\/1\.1 403 /,
    'a verdict that the worker sent',
  )
})

for (const [name, create] of Object.entries(ADAPTERS))
  t.test(`${name}: a strict rule waits for the verdict before the application gets the request`, async (t) => {
    const rows = [
      ['spoofed', { status: '403', served: 0, rule: 7 }],
      ['verified', { status: '200', served: 1, rule: undefined }],
    ] as const
    for (const [identity, expected] of rows) {
      const page = { status: 200, headers: {}, body: 'page' }
      const { rules, records, port, served } = await startAdapterSite(t, create, () => page)
      const strict = rule({ identity: ['spoofed'], strict: true })
      const site = { site: 1, domains: [], rules: [strict], sitemaps: [], robots: [], redirects: [] }
      rules.apply(nameRuleSet([site]))
      let servedBefore: number | undefined
      rules.checkClaimsWith(async () => {
        // Later than all that the request itself could have called.
        await new Promise(setImmediate)
        servedBefore = served()
        return identity
      })
      const status = (await exchangeBytes(port, [ask('GET /a', CLOSE)])).text.slice(9, 12)
      await waitFor('a record', () => records.length > 0)
      t.same({ status, served: served(), rule: records[0]?.decided?.rule }, expected, identity)
      t.equal(servedBefore, 0, `${identity}: not before the verdict`)
    }
  })

t.test('decisions are counted: on, in rehearsal, and paused', async (t) => {
  const rules = startRules([
    rule({ id: 1, paths: ['/a'] }),
    rule({ id: 2, paths: ['/**'], action: 'gone', state: 'rehearse' }),
  ])
  const { port } = await startSite(t, rules)
  const status = async (path: string) => (await exchangeBytes(port, [ask(`GET ${path}`, CLOSE)])).text.slice(9, 12)
  t.same([await status('/a'), await status('/b')], ['403', '200'])
  const [site] = rules.set.sites
  if (site) rules.apply(nameRuleSet([{ ...site, paused_since: '2026-11-28T10:00:00Z' }]))
  t.equal(await status('/a'), '200', 'paused')
  t.same(rules.counts(), [
    { site: 1, rule: 1, action: 'block', state: 'on', count: 1 },
    { site: 1, rule: 2, action: 'gone', state: 'rehearse', count: 1 },
    { site: 1, rule: 1, action: 'block', state: 'paused', count: 1 },
  ])
  rules.apply(nameRuleSet([]))
  t.equal(rules.decide, undefined, 'without a rule nothing is looked at')
  t.same(rules.counts(), [], 'deleted rules leave the metrics')
})
