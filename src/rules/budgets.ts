import { createRecentCache } from '../base/cache.js'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../base/time-units.js'
import type { RuleBudget } from './rule.js'

/** The length of a budget's window. */
export const WINDOW_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const
/** Addresses are chosen by clients: beyond this many holders, those not seen lately are forgotten. */
const MAX_HOLDERS = 50_000

/** The amount that one holder of a budget has used of its current window. */
export interface Counter {
  readonly rule: number
  readonly holder: string
  readonly budget: RuleBudget
  window: number
  used: number
}

export type Budgets = ReturnType<typeof createBudgets>

/** Counts what passed by rule and holder, in memory: a restart begins new windows. */
export function createBudgets() {
  // By holder and then by the number of the rule: to join both into one key costs more than two lookups.
  const counters = createRecentCache<string, Map<number, Counter>>(MAX_HOLDERS)
  const counterOf = (rule: number, holder: string, budget: RuleBudget, at: number): Counter => {
    let ofHolder = counters.get(holder)
    if (ofHolder === undefined) {
      ofHolder = new Map()
      counters.set(holder, ofHolder)
    }
    const window = windowOf(budget, at)
    const known = ofHolder.get(rule)
    // A clock that jumps, in either direction, begins another window; so does a rule that counts another unit now.
    if (known?.window === window && known.budget.unit === budget.unit) return known
    const counter = { rule, holder, budget, window, used: 0 }
    ofHolder.set(rule, counter)
    return counter
  }
  return {
    /** Returns the counter of the window that `at` is in, milliseconds since 1970; the next window has another one. */
    counterOf,
    /** Counts fetches or bytes that passed at `at`, which the counter was returned for. */
    spend(counter: Counter, _at: number, amount: number): void {
      counter.used += amount
    },
    /** Counts fetches or bytes that passed at `at`, however long after the decision. */
    add(rule: number, holder: string, budget: RuleBudget, at: number, amount: number): void {
      counterOf(rule, holder, budget, at).used += amount
    },
  }
}

/** Returns the number of the window that a time is in. */
export const windowOf = ({ per }: RuleBudget, at: number): number => Math.floor(at / WINDOW_MS[per])

/** Returns the seconds until the window ends, at least 1: the value of `Retry-After` (RFC 9110 10.2.3). */
export const secondsUntilNextWindow = ({ per }: RuleBudget, at: number): number => {
  const length = WINDOW_MS[per]
  return Math.max(1, Math.ceil((length - (((at % length) + length) % length)) / SECOND_MS))
}
