import type { LiveRules } from '../../../site/rules/live-rules.js'
import { createSpentAmounts } from '../../../site/rules/shared-budgets.js'
import type { FromSiteProcess, SiteProcessOptions, ToSiteProcess } from './protocol.js'

interface Receiver {
  post(message: ToSiteProcess): void
}

/** The first process of the site, as the others use it for rules for agents. */
export interface RuleSharing {
  /** Returns the rules, and the amounts that all processes have added to budgets, for a process that starts. */
  options(): Pick<SiteProcessOptions, 'rules' | 'spent'>
  /** Handles a message of one of the processes. */
  receive(message: Extract<FromSiteProcess, { type: 'check_claim' | 'spent' }>, from: Receiver): void
}

/** Sends rules and verdicts to the processes of the site, and passes amounts of budgets between them. */
export function shareRules(rules: LiveRules, running: ReadonlySet<Receiver>): RuleSharing {
  const amounts = createSpentAmounts()
  rules.watch((set) => {
    for (const one of running) one.post({ type: 'rules', set })
  })
  rules.onVerdicts((verdicts) => {
    for (const one of running) one.post({ type: 'verdicts', verdicts })
  })
  return {
    options: () => ({ rules: rules.set, spent: amounts.list() }),
    receive(message, from) {
      if (message.type === 'spent') {
        for (const amount of message.amounts) amounts.add(amount)
        for (const other of running) if (other.post !== from.post) other.post(message)
      } else {
        const { id, claim } = message
        void rules
          .checkClaim(claim)
          .then((identity) => from.post({ type: 'claim_checked', id, ...(identity && { identity }) }))
      }
    },
  }
}
