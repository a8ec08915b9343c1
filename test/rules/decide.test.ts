import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { createBudgets, secondsUntilNextWindow } from '../../src/rules/budgets.js'
import { leaveOutSearchEngines } from '../../src/rules/check.js'
import { type AgentFetch, compileRules } from '../../src/rules/decide.js'
import { refusalOf } from '../../src/rules/refusal.js'
import { DecidingRule } from '../../src/rules/rule.js'

const AT = Date.UTC(2026, 10, 28, 12, 0, 30)
const MINUTE = 60_000
const rule = (id: number, fields: object = {}) =>
  DecidingRule.parse({ id, name: `rule ${id}`, action: 'block', state: 'on', ...fields })
const agentOf = (id: string) => loadCatalog().get(id)
const fetchOf = (fields: Partial<AgentFetch> = {}): AgentFetch => ({
  agent: agentOf('gptbot'),
  identity: undefined,
  method: 'GET',
  pathname: '/a',
  address: '192.0.2.1',
  at: AT,
  isDisallowed: () => false,
  ...fields,
})
const decide = (rules: DecidingRule[], fields: Partial<AgentFetch> = {}, sitemaps: string[] = []) =>
  compileRules(rules, sitemaps).decide(fetchOf(fields), createBudgets())

const NEVER_REFUSED: [pathname: string, isRefused: boolean, why: string][] = [
  ['/robots.txt', false, 'how else would an agent obey'],
  ['/robots.txt/', true, 'another path'],
  ['/%72obots.txt', false, 'the same path in other letters'],
  ['/Robots.txt', true, 'paths have case'],
  ['/llms.txt', false, ''],
  ['/llms-full.txt', false, ''],
  ['/docs/llms.txt', true, 'not of the site'],
  ['/.well-known', false, ''],
  ['/.well-known/a/b', false, ''],
  ['/.well-knownx', true, ''],
  ['/x/.well-known/a', true, 'not at the root'],
  ['/sitemap.xml', false, ''],
  ['/maps/News-Sitemap_2.xml.gz', false, ''],
  ['/sitemap.html', true, 'a page for people'],
  ['/sitemap.xml/page', true, ''],
  ['/map-of-pages', false, 'robots.txt names it'],
  ['/.well-known/../private', true, 'a path that leads elsewhere'],
  [`/${'sitemap'.repeat(10_000)}`, true, 'long'],
]
t.test('some paths are never refused', async (t) => {
  for (const [pathname, isRefused, why] of NEVER_REFUSED) {
    const { rule: decided } = decide([rule(1)], { pathname }, ['/map-of-pages'])
    t.equal(decided !== undefined, isRefused, `${pathname.slice(0, 40)} ${why}`)
  }
})

const SPARED: [rule: object, agent: string, identity: AgentFetch['identity'], isRefused: boolean][] = [
  [{}, 'googlebot', 'verified', false],
  [{}, 'googlebot', undefined, false],
  [{}, 'googlebot', 'unverifiable', false],
  [{}, 'googlebot', 'spoofed', true],
  [{ agents: ['googlebot'] }, 'googlebot', 'verified', true],
  [{ operators: ['Google'] }, 'googlebot', undefined, true],
  [{ purposes: ['search'] }, 'googlebot', undefined, true],
  [{ purposes: ['search'], except: ['googlebot'] }, 'googlebot', undefined, false],
  [{}, 'facebookexternalhit', 'unverifiable', false],
  [{}, 'facebookexternalhit', 'spoofed', true],
  [{}, 'gptbot', 'verified', true],
  [{ identity: ['spoofed'] }, 'gptbot', undefined, false],
  [{ identity: ['spoofed', 'unverifiable'] }, 'gptbot', 'unverifiable', true],
  [{ disallowed: true }, 'gptbot', undefined, false],
]
t.test('search engines, feed readers, previews and monitors pass rules that do not name them', async (t) => {
  for (const [fields, agent, identity, isRefused] of SPARED) {
    t.ok(agentOf(agent), agent)
    const { rule: decided } = decide([rule(1, fields)], { agent: agentOf(agent), identity })
    t.equal(decided !== undefined, isRefused, `${JSON.stringify(fields)} ${agent} ${identity}`)
  }
})

