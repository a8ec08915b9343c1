import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { nameRuleSet } from '../../../src/rules/build-rule-set.js'
import { DecidingRule } from '../../../src/rules/rule.js'
import type { SiteRules } from '../../../src/rules/rule-set.js'
import { createLiveRules } from '../../../src/site/rules/live-rules.js'
import { compileSites, type SiteList } from '../../../src/site/rules/site-list.js'

type UnnamedSite = Omit<SiteRules, 'version'>
const rule = (fields: object) =>
  DecidingRule.parse({ id: 1, name: 'a rule', action: 'block', state: 'on', agents: ['gptbot'], ...fields })
const site = (id: number, fields: Partial<UnnamedSite> = {}): UnnamedSite => ({
  ...{ site: id, domains: [`${id}.example`], rules: [rule({ id })], sitemaps: [], robots: [], redirects: [] },
  ...fields,
})
const fetchOf = (host: string, target = '/a') => ({
  ...{ user_agent: 'GPTBot/1.2', method: 'GET', host, target, ip: '192.0.2.1', accept: undefined },
  ...{ isSigned: false, at: 0, canWait: false },
})

t.test('another set compiles only the sites whose rules changed', async (t) => {
  const compile = (sites: UnnamedSite[], known: SiteList[]) => compileSites(nameRuleSet(sites).sites, known)
  const before = compile([site(1), site(2), site(3)], [])
  const redirects = [{ from: '/a', to: '/b', status: 301 as const }]
  const rows: [next: UnnamedSite[], kept: number[], why: string][] = [
    [[site(1), site(2), site(3)], [1, 2, 3], 'an equal set'],
    [[site(3), site(1)], [3, 1], 'another order, and one site less'],
    [[site(1), site(2, { rules: [rule({ id: 2, state: 'rehearse' })] }), site(3)], [1, 3], 'a rule in another state'],
    [[site(1), site(2), site(3, { paused_since: '2026-11-29T00:00:00Z' })], [1, 2], 'a pause'],
    [[site(1, { redirects }), site(2), site(3)], [2, 3], 'a redirect'],
    [[site(1), site(2, { domains: ['b.example'] }), site(3)], [1, 3], 'another hostname'],
    [[site(4), site(1)], [1], 'a new site'],
  ]
  for (const [next, kept, why] of rows) {
    const lists = compile(next, before)
    t.match(
      lists.map((list) => list.site),
      next,
      why,
    )
    t.same(
      lists.filter((list) => before.includes(list)).map((list) => list.site.site),
      kept,
      `${why}: the others stay`,
    )
  }
})

t.test(
  'a rehearsal keeps its budgets while another site changes, and has full ones after its own change',
  async (t) => {
    const rules = createLiveRules({ agents: () => loadCatalog().agents, now: () => 0 })
    const budget = { limit: 2, unit: 'fetches', per: 'day', by: 'agent' }
    const rehearsed = (name: string) => site(1, { rules: [rule({ state: 'rehearse', action: 'limit', budget, name })] })
    const countOf = () => rules.counts().reduce((sum, { count }) => sum + count, 0)
    const fetchTwice = () => {
      for (const _ of [1, 2]) rules.decide?.(fetchOf('1.example'))
    }
    rules.apply(nameRuleSet([rehearsed('a'), site(2)]))
    fetchTwice()
    t.equal(countOf(), 0, 'the budget')
    rules.apply(nameRuleSet([rehearsed('a'), site(2, { rules: [] })]))
    fetchTwice()
    t.equal(countOf(), 2, 'is used up, also after another site changed')
    rules.apply(nameRuleSet([rehearsed('b'), site(2)]))
    fetchTwice()
    t.equal(countOf(), 2, 'and full again after its own site changed')
  },
)

t.test('robots.txt is read before a request needs it', async (t) => {
  const rules = createLiveRules({ agents: () => loadCatalog().agents, now: () => 0 })
  const read: string[] = []
  const robots = ['1.example', '2.example'].map((hostname) => ({
    ...{ hostname, status: 200 },
    get body() {
      read.push(hostname)
      return 'User-agent: *\nDisallow: /a\n'
    },
  }))
  const rows = [
    [{ disallowed: true }, ['1.example', '2.example'], 403],
    [{}, [], undefined],
  ] as const
  for (const [fields, expected, status] of rows) {
    const asking = site(1, { robots, rules: [rule({ ...fields, paths: status === undefined ? ['/none'] : [] })] })
    const set = nameRuleSet([asking])
    read.length = 0
    rules.apply(set)
    for (let turn = 0; turn < 100; turn++) await nextTurn()
    t.same([...new Set(read)], expected, 'in turns of the event loop')
    const before = read.length
    t.equal(rules.decide?.(fetchOf('1.example'))?.response?.status, status)
    t.equal(read.length, before, 'not by the request')
  }
})
