import { createRecentCache } from '../base/cache.js'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../base/time-units.js'
import type { RuleBudget } from './rule.js'

const WINDOW_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const
/** Addresses are chosen by clients: beyond this many, the budgets that were not used lately are forgotten. */
const MAX_COUNTERS = 50_000

/** The amount that one holder of a budget has used of its current window. */
interface Counter {
  window: number
  used: number
}

export type Budgets = ReturnType<typeof createBudgets>

/** Counts what passed by rule and holder, in memory: a restart begins new windows. */
export function createBudgets() {
  const counters = createRecentCache<string, Counter>(MAX_COUNTERS)
  /** A clock that jumps, in either direction, begins another window. */
  const counterAt = (rule: number, holder: string, budget: RuleBudget, at: number): Counter => {
    const key = `${rule} ${holder}`
    const window = windowOf(budget, at)
    const known = counters.get(key)
    if (known !== undefined) {
      if (known.window !== window) Object.assign(known, { window, used: 0 })
      return known
    }
    const counter = { window, used: 0 }
    counters.set(key, counter)
    return counter
  }
  return {
    /** Returns whether the holder has used up its budget at `at`, in milliseconds since 1970. */
    isUsedUp: (rule: number, holder: string, budget: RuleBudget, at: number): boolean =>
      counterAt(rule, holder, budget, at).used >= budget.limit,
    /** Counts fetches or bytes that passed at `at`. */
    add(rule: number, holder: string, budget: RuleBudget, at: number, amount: number): void {
      counterAt(rule, holder, budget, at).used += amount
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