t.test('budgets count what passes, by their holder and window', async (t) => {
  const budget = (fields: object) => rule(1, { action: 'limit', budget: { limit: 2, unit: 'fetches', ...fields } })
  // [fields of the budget, fetches in turn: agent, address, time after AT in ms, expected]
  const rows: [object, [agent: string, address: string, after: number, isRefused: boolean][], string][] = [
    [
      { per: 'minute', by: 'agent' },
      [
        ['gptbot', 'a', 0, false],
        ['gptbot', 'b', 1, false],
        ['gptbot', 'c', 2, true],
        ['ccbot', 'a', 3, false],
      ],
      'agents',
    ],
    [
      { per: 'minute', by: 'operator' },
      [
        ['gptbot', 'a', 0, false],
        ['chatgpt-user', 'a', 1, false],
        ['gptbot', 'a', 2, true],
      ],
      'operators',
    ],
    [
      { per: 'hour', by: 'address' },
      [
        ['gptbot', 'a', 0, false],
        ['ccbot', 'a', 0, false],
        ['ccbot', 'a', 0, true],
        ['ccbot', 'b', 0, false],
      ],
      'addresses',
    ],
    [
      { per: 'minute', by: 'agent' },
      [
        ['gptbot', 'a', 0, false],
        ['gptbot', 'a', 0, false],
        ['gptbot', 'a', 30_000, false],
      ],
      'the next full minute',
    ],
    [
      { per: 'minute', by: 'agent' },
      [
        ['gptbot', 'a', 0, false],
        ['gptbot', 'a', 0, false],
        ['gptbot', 'a', -MINUTE, false],
        ['gptbot', 'a', -MINUTE, false],
        ['gptbot', 'a', -MINUTE, true],
      ],
      'a clock that jumps back',
    ],
    [
      { per: 'day', by: 'agent' },
      [
        ['gptbot', 'a', 0, false],
        ['gptbot', 'a', 1e12, false],
        ['gptbot', 'a', 1e12, false],
        ['gptbot', 'a', 1e12, true],
      ],
      'a clock that jumps ahead',
    ],
  ]
  for (const [fields, fetches, why] of rows) {
    const list = compileRules([budget(fields)])
    const budgets = createBudgets()
    for (const [i, [agent, address, after, isRefused]] of fetches.entries()) {
      const { rule: decided } = list.decide(fetchOf({ agent: agentOf(agent), address, at: AT + after }), budgets)
      t.equal(decided?.action === 'limit', isRefused, `${why}: fetch ${i + 1}`)
    }
  }
  const list = compileRules([
    rule(1, { budget: { limit: 100, unit: 'bytes', per: 'hour', by: 'agent' }, action: 'limit' }),
  ])
  const budgets = createBudgets()
  const first = list.decide(fetchOf(), budgets)
  t.equal(first.rule, undefined)
  for (const { rule: id, holder, budget: one } of first.bytesTo ?? []) budgets.add(id, holder, one, AT, 100)
  t.equal(list.decide(fetchOf(), budgets).rule?.id, 1, 'bytes count when the response is over')
  const edited = compileRules([
    rule(1, { budget: { limit: 100, unit: 'fetches', per: 'hour', by: 'agent' }, action: 'limit' }),
  ])
  t.equal(edited.decide(fetchOf(), budgets).rule, undefined, 'another unit begins anew')
  const refusing = compileRules([budget({ per: 'minute', by: 'agent' }), rule(2)])
  const used = createBudgets()
  for (let n = 0; n < 5; n++) t.equal(refusing.decide(fetchOf(), used).rule?.id, 2, 'a refused fetch uses no budget')
  t.equal(secondsUntilNextWindow({ limit: 1, unit: 'fetches', per: 'minute', by: 'agent' }, AT), 30)
  t.equal(secondsUntilNextWindow({ limit: 1, unit: 'fetches', per: 'hour', by: 'agent' }, AT), 3_570)
})

