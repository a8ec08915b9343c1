import { createRecentCache } from '../../base/cache.js'
import { MINUTE_MS } from '../../base/time-units.js'
import { type Budgets, createBudgets, windowOf } from '../../rules/budgets.js'
import type { RuleBudget } from '../../rules/rule.js'

/** An amount that one process has added to a budget. */
export interface SpentAmount {
  rule: number
  holder: string
  budget: RuleBudget
  /** Milliseconds since 1970. */
  at: number
  amount: number
}

/** Budgets that several processes of one site share: each reports the amounts that it adds. */
export interface SharedBudgets extends Budgets {
  /** Returns the amounts since the last call. The first call begins to keep them. */
  takeSpent(): SpentAmount[]
  /** Adds amounts of other processes, unless their window is over. */
  addOthers(amounts: readonly SpentAmount[]): void
}

/** The interval at which processes report amounts, ms: together they may exceed a budget by what passes in this time. */
export const BUDGET_REPORT_MS = 200
/** As many budgets as a process keeps. */
const MAX_SHARED = 50_000

/** Creates budgets that are used up when all processes together have used them up. */
export function createSharedBudgets(now: () => number): SharedBudgets {
  const budgets = createBudgets()
  let spent: ReturnType<typeof createSpentAmounts> | undefined
  return {
    counterOf: budgets.counterOf,
    spend(counter, at, amount) {
      budgets.spend(counter, at, amount)
      const { rule, holder, budget } = counter
      spent?.add({ rule, holder, budget, at, amount })
    },
    add(rule, holder, budget, at, amount) {
      budgets.add(rule, holder, budget, at, amount)
      spent?.add({ rule, holder, budget, at, amount })
    },
    takeSpent() {
      const amounts = spent?.list() ?? []
      spent = createSpentAmounts()
      return amounts
    },
    addOthers(amounts) {
      for (const { rule, holder, budget, at, amount } of amounts)
        if (windowOf(budget, at) === windowOf(budget, now())) budgets.add(rule, holder, budget, at, amount)
    },
  }
}

/** Adds up amounts by rule, holder and minute, which every window consists of. */
export function createSpentAmounts() {
  const sums = createRecentCache<string, SpentAmount>(MAX_SHARED)
  return {
    add(spent: SpentAmount): void {
      const key = `${spent.rule} ${Math.floor(spent.at / MINUTE_MS)} ${spent.holder}`
      const sum = sums.get(key)
      if (sum === undefined) sums.set(key, { ...spent })
      else sum.amount += spent.amount
    },
    list: (): SpentAmount[] => [...sums.keys()].flatMap((key) => sums.get(key) ?? []),
  }
}
