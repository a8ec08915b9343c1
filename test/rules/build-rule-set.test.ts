import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { buildRuleSet, type RuleSources } from '../../src/rules/build-rule-set.js'
import { DecidingRule } from '../../src/rules/rule.js'

const rule = (site: number, id: number, fields: object) => ({
  ...DecidingRule.parse({ id, name: `rule ${id}`, action: 'block', ...fields }),
  site,
})
const SOURCES: RuleSources = {
  catalog: loadCatalog(),
  sites: [1, 2, 3].map((id) => ({ id, domains: [`${id}.example`] })),
  rules: [rule(1, 1, { agents: ['gptbot'] }), rule(2, 2, { agents: ['gptbot'] })],
  pauses: new Map(),
  redirects: [],
  managed: new Map(),
  robots: [],
}
const versionsOf = (sources: RuleSources) => {
  const { version, sites } = buildRuleSet(sources)
  return { set: version, ...Object.fromEntries(sites.map((one) => [one.site, one.version])) }
}

t.test('a change of one site changes its version and that of the set, and no other', async (t) => {
  const before = versionsOf(SOURCES)
  const [first, second] = SOURCES.rules
  if (first === undefined || second === undefined) throw new Error('two rules')
  const rows: [change: Partial<RuleSources>, changed: string[], why: string][] = [
    [{}, [], 'nothing'],
    [{ rules: [first, { ...second, paths: ['/x'] }] }, ['2', 'set'], 'a rule'],
    [{ rules: [first, second, rule(1, 3, { agents: ['ccbot'], state: 'off' })] }, [], 'a rule that is off'],
    [{ pauses: new Map([[1, { since: new Date(0) }]]) }, ['1', 'set'], 'a pause'],
    [{ redirects: [{ site: 2, from: '/a', to: '/b', status: 301 }] }, ['2', 'set'], 'a redirect'],
    [{ managed: new Map([[1, '']]) }, ['1', 'set'], 'a managed robots.txt'],
    [{ managed: new Map([[3, '']]) }, ['3', 'set'], 'the first one of a site'],
    [{ rules: [second] }, ['1', 'set'], 'the last one of a site goes'],
  ]
  for (const [change, changed, why] of rows) {
    const after: Record<string, string> = versionsOf({ ...SOURCES, ...change })
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    const was: Record<string, string> = before
    t.same(names.filter((name) => was[name] !== after[name]).sort(), changed, why)
  }
})
