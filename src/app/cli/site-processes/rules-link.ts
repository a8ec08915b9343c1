import { loadCatalog } from '../../../agents/catalog.js'
import type { Identity } from '../../../rules/rule.js'
import { createLiveRules } from '../../../site/rules/live-rules.js'
import { BUDGET_REPORT_MS } from '../../../site/rules/shared-budgets.js'
import type { FromSiteProcess, SiteProcessOptions, ToSiteProcess } from './protocol.js'

/** The rules for agents in a process of the site, which gets them and the worker's verdicts from the first process. */
export function createLinkedRules({ rules, spent }: SiteProcessOptions, post: (message: FromSiteProcess) => void) {
  const live = createLiveRules({ agents: () => loadCatalog().agents, now: () => Date.now() })
  const questions = new Map<number, (identity: Identity | undefined) => void>()
  let lastQuestion = 0
  live.apply(rules)
  live.budgets.addOthers(spent)
  live.checkClaimsWith(
    (claim) =>
      new Promise((resolve) => {
        const id = ++lastQuestion
        questions.set(id, resolve)
        post({ type: 'check_claim', id, claim })
      }),
  )
  const report = () => {
    const amounts = live.budgets.takeSpent()
    if (amounts.length > 0) post({ type: 'spent', amounts })
  }
  report()
  const reports = setInterval(report, BUDGET_REPORT_MS).unref()
  return {
    live,
    receive(message: ToSiteProcess): void {
      if (message.type === 'rules') live.apply(message.set)
      if (message.type === 'verdicts') live.addVerdicts(message.verdicts)
      if (message.type === 'spent') live.budgets.addOthers(message.amounts)
      if (message.type === 'claim_checked') {
        questions.get(message.id)?.(message.identity)
        questions.delete(message.id)
      }
    },
    stop(): void {
      clearInterval(reports)
      report()
    },
  }
}
