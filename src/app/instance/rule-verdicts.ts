import { z } from 'zod'
import { IDENTITIES } from '../../rules/rule.js'
import type { LiveRules } from '../../site/rules/live-rules.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'

const CheckedIdentity = z.enum(IDENTITIES).nullable()

/**
 * Supplies rules with the worker's verdicts on claims, only while a rule asks for identities. Returns the function that ends
 * it.
 */
export function supplyVerdicts(rules: LiveRules, workerClient: Pick<WorkerClient, 'onVerdicts' | 'call'>): () => void {
  let isStopped = false
  let unsubscribe: (() => void) | undefined
  rules.watch(() => {
    const isNeeded = rules.needsIdentity() && !isStopped
    if (isNeeded) unsubscribe ??= workerClient.onVerdicts(rules.addVerdicts)
    else {
      unsubscribe?.()
      unsubscribe = undefined
    }
  })
  rules.checkClaimsWith(
    async (claim) => CheckedIdentity.parse(await workerClient.call('check_claim', claim)) ?? undefined,
  )
  return () => {
    isStopped = true
    unsubscribe?.()
    rules.checkClaimsWith(undefined)
  }
}