const BOTH = { plain: 'plain', html: '<p>', json: '{}' }
const ACCEPTS: [text: object, accept: string | undefined, type: string, body: string][] = [
  [BOTH, undefined, 'text/plain', 'plain'],
  [BOTH, '', 'text/plain', 'plain'],
  [BOTH, '*/*', 'text/plain', 'plain'],
  [BOTH, 'text/html,*/*;q=0.8', 'text/html', '<p>'],
  [BOTH, 'application/json', 'application/json', '{}'],
  [BOTH, 'text/*;q=0.5, application/json;q=0.4', 'text/plain', 'plain'],
  [BOTH, 'TEXT/HTML', 'text/html', '<p>'],
  [BOTH, 'image/png', 'text/plain', 'plain'],
  [BOTH, 'text/html;q=0', 'text/plain', 'plain'],
  [{ html: '<p>' }, '*/*', 'text/html', '<p>'],
  [{}, 'text/html', 'text/plain', 'This site does not allow this fetch.\n'],
  [BOTH, 'a'.repeat(100_000), 'text/plain', 'plain'],
]
t.test('a refusal has the text that Accept prefers', async (t) => {
  for (const [text, accept, type, body] of ACCEPTS) {
    const refusal = refusalOf(rule(1, { text }), accept, 0)
    t.equal(refusal?.body, body, `${accept?.slice(0, 50)}`)
    t.equal(new Map(refusal?.headers).get('content-type'), `${type}; charset=utf-8`)
  }
  t.equal(refusalOf(rule(1, { action: 'allow' }), undefined, 0), undefined)
  const limit = refusalOf(
    rule(1, { action: 'limit', budget: { limit: 1, unit: 'fetches', per: 'day', by: 'agent' } }),
    undefined,
    30,
  )
  t.match([limit?.status, new Map(limit?.headers).get('retry-after')], [429, '30'])
})

t.test('a strict rule waits only where its verdict may change', async (t) => {
  const strict = [rule(1, { identity: ['spoofed'], strict: true })]
  t.equal(decide(strict).waits, true)
  t.equal(decide(strict, { identity: 'verified' }).waits, false)
  t.equal(decide(strict, { cannotWait: true }).waits, false)
  t.equal(decide([rule(2, { action: 'allow' }), ...strict]).waits, false, 'another rule decides before')
})

t.test('hostile patterns and paths take time linear in the path', async (t) => {
  const patterns = [`/**/${'a'.repeat(90)}**b`, '/**a/**x', `/${'a'.repeat(90)}*b*c`]
  const list = compileRules(
    Array.from({ length: 1_000 }, (_, n) => rule(n + 1, { agents: ['gptbot'], paths: [patterns[n % 3]] })),
  )
  for (const pathname of [`/${'a'.repeat(2_000)}`, `/${'a/'.repeat(1_000)}`, `/${'%61'.repeat(20_000)}`]) {
    const from = performance.now()
    t.equal(list.decide(fetchOf({ pathname }), createBudgets()).rule, undefined)
    t.ok(performance.now() - from < 5_000, 'a thousand rules')
  }
})

t.test('a rule that is on leaves out the search engines that its owner did not agree to refuse', async (t) => {
  const leftOut: [rule: object, except: readonly string[], why: string][] = [
    [{ agents: ['googlebot', 'gptbot'], state: 'on' }, ['googlebot'], 'by name'],
    [{ agents: ['googlebot'], state: 'on', refuse_search_engines: true }, [], 'agreed'],
    [{ agents: ['googlebot'], state: 'rehearse' }, [], 'a rehearsal shows what it would cost'],
    [{ agents: ['googlebot'], state: 'on', action: 'allow' }, [], 'a rule that lets pass'],
    [{ agents: ['googlebot'], state: 'on', identity: ['spoofed'] }, [], 'only false claims'],
    [{ agents: ['gptbot'], state: 'on' }, [], 'no search engine'],
  ]
  for (const [fields, except, why] of leftOut)
    t.strictSame(leaveOutSearchEngines(rule(1, fields), loadCatalog()).except, except, why)
})
