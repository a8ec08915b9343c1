import { waitAtMost } from '../../base/wait-at-most.js'
import type { Identity } from '../../rules/rule.js'

/** Asks the worker for its verdict on a claim; undefined if the worker cannot say. */
export type CheckClaim = (claim: { ip: string; agent_id: string }) => Promise<Identity | undefined>

/** A strict rule holds a request for at most this long, and at most this many requests at a time. */
const STRICT_WAIT_MS = 200
const MAX_WAITING = 256

export type ClaimChecks = ReturnType<typeof createClaimChecks>

/** Bounds the requests that wait for a verdict of the worker, and how long each of them waits. */
export function createClaimChecks() {
  let check: CheckClaim | undefined
  let waiting = 0
  return {
    /** Sets the function that asks the worker; undefined while there is no worker to ask. */
    use(checker: CheckClaim | undefined): void {
      check = checker
    },
    isAvailable: (): boolean => check !== undefined && waiting < MAX_WAITING,
    /** Resolves with the verdict, or with undefined after 200 ms. Never rejects. */
    async wait({ ip, agent_id }: { ip: string; agent_id: string }): Promise<Identity | undefined> {
      if (check === undefined) return undefined
      waiting += 1
      const identity = await waitAtMost(STRICT_WAIT_MS, Promise.resolve({ ip, agent_id }).then(check))
      waiting -= 1
      return identity
    },
  }
}
