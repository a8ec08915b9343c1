import { readFileSync } from 'node:fs'
import t from 'tap'
import { z } from 'zod'
import { loadCatalog } from '../../src/agents/catalog.js'
import { createBudgets } from '../../src/rules/budgets.js'
import { findRuleProblem } from '../../src/rules/check.js'
import { compileRules } from '../../src/rules/decide.js'
import { DecidingRule } from '../../src/rules/rule.js'

/** The rules that `src/rules/README.md` shows as a file. */
const [, shown = ''] = /```json\n([\s\S]*?)```/.exec(readFileSync('src/rules/README.md', 'utf8')) ?? []
const rules = z
  .array(z.looseObject({}))
  .parse(JSON.parse(shown))
  .map((one, n) => DecidingRule.parse({ ...one, id: n + 1, state: 'on' }))

t.test('the rules of the README are accepted and do what it says', async (t) => {
  const catalog = loadCatalog()
  for (const rule of rules) t.equal(findRuleProblem(rule, catalog), undefined, rule.name)
  const list = compileRules(rules)
  const budgets = createBudgets()
  const decide = (agent: string, pathname: string, address = '192.0.2.1') =>
    list.decide(
      {
        ...{ agent: catalog.get(agent), identity: undefined, method: 'GET', pathname, address },
        ...{ at: Date.UTC(2026, 10, 29, 12), isDisallowed: () => false },
      },
      budgets,
    ).rule?.id
  const rows: [agent: string, pathname: string, rule: number | undefined, why: string][] = [
    ['bytespider', '/', 1, 'blocked everywhere'],
    ['bytespider', '/robots.txt', undefined, 'but from what it has to read'],
    ['gptbot', '/archive/1999/may', 2, 'below the archive, however deep'],
    ['gptbot', '/archive/', 2, 'two stars may stand for nothing'],
    ['gptbot', '/archive', undefined, 'another path'],
    ['googlebot', '/archive/1999/may', undefined, 'not for training, and a search engine is spared'],
  ]
  for (const [agent, pathname, rule, why] of rows) t.equal(decide(agent, pathname), rule, why)
  // One fetch of this address has passed already.
  for (let n = 2; n <= 600; n++) if (decide('gptbot', '/') !== undefined) t.fail(`fetch ${n} of 600 passes`)
  t.equal(decide('gptbot', '/'), 3, 'the next one in the hour does not')
  t.equal(decide('gptbot', '/', '192.0.2.2'), undefined, 'another address has a budget of its own')
})
