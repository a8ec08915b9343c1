import t from 'tap'
import type { RuleBudget } from '../../../src/rules/rule.js'
import { createSharedBudgets } from '../../../src/site/rules/shared-budgets.js'

const HOUR = 3_600_000
const hourly: RuleBudget = { limit: 5, unit: 'fetches', per: 'hour', by: 'address' }

/** Creates budgets of one process, whose clock stands at `at`. */
function startProcess(at: number) {
  const budgets = createSharedBudgets(() => at)
  budgets.takeSpent()
  return {
    ...budgets,
    pass: (holder: string, amount = 1, rule = 1) =>
      budgets.spend(budgets.counterOf(rule, holder, hourly, at), at, amount),
    used: (holder: string, when = at, rule = 1) => budgets.counterOf(rule, holder, hourly, when).used,
  }
}

t.test('a process counts what the others report', async (t) => {
  const [one, other] = [startProcess(HOUR + 5), startProcess(HOUR + 10)]
  one.pass('192.0.2.1', 2)
  one.pass('192.0.2.2')
  one.pass('192.0.2.1', 1, 2)
  one.add(1, '192.0.2.1', hourly, HOUR + 7, 1)
  other.pass('192.0.2.1')
  other.addOthers(one.takeSpent())
  const rows: [number, number, string][] = [
    [other.used('192.0.2.1'), 4, 'its own and those of the other process, decided or counted later'],
    [other.used('192.0.2.2'), 1, 'another address'],
    [other.used('192.0.2.1', HOUR, 2), 1, 'another rule'],
    [other.used('192.0.2.1', 2 * HOUR), 0, 'the next hour begins anew'],
    [one.takeSpent().length, 0, 'each amount is reported once'],
    [other.takeSpent().length, 1, 'amounts of others are not reported again'],
  ]
  for (const [actual, expected, why] of rows) t.equal(actual, expected, why)
})

t.test('amounts of a window that is over count for nothing', async (t) => {
  const [one, later] = [startProcess(2 * HOUR - 1), startProcess(2 * HOUR)]
  one.pass('192.0.2.1', 5)
  later.addOthers(one.takeSpent())
  t.equal(later.used('192.0.2.1'), 0)
})
