import { type Budgets, createBudgets } from '../../rules/budgets.js'

/** Budgets that several processes of one site share: each passes on what it adds. */
export interface SharedBudgets extends Budgets {
  /** Called with everything that this process adds; undefined in a process that serves its site alone. */
  onAdd: Budgets['add'] | undefined
  /** Adds what another process has added. */
  addOther: Budgets['add']
}

/** Creates budgets that are used up when all processes together have used them up. */
export function createSharedBudgets(): SharedBudgets {
  const budgets = createBudgets()
  const shared: SharedBudgets = {
    onAdd: undefined,
    isUsedUp: budgets.isUsedUp,
    add(...added) {
      budgets.add(...added)
      shared.onAdd?.(...added)
    },
    addOther: budgets.add,
  }
  return shared
}
