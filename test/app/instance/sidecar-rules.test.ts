import { createServer } from 'node:http'
import { join } from 'node:path'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { startSidecarRules } from '../../../src/app/instance/sidecar-rules.js'
import { nameRuleSet } from '../../../src/rules/build-rule-set.js'
import { DecidingRule } from '../../../src/rules/rule.js'
import type { RuleSet } from '../../../src/rules/rule-set.js'
import { createCollectorClient } from '../../../src/site/shipping/collector-client.js'
import { directory } from '../../fixtures/files.js'
import { waitFor } from '../../site/proxy/fixtures/sockets.js'
import { listen, newRules } from '../../site/rules/fixtures/adapter-sites.js'

/** The rules of a sidecar while its collector responds, refuses its key, and is away. */

const RULE = DecidingRule.parse({ id: 7, name: 'No GPTBot', agents: ['gptbot'], action: 'block', state: 'on' })
/** Returns a set whose robots.txt tells it from others. */
const setOf = (n: number): RuleSet =>
  nameRuleSet([
    {
      ...{ site: 3, domains: ['a.example'], rules: [RULE], sitemaps: [], robots: [] },
      redirects: [{ from: '/old', to: '/new', status: 301 }],
      managed_robots: `# ${n}\n`,
    },
  ])
const versionOf = (n: number): string => setOf(n).version
const FETCH = {
  ...{ user_agent: 'GPTBot/1.2', method: 'GET', host: 'b.example', target: '/old', ip: '192.0.2.1', accept: undefined },
  ...{ isSigned: false, at: 0, canWait: false },
}

/** A collector: `respond` says what it does now. */
async function startCollector(t: Test) {
  const asked: (string | undefined)[] = []
  const versions: (string | string[] | undefined)[] = []
  let respond: { status: number; set?: RuleSet } | 'away' = { status: 200, set: setOf(1) }
  const server = createServer((req, res) => {
    asked.push(req.headers['if-none-match'])
    versions.push(req.headers['x-readership-rules'])
    if (respond === 'away') return void req.socket.destroy()
    const { set } = respond
    if (set && req.headers['if-none-match'] === `"${set.version}"`) return void res.writeHead(304).end()
    res.writeHead(respond.status, set && { etag: `"${set.version}"` }).end(JSON.stringify({ data: set ?? null }))
  })
  const port = await listen(t, server)
  return {
    port,
    asked,
    versions,
    will(next: typeof respond): void {
      respond = next
    },
  }
}

function startSidecar(t: Test, port: number, path: string, isOff = false) {
  const rules = newRules()
  const lines: string[] = []
  const line = (details: object, message: string) =>
    void lines.push(`${message} ${Object.values(details).join()}`.trim())
  const client = createCollectorClient(`http://127.0.0.1:${port}`, '0')
  let now = 1_000
  const sidecar = startSidecarRules({
    ...{ rules, fetchRules: client.fetchRules, key: () => 'key', site: 3, isOff, path, now: () => now },
    log: { info: line, warn: line, error: line },
  })
  t.teardown(async () => {
    sidecar.stop()
    await client.close()
  })
  return {
    rules,
    lines,
    ...sidecar,
    /** Lets ten seconds pass, as often as it takes until `isDone` returns true. */
    until: (what: string, isDone: () => boolean) =>
      waitFor(what, () => {
        now += 10_000
        mock.timers.tick(10_000)
        return isDone()
      }),
  }
}

t.beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
t.afterEach(() => mock.timers.reset())

t.test(
  'a sidecar asks for what it does not have, and keeps the last rules over a restart without its collector',
  async (t) => {
    const collector = await startCollector(t)
    const path = join(directory(t), 'rules.json')
    const first = startSidecar(t, collector.port, path)
    await waitFor('the rules', () => first.rules.set.version === versionOf(1))
    await first.until('a request with an ETag', () => collector.asked.includes(`"${versionOf(1)}"`))
    t.equal(collector.asked[0], undefined, 'the first one has none')
    t.equal(first.rules.set.version, versionOf(1), '304 changes nothing')
    collector.will({ status: 200, set: setOf(2) })
    await first.until('the next rules', () => first.rules.set.version === versionOf(2))
    t.same(first.lines, [])
    first.stop()

    collector.will('away')
    const asked = collector.asked.length
    const second = startSidecar(t, collector.port, path)
    t.equal(second.rules.set.version, versionOf(2), 'at once, from the disk')
    t.match(second.rules.decide?.(FETCH), { decided: { rule: 7 }, response: { status: 403 } }, 'for every hostname')
    t.match(second.rules.redirect?.({ ...FETCH, status: 404 }), { location: '/new' })
    await second.until('three attempts', () => collector.asked.length >= asked + 3)
    t.match(second.lines, [/^the rules for agents cannot be renewed: the last ones decide/], 'is said once')
    t.equal(second.lines.length, 1)

    collector.will({ status: 200, set: setOf(3) })
    await second.until('rules again', () => second.rules.set.version === versionOf(3))
    await waitFor('the end of the trouble', () => second.read().problem === undefined)
    t.match(second.lines.slice(1), ['the rules for agents are renewed again'])
  },
)

t.test('a sidecar whose key was deleted keeps the last rules, and says so', async (t) => {
  const collector = await startCollector(t)
  const sidecar = startSidecar(t, collector.port, join(directory(t), 'rules.json'))
  await waitFor('the rules', () => sidecar.rules.set.version === versionOf(1))
  await sidecar.until('a confirmation', () => sidecar.read().confirmed > 1_000)
  for (const status of [401, 403]) {
    collector.will({ status })
    await sidecar.until(
      'the refusal',
      () => sidecar.read().problem === `the collector refuses the ingest key with ${status}`,
    )
  }
  const { confirmed } = sidecar.read()
  const asked = collector.asked.length
  await sidecar.until('more attempts', () => collector.asked.length > asked + 3)
  t.equal(sidecar.read().confirmed, confirmed, 'not confirmed since then')
  t.equal(sidecar.lines.length, 2, 'each reason is said once')
  t.match(sidecar.rules.decide?.(FETCH), { response: { status: 403 } })
})

t.test('with --rules off a sidecar has redirects and robots.txt, as a proxy has', async (t) => {
  const collector = await startCollector(t)
  const { rules, until } = startSidecar(t, collector.port, join(directory(t), 'rules.json'), true)
  await waitFor('the rules', () => rules.set.sites.length === 1)
  t.equal(rules.decide?.(FETCH), undefined, 'every agent passes')
  t.match(rules.redirect?.({ ...FETCH, status: 410 }), { location: '/new', status: 301 })
  t.match(rules.decide?.({ ...FETCH, target: '/robots.txt' }), { response: { body: '# 1\n' } })
  await until('another request', () => collector.versions.length > 1)
  t.same(new Set(collector.versions), new Set(['off']), 'and says so to the collector')
})
